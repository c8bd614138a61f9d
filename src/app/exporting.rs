//! Builds what exports the whole, over a connection to the configured store.

use std::sync::Arc;

use super::{AppError, adapters, issuers::issuer_of};
use crate::{config::Config, import::Exporter};

/// An exporter with its own connections to the configured store, which it only reads. Refuses outdated tables.
pub async fn open_exporter(config: &Config) -> Result<Exporter, AppError> {
    let store = adapters::open_current_store(config).await?;
    let store = Arc::new(store);
    Ok(Exporter::new(store.clone(), store.clone(), store, issuer_of(config).to_owned()))
}
