//! `tidefeed import load`: loads files batch by batch, and goes on where they were left.
//!
//! A file's SHA-256 is the name of its import, and the store keeps how far it has come, in the transaction of each
//! batch. So whatever ends this process, and whenever, the next one reads on behind the last batch.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ::import::{
    read::{AHEAD_MS, Records},
    report::{Outcome, Report},
};
use anyhow::{Context as _, bail};
use clap::{Args, value_parser};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::{Instant, sleep, timeout},
};

use super::{
    listing,
    progress::Progress,
    source::Source,
    target,
    work::{GRACE, Stop, Work},
};
use crate::{
    ambient::Ambient,
    app::open_loader,
    cli::{completion::Completion, print},
    config::Config,
    import::{FileLine, LEASE_MS, Loaded, LoadedLine, Loader, MAX_BATCH_LINES, cut, read_some},
    lifecycle::Lifecycle,
    store::imports::{BegunImport, Import, ImportState},
};

/// How often somebody else's lease is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often a file is begun again because the store has lost batches, or somebody else has had it meanwhile.
const BEGINNINGS: usize = 20;

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
    let mut loading = Loading {
        loader,
        report: Report::new(report(arguments.report.as_deref())?),
        lifecycle,
        latest,
        batch: usize::try_from(arguments.batch).unwrap_or(MAX_BATCH_LINES),
        is_one_of_many: sources.len() > 1,
    };
    let mut refused = 0;
    for source in sources {
        match loading.file(&Arc::new(source)).await? {
            Some(import) => refused += import.counts.refused,
            None => return Ok(Completion::Interrupted),
        }
    }
    loading.report.end().context("the report cannot be written")?;
    Ok(if refused > 0 { Completion::SomeRefused } else { Completion::Done })
}

/// `None`: interrupted.
async fn measured(path: &Path, latest: i64, lifecycle: &Lifecycle) -> anyhow::Result<Option<Source>> {
    let stop = Stop::default();
    let (path, mut work) = (path.to_owned(), Work::new(Arc::clone(&stop), latest));
    let mut measuring = spawn_blocking(move || Source::measure(&path, &mut work));
    tokio::select! {
        measured = &mut measuring => measured.context("the command has panicked")?.map(Some),
        () = lifecycle.draining().cancelled_owned() => {
            stop.store(true, Ordering::SeqCst);
            let _ = timeout(GRACE, measuring).await;
            Ok(None)
        }
    }
}

/// A report is added to the former one: what was refused before a file was left is not said again.
fn report(path: Option<&Path>) -> anyhow::Result<Box<dyn Write>> {
    let Some(path) = path else { return target::report(None, false) };
    let file = OpenOptions::new().create(true).append(true).open(path);
    Ok(Box::new(file.with_context(|| format!("`{}` cannot be written", path.display()))?))
}

/// How reading a file ends.
enum End {
    /// Every line of it is loaded.
    Whole,
    /// Somebody wants this process to end.
    Interrupted,
    /// It has to be begun again, and goes on where the store has it.
    Again,
}

struct Loading<'a> {
    loader: Loader,
    report: Report<Box<dyn Write>>,
    lifecycle: &'a Lifecycle,
    latest: i64,
    batch: usize,
    is_one_of_many: bool,
}

