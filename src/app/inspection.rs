//! Asks the configured servers for `tidefeed doctor`, without building a node.

use super::redis_options;
use crate::{
    config::Config,
    store::{inspection::Finding, redis},
};

/// What each configured Redis server says of itself; `None` if none is configured.
pub async fn inspect_redis(config: &Config) -> Option<Vec<Finding>> {
    Some(redis::inspect(&redis_options(config)?).await)
}
