//! Timeline reads in the model: the definition of a timeline, and who sees what.

use async_trait::async_trait;
use tidefeed::{
    domain::{
        ContentId, Direction, Entry, IdMap, Kinds, PageRequest, Position, Run, UserId,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Ask, Candidates},
            merge::Snapshot,
            stretch::{OutboxesSnapshot, Stretch},
        },
    },
    store::{
        StoreError, Timelines,
        outside_states::{OutsideCandidates, SideRead},
    },
};

use super::{
    cards::{self, Earlier},
    exclusions::EVERY_CAUSE,
    known_authors,
    tables::Tables,
    transaction::PrimaryStore,
};
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
    async fn definition(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<OutboxesSnapshot, StoreError> {
        let view = View { primary_store: self, reader };
        let earlier = Earlier::read(self, reader).await?;
        let authors = PrimaryStore::read(self, |tables| view.followed_authors(tables)).await?;
        PrimaryStore::read_anywhere(self, |tables| {
            let later = self.breaks(Rule::PulledInALaterSnapshot);
            let authors = if later { authors.clone() } else { view.followed_authors(tables) };
            let rows = |side: Side| view.contents_of(&authors, tables, side);
            let run = |side: Side| Run::from_limited_query(side.direction, rows(side), side.limit);
            let facts = if with_facts { earlier.facts(tables, &rows(Side::ahead(request))) } else { IdMap::default() };
            let behind = Side::behind(request).map(run).into_iter().collect();
            let floor = tables.floor(reader);
            let snapshot = Snapshot { floor, ahead: vec![run(Side::ahead(request))], behind };
            let reactions_version = earlier.reactions_version(cards::reactions_version(tables, reader));
            OutboxesSnapshot { snapshot, reactions_version, facts }
        })
        .await
    }

    async fn stretch(
        &self,
        reader: UserId,
        request: &PageRequest,
        stretch: Stretch,
        authors: &TimelineAuthors,
    ) -> Result<Option<OutboxesSnapshot>, StoreError> {
        let view = View { primary_store: self, reader };
        let earlier = Earlier::read(self, reader).await?;
        PrimaryStore::read_anywhere(self, |tables| view.stretch(tables, (request, stretch), authors, &earlier)).await
    }

    async fn reader(&self, reader: UserId) -> Result<Option<ReaderSnapshot>, StoreError> {
        known_authors::reader(self, reader).await
    }

    async fn candidates(&self, reader: UserId, request: &PageRequest, ask: &Ask<'_>) -> Result<Candidates, StoreError> {
        known_authors::candidates(self, reader, request, ask).await
    }

    async fn candidates_with(
        &self,
        reader: UserId,
        request: &PageRequest,
        sides: (&SideRead, Option<&SideRead>),
        ask: &Ask<'_>,
    ) -> Result<OutsideCandidates, StoreError> {
        known_authors::candidates_with(self, reader, request, sides, ask).await
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

    fn followed_authors(&self, tables: &Tables) -> Vec<UserId> {
        let shown = tables.edges(self.reader).filter(|(author, _)| self.shows(tables, *author));
        shown.map(|(author, _)| author).collect()
    }

    fn contents_of(&self, authors: &[UserId], tables: &Tables, side: Side) -> Vec<Entry> {
        side.first(authors.iter().flat_map(|author| self.outbox(tables, *author, side)).collect())
    }
}
