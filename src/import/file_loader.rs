//! Loads a file batch by batch, and goes on where it was left.
//!
//! A file's SHA-256 is the name of its import, and the store keeps how far it has come, in the transaction of each
//! batch. So whatever ends this process, and whenever, the next one reads on behind the last batch.

use std::{io, sync::Arc, time::Duration};

use ::import::{
    input::InputError,
    read::{Line, ReadError, Records},
    report::Refusal,
};
use async_trait::async_trait;
use content_schemas::ContentSchemas;
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    attributes::check_attributes,
    batches::{FileLine, cut, read_some},
    loader::{LEASE_MS, Loaded, Loader},
    outcomes::LoadedLine,
    source::Source,
};
use crate::store::{
    StoreError,
    imports::{BegunImport, Import, ImportState},
};

/// How often somebody else's lease is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often a file is begun again because the store has lost batches, or somebody else has had it meanwhile.
const BEGINNINGS: usize = 20;
/// How long the end of an import may take; afterwards its lease ends by itself.
const END_WITHIN: Duration = Duration::from_secs(1);

/// Is told how a file is loaded.
#[async_trait]
pub trait Listener: Send {
    /// The file is known. `before`: how far it had come, if it was begun before.
    fn begins(&mut self, source: &Source, before: Option<&Import>);
    /// Another process has the file, or has died at it: there is a wait of so long at most.
    fn waits(&mut self, at_most: Duration);
    /// Lines are read behind this one.
    fn reads_on(&mut self, source: &Source, after_line: u64);
    /// The lines up to this one are committed. An error ends the loading.
    async fn committed(&mut self, source: &Source, through_line: u64, lines: Vec<LoadedLine>) -> io::Result<()>;
}

/// How loading a file ends without an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEnd {
    /// Every line of it is loaded.
    Whole(Import),
    /// It was to end between two batches.
    Interrupted(Import),
}

