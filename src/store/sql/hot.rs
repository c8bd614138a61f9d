//! The statements of the hot paths as the engine gets them, for EXPLAIN: in tests/it/store/explain.rs, and by hand on
//! a slow server.

use sql_driver::{Dialect, Fragment};

use super::{
    SqlStore, cards,
    contents::{
        objects,
        outbox::{Listed, entries},
    },
    deliveries,
    follows::{self, lists},
    inboxes,
    listing::{List, pages},
    people, reactions, search,
    timelines::{self, Below},
};
use crate::{
    domain::{
        ContentId, Entry, PageRequest, Position, Reaction, UserId,
        account::external::ExternalId,
        delivery::subtask::Range,
        limits::MAX_CANDIDATES,
        search::{
            Look, Source, Span,
            people::{FoundUser, KeyPrefix},
        },
        timeline::{
            authors::TimelineAuthors,
            candidates::{Ask, CandidateLimits, Pulled, Wanted},
            stretch::Stretch,
        },
    },
    store::{deliveries::First, outside_states::SideRead},
};

/// A statement that must be answered by an index, whatever the tables hold.
#[derive(Clone, Debug)]
pub enum HotStatement {
    /// The whole statement of a page.
    Page(UserId, PageRequest, HotPage),
    /// What a node remembers of a reader.
    Reader(UserId),
    /// Each covered author's newest content so far below a floor.
    BelowFloor(UserId, Position, usize),
    /// The newest contents of covered authors from a floor down to a publish time (ms), and the most of them, as on
    /// TiDB.
    CoveredBelow(UserId, Position, i64, usize),
    /// What these authors have published in the window of an extension, from a floor down to a publish time (ms).
    ExtensionWindow(UserId, Vec<UserId>, (Position, i64)),
    /// The rows of a delivery's batch.
    FanOut(Entry, Range),
    /// Whether any follower of a range is being filled.
    Filling(UserId, Range),
    /// The follower id at which a range of this many targets ends.
    Targets(UserId, Range, u32),
    /// The recipients outside SQL of a delivery's batch.
    OutsideRecipients(Entry, Range),
    /// The rows for the readers who are served first, led by the author's targets or by the readers seen last.
    First(Entry, First, bool),
    /// The deliveries due from one time (ms) to another, and their maximum number.
    Due(i64, i64, u64),
    /// The deliveries to be looked at from a time (ms) on, counted.
    Backlog(i64),
    /// The readers to be turned off who were last seen between two times (ms), and their maximum number.
    Unseen(i64, i64, u64),
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
    /// The authors whom readers pull.
    PulledAuthors(Vec<UserId>),
    /// The contents with these external ids.
    ExternalIds(Vec<ExternalId>),
    /// Contents with everything that their cards show to a user.
    ContentCards(UserId, Vec<ContentId>),
    /// Users with everything that their cards show to a user.
    UserCards(UserId, Vec<UserId>),
    /// A page of the users whose names begin with a prefix, after a place, as a viewer finds them.
    Named(UserId, KeyPrefix, Option<FoundUser>, usize),
    /// The users whom these users follow, as they are suggested to the first, and the most of them.
    FollowedBy(UserId, Vec<UserId>, usize),
    /// The most followed users, as they are suggested to a viewer, and the most of them.
    MostFollowed(Option<UserId>, usize),
}

