//! The authors of timelines that this node remembers, each with their version. Forgetting somebody costs a statement.

use std::sync::Arc;

use quick_cache::{Weighter, sync::Cache};

use crate::domain::{Floor, UserId, limits::MAX_REMEMBERED_AUTHORS_BYTES, timeline::authors::TimelineAuthors};

/// Readers that the memory is laid out for; it grows as needed.
const EXPECTED_READERS: usize = 1_000;

/// Readers and the authors of their timelines.
pub struct KnownAuthors(Cache<UserId, Known, Bytes>);

/// What is remembered of a reader.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// With their version.
    pub(super) authors: Arc<TimelineAuthors>,
    /// As the latest snapshot had it. Decides which statement is tried first, and nothing else.
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
    /// What is remembered of the reader.
    pub(super) fn get(&self, reader: UserId) -> Option<Known> {
        self.0.get(&reader)
    }

    /// Forgets the reader's authors.
    pub fn forget(&self, reader: UserId) {
        self.0.remove(&reader);
    }

    /// Forgets them if some edge was not covered: all are now.
    pub fn forget_uncovered(&self, reader: UserId) {
        if self.0.peek(&reader).is_some_and(|known| !known.authors.is_covered()) {
            self.forget(reader);
        }
    }

    /// Remembers the authors, and the floor of the latest snapshot.
    pub(super) fn remember(&self, reader: UserId, known: Known) {
        self.0.insert(reader, known);
    }

    /// Remembers the floor of the latest snapshot, if the reader's authors are known.
    pub(super) fn note_floor(&self, reader: UserId, floor: Floor) {
        if let Some(known) = self.get(reader).filter(|known| known.floor != floor) {
            self.remember(reader, Known { floor, ..known });
        }
    }
}
