//! Checks a reader's rows against the invariant, in the model.

use async_trait::async_trait;
use tidefeed::{
    domain::{EdgeMode, Entry, Floor, UserId, timeline::audit::DifferenceCause},
    store::{Audits, StoreError, audits::Flaw},
};

use super::{tables::Tables, transaction::PrimaryStore};

#[async_trait]
impl Audits for PrimaryStore {
    async fn readers(&self, after: i64, limit: u64) -> Result<Vec<UserId>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.read(|tables| {
            let trusting = tables.states.iter().filter(|(_, state)| state.floor != Floor::Off);
            trusting.map(|(reader, _)| *reader).filter(|reader| reader.get() > after).take(limit).collect()
        })
        .await
    }

    async fn last_reader(&self) -> Result<i64, StoreError> {
        self.read(|tables| tables.states.keys().next_back().map_or(0, |reader| reader.get())).await
    }

    async fn flaws(&self, reader: UserId, limit: u64) -> Result<Vec<Flaw>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.read(|tables| {
            let flaws = |cause, entries: Vec<Entry>| {
                entries.into_iter().take(limit).map(move |entry| Flaw { cause, entry }).collect::<Vec<_>>()
            };
            [
                flaws(DifferenceCause::Hole, holes(tables, reader)),
                flaws(DifferenceCause::Misplaced, misplaced(tables, reader)),
            ]
            .concat()
        })
        .await
    }
}

/// Contents on trusted edges, at the floor or above it, that are neither in flight nor in the inbox.
fn holes(tables: &Tables, reader: UserId) -> Vec<Entry> {
    let published = tables.edges(reader).flat_map(|(author, _)| tables.outbox(author));
    published.filter(|entry| is_hole(tables, reader, *entry)).collect()
}

/// Whether the invariant of docs/coverage.md is broken there.
pub fn is_hole(tables: &Tables, reader: UserId, entry: Entry) -> bool {
    let Floor::At(floor) = tables.floor(reader) else { return false };
    entry.position() >= floor
        && tables.mode(reader, entry.author) == Some(EdgeMode::Push)
        && tables.is_visible(entry.content)
        && !tables.inboxes.contains_key(&(reader, entry.position()))
        && !tables.deliveries.contains_key(&entry.content)
}

/// Rows at the floor or above it that say something else of their content than the content itself.
fn misplaced(tables: &Tables, reader: UserId) -> Vec<Entry> {
    let Floor::At(floor) = tables.floor(reader) else { return Vec::new() };
    let rows = tables.inbox(reader).filter(|it| it.position() >= floor);
    let says_else = |it: &Entry| {
        let of = tables.contents.get(&it.content);
        of.is_some_and(|of| of.publish_time != it.publish_time || of.author != it.author)
    };
    rows.filter(says_else).collect()
}
