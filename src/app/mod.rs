//! The composition root: the only place that chooses adapters and starts what runs.

mod adapters;
mod api;
mod audit;
mod bearer;
mod house;
mod inspection;
mod jwks;
mod open_files;
mod server;
mod settings;
mod store_watch;
mod workers;

use std::{sync::Arc, time::Duration};

use graphql_transport::{
    gate::UnreadableSchema,
    http::{ManifestError, Routes, surrounded},
};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use self::server::Operators;
pub use self::{
    adapters::{Adapters, open_store, redis_options},
    api::{ApiRuntime, ApiSettings, OutsideSettings, router as api_router},
    audit::{auditor, open_auditor, options as audit_options},
    house::{House, Ports, Settings},
    inspection::inspect_redis,
    jwks::HttpKeys,
};
use crate::{
    accounts::{PasswordError, WeakSecret},
    clock::SharedClock,
    config::{Config, SecretError, signing_secret},
    draw::Draw,
    lifecycle::Lifecycle,
    store::{StoreError, redis::ConnectError},
    telemetry::metrics::Measurements,
};

/// How often measurements are folded together, scraped or not.
const FOLD_EVERY: Duration = Duration::from_secs(5);

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// SQL cannot be used as configured.
    #[error("the store (store.url) cannot be used; `tidefeed doctor` tells more")]
    Store(#[source] StoreError),
    /// Tables are missing or old, and `store.migrate_at_start` is off.
    #[error("the tables are not up to date ({0} migrations pending): run `tidefeed migrate`")]
    NotMigrated(usize),
    /// Redis cannot be reached as configured.
    #[error("redis (redis.urls) cannot be used; `tidefeed doctor` tells more")]
    Redis(#[source] ConnectError),
    /// Announcements cannot be listened to.
    #[error("announcements cannot be listened to; is Redis 7 or later?")]
    Announcements(#[source] StoreError),
    /// There is nothing to sign tokens with.
    #[error("auth.secret cannot be used")]
    SigningSecret(#[from] SecretError),
    /// The secret is too short.
    #[error("auth.secret is too short")]
    Secret(#[source] WeakSecret),
    /// argon2 refuses its parameters.
    #[error("the auth.argon2 parameters cannot be used")]
    Passwords(#[source] PasswordError),
    /// The schema cannot be read back.
    #[error("the schema cannot be used")]
    Schema(#[source] UnreadableSchema),
    /// The manifest of trusted documents is not what it has to be.
    #[error("the manifest (persisted.manifest) cannot be used")]
    Manifest(#[source] ManifestError),
    /// The issuer's keys cannot even be asked for.
    #[error("the issuer (issuer.jwks_url) cannot be used")]
    Issuer(#[source] reqwest::Error),
}

/// A node: every adapter open, every use case built, nothing running yet.
pub struct App {
    /// What it stands on.
    pub adapters: Arc<Adapters>,
    /// What it can do.
    pub house: Arc<House>,
    api: ApiSettings,
    config: Config,
    clock: SharedClock,
    draw: Draw,
}

impl App {
    /// Opens the stores, brings tables up to date if configured so, and puts the house together.
    pub async fn open(
        config: &Config,
        clock: SharedClock,
        draw: Draw,
        lifecycle: &Lifecycle,
    ) -> Result<Self, AppError> {
        let adapters = adapters::open(config, lifecycle, &draw).await?;
        if config.store.migrate_at_start {
            adapters.store.migrate().await.map_err(AppError::Store)?;
        }
        adapters.expect_current_tables().await?;
        let secret = signing_secret(config, |bytes| draw.fill(bytes))?;
        let house = House::build(&adapters.ports, settings::house(config), &clock, &draw);
        Ok(Self {
            adapters: Arc::new(adapters),
            house: Arc::new(house),
            api: settings::api(config, secret.expose().as_bytes())?,
            config: config.clone(),
            clock,
            draw,
        })
    }

    /// Starts the workers of this node.
    pub fn spawn_workers(&self, lifecycle: &Lifecycle) {
        workers::spawn(&self.house, &self.config, lifecycle, &self.draw);
        let every = self.config.audit.every_ms;
        if every.as_i64() > 0 {
            let (ports, store) = (&self.adapters.ports, Arc::new(self.adapters.store.clone()));
            let auditor = auditor(ports, store, self.house.reader.clone(), audit_options(&self.config));
            workers::audit(lifecycle, auditor, every, self.draw.clone());
        }
    }

    /// Serves the API on `listener` until the process leaves; live subscriptions hear announcements from now on.
    pub async fn serve(
        &self,
        listener: TcpListener,
        lifecycle: &Lifecycle,
        measurements: Option<Measurements>,
    ) -> Result<(), AppError> {
        let (hub, announcements) = (self.house.hub.clone(), self.adapters.ports.announcements.listen());
        let draining = lifecycle.draining();
        lifecycle.spawn("live hub", async move {
            draining.run_until_cancelled(hub.run(announcements)).await;
        });
        let tasks = TaskTracker::new();
        let runtime = ApiRuntime {
            clock: self.clock.clone(),
            draw: self.draw.clone(),
            stop: lifecycle.draining(),
            tasks: tasks.clone(),
        };
        let api = api::router(&self.house, &self.adapters.ports, &self.api, runtime)?;
        let graphiql = self.config.graphql.graphiql;
        let routes = server::whole(api, self.operators(lifecycle, measurements), graphiql);
        self.listen(listener, routes, lifecycle).await;
        tasks.close();
        tasks.wait().await;
        Ok(())
    }

    /// Answers `/healthz`, `/readyz` and `/metrics` on `listener` until the process leaves, and nothing else.
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
        let around = |router| surrounded(router, api::entropy(self.draw.clone()));
        let routes = Routes { all: around(routes.all), full: around(routes.full) };
        let limits = settings::connections(&self.config, open_files::at_most());
        server::serve(listener, routes, limits, lifecycle).await;
    }

    /// From now on measurements are folded, too, and the store is watched.
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
