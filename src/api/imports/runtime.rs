//! What imports need.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::{
    accounts::services::CallLog,
    ambient::Ambient,
    api::service_lines::{Asker, Entrance},
    import::Loader,
    store::service_log::LoggedCall,
};

/// What imports need.
#[derive(Clone)]
pub struct ImportRuntime {
    /// Makes what loads a file.
    pub open: Arc<dyn Fn() -> Loader + Send + Sync>,
    /// Whom it lets in.
    pub entrance: Entrance,
    /// Knows what services have done.
    pub log: Arc<CallLog>,
    /// Counts the imports under way.
    pub tasks: TaskTracker,
    /// The clock.
    pub ambient: Ambient,
    /// Bytes of a body at most; 0: there is no endpoint.
    pub most_bytes: u64,
}

impl ImportRuntime {
    /// A line of the services' log.
    pub(super) fn line(&self, asker: &Asker, operation: &str, outcome: &str) -> LoggedCall {
        LoggedCall {
            at_ms: self.ambient.now_ms(),
            service: asker.key.service.clone(),
            user: asker.user.map(|user| user.id),
            operation: operation.to_owned(),
            outcome: outcome.to_owned(),
        }
    }
}
