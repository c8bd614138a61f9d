//! Pages of readers whose authors a node remembers, in the model: the authors with their version, and the candidates
//! of a page.

use tidefeed::{
    domain::{
        EdgeMode, Entry, Floor, PageRequest, UserId,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Candidate, CandidateLimits, Candidates, Wanted},
            reactions::RememberedReactions,
        },
    },
    store::StoreError,
};

use super::{tables::Tables, timelines::Side, transaction::PrimaryStore};
use crate::rules::Rule;

/// Contents in flight that are looked through; few, so that more of them are common.
const FEW: usize = 3;
/// The version that every outbox reports if a rule is broken.
const ANY: i64 = -1;

/// The version of everybody's reactions: there are none.
const NO_REACTIONS: i64 = 0;

/// See `Timelines::reader`.
pub async fn reader(primary_store: &PrimaryStore, reader: UserId) -> Result<Option<ReaderSnapshot>, StoreError> {
    let version = |tables: &Tables| {
        let version = tables.counts.get(&reader)?.authors_version;
        Some(if primary_store.breaks(Rule::AuthorsOfAnyVersion) { ANY } else { version })
    };
    let is_covered = |mode| mode == EdgeMode::Push || primary_store.breaks(Rule::UncoveredIsRemembered);
    let of = |tables: &Tables| {
        let followed: Vec<_> = tables.edges(reader).map(|(author, edge)| (author, is_covered(edge.mode))).collect();
        (version(tables), tables.floor(reader), followed, excluded(tables, reader))
    };
    let (mut known_version, floor, followed, excluded) = primary_store.read(of).await?;
    if primary_store.breaks(Rule::AuthorsOfTwoSnapshots) {
        known_version = primary_store.read(version).await?;
    }
    Ok(known_version.map(|version| ReaderSnapshot {
        authors: TimelineAuthors::new(version, followed, excluded),
        reactions: Some(RememberedReactions::new(NO_REACTIONS, Vec::new())),
        floor,
    }))
}

fn excluded(tables: &Tables, reader: UserId) -> Vec<UserId> {
    tables.exclusions.keys().filter(|(whose, ..)| *whose == reader).map(|(_, author, _)| *author).collect()
}

/// See `Timelines::page_candidates`.
pub async fn candidates(
    primary_store: &PrimaryStore,
    reader: UserId,
    request: &PageRequest,
    (limits, wanted): (CandidateLimits, Wanted),
) -> Result<Candidates, StoreError> {
    let ahead = Side { limit: limits.ahead, ..Side::ahead(request) };
    let behind = Side::behind(request).map(|side| Side { limit: limits.behind, ..side });
    let view = View { primary_store, reader };
    primary_store
        .read(|tables| Candidates {
            version: view.version(tables),
            reactions_version: NO_REACTIONS,
            floor: tables.floor(reader),
            in_flight: view.in_flight(tables, ahead),
            leaving: Vec::new(),
            ahead: view.inbox(tables, ahead, wanted),
            behind: behind.map(|side| view.inbox(tables, side, Wanted::ENTRIES)).unwrap_or_default(),
        })
        .await
}

struct View<'a> {
    primary_store: &'a PrimaryStore,
    reader: UserId,
}

impl View<'_> {
    fn version(&self, tables: &Tables) -> Option<i64> {
        let version = tables.counts.get(&self.reader)?.authors_version;
        Some(if self.primary_store.breaks(Rule::AuthorsOfAnyVersion) { ANY } else { version })
    }

    fn in_flight(&self, tables: &Tables, side: Side) -> Option<Vec<Candidate>> {
        let is_cut = tables.deliveries.len() > FEW;
        if is_cut && !self.primary_store.breaks(Rule::FewInFlightAreAll) {
            return None;
        }
        let few = tables.deliveries.iter().take(FEW);
        let entries =
            few.map(|(content, it)| Entry { publish_time: it.publish_time, content: *content, author: it.author });
        Some(entries.filter(|it| is_shown(tables, it, side)).map(|it| candidate(tables, it)).collect())
    }

    fn inbox(&self, tables: &Tables, side: Side, wanted: Wanted) -> Vec<Candidate> {
        let Floor::At(floor) = tables.floor(self.reader) else { return Vec::new() };
        let rows = tables.inbox(self.reader).filter(|row| row.position() >= floor);
        let by_counters = wanted.facts && !wanted.original_authors && side.kinds.is_all();
        let exists = |row: &Entry| match by_counters {
            true => tables.counters.contains_key(&row.content),
            false => is_shown(tables, row, side),
        };
        let first = side.first(rows.filter(exists).collect());
        let unseen = self.primary_store.breaks(Rule::FallenRowsAreNotSeen);
        let candidates = first.into_iter().filter(|row| !unseen || tables.mode(self.reader, row.author).is_some());
        let original_author = |row: &Candidate| row.original_author.filter(|_| !by_counters);
        candidates
            .map(|row| candidate(tables, row))
            .map(|row| Candidate { original_author: original_author(&row), ..row })
            .collect()
    }
}

fn is_shown(tables: &Tables, entry: &Entry, side: Side) -> bool {
    tables.is_visible(entry.content) && tables.is_of(entry.content, side.kinds)
}

fn candidate(tables: &Tables, entry: Entry) -> Candidate {
    Candidate {
        entry,
        original_author: tables.contents.get(&entry.content).and_then(|it| it.repost_author),
        facts: None,
    }
}