/// Why the rest of a file is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read, or has changed.
    #[error(transparent)]
    File(#[from] ReadError),
    /// A batch cannot be committed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What there is of it in the store cannot be read.
    #[error("the imports cannot be read")]
    Unread(#[source] StoreError),
    /// The store does not take its beginning.
    #[error("the import cannot be begun")]
    Unbegun(#[source] StoreError),
    /// The listener has failed.
    #[error("the report cannot be written")]
    Unreported(#[source] io::Error),
    /// By `tidefeed import cancel`.
    #[error("somebody has cancelled the import")]
    Cancelled,
    /// Nothing is left to be done.
    #[error("another process has loaded the rest of it")]
    LoadedElsewhere,
    /// Another process is at it, and has come to this line.
    #[error("another process loads it, and has come to line {0}")]
    Elsewhere(u64),
    /// Others take it again and again.
    #[error("it was begun {BEGINNINGS} times, and others go on with it each time")]
    Contested,
    /// All is loaded, and the store does not say so.
    #[error("it is loaded, but not marked as finished")]
    Unmarked(#[source] Option<StoreError>),
    /// The store has forgotten it.
    #[error("the store has lost the import: load it again")]
    Lost,
    /// A thread that reads the file has ended.
    #[error("the file is not read any more")]
    Panicked,
}

/// The end of a file that is not loaded to its end.
#[derive(Debug)]
pub struct NotLoaded {
    /// It is loaded up to this line, if that is known.
    pub line: Option<u64>,
    /// Why not further.
    pub why: LoadError,
}

impl<E: Into<LoadError>> From<E> for NotLoaded {
    fn from(why: E) -> Self {
        Self { line: None, why: why.into() }
    }
}

/// Loads files, one after the other.
pub struct FileLoader {
    /// Commits the batches.
    pub loader: Loader,
    /// No time in a file may be later, ms UTC.
    pub latest: i64,
    /// Lines of a batch at most.
    pub batch: usize,
    /// Cancelled when loading is to end between two batches.
    pub stop: CancellationToken,
}

/// How reading a file ends.
enum End {
    Whole,
    Interrupted,
    /// It has to be begun again, and goes on where the store has it.
    Again,
}

impl FileLoader {
    /// Loads a file, or what is left of it.
    pub async fn load(&mut self, source: &Arc<Source>, listener: &mut impl Listener) -> Result<FileEnd, NotLoaded> {
        let digest = &source.file.digest;
        let before = self.loader.import(digest).await.map_err(LoadError::Unread)?;
        listener.begins(source, before.as_ref());
        let loaded = self.whole(source, listener).await;
        let is_whole = matches!(loaded, Ok(true));
        // If this fails, the lease ends by itself.
        let ended = timeout(END_WITHIN, self.loader.end(digest, is_whole)).await;
        if loaded? {
            ended.map_err(|_| LoadError::Unmarked(None))?.map_err(|error| LoadError::Unmarked(Some(error)))?;
        }
        let import = self.loader.import(digest).await.map_err(LoadError::Unread)?.ok_or(LoadError::Lost)?;
        Ok(if is_whole { FileEnd::Whole(import) } else { FileEnd::Interrupted(import) })
    }

    /// Whether the whole file is loaded; otherwise it was to end.
    async fn whole(&mut self, source: &Arc<Source>, listener: &mut impl Listener) -> Result<bool, NotLoaded> {
        for _ in 0..BEGINNINGS {
            let Some(import) = self.begun(source, listener).await? else { return Ok(false) };
            let mut at = import.through_line;
            let end = self.lines(source, &mut at, listener).await;
            match end.map_err(|why| NotLoaded { line: Some(at), why })? {
                End::Whole => return Ok(true),
                End::Interrupted => return Ok(false),
                End::Again => {}
            }
        }
        Err(LoadError::Contested.into())
    }

    /// Waits for the lease of a process that has died. `None`: it was to end.
    async fn begun(&self, source: &Source, listener: &mut impl Listener) -> Result<Option<Import>, LoadError> {
        let (begin, mut first) = (Instant::now(), None);
        let lease = Duration::from_millis(LEASE_MS.unsigned_abs());
        loop {
            let other = match self.loader.begin(&source.file).await.map_err(LoadError::Unbegun)? {
                BegunImport::Mine(import) => return Ok(Some(import)),
                BegunImport::Running(other) => other,
            };
            let first = first.get_or_insert_with(|| {
                listener.waits(lease);
                other.clone()
            });
            if *first != other || begin.elapsed() > 2 * lease {
                return Err(LoadError::Elsewhere(other.through_line));
            }
            if self.stop.run_until_cancelled(sleep(LOOK_EVERY)).await.is_none() {
                return Ok(None);
            }
        }
    }

    /// Loads the lines behind `at`, and moves it.
    async fn lines(
        &mut self,
        source: &Arc<Source>,
        at: &mut u64,
        listener: &mut impl Listener,
    ) -> Result<End, LoadError> {
        listener.reads_on(source, *at);
        let (latest, after, from) = (self.latest, *at, Arc::clone(source));
        let records = done(spawn_blocking(move || from.records_after(after, latest))).await?;
        let mut next = read(records, self.batch, self.loader.schemas());
        loop {
            let (records, lines) = done(next).await?;
            if lines.is_empty() {
                let digest = done(spawn_blocking(move || records.finish())).await?;
                let is_the_same = digest.sha256 == source.file.digest;
                return if is_the_same { Ok(End::Whole) } else { Err(ReadError::from(InputError::Changed).into()) };
            }
            next = read(records, self.batch, self.loader.schemas());
            for part in cut(lines) {
                if self.stop.is_cancelled() {
                    return Ok(End::Interrupted);
                }
                match self.loader.load(&source.file.digest, *at, &part).await? {
                    Loaded::Committed { through_line, lines } => {
                        *at = through_line;
                        let reported = listener.committed(source, through_line, lines).await;
                        reported.map_err(LoadError::Unreported)?;
                    }
                    Loaded::NotMine(import) => return elsewhere(&import),
                    Loaded::Lost => return Ok(End::Again),
                }
            }
        }
    }
}

fn elsewhere(import: &Import) -> Result<End, LoadError> {
    match import.state {
        ImportState::Running => Ok(End::Again),
        ImportState::Cancelled => Err(LoadError::Cancelled),
        ImportState::Finished => Err(LoadError::LoadedElsewhere),
    }
}

type Reading = JoinHandle<Result<(Records, Vec<FileLine>), ReadError>>;

/// Reads and checks the next lines while the former ones are committed.
fn read(mut records: Records, most: usize, schemas: &Arc<ContentSchemas>) -> Reading {
    let schemas = Arc::clone(schemas);
    spawn_blocking(move || {
        records.expect_unchanged()?;
        let lines = read_some(&mut records, most)?;
        let lines = lines.into_iter().map(|line| line.and_then(|line| checked(line, &schemas)));
        Ok((records, lines.collect()))
    })
}

fn checked(line: Line, schemas: &ContentSchemas) -> FileLine {
    check_attributes(schemas, &line.record).map_err(|fault| Refusal::of(line.number, &line.record, fault))?;
    Ok(line)
}

async fn done<T>(reading: JoinHandle<Result<T, ReadError>>) -> Result<T, LoadError> {
    Ok(reading.await.map_err(|_| LoadError::Panicked)??)
}
