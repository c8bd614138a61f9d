//! Builds what loads the files of imports, over its own connections to the configured servers.

use std::sync::Arc;

use super::{AppError, adapters, loader::loader, schemas::content_schemas};
use crate::{ambient::Ambient, config::Config, import::Loader, lifecycle::Lifecycle};

/// A loader with its own connections to the configured servers. Changes no table; refuses outdated tables.
pub async fn open_loader(config: &Config, lifecycle: &Lifecycle, ambient: &Ambient) -> Result<Loader, AppError> {
    let schemas = Arc::new(content_schemas(config)?);
    let adapters = adapters::open(config, lifecycle, ambient).await?;
    adapters.expect_current_tables().await?;
    let issuer = Some(config.issuer.url.as_str()).filter(|url| !url.is_empty());
    Ok(loader(&adapters.ports, issuer, ambient).checked_by(schemas))
}
