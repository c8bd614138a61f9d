//! Models of the stores that keep inboxes outside SQL, with everything that can happen to them.

mod cassandra;
mod partitions;
mod redis;
mod scripts;

use std::sync::Arc;

use tidefeed::store::InboxStore;

use self::{cassandra::SimCassandra, redis::SimRedis};
use crate::{fault_injector::FaultInjector, rules::Rule};

/// Which store it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Redis,
    Cassandra,
}

/// The store of a world.
#[derive(Clone)]
pub enum SimInboxes {
    Redis(Arc<SimRedis>),
    Cassandra(Arc<SimCassandra>),
}

impl SimInboxes {
    pub fn new(kind: Kind, injector: FaultInjector, broken: Option<Rule>) -> Self {
        match kind {
            Kind::Redis => Self::Redis(Arc::new(SimRedis::new(injector, broken))),
            Kind::Cassandra => Self::Cassandra(Arc::new(SimCassandra::new(injector, broken))),
        }
    }

    pub fn port(&self) -> Arc<dyn InboxStore> {
        match self {
            Self::Redis(store) => store.clone(),
            Self::Cassandra(store) => store.clone(),
        }
    }

    /// Something happens to its nodes, or a write that was on its way for long arrives.
    pub fn happen(&self) {
        match self {
            Self::Redis(store) => store.happen(),
            Self::Cassandra(store) => store.happen(),
        }
    }
}
