//! Opens the store for a seeded world (cargo feature `demo`).

use std::time::Duration;

use super::{AppError, adapters::store_options};
use crate::{
    config::Config,
    store::sql::{SqlOptions, SqlStore},
};

/// How long a batch of a bulk insert may take. It writes tens of thousands of rows, and takes 10 s on a busy machine.
const BULK_INSERT_LIMIT: Duration = Duration::from_mins(10);

/// As [`super::open_store`], for bulk inserts: each statement and each transaction may take ten minutes.
pub async fn open_for_bulk_inserts(config: &Config) -> Result<SqlStore, AppError> {
    let options = store_options(config);
    let statement_timeout = options.statement_timeout.max(BULK_INSERT_LIMIT);
    SqlStore::connect(&SqlOptions { statement_timeout, ..options }).await.map_err(AppError::Store)
}
