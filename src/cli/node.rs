//! `tidefeed serve` and `tidefeed work`: a node, from its first log line to its end.

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Context, bail};
use clap::Args;
use tokio::net::TcpListener;

use super::completion::Completion;
use crate::{
    ambient::Ambient,
    app::App,
    config::{Config, ConfigError, Problem, ServerSettings, Warning},
    lifecycle::{Ending, Lifecycle},
    telemetry::{
        logs,
        metrics::{self, Measurements},
    },
};

#[derive(Debug, Default, Args)]
pub struct ServeArguments {
    /// Leave the workers to other nodes (`tidefeed work`).
    #[arg(long)]
    no_workers: bool,
    /// Listen on this address and port, whatever server.listen says.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Listen on this port, on the address of server.listen. 0: a free one, which the log names.
    #[arg(long, conflicts_with = "listen")]
    port: Option<u16>,
}

impl ServeArguments {
    /// Where to listen, if they say so, in place of what is configured.
    pub(super) fn replace(&self, configured: &mut SocketAddr) {
        *configured = self.listen.unwrap_or(*configured);
        configured.set_port(self.port.unwrap_or(configured.port()));
    }
}

/// Serves until a signal or a failure ends it. Binds the port before anything else starts. `beside` starts what runs
/// in this node besides.
pub async fn serve(
    arguments: &ServeArguments,
    config: &Config,
    beside: impl FnOnce(&Arc<App>, &Lifecycle),
) -> anyhow::Result<Completion> {
    if arguments.no_workers {
        shared(config, "serve --no-workers", "other processes do the work")?;
    }
    let (lifecycle, measurements) = begin(config)?;
    let (listener, address) = listen(config).await?;
    let config = &Config { server: ServerSettings { listen: address, ..config.server.clone() }, ..config.clone() };
    let app = Arc::new(open(config, &lifecycle).await?);
    app.look_for_a_former_issuer().await;
    if arguments.no_workers {
        app.spawn_no_workers(&lifecycle);
    } else {
        app.spawn_workers(&lifecycle);
    }
    beside(&app, &lifecycle);
    let life = lifecycle.clone();
    lifecycle.spawn("api", async move {
        if let Err(error) = app.serve(listener, &life, measurements).await {
            tracing::error!(error = &error as &dyn std::error::Error, "The API cannot be served.");
        }
    });
    tracing::info!(%address, workers = !arguments.no_workers, store = %config.store.url, "Serving the API.");
    end(config, &lifecycle).await
}

/// Runs the workers and the operators' endpoints until a signal or a failure ends them. Binds the port before anything
/// else starts.
pub async fn work(config: &Config) -> anyhow::Result<Completion> {
    shared(config, "work", "other processes serve")?;
    let (lifecycle, measurements) = begin(config)?;
    let (listener, address) = listen(config).await?;
    let app = Arc::new(open(config, &lifecycle).await?);
    app.spawn_workers(&lifecycle);
    let life = lifecycle.clone();
    lifecycle.spawn("operators' routes", async move {
        app.serve_operators(listener, &life, measurements).await;
    });
    tracing::info!(%address, store = %config.store.url, "Running the workers.");
    end(config, &lifecycle).await
}

/// Refuses to run half a node without Redis, because no other process could read its queue.
fn shared(config: &Config, command: &str, others: &str) -> Result<(), ConfigError> {
    if !config.redis.urls.is_empty() {
        return Ok(());
    }
    let expected = format!(
        "must be set for `tidefeed {command}`: {others}, and without Redis the queue is in this process alone. \
         Name a Redis, or run `tidefeed serve` as the only process"
    );
    let key = "redis.urls".to_owned();
    Err(ConfigError { problems: vec![Problem { key, given: None, from: String::new(), expected }] })
}

async fn listen(config: &Config) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let wanted = config.server.listen;
    let listener = TcpListener::bind(wanted).await;
    let listener = listener.with_context(|| {
        format!(
            "cannot listen on {wanted}: choose an address that no other process uses (server.listen, or `serve --port`)"
        )
    })?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn begin(config: &Config) -> anyhow::Result<(Lifecycle, Option<Measurements>)> {
    logs::start(&config.log)?;
    for Warning { subject, seen, remedy } in config.warnings() {
        tracing::warn!(subject, seen, remedy, "A setting is more open than it should be.");
    }
    let measurements = config.metrics.enabled.then(metrics::start).transpose()?;
    let lifecycle = Lifecycle::new();
    lifecycle.watch_signals(config.server.unready_ms.duration()).context("signals cannot be watched")?;
    Ok((lifecycle, measurements))
}

async fn open(config: &Config, lifecycle: &Lifecycle) -> anyhow::Result<App> {
    Ok(App::open(config, Ambient::of_system(), lifecycle).await?)
}

async fn end(config: &Config, lifecycle: &Lifecycle) -> anyhow::Result<Completion> {
    match lifecycle.ended(config.server.drain_ms.duration()).await {
        Ending::Drained => tracing::info!("Stopped."),
        Ending::Stopped => tracing::warn!(
            "Stopped before all work had ended. Another node continues it, or this node after its next start."
        ),
        Ending::Failed(task) => bail!("the task `{task}` has died; the log says why"),
    }
    Ok(Completion::Done)
}
