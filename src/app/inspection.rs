//! Asks the configured servers for `tidefeed doctor`, without building a node.

use super::{adapters::cassandra_options, redis_options};
use crate::{
    config::{Config, InboxPlace},
    store::{cassandra, inspection::Finding, redis},
};

/// What Cassandra says of itself and its nodes; nothing unless inboxes are there.
pub async fn inspect_cassandra(config: &Config) -> Vec<Finding> {
    if config.inbox.store != InboxPlace::Cassandra {
        return Vec::new();
    }
    cassandra::inspect(&cassandra_options(config)).await
}

/// What each configured Redis server says of itself; `None` if none is configured.
pub async fn inspect_redis(config: &Config) -> Option<Vec<Finding>> {
    Some(redis::inspect(&redis_options(config)?).await)
}
