//! Timeline reads in the model: the rows of the one statement, source by source, and what they cover.

use std::collections::HashMap;

use async_trait::async_trait;
use tidefeed::{
    domain::{
        ContentId, Direction, EdgeMode, Entry, Floor, Kinds, PageRequest, Position, Run, UserId,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{CandidateLimits, Candidates, CardFacts, Wanted},
            plan::{Snapshot, UncoveredAuthor},
            stretch::{Stretch, StretchSnapshot},
        },
    },
    store::{StoreError, Timelines, timelines::Depth},
};

use super::{exclusions::EVERY_CAUSE, known_authors, tables::Tables, transaction::PrimaryStore};
use crate::rules::Rule;

/// One side of a page's bound.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    pub direction: Direction,
    pub bound: Option<Position>,
    pub inclusive: bool,
    pub limit: usize,
    pub kinds: Kinds,
}

impl Side {
    pub const fn ahead(request: &PageRequest) -> Self {
        let PageRequest { direction, bound, kinds, .. } = *request;
        Self { direction, bound, inclusive: false, limit: request.need(), kinds }
    }

    pub fn behind(request: &PageRequest) -> Option<Self> {
        let direction = request.direction.reversed();
        let PageRequest { bound, kinds, .. } = *request;
        bound?;
        Some(Self { direction, bound, inclusive: true, limit: 1, kinds })
    }

    /// The first rows within the window, at most its limit.
    pub fn first(&self, rows: Vec<Entry>) -> Vec<Entry> {
        let from = self.bound.unwrap_or(self.direction.start());
        let mut met: Vec<Entry> = rows
            .into_iter()
            .filter(|row| {
                self.direction.meets_first(from, row.position()) || (self.inclusive && row.position() == from)
            })
            .collect();
        met.sort_unstable_by_key(Entry::position);
        if self.direction == Direction::Older {
            met.reverse();
        }
        met.truncate(self.limit);
        met
    }
}

#[async_trait]
impl Timelines for PrimaryStore {
    async fn read(&self, reader: UserId, request: &PageRequest, depth: Depth) -> Result<Snapshot, StoreError> {
        let view = View { primary_store: self, reader };
        if self.breaks(Rule::FloorOfAnotherSnapshot) {
            let floor = PrimaryStore::read(self, |tables| tables.floor(reader)).await?;
            return PrimaryStore::read(self, |tables| view.snapshot(tables, request, depth, floor)).await;
        }
        if self.breaks(Rule::EdgesOfAnotherSnapshot) {
            let edges = PrimaryStore::read(self, |tables| view.uncovered(tables)).await?;
            let snapshot =
                PrimaryStore::read(self, |it| view.over(it, it, request, depth, (&edges, it.floor(reader)))).await?;
            return Ok(snapshot);
        }
        if self.breaks(Rule::InboxBeforeInFlight) && depth != Depth::Outboxes {
            return view.in_two(request, depth).await;
        }
        if self.breaks(Rule::PulledInALaterSnapshot) {
            match depth {
                Depth::Inbox => {}
                Depth::Everything => return view.pulled_later(request).await,
                Depth::Outboxes => return view.followed_later(request).await,
            }
        }
        PrimaryStore::read(self, |tables| view.snapshot(tables, request, depth, tables.floor(reader))).await
    }

    async fn stretch(
        &self,
        reader: UserId,
        request: &PageRequest,
        stretch: Stretch,
        authors: &TimelineAuthors,
    ) -> Result<Option<StretchSnapshot>, StoreError> {
        let view = View { primary_store: self, reader };
        PrimaryStore::read(self, |tables| view.stretch(tables, (request, stretch), authors)).await
    }

    async fn reader(&self, reader: UserId) -> Result<Option<ReaderSnapshot>, StoreError> {
        known_authors::reader(self, reader).await
    }

    async fn page_candidates(
        &self,
        reader: UserId,
        request: &PageRequest,
        limits: CandidateLimits,
        wanted: Wanted,
    ) -> Result<Candidates, StoreError> {
        known_authors::candidates(self, reader, request, (limits, wanted)).await
    }