/// How a page is read.
#[derive(Clone, Debug)]
pub enum HotPage {
    /// From candidates, with the contents of these uncovered authors.
    Candidates(CandidateLimits, Wanted, Vec<UserId>),
    /// From candidates, with the versions of these uncovered authors' outboxes, and what is in flight by followed
    /// author.
    Versions(Vec<UserId>),
    /// From candidates, of an inbox outside SQL.
    Outside(SideRead),
    /// From a stretch of the authors' outboxes.
    Stretch(Stretch, TimelineAuthors),
    /// By its definition.
    Definition,
    /// By its definition, with the outboxes read down to a publish time (ms) ahead of the bound, as on TiDB, and for a
    /// bound up to another one behind it.
    DefinitionWithin(i64, Option<i64>),
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
            Self::Page(reader, request, page) => page.part(dialect, reader, &request),
            Self::Reader(reader) => timelines::reader(dialect, reader),
            Self::BelowFloor(reader, floor, nth) => timelines::nth_of_covered(dialect, reader, floor, nth),
            Self::CoveredBelow(reader, floor, end_ms, limit) => {
                timelines::covered_below(dialect, reader, Below { floor, end_ms: Some(end_ms), limit })
            }
            Self::ExtensionWindow(reader, authors, bounds) => window(dialect, reader, &authors, bounds),
            Self::FanOut(entry, batch) => deliveries::fan_out(dialect, entry, batch),
            Self::Filling(author, range) => deliveries::filling(dialect, author, range),
            Self::Targets(author, range, size) => deliveries::targets(dialect, author, range, size),
            Self::OutsideRecipients(entry, batch) => deliveries::outside::recipients_statement(dialect, entry, batch),
            Self::First(entry, first, few) => deliveries::first(dialect, entry, first, few),
            Self::Due(from_ms, now_ms, limit) => deliveries::due(dialect, from_ms, now_ms, limit),
            Self::Backlog(from_ms) => deliveries::backlog(dialect, from_ms, 1),
            Self::Unseen(from_ms, before_ms, limit) => inboxes::unseen(dialect, from_ms, before_ms, limit),
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
                each(&authors, &request, |author| entries(dialect, Some(viewer), Listed::By(author), request.kinds))
            }
            Self::Media(viewer, authors, request) => each(&authors, &request, |author| {
                entries(dialect, Some(viewer), Listed::WithMediaBy(author), request.kinds)
            }),
            Self::Replies(viewer, contents, request) => each(&contents, &request, |content| {
                entries(dialect, Some(viewer), Listed::RepliesTo(content), request.kinds)
            }),
            Self::ReactedTo(user, reaction, request) => {
                pages(&[reactions::reacted_to(dialect, user, reaction)], &request)
            }
            Self::PushedReaders(author, range) => follows::pushed_readers(dialect, author, range, None),
            Self::Counts(sources, span) => search::count(&sources, span),
            Self::Candidates(viewer, look, span) => {
                search::candidates(dialect, Some(viewer), &look, span, MAX_CANDIDATES)
            }
            Self::PulledAuthors(readers) => follows::pulled_authors(dialect, &readers),
            Self::ExternalIds(ids) => objects::by_external_ids(&ids),
            Self::ContentCards(viewer, ids) => cards::whole_contents(dialect, Some(viewer), &ids),
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

impl HotPage {
    fn part(self, dialect: Dialect, reader: UserId, request: &PageRequest) -> Fragment {
        let limits = CandidateLimits { ahead: request.need(), behind: 4 };
        let all = Ask::of_inbox(limits, Wanted::ALL);
        match self {
            Self::Candidates(limits, wanted, authors) => {
                let ask = Ask { limits, wanted, pulled: Pulled::Contents(&authors), ..all };
                timelines::first_candidates(dialect, reader, request, &ask)
            }
            Self::Versions(authors) => {
                let ask = Ask { pulled: Pulled::Versions(&authors), many_in_flight: true, ..all };
                timelines::first_candidates(dialect, reader, request, &ask)
            }
            Self::Outside(ahead) => timelines::outside_page(dialect, reader, request, (&ahead, None), &all),
            Self::Stretch(stretch, authors) => timelines::stretch(dialect, reader, request, (stretch, &authors)),
            Self::Definition => timelines::definition(dialect, reader, request, [None; 2]),
            Self::DefinitionWithin(ahead, behind) => {
                timelines::definition(dialect, reader, request, [Some(ahead), behind])
            }
        }
    }
}
