//! The database with replicas: what they and whoever reads there share, and statements that may run there.

use std::sync::{Arc, Mutex, MutexGuard};

use tidefeed::store::StoreError;

use super::{
    tables::Tables,
    transaction::{Base, Engine, PrimaryStore},
};
use crate::{fault_injector::FaultInjector, replicas::ReplicaOptions, rules::Rule};

/// The database, without what a node keeps of it.
#[derive(Clone)]
pub struct StoreState {
    pub injector: FaultInjector,
    pub(super) engine: Engine,
    pub(super) base: Arc<Mutex<Base>>,
}

impl StoreState {
    pub fn base(&self) -> MutexGuard<'_, Base> {
        self.base.try_lock().expect("nobody else looks at the tables: a world has one thread")
    }

    /// See [`PrimaryStore::breaks`].
    pub fn breaks(&self, rule: Rule) -> bool {
        self.engine.broken == Some(rule)
    }
}

impl PrimaryStore {
    /// From now on there are replicas.
    pub fn begin_replication(&self, options: ReplicaOptions) {
        let mut base = self.base();
        let Base { tables, replication, .. } = &mut *base;
        replication.begin(options, tables);
    }

    /// A replica is built anew from the primary.
    pub fn build_replica(&self, replica: usize) {
        self.injector.note(|| format!("replica {replica} is built anew"));
        let mut base = self.base();
        let Base { tables, replication, .. } = &mut *base;
        replication.build(replica, tables);
    }

    /// As [`Self::read`], on a replica, if there is one that has caught up.
    pub async fn read_anywhere<T>(&self, statement: impl FnOnce(&Tables) -> T) -> Result<T, StoreError> {
        match self.replicas().read(statement).await {
            Ok(answer) => {
                self.injector.switch().await;
                Ok(answer)
            }
            Err(statement) => self.read(statement).await,
        }
    }
}