    /// No page of this simulation is read with cards.
    async fn card_facts(&self, _: UserId, _: &[ContentId]) -> Result<HashMap<ContentId, CardFacts>, StoreError> {
        Ok(HashMap::new())
    }

    async fn visible(&self, reader: UserId, contents: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        let view = View { primary_store: self, reader };
        PrimaryStore::read(self, |tables| {
            let visible = contents.iter().filter_map(|id| {
                let it = tables.contents.get(id).filter(|it| !it.removed)?;
                tables.mode(reader, it.author).filter(|_| view.shows_content(tables, *id))?;
                Some(Entry { publish_time: it.publish_time, content: *id, author: it.author })
            });
            visible.collect()
        })
        .await
    }

    async fn visible_to(&self, content: ContentId, readers: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        if self.engine.broken == Some(Rule::AnnouncedIsVisible) {
            return Ok(readers.to_vec());
        }
        PrimaryStore::read(self, |tables| {
            let Some(it) = tables.contents.get(&content).filter(|it| !it.removed) else { return Vec::new() };
            let follows = readers.iter().filter(|reader| tables.mode(**reader, it.author).is_some());
            follows
                .filter(|reader| View { primary_store: self, reader: **reader }.shows_content(tables, content))
                .copied()
                .collect()
        })
        .await
    }

    async fn oracle(&self, reader: UserId, request: &PageRequest) -> Result<Vec<Entry>, StoreError> {
        let view = View { primary_store: self, reader };
        PrimaryStore::read(self, |tables| {
            let all = tables.edges(reader).flat_map(|(author, _)| tables.outbox(author));
            let shown = all.filter(|it| view.shows_content(tables, it.content));
            Side::ahead(request).first(shown.filter(|it| tables.is_of(it.content, request.kinds)).collect())
        })
        .await
    }
}

/// A reader's view of the tables.
pub struct View<'a> {
    pub primary_store: &'a PrimaryStore,
    pub reader: UserId,
}

/// The uncovered authors, with their versions, and the floor.
type Claims<'a> = (&'a [UncoveredAuthor], Floor);

