//! The statements of the hot paths as the engine gets them, for EXPLAIN: in tests/it/store/explain.rs, and by hand on
//! a slow server.

use sql_driver::{Dialect, Fragment};

use super::{
    SqlStore, cards,
    contents::outbox::{Listed, entries},
    deliveries,
    follows::{self, lists},
    listing::{List, pages},
    people, reactions, search,
    timelines::{self, Below},
};
use crate::{
    domain::{
        ContentId, Entry, PageRequest, Position, Reaction, UserId,
        delivery::subtask::Range,
        limits::MAX_CANDIDATES,
        search::{
            Look, Source, Span,
            people::{FoundUser, KeyPrefix},
        },
        timeline::{
            authors::TimelineAuthors,
            candidates::{CandidateLimits, Wanted},
            outside::Slice,
            stretch::Stretch,
        },
    },
    store::{deliveries::First, outside_states::SideRead, timelines::Depth},
};

/// A statement that must be answered by an index, whatever the tables hold.
#[derive(Clone, Debug)]
pub enum HotStatement {
    /// The whole statement of a page.
    Page(UserId, PageRequest, Depth),
    /// The whole statement of a page of a reader whose authors are known.
    KnownPage(UserId, PageRequest, CandidateLimits, Wanted),
    /// The whole statement of a page that lies in a stretch.
    Stretch(UserId, PageRequest, Stretch, TimelineAuthors),
    /// What a node remembers of a reader.
    Reader(UserId),
    /// Each covered author's newest content so far below a floor.
    BelowFloor(UserId, Position, usize),
    /// What these authors have published in the window of an extension, from a floor down to a publish time (ms).
    ExtensionWindow(UserId, Vec<UserId>, (Position, i64)),
    /// The branch of a page that reads the inbox.
    Inbox(UserId, PageRequest),
    /// The rows of a delivery's batch.
    FanOut(Entry, Range),
    /// Whether any follower of a range is being filled.
    Filling(UserId, Range),
    /// Who is pushed to at the end of so many targets in a range.
    Targets(UserId, Range, u32),
    /// The recipients outside SQL of a delivery's batch.
    OutsideRecipients(Entry, Range),
    /// The branch of a page that says which contents of an inbox outside SQL are shown.
    OutsideShown(UserId, PageRequest, Slice),
    /// The whole statement of a page of an inbox outside SQL whose reader's authors are known.
    OutsideKnownPage(UserId, PageRequest, SideRead),
    /// The rows for the readers who are served first, led by the author's targets or by the readers seen last.
    First(Entry, First, bool),
    /// The deliveries due at a time (ms), and their maximum number.
    Due(i64, u64),
    /// A page of each author's followers, as the first user sees it.
    Followers(UserId, Vec<UserId>, PageRequest),
    /// A page of those whom each user follows, as the first user sees it.
    Following(UserId, Vec<UserId>, PageRequest),
    /// A page of those who like each content, as a user sees it.
    Likers(UserId, Vec<ContentId>, PageRequest),
    /// A page of each author's contents, as the first user sees it.
    Outboxes(UserId, Vec<UserId>, PageRequest),
    /// A page of each author's contents with media, as the first user sees it.
    Media(UserId, Vec<UserId>, PageRequest),
    /// A page of the replies to each content, as a user sees it.
    Replies(UserId, Vec<ContentId>, PageRequest),
    /// A page of the contents to which a user has reacted in one way.
    ReactedTo(UserId, Reaction, PageRequest),
    /// The readers of a subtask to whom the delivery policy applies.
    PushedReaders(UserId, Range),
    /// How many contents lie in a span, of each source.
    Counts(Vec<Source>, Span),
    /// The contents that one search step finds in a span, as a viewer sees them.
    Candidates(UserId, Look, Span),
    /// The authors whom a reader pulls.
    PulledAuthors(UserId),
    /// Contents with everything that their cards show to a user.
    ContentCards(UserId, Vec<ContentId>),
    /// What the cards of contents need besides what a node remembers.
    CardFacts(UserId, Vec<ContentId>),
    /// Users with everything that their cards show to a user.
    UserCards(UserId, Vec<UserId>),
    /// A page of the users whose names begin with a prefix, after a place, as a viewer finds them.
    Named(UserId, KeyPrefix, Option<FoundUser>, usize),
    /// The users whom these users follow, as they are suggested to the first, at most so many.
    FollowedBy(UserId, Vec<UserId>, usize),
    /// The most followed users, as they are suggested to a viewer, at most so many.
    MostFollowed(Option<UserId>, usize),
}

