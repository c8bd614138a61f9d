//! Counts the bytes of one answer while resolvers add to it, so that an operation stops before it takes too much
//! memory.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_graphql::{ErrorExtensionValues, ServerError};

use super::ledger::{Hold, NoRoom};
use crate::codes::ANSWER_TOO_LARGE;

/// Default limit of an answer: four times a page of 100 of the longest texts in four-byte characters.
pub const DEFAULT_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// Memory of a field apart from its value: its map entry, its name, the value's header.
const FIELD_BYTES: usize = 128;

/// Bytes reserved from the ledger at a time.
const PIECE_BYTES: usize = 4 * 1024;

/// The budget of one answer, or of one event: how much it may show and read, and the memory held for it. Clones share
/// it.
#[derive(Debug, Clone)]
pub struct AnswerBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    counts: Mutex<Counts>,
    /// Boxed, because it is rare.
    stopped: OnceLock<Box<Stop>>,
}

#[derive(Debug)]
struct Counts {
    shown: usize,
    read: usize,
    /// Its approximate memory.
    memory: usize,
    hold: Hold,
}

/// Why an operation must stop.
#[derive(Debug, Clone)]
pub enum Stop {
    /// The answer would be too large. Has the error for the client.
    TooLarge(ServerError),
    /// There is no memory for its answer now.
    NoRoom(NoRoom),
}

impl AnswerBudget {
    /// `most`: JSON bytes that the answer may have, and bytes that may be read for it. `hold`: counts its memory with
    /// that of others.
    pub fn new(most: usize, hold: Hold) -> Self {
        let counts = Mutex::new(Counts { shown: 0, read: 0, memory: 0, hold });
        Self(Arc::new(Inner { most, counts, stopped: OnceLock::new() }))
    }

    /// Counts a field with at least `bytes` of JSON. False if the operation must stop. `locate` adds the field's place
    /// to the error.
    #[must_use]
    pub fn show(&self, bytes: usize, locate: impl FnOnce(ServerError) -> ServerError) -> bool {
        let mut counts = self.counts();
        counts.shown += bytes;
        counts.memory += bytes + FIELD_BYTES;
        self.may_continue(&mut counts, locate)
    }

    /// Counts `bytes` that were read for the answer, shown or not. False as for [`Self::show`].
    #[must_use]
    pub fn read(&self, bytes: usize) -> bool {
        let mut counts = self.counts();
        counts.read += bytes;
        counts.memory += bytes;
        self.may_continue(&mut counts, |error| error)
    }

    fn may_continue(&self, counts: &mut Counts, locate: impl FnOnce(ServerError) -> ServerError) -> bool {
        let stop = if counts.shown.max(counts.read) > self.0.most {
            Stop::TooLarge(locate(too_large(self.0.most)))
        } else {
            match counts.hold.grow_to(counts.memory.next_multiple_of(PIECE_BYTES)) {
                Ok(()) => return true,
                Err(no_room) => Stop::NoRoom(no_room),
            }
        };
        self.0.stopped.get_or_init(|| Box::new(stop));
        false
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the operation must stop, if it must.
    pub fn stopped(&self) -> Option<&Stop> {
        self.0.stopped.get().map(AsRef::as_ref)
    }

    /// Takes the memory of the finished answer, to be settled and kept until it is sent.
    pub fn take_hold(&self) -> Hold {
        self.counts().hold.take()
    }

    /// Resets the budget for the next answer of the same operation.
    pub fn begin_again(&self) {
        let mut counts = self.counts();
        let mut hold = counts.hold.take();
        hold.settle(0);
        *counts = Counts { shown: 0, read: 0, memory: 0, hold };
    }
}

/// The error of an answer that exceeds `most` bytes.
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
