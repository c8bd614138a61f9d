//! Loads a file that was received, and tells the client how it goes: progress, what was refused, and the end.

use std::{
    fs::File,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ::import::{
    read::{AHEAD_MS, ReadError},
    report::Report,
};
use async_trait::async_trait;
use axum::http::StatusCode;
use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::{
    task::spawn_blocking,
    time::{Instant, MissedTickBehavior, interval_at},
};
use tokio_util::sync::CancellationToken;

use super::runtime::ImportRuntime;
use crate::{
    api::service_lines::{self, AnswerWriter, Asker, Stopped},
    import::{
        FileEnd, FileLoader, Listener, LoadError, LoadedLine, MAX_BATCH_LINES, NotLoaded, Progress, Source,
        report_lines,
    },
    store::imports::Import,
};

/// Time between two lines that say how far it has come.
const EVERY: Duration = Duration::from_secs(1);
/// Digits of a file's SHA-256 that name its import in the log.
const DIGITS: usize = 12;

/// A file that was received.
pub(super) struct Job {
    pub(super) file: File,
    pub(super) answer: AnswerWriter,
    pub(super) closing: BoxFuture<'static, Stopped>,
    pub(super) asker: Asker,
    pub(super) runtime: ImportRuntime,
}

/// How it ends for the client.
enum End {
    /// The last lines.
    Whole(String),
    Stopped(Stopped),
    /// Nobody is there to be told.
    Left,
}

impl Job {
    /// Loads the file, notes that in the log, and says at the end how it went.
    pub(super) async fn run(self) {
        let Self { file, answer, closing, asker, runtime } = self;
        let latest = runtime.ambient.now_ms().saturating_add(AHEAD_MS);
        let stop = CancellationToken::new();
        let at = Arc::new(At::default());
        let mut sender = ReportSender { report: Report::new(Vec::new()), answer: answer.clone(), at: Arc::clone(&at) };
        let loader = FileLoader { loader: (runtime.open)(), latest, batch: MAX_BATCH_LINES, stop: stop.clone() };
        let ((digest, result), early) = watched(load(file, loader, &mut sender), (&answer, &at), closing, &stop).await;
        let end = match result {
            Ok(Some((FileEnd::Whole(_), lines))) => sender.whole(lines),
            Ok(Some((FileEnd::Interrupted(import), _))) => match early {
                Some(End::Stopped(stopped)) => End::Stopped(stopped.after(import.through_line)),
                _ => End::Left,
            },
            Ok(None) => early.unwrap_or(End::Left),
            Err(NotLoaded { why: LoadError::Unreported(_), .. }) => End::Left,
            Err(ended) => End::Stopped(explained(ended)),
        };
        let outcome = match &end {
            End::Whole(_) => "OK",
            End::Stopped(stopped) => stopped.code(),
            End::Left => "LEFT",
        };
        let operation = format!("import {}", digest.get(..DIGITS).unwrap_or_default());
        runtime.log.note(vec![runtime.line(&asker, operation.trim_end(), outcome)]).await;
        let last = match end {
            End::Whole(last) => last,
            End::Stopped(stopped) => service_lines::line("stopped", &stopped),
            End::Left => return,
        };
        // Who has left before the end is not waited for.
        let _ = answer.end(last).await;
    }
}

/// Waits for the end of `loading`, and says meanwhile how far it is. What makes it end early cancels `stop`, and is
/// returned, too.
async fn watched<T>(
    loading: impl Future<Output = T>,
    (answer, at): (&AnswerWriter, &At),
    mut closing: BoxFuture<'static, Stopped>,
    stop: &CancellationToken,
) -> (T, Option<End>) {
    let mut loading = Box::pin(loading);
    let mut ticks = interval_at(Instant::now() + EVERY, EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut early = None;
    loop {
        tokio::select! {
            ended = &mut loading => return (ended, early),
            stopped = &mut closing, if early.is_none() => early = Some(End::Stopped(stopped)),
            () = answer.left(), if early.is_none() => early = Some(End::Left),
            _ = ticks.tick() => answer.offer(at.line()),
        }
        if early.is_some() {
            stop.cancel();
        }
    }
}

type Loading = Result<Option<(FileEnd, u64)>, NotLoaded>;

/// The digest, as far as it is known, and how loading ends, with the lines of the file; `None`: before it began.
async fn load(file: File, mut loader: FileLoader, sender: &mut ReportSender) -> (String, Loading) {
    let (latest, stop) = (loader.latest, loader.stop.clone());
    let goes_on = move |_, _| !stop.is_cancelled();
    let measured = spawn_blocking(move || Source::measure("the body".to_owned(), file, latest, goes_on)).await;
    let source = match measured.map_err(|_| LoadError::Panicked).and_then(|it| it.map_err(LoadError::File)) {
        Ok(Some(source)) => Arc::new(source),
        Ok(None) => return (String::new(), Ok(None)),
        Err(why) => return (String::new(), Err(why.into())),
    };
    let ended = loader.load(&source, sender).await;
    (source.file.digest.clone(), ended.map(|end| Some((end, source.file.lines))))
}

/// How far it has come.
struct At {
    known: Instant,
    /// When the first line was read, in ms after `known`.
    begun_ms: AtomicU64,
    first: AtomicU64,
    line: AtomicU64,
    lines: AtomicU64,
    records: AtomicU64,
}

impl Default for At {
    fn default() -> Self {
        let [begun_ms, first, line, lines, records] = [const { AtomicU64::new(0) }; 5];
        Self { known: Instant::now(), begun_ms, first, line, lines, records }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressLine {
    line: u64,
    lines: u64,
    records: u64,
    percent: u64,
    lines_per_second: u64,
    seconds_left: u64,
}

impl At {
    fn line(&self) -> String {
        let [first, line, lines, records] =
            [&self.first, &self.line, &self.lines, &self.records].map(|it| it.load(Ordering::Relaxed));
        let begun = Duration::from_millis(self.begun_ms.load(Ordering::Relaxed));
        let progress = Progress { first, line, lines, elapsed: self.known.elapsed().saturating_sub(begun) };
        let (percent, lines_per_second) = (progress.percent(), progress.lines_per_second());
        let seconds_left = progress.seconds_left();
        service_lines::line("progress", &ProgressLine { line, lines, records, percent, lines_per_second, seconds_left })
    }
}

/// Hands on to the client what becomes of the lines.
struct ReportSender {
    report: Report<Vec<u8>>,
    answer: AnswerWriter,
    at: Arc<At>,
}

impl ReportSender {
    /// The summary that ends the report of a file with this many lines.
    fn whole(mut self, lines: u64) -> End {
        self.report.summary.lines = lines;
        let summary = std::mem::take(&mut self.report.summary);
        End::Whole(service_lines::line("summary", &summary))
    }
}

#[async_trait]
impl Listener for ReportSender {
    fn begins(&mut self, source: &Source, _: Option<&Import>) {
        self.at.lines.store(source.file.lines, Ordering::Relaxed);
    }

    fn waits(&mut self, _: Duration) {}

    fn reads_on(&mut self, _: &Source, after_line: u64) {
        let waited = u64::try_from(self.at.known.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.at.begun_ms.store(waited, Ordering::Relaxed);
        self.at.first.store(after_line, Ordering::Relaxed);
        self.at.line.store(after_line, Ordering::Relaxed);
    }

    async fn committed(&mut self, _: &Source, through_line: u64, lines: Vec<LoadedLine>) -> io::Result<()> {
        report_lines(&mut self.report, None, lines)?;
        self.at.line.store(through_line, Ordering::Relaxed);
        self.at.records.store(self.report.summary.all(), Ordering::Relaxed);
        let reported = String::from_utf8(std::mem::take(self.report.to())).map_err(io::Error::other)?;
        if reported.is_empty() { Ok(()) } else { self.answer.send(reported).await.map_err(io::Error::other) }
    }
}

/// What has happened and what to do, for the client.
fn explained(NotLoaded { line, why }: NotLoaded) -> Stopped {
    let stopped = match why {
        LoadError::File(why @ ReadError::Input(_)) => unreadable(&why),
        LoadError::File(why) => Stopped::malformed(&sentence(&why)),
        LoadError::Cancelled => {
            let message = "Somebody has cancelled the import. The same file goes on from here.";
            Stopped::new(StatusCode::CONFLICT, "CANCELLED", message)
        }
        why @ (LoadError::Elsewhere(_) | LoadError::LoadedElsewhere | LoadError::Contested) => {
            Stopped::new(StatusCode::CONFLICT, "CONFLICT", sentence(&why))
        }
        why => {
            tracing::error!(error = &why as &dyn std::error::Error, "A file could not be loaded to its end.");
            Stopped::failed("The file could not be loaded to its end. Send it again: it goes on from here.")
        }
    };
    line.map_or(stopped.clone(), |line| stopped.after(line))
}

/// A body that is damaged, or a file of this node that is.
fn unreadable(why: &ReadError) -> Stopped {
    match why {
        ReadError::Input(::import::input::InputError::Damaged(_)) => Stopped::malformed(&sentence(why)),
        why => {
            tracing::error!(error = why as &dyn std::error::Error, "A file that was received cannot be read.");
            Stopped::failed("The file cannot be read any more on this node. Send it again.")
        }
    }
}

fn sentence(why: &dyn std::error::Error) -> String {
    crate::domain::text::sentence(&why.to_string())
}
