//! `tidefeed import load`: loads files one after the other, and tells people how it goes.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ::import::{read::AHEAD_MS, report::Report};
use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use clap::{Args, value_parser};
use tokio::{task::spawn_blocking, time::timeout};

use super::{
    listing,
    progress::ShownProgress,
    source, target,
    work::{GRACE, Stop, Work},
};
use crate::{
    ambient::Ambient,
    app::{adoption, former_issuer, open_loader, orphans},
    cli::{completion::Completion, print},
    config::Config,
    import::{FileEnd, FileLoader, Listener, LoadError, LoadedLine, MAX_BATCH_LINES, NotLoaded, Source, report_lines},
    lifecycle::Lifecycle,
    store::imports::{Import, ImportState},
};

#[derive(Debug, Args)]
pub struct LoadArguments {
    /// The files, perhaps gzip, in this order; - is standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Lines of a transaction, at most.
    #[arg(long, value_name = "LINES", default_value_t = MAX_BATCH_LINES as u64,
        value_parser = value_parser!(u64).range(1..=MAX_BATCH_LINES as u64))]
    batch: u64,
    /// The file to which the report is added, instead of standard output.
    #[arg(long, value_name = "PATH")]
    report: Option<PathBuf>,
    /// Do not slow down while reads of the store take longer beside batches than between them, and take as much of the
    /// processors as other processes.
    #[arg(long)]
    pub(super) full_speed: bool,
}

pub async fn run(arguments: &LoadArguments, config: &Config) -> anyhow::Result<Completion> {
    let lifecycle = Lifecycle::new();
    lifecycle.watch_signals(Duration::ZERO).context("signals cannot be watched")?;
    let stopping = lifecycle.stopping();
    let ended = stopping.run_until_cancelled(Box::pin(load(arguments, config, &lifecycle))).await;
    lifecycle.stop();
    // The second signal: a batch is committed or not, as after a crash.
    ended.unwrap_or(Ok(Completion::Interrupted))
}

async fn load(arguments: &LoadArguments, config: &Config, lifecycle: &Lifecycle) -> anyhow::Result<Completion> {
    let ambient = Ambient::of_system();
    let latest = ambient.now_ms().saturating_add(AHEAD_MS);
    let mut sources = Vec::new();
    for path in &arguments.files {
        match measured(path, latest, lifecycle).await? {
            Some(source) => sources.push(source),
            None => return Ok(Completion::Interrupted),
        }
    }
    let loader = open_loader(config, lifecycle, &ambient).await?;
    if let Some(former) = former_issuer(config).await? {
        print::complaint(format!("warning: {}; {}.", orphans(config, &former), adoption(&former)));
    }
    let mut loader = FileLoader {
        loader: if arguments.full_speed { loader } else { loader.beside_readers() },
        latest,
        batch: usize::try_from(arguments.batch).unwrap_or(MAX_BATCH_LINES),
        stop: lifecycle.draining(),
    };
    let report = Report::new(report(arguments.report.as_deref())?);
    let mut teller = Teller { report, progress: None, is_one_of_many: sources.len() > 1 };
    let mut refused = 0;
    for source in sources {
        match teller.file(&mut loader, &Arc::new(source)).await? {
            Some(import) => refused += import.counts.refused,
            None => return Ok(Completion::Interrupted),
        }
    }
    teller.report.end().context("the report cannot be written")?;
    Ok(if refused > 0 { Completion::SomeRefused } else { Completion::Done })
}

/// `None`: interrupted.
async fn measured(path: &Path, latest: i64, lifecycle: &Lifecycle) -> anyhow::Result<Option<Source>> {
    let stop = Stop::default();
    let (path, mut work) = (path.to_owned(), Work::new(Arc::clone(&stop), latest));
    let mut measuring = spawn_blocking(move || source::measured(&path, &mut work));
    tokio::select! {
        measured = &mut measuring => measured.context("the command has panicked")?,
        () = lifecycle.draining().cancelled_owned() => {
            stop.store(true, Ordering::SeqCst);
            let _ = timeout(GRACE, measuring).await;
            Ok(None)
        }
    }
}

/// A report is added to the former one: what was refused before a file was left is not said again.
fn report(path: Option<&Path>) -> anyhow::Result<Box<dyn Write + Send>> {
    let Some(path) = path else { return target::report(None, false) };
    let file = OpenOptions::new().create(true).append(true).open(path);
    Ok(Box::new(file.with_context(|| format!("`{}` cannot be written", path.display()))?))
}

/// Tells people how files are loaded, and writes the report.
struct Teller {
    report: Report<Box<dyn Write + Send>>,
    progress: Option<ShownProgress>,
    is_one_of_many: bool,
}

impl Teller {
    /// Loads a file. `None`: interrupted.
    async fn file(&mut self, loader: &mut FileLoader, source: &Arc<Source>) -> anyhow::Result<Option<Import>> {
        let name = &source.name;
        let lines = source.file.lines;
        match loader.load(source, self).await.map_err(|ended| explained(source, ended))? {
            FileEnd::Whole(import) => {
                self.report.summary.lines += lines;
                let counts = listing::counts(&import.counts);
                let nothing = import.counts.created + import.counts.updated == 0;
                let nothing = if nothing { " Nothing has changed." } else { "" };
                print::complaint(format!("Loaded {name}, {lines} lines: {counts}.{nothing}"));
                Ok(Some(import))
            }
            FileEnd::Interrupted(import) => {
                let line = import.through_line;
                print::complaint(format!(
                    "Interrupted: {name} is loaded up to line {line} of {lines}. The same command goes on from there."
                ));
                Ok(None)
            }
        }
    }
}

#[async_trait]
impl Listener for Teller {
    fn begins(&mut self, source: &Source, before: Option<&Import>) {
        let (name, lines, id) = (&source.name, source.file.lines, listing::id(&source.file.digest));
        print::complaint(match before {
            Some(it) if it.state == ImportState::Finished => {
                format!("{name} was loaded before ({id}). It is compared with what is there, line by line.")
            }
            Some(it) if it.through_line > 0 => {
                format!("{name} goes on after line {} of {lines} ({id}).", it.through_line)
            }
            _ => format!("Loading {name}, {lines} lines ({id})."),
        });
    }

    fn waits(&mut self, at_most: Duration) {
        let most = at_most.as_secs();
        print::complaint(format!("Another process loads this file, or has died at it: waiting up to {most} s."));
    }

    fn reads_on(&mut self, source: &Source, after_line: u64) {
        self.progress = Some(ShownProgress::begin(after_line, source.file.lines));
    }

    async fn committed(&mut self, source: &Source, through_line: u64, lines: Vec<LoadedLine>) -> io::Result<()> {
        let file = self.is_one_of_many.then_some(source.name.as_str());
        report_lines(&mut self.report, file, lines)?;
        if let Some(progress) = &mut self.progress {
            progress.show(&source.name, through_line);
        }
        Ok(())
    }
}

/// What to do, beside what has happened.
fn explained(source: &Source, NotLoaded { line, why }: NotLoaded) -> anyhow::Error {
    let (name, lines) = (&source.name, source.file.lines);
    let why = match why {
        LoadError::Elsewhere(line) => {
            let id = listing::id(&source.file.digest);
            let at = format!("another process loads {name}, and has come to line {line} of {lines}");
            anyhow!("{at}; `tidefeed import cancel {id}` stops it")
        }
        why => why.into(),
    };
    why.context(match line {
        Some(line) => {
            format!("{name} is loaded up to line {line} of {lines}, and the same command goes on from there")
        }
        None => name.clone(),
    })
}
