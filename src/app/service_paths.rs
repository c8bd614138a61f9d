//! Builds the path for services that send lines: `/bulk`.

use axum::Router;
use graphql_transport::http::Charges;
use tokio_util::task::TaskTracker;

use crate::{
    ambient::Ambient,
    api::{
        bulk::{self, BulkRuntime},
        service_lines::Entrance,
    },
};

/// What the path is made of.
pub struct ServicePaths {
    /// Whom it lets in.
    pub entrance: Entrance,
    /// Counts what is under way.
    pub tasks: TaskTracker,
    /// The clock.
    pub ambient: Ambient,
    /// As in the settings of the API.
    pub max_bulks: usize,
}

impl ServicePaths {
    /// The routes. `api`: the API's own, to which each line of a bulk is a request.
    pub fn router(self, api: Router, charges: Charges) -> Router {
        let Self { entrance, tasks, ambient, max_bulks } = self;
        bulk::router(BulkRuntime { api, entrance, charges, tasks, clock: ambient.clock, at_once: max_bulks })
    }
}