impl View<'_> {
    /// Whether nothing keeps the author out.
    pub fn shows(&self, tables: &Tables, author: UserId) -> bool {
        self.primary_store.breaks(Rule::ExcludedIsShown) || !tables.is_excluded(self.reader, author, EVERY_CAUSE)
    }

    /// Whether nothing keeps out the author of what the content reposts, if it is a repost.
    fn shows_repost(&self, tables: &Tables, content: ContentId) -> bool {
        let author = tables.contents.get(&content).and_then(|it| it.repost_author);
        self.primary_store.breaks(Rule::RepostsOfExcludedAreShown)
            || author.is_none_or(|author| self.shows(tables, author))
    }

    /// Both.
    fn shows_content(&self, tables: &Tables, content: ContentId) -> bool {
        let author = tables.contents.get(&content).map(|it| it.author);
        author.is_some_and(|author| self.shows(tables, author)) && self.shows_repost(tables, content)
    }

    /// All contents of the author that this side may show.
    pub fn outbox<'a>(&'a self, tables: &'a Tables, author: UserId, side: Side) -> impl Iterator<Item = Entry> + 'a {
        let of_kind = tables.outbox(author).filter(move |it| tables.is_of(it.content, side.kinds));
        of_kind.filter(|it| self.shows_repost(tables, it.content))
    }

    fn snapshot(&self, tables: &Tables, request: &PageRequest, depth: Depth, floor: Floor) -> Snapshot {
        let edges = self.uncovered(tables);
        self.over(tables, tables, request, depth, (&edges, floor))
    }

    /// In-flight contents are of one snapshot, everything else of another; of the same, unless a rule is broken.
    fn over(
        &self,
        in_flight: &Tables,
        tables: &Tables,
        request: &PageRequest,
        depth: Depth,
        claims: Claims<'_>,
    ) -> Snapshot {
        let runs = |side: Side| {
            if depth == Depth::Outboxes {
                let pulled = self.followed(tables, side);
                return vec![Run::from_limited_query(side.direction, pulled, side.limit)];
            }
            let flying = Run::from_limited_query(side.direction, self.in_flight(in_flight, side), side.limit);
            let mut runs = vec![flying];
            runs.extend(self.runs(tables, side, depth, claims));
            runs
        };
        Snapshot {
            floor: claims.1,
            excludes: self.excludes(tables),
            uncovered: if depth == Depth::Inbox { claims.0.to_vec() } else { Vec::new() },
            ahead: runs(Side::ahead(request)),
            behind: Side::behind(request).map(runs).unwrap_or_default(),
        }
    }

    /// Whether the reader keeps anybody out.
    pub fn excludes(&self, tables: &Tables) -> bool {
        !self.primary_store.breaks(Rule::ExclusionsAreNotReported) && tables.excludes(self.reader)
    }

    fn runs(&self, tables: &Tables, side: Side, depth: Depth, (edges, floor): Claims<'_>) -> Vec<Run> {
        let floor = if self.primary_store.breaks(Rule::FloorIsIgnored) { Floor::At(Position::OLDEST) } else { floor };
        let inbox = self.inbox(tables, side, floor);
        let trusted =
            Run::from_trusted_area(side.direction, side.bound, inbox.clone(), side.limit, floor.trusted_from());
        if depth == Depth::Inbox {
            return vec![trusted];
        }
        let pulled = edges.iter().flat_map(|edge| self.outbox(tables, edge.author, side)).collect();
        let uncovered = Run::from_limited_query(side.direction, side.first(pulled), side.limit);
        vec![self.covered(tables, side, (inbox, trusted), floor), uncovered]
    }

    fn uncovered(&self, tables: &Tables) -> Vec<UncoveredAuthor> {
        if self.primary_store.breaks(Rule::UncoveredIsIgnored) {
            return Vec::new();
        }
        let edges = tables.edges(self.reader).filter(|(_, edge)| edge.mode != EdgeMode::Push);
        let shown = edges.filter(|(author, _)| self.shows(tables, *author));
        shown.map(|(author, _)| UncoveredAuthor { author, version: tables.version(author) }).collect()
    }

    fn in_flight(&self, tables: &Tables, side: Side) -> Vec<Entry> {
        if self.primary_store.breaks(Rule::InFlightIsNotRead) {
            return Vec::new();
        }
        let records = tables.deliveries.iter();
        let any = self.primary_store.breaks(Rule::InFlightOfAnybody);
        let followed = records.filter(|(_, record)| any || tables.mode(self.reader, record.author).is_some());
        let followed = followed
            .filter(|(content, record)| self.shows(tables, record.author) && tables.is_of(**content, side.kinds))
            .filter(|(content, _)| self.shows_repost(tables, **content));
        let removed = self.primary_store.breaks(Rule::RemovedInFlightIsShown);
        let visible = followed.filter(|(content, _)| removed || tables.is_visible(**content));
        let entry = |(content, it): (&ContentId, &super::tables::Record)| Entry {
            publish_time: it.publish_time,
            content: *content,
            author: it.author,
        };
        side.first(visible.map(entry).collect())
    }

    fn inbox(&self, tables: &Tables, side: Side, floor: Floor) -> Vec<Entry> {
        let Floor::At(floor) = floor else { return Vec::new() };
        let rows = tables.inbox(self.reader).filter(|row| row.position() >= floor);
        let any = self.primary_store.breaks(Rule::InboxOfAnybody);
        let followed = rows.filter(|row| any || tables.mode(self.reader, row.author).is_some());
        let removed = self.primary_store.breaks(Rule::RemovedInInboxIsShown);
        let shown =
            followed.filter(|row| self.shows_content(tables, row.content) && tables.is_of(row.content, side.kinds));
        side.first(shown.filter(|row| removed || tables.is_visible(row.content)).collect())
    }

    fn covered(&self, tables: &Tables, side: Side, (inbox, trusted): (Vec<Entry>, Run), floor: Floor) -> Run {
        let edge = floor.trusted_from();
        let Side { direction, limit, .. } = side;
        match direction {
            Direction::Older if edge == Position::OLDEST || inbox.len() >= limit => {
                if inbox.len() >= limit {
                    return trusted;
                }
                trusted.then(Run::from_limited_query(direction, Vec::new(), limit))
            }
            Direction::Older => trusted.then(Run::from_limited_query(direction, self.below(tables, side, edge), limit)),
            Direction::Newer if side.bound.unwrap_or(Position::OLDEST) >= edge => trusted,
            Direction::Newer => {
                let below = self.below(tables, side, edge);
                let cut = below.len() >= limit;
                let below = Run::from_limited_query(direction, below, limit);
                if cut { below } else { below.then(Run::from_limited_query(direction, inbox, limit)) }
            }
        }
    }

    fn below(&self, tables: &Tables, side: Side, floor: Position) -> Vec<Entry> {
        let covered = tables.edges(self.reader).filter(|(_, edge)| edge.mode == EdgeMode::Push);
        let shown = covered.filter(|(author, _)| self.shows(tables, *author));
        let pulled = shown.flat_map(|(author, _)| self.outbox(tables, author, side));
        side.first(pulled.filter(|it| it.position() < floor).collect())
    }

    /// Whatever the modes and the floor.
    fn followed(&self, tables: &Tables, side: Side) -> Vec<Entry> {
        self.contents_of(&self.followed_authors(tables), tables, side)
    }

    fn followed_authors(&self, tables: &Tables) -> Vec<UserId> {
        let shown = tables.edges(self.reader).filter(|(author, _)| self.shows(tables, *author));
        shown.map(|(author, _)| author).collect()
    }

    fn contents_of(&self, authors: &[UserId], tables: &Tables, side: Side) -> Vec<Entry> {
        side.first(authors.iter().flat_map(|author| self.outbox(tables, *author, side)).collect())
    }

    /// The reverse order: what is in flight is read after the inbox.
    async fn in_two(&self, request: &PageRequest, depth: Depth) -> Result<Snapshot, StoreError> {
        let mut first = PrimaryStore::read(self.primary_store, |tables| {
            self.snapshot(tables, request, depth, tables.floor(self.reader))
        })
        .await?;
        let flying = PrimaryStore::read(self.primary_store, |tables| {
            let run = |side: Side| Run::from_limited_query(side.direction, self.in_flight(tables, side), side.limit);
            (run(Side::ahead(request)), Side::behind(request).map(run))
        })
        .await?;
        first.ahead[0] = flying.0;
        if let Some(run) = flying.1 {
            first.behind[0] = run;
        }
        Ok(first)
    }

    /// The outboxes of the authors whom an earlier statement named.
    async fn followed_later(&self, request: &PageRequest) -> Result<Snapshot, StoreError> {
        let (mut first, authors) = PrimaryStore::read(self.primary_store, |tables| {
            let first = self.snapshot(tables, request, Depth::Outboxes, tables.floor(self.reader));
            (first, self.followed_authors(tables))
        })
        .await?;
        (first.ahead, first.behind) = PrimaryStore::read(self.primary_store, |tables| {
            let run = |side: Side| {
                Run::from_limited_query(side.direction, self.contents_of(&authors, tables, side), side.limit)
            };
            (vec![run(Side::ahead(request))], Side::behind(request).map(run).into_iter().collect())
        })
        .await?;
        Ok(first)
    }

    /// Q as a statement of its own, for the authors that the one before named.
    async fn pulled_later(&self, request: &PageRequest) -> Result<Snapshot, StoreError> {
        let (mut first, edges) = PrimaryStore::read(self.primary_store, |tables| {
            let first = self.snapshot(tables, request, Depth::Everything, tables.floor(self.reader));
            (first, self.uncovered(tables))
        })
        .await?;
        let pulled = |tables: &Tables, side: Side| {
            let all = edges.iter().flat_map(|edge| self.outbox(tables, edge.author, side)).collect();
            Run::from_limited_query(side.direction, side.first(all), side.limit)
        };
        let later = PrimaryStore::read(self.primary_store, |tables| {
            (pulled(tables, Side::ahead(request)), Side::behind(request).map(|side| pulled(tables, side)))
        })
        .await?;
        first.ahead[2] = later.0;
        if let Some(run) = later.1 {
            first.behind[2] = run;
        }
        Ok(first)
    }
}
