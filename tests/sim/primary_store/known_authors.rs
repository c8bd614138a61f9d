//! Pages of readers whose authors a node remembers, in the model: the authors with their version, and the candidates
//! of a page.

use std::collections::BTreeSet;

use tidefeed::{
    domain::{
        EdgeMode, Entry, Floor, PageRequest, Position, UserId,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Ask, Candidate, Candidates, OutboxVersion, Pulled, Wanted},
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
        let mut followed: Vec<_> = tables.edges(reader).map(|(author, edge)| (author, is_covered(edge.mode))).collect();
        if primary_store.breaks(Rule::InboxOfAnybody) {
            let others = tables.inbox(reader).map(|row| row.author).filter(|it| tables.mode(reader, *it).is_none());
            followed.extend(others.collect::<BTreeSet<_>>().into_iter().map(|author| (author, true)));
        }
        let mut excluded = excluded(tables, reader);
        if primary_store.breaks(Rule::ExclusionsAreNotReported) {
            followed.retain(|(author, _)| !excluded.contains(author));
            excluded.clear();
        }
        if primary_store.breaks(Rule::ExcludedIsShown) {
            excluded.clear();
        }
        (version(tables), tables.floor(reader), followed, excluded)
    };
    let (mut known_version, floor, followed, excluded) = primary_store.read(of).await?;
    if primary_store.breaks(Rule::AuthorsOfTwoSnapshots) {
        known_version = primary_store.read(version).await?;
    }
    Ok(known_version.map(|version| ReaderSnapshot {
        authors: TimelineAuthors::new(version, &followed, excluded),
        reactions: Some(RememberedReactions::new(NO_REACTIONS, Vec::new())),
        floor,
    }))
}

fn excluded(tables: &Tables, reader: UserId) -> Vec<UserId> {
    tables.exclusions.keys().filter(|(whose, ..)| *whose == reader).map(|(_, author, _)| *author).collect()
}