impl SqlStore {
    /// The text of the statement on this engine, its numbers filled in.
    pub fn spell_out(&self, statement: HotStatement) -> String {
        statement.part(self.dialect).spelled_out()
    }
}

impl HotStatement {
    /// Text and values, as they are sent to the engine.
    pub(super) fn part(self, dialect: Dialect) -> Fragment {
        match self {
            Self::Page(reader, request, depth) => timelines::page(dialect, reader, &request, depth).0,
            Self::KnownPage(reader, request, limits, wanted) => {
                timelines::candidates(dialect, reader, &request, (limits, wanted))
            }
            Self::Reader(reader) => timelines::reader(dialect, reader),
            Self::Stretch(reader, request, stretch, authors) => {
                timelines::stretch(dialect, reader, &request, (stretch, &authors))
            }
            Self::BelowFloor(reader, floor, nth) => timelines::nth_of_covered(dialect, reader, floor, nth),
            Self::ExtensionWindow(reader, authors, bounds) => window(dialect, reader, &authors, bounds),
            Self::Inbox(reader, request) => timelines::page(dialect, reader, &request, Depth::Inbox).1,
            Self::FanOut(entry, batch) => deliveries::fan_out(dialect, entry, batch),
            Self::Filling(author, range) => deliveries::filling(dialect, author, range),
            Self::Targets(author, range, size) => deliveries::targets(dialect, author, range, size),
            Self::OutsideRecipients(entry, batch) => deliveries::outside::recipients_statement(dialect, entry, batch),
            Self::OutsideShown(reader, request, slice) => timelines::outside_shown(dialect, reader, &request, &slice),
            Self::OutsideKnownPage(reader, request, ahead) => {
                timelines::outside_known_page(dialect, reader, &request, (&ahead, None), Wanted::ALL)
            }
            Self::First(entry, first, few) => deliveries::first(dialect, entry, first, few),
            Self::Due(now_ms, limit) => deliveries::due(dialect, now_ms, limit),
            Self::Followers(viewer, authors, request) => {
                each(&authors, &request, |author| lists::followers(dialect, Some(viewer), author))
            }
            Self::Following(viewer, followers, request) => {
                each(&followers, &request, |follower| lists::following(dialect, Some(viewer), follower))
            }
            Self::Likers(viewer, contents, request) => {
                each(&contents, &request, |content| reactions::likers(dialect, Some(viewer), content))
            }
            Self::Outboxes(viewer, authors, request) => {
                each(&authors, &request, |author| entries(Some(viewer), Listed::By(author), request.kinds))
            }
            Self::Media(viewer, authors, request) => {
                each(&authors, &request, |author| entries(Some(viewer), Listed::WithMediaBy(author), request.kinds))
            }
            Self::Replies(viewer, contents, request) => {
                each(&contents, &request, |content| entries(Some(viewer), Listed::RepliesTo(content), request.kinds))
            }
            Self::ReactedTo(user, reaction, request) => {
                pages(&[reactions::reacted_to(dialect, user, reaction)], &request)
            }
            Self::PushedReaders(author, range) => follows::pushed_readers(dialect, author, range, None),
            Self::Counts(sources, span) => search::count(&sources, span),
            Self::Candidates(viewer, look, span) => {
                search::candidates(dialect, Some(viewer), &look, span, MAX_CANDIDATES)
            }
            Self::PulledAuthors(reader) => follows::pulled_authors(dialect, reader),
            Self::ContentCards(viewer, ids) => cards::whole_contents(dialect, Some(viewer), &ids),
            Self::CardFacts(reader, ids) => timelines::card_facts(dialect, reader, &ids),
            Self::UserCards(viewer, ids) => cards::whole_users(dialect, Some(viewer), &ids),
            Self::Named(viewer, prefix, after, limit) => {
                people::named(dialect, Some(viewer), &prefix, after.as_ref(), limit)
            }
            Self::FollowedBy(viewer, followed, limit) => people::followed_by(dialect, viewer, &followed, limit),
            Self::MostFollowed(viewer, limit) => people::most_followed(dialect, viewer, limit),
        }
    }
}

fn window(dialect: Dialect, reader: UserId, authors: &[UserId], (floor, end_ms): (Position, i64)) -> Fragment {
    timelines::of_authors_below(dialect, reader, authors, Below { floor, end_ms: Some(end_ms), limit: 100 })
}

fn each<K: Copy>(keys: &[K], request: &PageRequest, list: impl Fn(K) -> List) -> Fragment {
    pages(&keys.iter().copied().map(list).collect::<Vec<_>>(), request)
}
