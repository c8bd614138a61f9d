//! The composition root: the only module that chooses adapters and starts tasks.

mod adapters;
mod api;
mod audit;
mod bearer;
#[cfg(feature = "demo")]
mod bulk_inserts;
#[cfg(feature = "cassandra")]
mod cassandra;
mod certificates;
mod error;
mod exporting;
mod inspection;
mod issuers;
mod jwks;
mod loader;
mod loading;
mod open_files;
mod schemas;
mod server;
mod service_paths;
mod settings;
mod store_watch;
mod workers;

use std::{sync::Arc, time::Duration};

use graphql_transport::http::{Routes, surrounded};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

#[cfg(feature = "demo")]
pub use self::bulk_inserts::open_for_bulk_inserts;
#[cfg(feature = "cassandra")]
pub use self::cassandra::inspect_cassandra;
use self::server::Operators;
pub use self::{
    adapters::{Adapters, migration_names, open_for_deliveries, open_store, redis_options},
    api::{ApiRuntime, ApiSettings, ExternalIssuer, router as api_router},
    audit::{auditor, open_auditor, options as audit_options},
    certificates::inspect_certificates,
    error::AppError,
    exporting::open_exporter,
    inspection::{inspect_redis, waiting_visits},
    issuers::{adoption, former_issuer, open_external_users, orphans},
    jwks::HttpKeys,
    loader::loader,
    loading::open_loader,
    schemas::content_schemas,
};
use crate::{
    ambient::Ambient,
    config::{Config, signing_secret},
    lifecycle::Lifecycle,
    telemetry::metrics::Measurements,
};
pub use crate::{api::graphql::UseCases, store::Ports, use_cases::Settings};

/// How often histograms are folded, whether they are scraped or not.
const FOLD_EVERY: Duration = Duration::from_secs(5);

/// A node with open adapters and built use cases; nothing runs yet.
pub struct App {
    /// The adapters.
    pub adapters: Arc<Adapters>,
    /// The use cases.
    pub use_cases: Arc<UseCases>,
    api: ApiSettings,
    config: Config,
    ambient: Ambient,
}

impl App {
    /// Opens the stores, migrates the tables if configured, and builds the use cases.
    pub async fn open(config: &Config, ambient: Ambient, lifecycle: &Lifecycle) -> Result<Self, AppError> {
        let schemas = content_schemas(config)?;
        let adapters = adapters::open(config, lifecycle, &ambient).await?;
        if config.store.migrate_at_start {
            adapters.store.migrate().await.map_err(AppError::Store)?;
        }
        adapters.expect_current_tables().await?;
        let secret = signing_secret(config, |bytes| ambient.rng.fill(bytes))?;
        let use_cases = UseCases::build(&adapters.ports, settings::use_cases(config), &ambient);
        Ok(Self {
            adapters: Arc::new(adapters),
            use_cases: Arc::new(use_cases),
            api: settings::api(config, secret.expose().as_bytes(), schemas)?,
            config: config.clone(),
            ambient,
        })
    }

    /// Logs a warning if the users here have ids of another issuer than the configured one.
    pub async fn look_for_a_former_issuer(&self) {
        match self.adapters.ports.accounts.former_issuer(issuers::issuer_of(&self.config)).await {
            Ok(None) => {}
            Ok(Some(former)) => {
                let (seen, remedy) = (orphans(&self.config, &former), adoption(&former));
                tracing::warn!(seen, remedy, "The users have ids of another issuer.");
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "Whether the users have ids of another issuer could not be read.");
            }
        }
    }

    /// Starts the workers of this node.
    pub fn spawn_workers(&self, lifecycle: &Lifecycle) {
        workers::spawn(&self.use_cases, &self.config, lifecycle, &self.ambient.rng);
        let tier = &self.adapters.ports.tier;
        if tier.outside().is_some() {
            workers::keep_outside(lifecycle, tier.clone());
        }
        workers::refresh_statistics(lifecycle, Arc::new(self.adapters.store.clone()));
        let every = self.config.audit.every_ms;
        if every.as_i64() > 0 {
            let (ports, store) = (&self.adapters.ports, Arc::new(self.adapters.store.clone()));
            let auditor = auditor(ports, store, self.use_cases.reader.clone(), audit_options(&self.config));
            workers::audit(lifecycle, auditor, every, self.ambient.rng.clone());
        }
    }

    /// Spawns what a process without workers needs. It is called in place of [`Self::spawn_workers`].
    pub fn spawn_no_workers(&self, lifecycle: &Lifecycle) {
        let tier = &self.adapters.ports.tier;
        if tier.outside().is_some() {
            workers::connect_outside(lifecycle, tier.clone());
        }
    }

    /// Serves the API on `listener` until the process drains. Live subscriptions receive announcements from now on.
    pub async fn serve(
        &self,
        listener: TcpListener,
        lifecycle: &Lifecycle,
        measurements: Option<Measurements>,
    ) -> Result<(), AppError> {
        let (hub, announcements) = (self.use_cases.hub.clone(), self.adapters.ports.announcements.listen());
        let draining = lifecycle.draining();
        lifecycle.spawn("live hub", async move {
            draining.run_until_cancelled(hub.run(announcements)).await;
        });
        let tasks = TaskTracker::new();
        let runtime = ApiRuntime { ambient: self.ambient.clone(), stop: lifecycle.draining(), tasks: tasks.clone() };
        let api = api::endpoints(self.use_cases.clone(), &self.adapters.ports, &self.api, runtime)?;
        let graphiql = self.config.graphql.graphiql;
        let routes = server::all_routes(api, self.operators(lifecycle, measurements), graphiql);
        self.listen(listener, routes, lifecycle).await;
        tasks.close();
        tasks.wait().await;
        Ok(())
    }

    /// Serves only `/healthz`, `/readyz` and `/metrics` on `listener` until the process drains.
    pub async fn serve_operators(
        &self,
        listener: TcpListener,
        lifecycle: &Lifecycle,
        measurements: Option<Measurements>,
    ) {
        let routes = server::operators_only(self.operators(lifecycle, measurements));
        self.listen(listener, routes, lifecycle).await;
    }

    async fn listen(&self, listener: TcpListener, routes: Routes, lifecycle: &Lifecycle) {
        let wrapped = |router| surrounded(router, api::entropy(self.ambient.rng.clone()));
        let routes = Routes { all: wrapped(routes.all), full: wrapped(routes.full) };
        let limits = settings::connections(&self.config, open_files::at_most());
        server::serve(listener, routes, limits, lifecycle).await;
    }

    /// Starts folding histograms and watching the store.
    fn operators(&self, lifecycle: &Lifecycle, measurements: Option<Measurements>) -> Operators {
        if let Some(measurements) = measurements.clone() {
            fold(measurements, lifecycle);
        }
        store_watch::watch(self.adapters.store.clone(), lifecycle);
        Operators { adapters: self.adapters.clone(), lifecycle: lifecycle.clone(), measurements }
    }
}

fn fold(measurements: Measurements, lifecycle: &Lifecycle) {
    let draining = lifecycle.draining();
    lifecycle.spawn("measurements", async move {
        while draining.run_until_cancelled(tokio::time::sleep(FOLD_EVERY)).await.is_some() {
            measurements.fold();
        }
    });
}
