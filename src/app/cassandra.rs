//! Inboxes in Cassandra as the configuration describes them, in binaries that are built with it.

use std::sync::Arc;

use super::settings::files_for_cassandra;
use crate::{
    config::Config,
    domain::{limits::NODE_ID_BYTES, timeline::outside::NodeId},
    rng::SharedRng,
    store::{
        InboxStore,
        cassandra::{self, Cassandra, CassandraInboxes, CassandraOptions},
        inspection::Finding,
    },
};

/// The inboxes; connects later.
pub fn inboxes(config: &Config, rng: &SharedRng) -> Arc<dyn InboxStore> {
    let mut candidate = [0; NODE_ID_BYTES];
    rng.fill(&mut candidate);
    Arc::new(CassandraInboxes::new(Cassandra::new(options(config)), NodeId::of(candidate)))
}

/// What Cassandra says of itself and its nodes; nothing unless inboxes are there.
pub async fn inspect_cassandra(config: &Config) -> Vec<Finding> {
    if !config.inbox.store.is_cassandra() {
        return Vec::new();
    }
    cassandra::inspect(&options(config)).await
}

fn options(config: &Config) -> CassandraOptions {
    let cassandra = &config.cassandra;
    CassandraOptions {
        contact_points: cassandra.contact_points.clone(),
        keyspace: cassandra.keyspace.clone(),
        replication: cassandra.replication,
        datacenter: cassandra.datacenter.clone(),
        user: cassandra.user.clone(),
        password: cassandra.password.expose().to_owned(),
        certificates: files_for_cassandra(config),
        timeout: cassandra.timeout_ms.duration(),
    }
}