/// See `Timelines::candidates`.
pub async fn candidates(
    primary_store: &PrimaryStore,
    reader: UserId,
    request: &PageRequest,
    ask: &Ask<'_>,
) -> Result<Candidates, StoreError> {
    let view = View { primary_store, reader };
    let mut floor = None;
    if primary_store.breaks(Rule::FloorOfAnotherSnapshot) {
        floor = Some(primary_store.read(|tables| tables.floor(reader)).await?);
    }
    let mut found = primary_store.read(|tables| view.candidates(tables, request, ask)).await?;
    found.floor = floor.unwrap_or(found.floor);
    if primary_store.breaks(Rule::InboxBeforeInFlight) {
        found.in_flight = primary_store.read(|tables| view.candidates(tables, request, ask).in_flight).await?;
    }
    if primary_store.breaks(Rule::PulledInALaterSnapshot) {
        let later = primary_store.read(|tables| view.candidates(tables, request, ask)).await?;
        (found.pulled_ahead, found.pulled_behind) = (later.pulled_ahead, later.pulled_behind);
    }
    Ok(found)
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

    fn candidates(&self, tables: &Tables, request: &PageRequest, ask: &Ask<'_>) -> Candidates {
        let Ask { limits, wanted, pulled, .. } = *ask;
        let ahead = Side { limit: limits.ahead, ..Side::ahead(request) };
        let behind = Side::behind(request).map(|side| Side { limit: limits.behind, ..side });
        let named = pulled.authors().iter().filter(|author| tables.mode(self.reader, **author).is_some());
        let named: Vec<UserId> = named.copied().collect();
        let (contents, versions) = match pulled {
            Pulled::Contents(_) if self.primary_store.breaks(Rule::NamedIsBelievedCovered) => (Vec::new(), Vec::new()),
            Pulled::Contents(_) => (named, Vec::new()),
            Pulled::Versions(_) => (Vec::new(), named),
        };
        let versions = versions.into_iter().map(|author| OutboxVersion { author, version: tables.version(author) });
        Candidates {
            version: self.version(tables),
            reactions_version: NO_REACTIONS,
            floor: self.floor(tables),
            in_flight: self.in_flight(tables, ahead, ask.many_in_flight),
            leaving: Vec::new(),
            ahead: self.inbox(tables, ahead, wanted),
            behind: behind.map(|side| self.inbox(tables, side, Wanted::ENTRIES)).unwrap_or_default(),
            pulled_ahead: self.outboxes(tables, ahead, &contents, wanted),
            pulled_behind: behind.map(|side| self.outboxes(tables, side, &contents, wanted)).unwrap_or_default(),
            versions: versions.collect(),
        }
    }

    fn floor(&self, tables: &Tables) -> Floor {
        let is_ignored = self.primary_store.breaks(Rule::FloorIsIgnored);
        if is_ignored { Floor::At(Position::OLDEST) } else { tables.floor(self.reader) }
    }

    fn in_flight(&self, tables: &Tables, side: Side, of_followed: bool) -> Option<Vec<Candidate>> {
        if self.primary_store.breaks(Rule::InFlightIsNotRead) {
            return Some(Vec::new());
        }
        let is_looked_at = |author: UserId| !of_followed || tables.mode(self.reader, author).is_some();
        let all: Vec<_> = tables.deliveries.iter().filter(|(_, it)| is_looked_at(it.author)).collect();
        if all.len() > FEW && !self.primary_store.breaks(Rule::FewInFlightAreAll) {
            return None;
        }
        let entries = all.into_iter().take(FEW).map(|(content, it)| Entry {
            publish_time: it.publish_time,
            content: *content,
            author: it.author,
        });
        let removed = self.primary_store.breaks(Rule::RemovedInFlightIsShown);
        let shown = entries.filter(|it| removed || is_shown(tables, it, side));
        Some(shown.map(|it| self.candidate(tables, it)).collect())
    }

    fn outboxes(&self, tables: &Tables, side: Side, authors: &[UserId], wanted: Wanted) -> Vec<Candidate> {
        let all = authors.iter().flat_map(|author| tables.outbox(*author)).filter(|it| is_shown(tables, it, side));
        let first = side.first(all.collect()).into_iter().map(|row| self.candidate(tables, row));
        first
            .map(|row| Candidate { original_author: row.original_author.filter(|_| wanted.original_authors), ..row })
            .collect()
    }

    fn inbox(&self, tables: &Tables, side: Side, wanted: Wanted) -> Vec<Candidate> {
        let Floor::At(floor) = self.floor(tables) else { return Vec::new() };
        let rows = tables.inbox(self.reader).filter(|row| row.position() >= floor);
        let by_counters = wanted.facts && !wanted.original_authors && side.kinds.is_all();
        let removed = self.primary_store.breaks(Rule::RemovedInInboxIsShown);
        let exists = |row: &Entry| match by_counters {
            _ if removed => tables.is_of(row.content, side.kinds),
            true => tables.counters.contains_key(&row.content),
            false => is_shown(tables, row, side),
        };
        let first = side.first(rows.filter(exists).collect());
        let unseen = self.primary_store.breaks(Rule::FallenRowsAreNotSeen);
        let candidates = first.into_iter().filter(|row| !unseen || tables.mode(self.reader, row.author).is_some());
        let original_author = |row: &Candidate| row.original_author.filter(|_| !by_counters);
        candidates
            .map(|row| self.candidate(tables, row))
            .map(|row| Candidate { original_author: original_author(&row), ..row })
            .collect()
    }
}

impl View<'_> {
    fn candidate(&self, tables: &Tables, entry: Entry) -> Candidate {
        let original = tables.contents.get(&entry.content).and_then(|it| it.repost_author);
        let is_known = !self.primary_store.breaks(Rule::RepostsOfExcludedAreShown);
        Candidate { entry, original_author: original.filter(|_| is_known), facts: None }
    }
}

fn is_shown(tables: &Tables, entry: &Entry, side: Side) -> bool {
    tables.is_visible(entry.content) && tables.is_of(entry.content, side.kinds)
}
