//! Models contents and profiles in SQL, statement by statement, and reads pages of a reader who follows everybody, with
//! an inbox or without one.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use tidefeed::{
    domain::{
        Content, ContentId, ContentKind, Counters, Direction, Entry, Floor, Handle, PageRequest, PageSize, Position,
        Profile, Reaction, Reference, Run, UserId, ViewerReactions,
        timeline::{
            authors::{ReaderSnapshot, TimelineAuthors},
            candidates::{Ask, Candidate, Candidates, CardFacts, Wanted},
            plan::Snapshot,
            reactions::RememberedReactions,
            stretch::{OutboxesSnapshot, Stretch},
        },
    },
    store::{
        StoreError, Timelines,
        cards::{ContentCard, UserCard},
    },
};

use super::Rule;
use crate::rng::SimRng;

/// Who publishes.
pub const AUTHORS: i64 = 2;
/// The reader's authors never change.
const ANY_VERSION: i64 = 1;

/// A profile as committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Differs for each name.
    pub name: u64,
    /// Of the profile.
    pub version: i64,
}

/// What the reader likes, as committed.
#[derive(Clone, Default)]
pub struct Likes {
    version: i64,
    liked: BTreeSet<ContentId>,
}

/// All rows.
pub struct Rows {
    contents: BTreeMap<ContentId, (UserId, bool)>,
    profiles: BTreeMap<UserId, Named>,
    likes: Likes,
    /// What a fail-over would bring back, and an earlier snapshot has.
    before: BTreeMap<UserId, Named>,
    /// As `before`.
    likes_before: Likes,
    names: u64,
}

/// The store.
pub struct Sql {
    rows: Mutex<Rows>,
    /// Of the reader's inbox. Without one, pages are read from stretches of the outboxes.
    floor: Floor,
    broken: Option<Rule>,
}

pub fn user(id: i64) -> UserId {
    UserId::try_new(id).unwrap()
}

