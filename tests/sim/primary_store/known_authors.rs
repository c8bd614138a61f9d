//! Pages of readers whose authors a node remembers, in the model: the authors with their version, and the candidates
//! of a page.

use std::collections::BTreeSet;

use tidefeed::{
    domain::{
        ContentId, EdgeMode, Entry, Floor, Kinds, PageRequest, Position, UserId,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Ask, Candidate, Candidates, OutboxVersion, Pulled, Wanted},
            outside::{Expected, Header},
            reactions::RememberedReactions,
        },
    },
    store::{
        StoreError,
        outside_states::{OutsideCandidates, SideRead},
    },
};

use super::{
    cards::{self, Earlier},
    outside_states::fence_of,
    tables::Tables,
    timelines::Side,
    transaction::PrimaryStore,
};
use crate::rules::Rule;

/// Contents in flight that are looked through; few, so that more of them are common.
const FEW: usize = 3;
/// The version that every outbox reports if a rule is broken.
const ANY: i64 = -1;

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
        (version(tables), tables.floor(reader), followed, excluded, cards::own_reactions(tables, reader))
    };
    let mut earlier = None;
    if primary_store.breaks(Rule::ReactionsOfAnEarlierSnapshot) {
        earlier = Some(primary_store.read(|tables| cards::own_reactions(tables, reader).1).await?);
    }
    let (mut known_version, floor, followed, excluded, (reactions_version, own)) =
        primary_store.read_anywhere(of).await?;
    let own = earlier.unwrap_or(own);
    if primary_store.breaks(Rule::AuthorsOfTwoSnapshots) {
        known_version = primary_store.read(version).await?;
    }
    Ok(known_version.map(|version| ReaderSnapshot {
        authors: TimelineAuthors::new(version, &followed, excluded),
        reactions: (own.len() <= primary_store.engine.most_reactions)
            .then(|| RememberedReactions::new(reactions_version, own)),
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
    let earlier = Earlier::read(primary_store, reader).await?;
    let mut floor = None;
    if primary_store.breaks(Rule::FloorOfAnotherSnapshot) {
        floor = Some(primary_store.read(|tables| tables.floor(reader)).await?);
    }
    let mut found = primary_store.read_anywhere(|tables| view.candidates(tables, request, ask)).await?;
    found.floor = floor.unwrap_or(found.floor);
    if primary_store.breaks(Rule::InboxBeforeInFlight) {
        found.in_flight = primary_store.read(|tables| view.candidates(tables, request, ask).in_flight).await?;
    }
    if primary_store.breaks(Rule::PulledInALaterSnapshot) {
        let later = primary_store.read(|tables| view.candidates(tables, request, ask)).await?;
        (found.pulled_ahead, found.pulled_behind) = (later.pulled_ahead, later.pulled_behind);
    }
    for row in found.ahead.iter_mut().chain(&mut found.pulled_ahead) {
        if let Some(facts) = &mut row.facts {
            earlier.put_in(row.entry.author, facts);
        }
    }
    Ok(found)
}

/// See `Timelines::candidates_with`.
pub async fn candidates_with(
    primary_store: &PrimaryStore,
    reader: UserId,
    request: &PageRequest,
    (ahead, behind): (&SideRead, Option<&SideRead>),
    ask: &Ask<'_>,
) -> Result<OutsideCandidates, StoreError> {
    let (view, header) = (View { primary_store, reader }, ahead.slice.header);
    let earlier = Earlier::read(primary_store, reader).await?;
    primary_store
        .read_anywhere(|tables| {
            let mut found = view.candidates(tables, request, ask);
            let unseen = Wanted { facts: false, reactions: false, ..ask.wanted };
            found.floor = Floor::At(header.floor);
            found.ahead = view.existing(tables, ahead, Side::ahead(request).kinds, ask.wanted);
            found.behind = behind.map_or_else(Vec::new, |side| view.existing(tables, side, request.kinds, unseen));
            for row in found.ahead.iter_mut().chain(&mut found.pulled_ahead) {
                if let Some(facts) = &mut row.facts {
                    earlier.put_in(row.entry.author, facts);
                }
            }
            OutsideCandidates { expected: view.expected(tables, &header), found }
        })
        .await
        .inspect(|page| {
            let claims = page.expected.is_some_and(|expected| header.basis == Some(expected.basis));
            primary_store.base().claimed += u64::from(claims);
        })
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
        let unseen = Wanted { original_authors: wanted.original_authors, ..Wanted::ENTRIES };
        let versions = versions.into_iter().map(|author| OutboxVersion { author, version: tables.version(author) });
        Candidates {
            version: self.version(tables),
            reactions_version: cards::reactions_version(tables, self.reader),
            floor: self.floor(tables),
            in_flight: self.in_flight(tables, ahead, ask.many_in_flight),
            leaving: Vec::new(),
            ahead: self.inbox(tables, ahead, wanted),
            behind: behind.map(|side| self.inbox(tables, side, Wanted::ENTRIES)).unwrap_or_default(),
            pulled_ahead: self.outboxes(tables, ahead, &contents, wanted),
            pulled_behind: behind.map(|side| self.outboxes(tables, side, &contents, unseen)).unwrap_or_default(),
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
        let first = side.first(all.collect()).into_iter().map(|row| self.with_facts(tables, row, wanted));
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
            .map(|row| self.with_facts(tables, row, wanted))
            .map(|row| Candidate { original_author: original_author(&row), ..row })
            .collect()
    }
}

impl View<'_> {
    /// Those contents of a slice that exist, whoever their authors are.
    fn existing(&self, tables: &Tables, read: &SideRead, kinds: Kinds, wanted: Wanted) -> Vec<Candidate> {
        let ids = read.slice.rows.iter().filter_map(|row| ContentId::try_new(row.content_number()).ok());
        let entries = ids.filter_map(|content| {
            let it = tables.contents.get(&content).filter(|it| !it.removed && kinds.contains(it.kind))?;
            Some(Entry { publish_time: it.publish_time, content, author: it.author })
        });
        entries.map(|entry| self.with_facts(tables, entry, wanted)).collect()
    }

    /// What the primary store knows of the inbox with this header, or what a broken rule takes for it.
    fn expected(&self, tables: &Tables, header: &Header) -> Option<Expected> {
        let (mut fence, basis) = fence_of(tables, self.reader)?;
        let mut basis = basis?;
        match self.primary_store.engine.broken {
            Some(Rule::AnyTokenIsBelieved) => fence.token = header.fence.token,
            Some(Rule::AnyGenerationIsBelieved) => fence.generation = header.fence.generation,
            Some(Rule::AnyBasisIsBelieved) => basis = header.basis.unwrap_or(basis),
            _ => {}
        }
        (fence == header.fence).then_some(Expected { fence, basis })
    }

    fn with_facts(&self, tables: &Tables, entry: Entry, wanted: Wanted) -> Candidate {
        let facts = cards::facts(tables, &entry, Some(self.reader).filter(|_| wanted.reactions));
        Candidate { facts: facts.filter(|_| wanted.facts), ..self.candidate(tables, entry) }
    }

    fn candidate(&self, tables: &Tables, entry: Entry) -> Candidate {
        let original = tables.contents.get(&entry.content).and_then(|it| it.repost_author);
        let is_known = !self.primary_store.breaks(Rule::RepostsOfExcludedAreShown);
        Candidate { entry, original_author: original.filter(|_| is_known), facts: None }
    }
}

fn is_shown(tables: &Tables, entry: &Entry, side: Side) -> bool {
    tables.is_visible(entry.content) && tables.is_of(entry.content, side.kinds)
}