impl Loading<'_> {
    /// Loads a file. `None`: interrupted.
    async fn file(&mut self, source: &Arc<Source>) -> anyhow::Result<Option<Import>> {
        let (name, digest) = (&source.name, &source.file.digest);
        let before = self.loader.import(digest).await.context("the imports cannot be read")?;
        let loaded = self.whole(source, before.as_ref()).await;
        let is_whole = matches!(loaded, Ok(true));
        // If this fails, the lease ends by itself.
        let ended = timeout(GRACE, self.loader.end(digest, is_whole)).await;
        let is_whole = loaded?;
        if is_whole {
            let ended = ended.context("the store does not answer");
            ended
                .and_then(|ended| Ok(ended?))
                .with_context(|| format!("{name} is loaded, but not marked as finished"))?;
        }
        let import = self.loader.import(digest).await.context("the imports cannot be read")?;
        let import = import.with_context(|| format!("the store has lost the import of {name}: load it again"))?;
        if is_whole {
            self.report.summary.lines += source.file.lines;
            let counts = listing::counts(&import.counts);
            let nothing = import.counts.created + import.counts.updated == 0;
            let nothing = if nothing { " Nothing has changed." } else { "" };
            print::complaint(format!("Loaded {name}, {} lines: {counts}.{nothing}", source.file.lines));
            return Ok(Some(import));
        }
        print::complaint(format!(
            "Interrupted: {name} is loaded up to line {} of {}. The same command goes on from there.",
            import.through_line, source.file.lines
        ));
        Ok(None)
    }

    /// Whether the whole file is loaded; otherwise somebody has interrupted it.
    async fn whole(&mut self, source: &Arc<Source>, before: Option<&Import>) -> anyhow::Result<bool> {
        let id = listing::id(&source.file.digest);
        match before {
            Some(it) if it.state == ImportState::Finished => print::complaint(format!(
                "{} was loaded before ({id}). It is compared with what is there, line by line.",
                source.name
            )),
            Some(it) if it.through_line > 0 => print::complaint(format!(
                "{} goes on after line {} of {} ({id}).",
                source.name, it.through_line, source.file.lines
            )),
            _ => print::complaint(format!("Loading {}, {} lines ({id}).", source.name, source.file.lines)),
        }
        for _ in 0..BEGINNINGS {
            let Some(import) = self.begun(source).await? else { return Ok(false) };
            let mut at = import.through_line;
            let end = self.lines(source, &mut at).await;
            match end.with_context(|| stopped_at(source, at))? {
                End::Whole => return Ok(true),
                End::Interrupted => return Ok(false),
                End::Again => {}
            }
        }
        bail!("{} was begun {BEGINNINGS} times, and others go on with it each time", source.name)
    }

    /// Waits for the lease of a process that has died. `None`: interrupted.
    async fn begun(&self, source: &Source) -> anyhow::Result<Option<Import>> {
        let (file, begin, mut first) = (&source.file, Instant::now(), None);
        let lease = Duration::from_millis(LEASE_MS.unsigned_abs());
        loop {
            let other = match self.loader.begin(file).await.context("the import cannot be begun")? {
                BegunImport::Mine(import) => return Ok(Some(import)),
                BegunImport::Running(other) => other,
            };
            let first = first.get_or_insert_with(|| {
                let most = lease.as_secs();
                print::complaint(format!(
                    "Another process loads this file, or has died at it: waiting up to {most} s."
                ));
                other.clone()
            });
            if *first != other || begin.elapsed() > 2 * lease {
                bail!(
                    "another process loads {}, and has come to line {} of {}; `tidefeed import cancel {}` stops it",
                    source.name,
                    other.through_line,
                    file.lines,
                    listing::id(&file.digest)
                );
            }
            let draining = self.lifecycle.draining();
            if draining.run_until_cancelled(sleep(LOOK_EVERY)).await.is_none() {
                return Ok(None);
            }
        }
    }

    /// Loads the lines behind `at`, and moves it.
    async fn lines(&mut self, source: &Arc<Source>, at: &mut u64) -> anyhow::Result<End> {
        let mut progress = Progress::begin(*at, source.file.lines);
        let (latest, after, from) = (self.latest, *at, Arc::clone(source));
        let records = spawn_blocking(move || from.records_after(after, latest)).await??;
        let mut next = read(records, self.batch);
        loop {
            let (records, lines) = next.await??;
            if lines.is_empty() {
                let digest = spawn_blocking(move || records.finish()).await??;
                if digest.sha256 != source.file.digest {
                    bail!(::import::input::InputError::Changed);
                }
                return Ok(End::Whole);
            }
            next = read(records, self.batch);
            for part in cut(lines) {
                if self.lifecycle.draining().is_cancelled() {
                    return Ok(End::Interrupted);
                }
                match self.loader.load(&source.file.digest, *at, &part).await? {
                    Loaded::Committed { through_line, lines } => {
                        *at = through_line;
                        self.report_lines(source, lines).context("the report cannot be written")?;
                        progress.show(&source.name, through_line);
                    }
                    Loaded::NotMine(import) => return elsewhere(&import),
                    Loaded::Lost => return Ok(End::Again),
                }
            }
        }
    }

    /// Lines that are there now are counted; others are reported.
    fn report_lines(&mut self, source: &Source, lines: Vec<LoadedLine>) -> std::io::Result<()> {
        for LoadedLine { kind, remark } in lines {
            let is_there =
                remark.as_ref().is_none_or(|it| [Outcome::Updated, Outcome::Unchanged].contains(&it.outcome));
            if let Some(kind) = kind.filter(|_| is_there) {
                self.report.summary.count(kind);
            }
            match remark {
                Some(remark) if is_there => self.report.summary.note(remark.outcome),
                Some(mut remark) => {
                    remark.file = self.is_one_of_many.then(|| source.name.clone());
                    self.report.remark(&remark)?;
                }
                None => {}
            }
        }
        Ok(())
    }
}

fn stopped_at(source: &Source, line: u64) -> String {
    let lines = source.file.lines;
    format!("{} is loaded up to line {line} of {lines}, and the same command goes on from there", source.name)
}

fn elsewhere(import: &Import) -> anyhow::Result<End> {
    match import.state {
        ImportState::Running => Ok(End::Again),
        ImportState::Cancelled => bail!("somebody has cancelled the import"),
        ImportState::Finished => bail!("another process has loaded the rest of it"),
    }
}

type Reading = JoinHandle<anyhow::Result<(Records, Vec<FileLine>)>>;

/// Reads the next lines while the former ones are committed.
fn read(mut records: Records, most: usize) -> Reading {
    spawn_blocking(move || {
        records.expect_unchanged()?;
        let lines = read_some(&mut records, most)?;
        Ok((records, lines))
    })
}