impl Sql {
    pub fn new(has_inbox: bool, broken: Option<Rule>) -> Self {
        let profiles: BTreeMap<UserId, Named> =
            (1..=AUTHORS).map(|id| (user(id), Named { name: 0, version: 0 })).collect();
        let likes = Likes::default();
        let (before, likes_before) = (profiles.clone(), likes.clone());
        let rows = Rows { contents: BTreeMap::new(), profiles, likes, before, likes_before, names: 0 };
        let floor = if has_inbox { Floor::At(Position::OLDEST) } else { Floor::Off };
        Self { rows: Mutex::new(rows), floor, broken }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn breaks(&self, rule: Rule) -> bool {
        self.broken == Some(rule)
    }

    pub fn publish(&self, author: UserId) {
        let mut rows = self.rows();
        let id = ContentId::try_new(1 + i64::try_from(rows.contents.len()).unwrap()).unwrap();
        rows.contents.insert(id, (author, false));
    }

    /// Removes some content.
    pub fn remove(&self, rng: &mut SimRng) {
        let mut rows = self.rows();
        let nth = rng.index(rows.contents.len());
        if let Some(content) = rows.contents.values_mut().nth(nth) {
            content.1 = true;
        }
    }

    /// A name that nobody has had, and a version that no profile has had.
    pub fn rename(&self, author: UserId, rng: &mut SimRng) {
        let mut rows = self.rows();
        rows.names += 1;
        let Named { version, .. } = rows.profiles[&author];
        let version = match self.broken {
            Some(Rule::ChangeKeepsVersion) => version,
            Some(Rule::VersionIsCounted) => version + 1,
            _ => drawn(rng),
        };
        let name = rows.names;
        rows.before = rows.profiles.clone();
        rows.profiles.insert(author, Named { name, version });
    }

    /// The reader likes some content, or no longer.
    pub fn like(&self, rng: &mut SimRng) {
        let mut rows = self.rows();
        let nth = rng.index(rows.contents.len());
        let Some(content) = rows.contents.keys().nth(nth).copied() else { return };
        rows.likes_before = rows.likes.clone();
        if !rows.likes.liked.remove(&content) {
            rows.likes.liked.insert(content);
        }
        rows.likes.version = match self.broken {
            Some(Rule::ReactionKeepsVersion) => rows.likes.version,
            Some(Rule::ReactionsAreCounted) => rows.likes.version + 1,
            _ => drawn(rng),
        };
    }

    /// Whether the reader likes the content.
    pub fn likes(&self, content: ContentId) -> bool {
        self.rows().likes.liked.contains(&content)
    }

    /// A fail-over loses the last change of a profile and the last reaction.
    pub fn lose(&self) {
        let mut rows = self.rows();
        rows.profiles = rows.before.clone();
        rows.likes = rows.likes_before.clone();
    }

    /// Whether the content exists.
    pub fn has(&self, content: ContentId) -> bool {
        self.rows().contents.get(&content).is_some_and(|(_, removed)| !removed)
    }

    pub fn profile(&self, author: UserId) -> Named {
        self.rows().profiles[&author]
    }

    /// One statement: the cards of those that exist.
    pub fn cards(&self, contents: &[Entry]) -> Vec<ContentCard> {
        let there = contents.iter().filter(|entry| self.has(entry.content));
        there.map(|entry| card(entry, self.profile(entry.author))).collect()
    }

    /// The versions of a later statement, if a rule says so.
    pub fn versions_of_now(&self, cards: Vec<ContentCard>) -> Vec<ContentCard> {
        if !self.breaks(Rule::VersionIsReadApart) {
            return cards;
        }
        let later = |mut card: ContentCard| {
            if let Some(author) = &mut card.author {
                let version = self.profile(author.profile.id).version;
                author.profile = Arc::new(Profile { version, ..(*author.profile).clone() });
            }
            card
        };
        cards.into_iter().map(later).collect()
    }

    /// As a page of outboxes has it.
    fn reactions_version(&self) -> i64 {
        let rows = self.rows();
        let of = if self.breaks(Rule::StretchVersionIsReadApart) { &rows.likes_before } else { &rows.likes };
        of.version
    }

    fn snapshot(&self, ahead: Run) -> Snapshot {
        Snapshot { floor: self.floor, ahead: vec![ahead], behind: Vec::new() }
    }

    fn rows_of_page(&self, request: &PageRequest, limit: usize, wanted: Wanted) -> Vec<Candidate> {
        let rows = self.rows();
        let profiles = if self.breaks(Rule::VersionOfAnEarlierSnapshot) { &rows.before } else { &rows.profiles };
        let shown =
            rows.contents.iter().rev().filter(|(_, (_, removed))| !removed || self.breaks(Rule::RemovedIsShown));
        let candidate = |(id, (author, _)): (&ContentId, &(UserId, bool))| {
            let facts = CardFacts {
                counters: Counters::default(),
                reactions: reactions(wanted.reactions && rows.likes.liked.contains(id)),
                profile_version: profiles[author].version,
            };
            let entry = Entry { publish_time: id.get(), content: *id, author: *author };
            Candidate { entry, original_author: None, facts: Some(facts) }
        };
        assert!(request.bound.is_none(), "pages are the newest");
        shown.map(candidate).take(limit).collect()
    }
}

/// A version that nothing has had.
fn drawn(rng: &mut SimRng) -> i64 {
    i64::try_from(rng.below(u64::MAX >> 1)).unwrap()
}

fn reactions(liked: bool) -> ViewerReactions {
    ViewerReactions { liked, bookmarked: false }
}

fn card(entry: &Entry, named: Named) -> ContentCard {
    let profile = Profile {
        id: entry.author,
        handle: Handle::try_new("ann").unwrap(),
        name: named.name.to_string(),
        bio: String::new(),
        avatar_url: None,
        created_at: 1,
        version: named.version,
    };
    let content = Content {
        id: entry.content,
        author: entry.author,
        kind: ContentKind::Post,
        reference: Reference::Nothing,
        text: String::new(),
        media: Vec::new(),
        publish_time: entry.publish_time,
    };
    let author = Some(UserCard { profile: Arc::new(profile), counts: None, is_followed: None, exclusions: None });
    ContentCard { content: Arc::new(content), counters: None, reactions: None, author }
}

#[async_trait]
impl Timelines for Sql {
    async fn definition(
        &self,
        _: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<OutboxesSnapshot, StoreError> {
        assert!(self.floor == Floor::Off, "a page of an inbox is made of candidates");
        let found = self.rows_of_page(request, request.need(), Wanted { reactions: false, ..Wanted::ALL });
        let entries = found.iter().map(|it| it.entry).collect();
        let snapshot = self.snapshot(Run::from_limited_query(Direction::Older, entries, request.need()));
        let facts = found.into_iter().filter_map(|it| Some((it.entry.content, it.facts?)));
        let facts = if with_facts { facts.collect() } else { HashMap::new() };
        Ok(OutboxesSnapshot { snapshot, reactions_version: self.reactions_version(), facts })
    }

    async fn stretch(
        &self,
        _: UserId,
        request: &PageRequest,
        stretch: Stretch,
        _: &TimelineAuthors,
    ) -> Result<Option<OutboxesSnapshot>, StoreError> {
        let mut found = self.rows_of_page(request, usize::MAX, Wanted { reactions: false, ..Wanted::ALL });
        found.retain(|it| it.entry.publish_time >= stretch.end_ms);
        let entries: Vec<Entry> = found.iter().map(|it| it.entry).collect();
        let ahead = if entries.len() > stretch.most_rows {
            Run::unknown(Direction::Older, None)
        } else {
            Run::from_stretch(Direction::Older, entries, stretch.end_ms)
        };
        found.retain(|it| stretch.facts_end_ms.is_some_and(|end_ms| it.entry.publish_time >= end_ms));
        let facts = found.into_iter().filter_map(|it| Some((it.entry.content, it.facts?))).collect();
        let reactions_version = self.reactions_version();
        Ok(Some(OutboxesSnapshot { snapshot: self.snapshot(ahead), reactions_version, facts }))
    }

    async fn reader(&self, _: UserId) -> Result<Option<ReaderSnapshot>, StoreError> {
        let rows = self.rows();
        let of = if self.breaks(Rule::ReactionsOfAnEarlierSnapshot) { &rows.likes_before } else { &rows.likes };
        let liked = of.liked.iter().map(|content| (*content, Reaction::Like)).collect();
        Ok(Some(ReaderSnapshot {
            authors: TimelineAuthors::new(
                ANY_VERSION,
                &(1..=AUTHORS).map(|id| (user(id), true)).collect::<Vec<_>>(),
                Vec::new(),
            ),
            reactions: Some(RememberedReactions::new(rows.likes.version, liked)),
            floor: self.floor,
        }))
    }

    async fn candidates(&self, _: UserId, request: &PageRequest, ask: &Ask<'_>) -> Result<Candidates, StoreError> {
        let reactions_version = self.rows().likes.version;
        Ok(Candidates {
            version: Some(ANY_VERSION),
            reactions_version,
            floor: self.floor,
            in_flight: Some(Vec::new()),
            leaving: Vec::new(),
            ahead: self.rows_of_page(request, ask.limits.ahead, ask.wanted),
            behind: Vec::new(),
            pulled_ahead: Vec::new(),
            pulled_behind: Vec::new(),
            versions: Vec::new(),
        })
    }

    async fn card_facts(&self, _: UserId, of: &[ContentId]) -> Result<HashMap<ContentId, CardFacts>, StoreError> {
        let all = self.rows_of_page(&PageRequest::newest(PageSize::try_new(1).unwrap()), usize::MAX, Wanted::ALL);
        let those = all.into_iter().filter(|it| of.contains(&it.entry.content));
        Ok(those.filter_map(|it| Some((it.entry.content, it.facts?))).collect())
    }

    async fn visible(&self, _: UserId, _: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        Ok(Vec::new())
    }

    async fn visible_to(&self, _: ContentId, _: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        Ok(Vec::new())
    }

    async fn oracle(&self, _: UserId, _: &PageRequest) -> Result<Vec<Entry>, StoreError> {
        Ok(Vec::new())
    }
}
