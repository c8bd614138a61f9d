//! Builds the paths for services that send lines: `/bulk` and `/import`.

use std::sync::Arc;

use axum::Router;
use graphql_transport::http::Charges;
use tokio_util::task::TaskTracker;

use crate::{
    accounts::services::CallLog,
    ambient::Ambient,
    api::{
        bulk::{self, BulkRuntime},
        imports::{self, ImportRuntime},
        service_lines::Entrance,
    },
    import::Loader,
};

/// What the paths are made of.
pub struct ServicePaths {
    /// Whom they let in.
    pub entrance: Entrance,
    /// Keeps what services did.
    pub log: Arc<CallLog>,
    /// Counts what is under way.
    pub tasks: TaskTracker,
    /// The clock.
    pub ambient: Ambient,
    /// Makes what loads a file.
    pub open_loader: Arc<dyn Fn() -> Loader + Send + Sync>,
    /// As in the settings of the API.
    pub max_bulks: usize,
    /// As in the settings of the API.
    pub max_import_bytes: u64,
}

impl ServicePaths {
    /// The routes. `api`: the API's own, to which each line of a bulk is a request.
    pub fn router(self, api: Router, charges: Charges) -> Router {
        let Self { entrance, log, tasks, ambient, open_loader: open, max_bulks, max_import_bytes } = self;
        let clock = ambient.clock.clone();
        let imports = ImportRuntime {
            open,
            entrance: entrance.clone(),
            log,
            tasks: tasks.clone(),
            ambient,
            most_bytes: max_import_bytes,
        };
        let bulks = BulkRuntime { api, entrance, charges, tasks, clock, at_once: max_bulks };
        bulk::router(bulks).merge(imports::router(imports))
    }
}
