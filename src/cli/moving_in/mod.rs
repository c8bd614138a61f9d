//! `tidefeed import`: checks, sorts, makes and loads the files with which a product moves in. Only loading needs
//! servers; checking takes JSON Schemas from the configuration.
//!
//! The report goes to standard output, a line of JSON for each record that is not plain; progress and the result go to
//! standard error.

mod conversion;
pub mod exporting;
mod listing;
mod loading;
mod progress;
mod source;
mod target;
mod work;

use std::{
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ::import::read::AHEAD_MS;
use anyhow::Context as _;
use clap::{Args, Subcommand};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

use self::{
    conversion::ConvertArguments,
    loading::LoadArguments,
    work::{GRACE, Stop, Work},
};
use super::completion::Completion;
use crate::{
    app::{AppError, content_schemas},
    clock::{Clock as _, SystemClock},
    config::{Config, Sources},
    lifecycle::Lifecycle,
};

/// What is added to the process's nice value: a tenth of the share of a busy node's thread. With 7, pages took 2.1
/// times as long (p99, `make bench ROW=import`); with much more, a writer that holds SQLite's lock would keep a node
/// waiting.
#[cfg(unix)]
const NICENESS: i32 = 10;

#[derive(Debug, Args)]
pub struct ImportArguments {
    #[command(subcommand)]
    action: Action,
}

impl ImportArguments {
    /// Takes a smaller share of busy processors, unless it loads at full speed. Threads that run already keep theirs.
    pub fn give_way(&self) {
        if matches!(&self.action, Action::Load(load) if !load.full_speed) {
            // Without it, pages of a node on this machine are slower, and nothing else.
            #[cfg(unix)]
            let _ = rustix::process::nice(NICENESS);
        }
    }
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check a file: every line by itself, what it refers to, and attributes by the JSON Schemas in content.schemas.
    Check {
        /// The file, perhaps gzip; - is standard input.
        file: PathBuf,
        /// The file is a part of what the service has: it may refer to users and contents that it does not define.
        #[arg(long)]
        part: bool,
        /// Where the report goes instead of standard output.
        #[arg(long, value_name = "PATH")]
        report: Option<PathBuf>,
    },
    /// Write a file again so that each line stands after what it refers to. Large ones need room beside the new one.
    Sort {
        /// The file, perhaps gzip; - is standard input.
        file: PathBuf,
        /// The new file, which must not exist; - is standard output, and the report then goes to standard error.
        #[arg(long, value_name = "PATH")]
        to: PathBuf,
        /// Where the report goes instead.
        #[arg(long, value_name = "PATH")]
        report: Option<PathBuf>,
    },
    /// Make a sorted file of an archive of Mastodon, or of tables (CSV).
    Convert(ConvertArguments),
    /// Load files into the service, while it runs or not. Loading a file again goes on where it was left, or changes
    /// nothing.
    Load(LoadArguments),
    /// List the imports: how far each file has come, and what became of its lines.
    List,
    /// Stop an import that runs, between two batches. What is loaded stays.
    Cancel {
        /// The first digits of the file's SHA-256, as `tidefeed import list` shows them.
        id: String,
    },
}

/// Exit codes: 0, or 3 if a record was refused, or 1 if it could not go on.
pub async fn run(arguments: ImportArguments, sources: &Sources) -> anyhow::Result<Completion> {
    match arguments.action {
        Action::Load(arguments) => loading::run(&arguments, &Config::load(sources)?).await,
        Action::List => listing::list(&Config::load(sources)?).await,
        Action::Cancel { id } => listing::cancel(&id, &Config::load(sources)?).await,
        Action::Check { file, part, report } => {
            let schemas = content_schemas(&Config::load(sources)?).map_err(AppError::from)?;
            offline(move |work| work::check(&file, part, report.as_deref(), &schemas, work)).await
        }
        Action::Sort { file, to, report } => offline(move |work| work::sort(&file, &to, report.as_deref(), work)).await,
        Action::Convert(arguments) => offline(move |work| conversion::run(&arguments, work)).await,
    }
}

/// Runs what needs no server.
async fn offline(act: impl FnOnce(Work) -> anyhow::Result<Completion> + Send + 'static) -> anyhow::Result<Completion> {
    let lifecycle = Lifecycle::new();
    lifecycle.watch_signals(Duration::ZERO).context("signals cannot be watched")?;
    let stop = Stop::default();
    let work = Work::new(Arc::clone(&stop), SystemClock.now_ms().saturating_add(AHEAD_MS));
    ended(&lifecycle, &stop, spawn_blocking(move || act(work))).await
}

/// Waits for what a thread does, or until the command is interrupted.
async fn ended(
    lifecycle: &Lifecycle,
    stop: &Stop,
    mut work: JoinHandle<anyhow::Result<Completion>>,
) -> anyhow::Result<Completion> {
    let draining = lifecycle.draining();
    tokio::select! {
        ended = &mut work => {
            lifecycle.stop();
            ended.context("the command has panicked")?
        }
        () = draining.cancelled() => {
            stop.store(true, Ordering::SeqCst);
            // Either way, nothing half is left.
            let _ = timeout(GRACE, work).await;
            Ok(Completion::Interrupted)
        }
    }
}
