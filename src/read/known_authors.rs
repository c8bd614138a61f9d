//! A bounded memory of timelines' authors and their version. A reader who drops out of it costs one statement.

use std::sync::Arc;

use quick_cache::{Weighter, sync::Cache};

use crate::domain::{Floor, UserId, limits::MAX_REMEMBERED_AUTHORS_BYTES, timeline::authors::TimelineAuthors};

/// Initial capacity; the memory grows as needed.
const EXPECTED_READERS: usize = 1_000;

/// Maps readers to the authors of their timelines.
pub struct KnownAuthors(Cache<UserId, Known, Bytes>);

/// What this node remembers of one reader.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The authors of the timeline and their version.
    pub(super) authors: Arc<TimelineAuthors>,
    /// The floor in the latest snapshot. It only decides which statement is tried first.
    pub(super) floor: Floor,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<UserId, Known> for Bytes {
    fn weight(&self, _: &UserId, known: &Known) -> u64 {
        (size_of::<(UserId, Known)>() + known.authors.bytes()) as u64
    }
}

impl Default for KnownAuthors {
    fn default() -> Self {
        Self(Cache::with_weighter(EXPECTED_READERS, MAX_REMEMBERED_AUTHORS_BYTES, Bytes))
    }
}

impl KnownAuthors {
    /// The reader's remembered authors.
    pub(super) fn get(&self, reader: UserId) -> Option<Known> {
        self.0.get(&reader)
    }

    /// Forgets the reader's authors.
    pub fn forget(&self, reader: UserId) {
        self.0.remove(&reader);
    }

    /// Forgets the reader's authors if some edge was not covered. Called when a snapshot shows that all edges are
    /// covered.
    pub fn forget_uncovered(&self, reader: UserId) {
        if self.0.peek(&reader).is_some_and(|known| !known.authors.is_covered()) {
            self.forget(reader);
        }
    }

    /// Remembers the reader's authors and the floor of the latest snapshot.
    pub(super) fn remember(&self, reader: UserId, known: Known) {
        self.0.insert(reader, known);
    }

    /// Updates the floor if the reader's authors are remembered.
    pub(super) fn note_floor(&self, reader: UserId, floor: Floor) {
        if let Some(known) = self.get(reader).filter(|known| known.floor != floor) {
            self.remember(reader, Known { floor, ..known });
        }
    }
}
