//! Whose subjects the external ids of users are, by the configuration.

use std::{sync::Arc, time::Duration};

use super::{AppError, adapters};
use crate::{
    accounts::{ExternalUsers, PRODUCT},
    ambient::Ambient,
    config::Config,
    store::Identities as _,
};

/// Whose subjects the external ids of users are.
pub fn issuer_of(config: &Config) -> &str {
    if config.issuer.url.is_empty() { PRODUCT } else { &config.issuer.url }
}

/// The issuer whose users the configured store has, if it has none of the configured issuer. Refuses outdated tables.
pub async fn former_issuer(config: &Config) -> Result<Option<String>, AppError> {
    let store = adapters::open_current_store(config).await?;
    store.former_issuer(issuer_of(config)).await.map_err(AppError::Store)
}

/// What is wrong then.
pub fn orphans(config: &Config, former: &str) -> String {
    format!(
        "the users here have ids of `{former}`, and none has one of `{}`: everybody who signs in, or is named by an id, \
         would be a new user",
        issuer_of(config)
    )
}

/// What mends it.
pub fn adoption(former: &str) -> String {
    format!("run `tidefeed issuer adopt --from {former}`, or set issuer.url as it was")
}

/// The users whom the configured issuer, or the product, knows by ids of its own. Refuses outdated tables.
pub async fn open_external_users(config: &Config, ambient: &Ambient) -> Result<ExternalUsers, AppError> {
    let store = adapters::open_current_store(config).await?;
    Ok(ExternalUsers::new(Arc::new(store), issuer_of(config).to_owned(), Duration::ZERO, ambient.clone()))
}
