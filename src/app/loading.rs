//! Builds what loads the files of imports, over its own connections to the configured servers.

use std::sync::Arc;

use super::{AppError, adapters, issuers::issuer_of, loader::loader, schemas::content_schemas};
use crate::{ambient::Ambient, config::Config, import::Loader, lifecycle::Lifecycle};

/// A loader with its own connections to the configured servers. Changes no table; refuses outdated tables.
pub async fn open_loader(config: &Config, lifecycle: &Lifecycle, ambient: &Ambient) -> Result<Loader, AppError> {
    let schemas = Arc::new(content_schemas(config)?);
    let adapters = adapters::open(config, lifecycle, ambient).await?;
    adapters.expect_current_tables().await?;
    Ok(loader(&adapters.ports, Some(issuer_of(config)), ambient).checked_by(schemas))
}
