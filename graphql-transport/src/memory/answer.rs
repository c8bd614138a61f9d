//! The bytes of one answer: counted as resolvers put them in, so that an operation stops before the memory is spent.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_graphql::{ErrorExtensionValues, ServerError};

use super::ledger::{Hold, NoRoom};
use crate::codes::ANSWER_TOO_LARGE;

/// Bytes of an answer, if nothing else is configured: four times a page of 100 of the longest texts in four-byte
/// characters.
pub const DEFAULT_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// Bytes that a field takes in memory beside its value: its place in a map, its name, its value's own head.
const FIELD_BYTES: usize = 128;

/// Bytes reserved from the ledger at a time.
const PIECE_BYTES: usize = 4 * 1024;

/// How much the answer of one operation, or one event of a subscription, may show and read, and what is held for it.
/// Clones count together.
#[derive(Debug, Clone)]
pub struct AnswerBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    counts: Mutex<Counts>,
    stopped: OnceLock<Stop>,
}

#[derive(Debug)]
struct Counts {
    shown: usize,
    read: usize,
    /// What all of it takes in memory, about.
    memory: usize,
    hold: Hold,
}

/// Why an operation has to stop.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The answer would be too large; the error for the client.
    TooLarge(ServerError),
    /// There is no room for its answer now.
    NoRoom(NoRoom),
}

impl AnswerBudget {
    /// `most`: bytes of JSON that the answer may have, and bytes of contents and profiles that may be read for it.
    /// `hold`: where its memory is counted with that of others.
    pub fn new(most: usize, hold: Hold) -> Self {
        let counts = Mutex::new(Counts { shown: 0, read: 0, memory: 0, hold });
        Self(Arc::new(Inner { most, counts, stopped: OnceLock::new() }))
    }

    /// Counts a field that has `bytes` of JSON for sure. False if that is too much: the operation has to stop. `place`
    /// adds to the error at which field that is.
    #[must_use]
    pub fn show(&self, bytes: usize, place: impl FnOnce(ServerError) -> ServerError) -> bool {
        let mut counts = self.counts();
        counts.shown += bytes;
        counts.memory += bytes + FIELD_BYTES;
        self.goes_on(&mut counts, place)
    }

    /// Counts `bytes` that are held to make the answer, be they shown or not. False as of [`Self::show`].
    #[must_use]
    pub fn read(&self, bytes: usize) -> bool {
        let mut counts = self.counts();
        counts.read += bytes;
        counts.memory += bytes;
        self.goes_on(&mut counts, |error| error)
    }

    fn goes_on(&self, counts: &mut Counts, place: impl FnOnce(ServerError) -> ServerError) -> bool {
        let stop = if counts.shown.max(counts.read) > self.0.most {
            Stop::TooLarge(place(too_large(self.0.most)))
        } else {
            match counts.hold.grow_to(counts.memory.next_multiple_of(PIECE_BYTES)) {
                Ok(()) => return true,
                Err(no_room) => Stop::NoRoom(no_room),
            }
        };
        self.0.stopped.get_or_init(|| stop);
        false
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the operation has to stop, if it has to.
    pub fn stopped(&self) -> Option<&Stop> {
        self.0.stopped.get()
    }

    /// What is held for the answer, which is made now: to be settled, and kept until it is sent.
    pub fn take_hold(&self) -> Hold {
        self.counts().hold.take()
    }

    /// The next answer of the same operation begins with nothing.
    pub fn begin_again(&self) {
        let mut counts = self.counts();
        let mut hold = counts.hold.take();
        hold.settle(0);
        *counts = Counts { shown: 0, read: 0, memory: 0, hold };
    }
}

/// What a client reads of an answer of more than `most` bytes.
pub fn too_large(most: usize) -> ServerError {
    let message = format!(
        "The answer would have more than {most} bytes. Ask for less at once: smaller pages, fewer fields, fewer aliases."
    );
    let mut error = ServerError::new(message, None);
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("code", ANSWER_TOO_LARGE);
    error.extensions = Some(extensions);
    error
}
