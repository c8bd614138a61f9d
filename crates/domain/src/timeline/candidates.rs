//! What one statement reads for the page of a reader whose authors are known: contents that the page may show. Those of
//! authors whom the timeline does not show are dropped afterwards.

use super::{floor::Floor, position::Entry};
use crate::{Counters, ViewerReactions, ids::UserId};

/// What a page asks of the statement that reads its candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask<'a> {
    /// Most rows of each source.
    pub limits: CandidateLimits,
    /// What is read of each candidate beside its entry.
    pub wanted: Wanted,
    /// The uncovered authors, and what is read of their outboxes.
    pub pulled: Pulled<'a>,
    /// Whether contents in flight are looked up by followed author, because all of them are too many to look through.
    /// Otherwise a store may give those of every author.
    pub many_in_flight: bool,
}

impl Ask<'static> {
    /// Of a reader all of whose authors are covered.
    pub const fn of_inbox(limits: CandidateLimits, wanted: Wanted) -> Self {
        Self { limits, wanted, pulled: Pulled::Contents(&[]), many_in_flight: false }
    }
}

/// What is read of the outboxes of a reader's uncovered authors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled<'a> {
    /// Their contents.
    Contents(&'a [UserId]),
    /// Their versions: the contents are cached.
    Versions(&'a [UserId]),
}

impl Pulled<'_> {
    /// The authors.
    pub const fn authors(&self) -> &[UserId] {
        match self {
            Self::Contents(authors) | Self::Versions(authors) => authors,
        }
    }
}

/// The version of an author's outbox. Every publish and removal draws another one: a cached outbox counts only at
/// exactly this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxVersion {
    /// The author.
    pub author: UserId,
    /// The version in the snapshot.
    pub version: i64,
}

/// What is read of a candidate beside its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// The [`CardFacts`].
    pub facts: bool,
    /// The reactions among them.
    pub reactions: bool,
    /// The author of a repost's original.
    pub original_authors: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Self = Self { facts: true, reactions: true, original_authors: true };
    /// Enough for the entries of every reader, with exclusions or without.
    pub const ENTRIES: Self = Self { facts: false, reactions: false, original_authors: true };
}

/// An existing content of the requested kinds that a page may show. Whether the timeline shows its author is not known
/// yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its position and its author.
    pub entry: Entry,
    /// The author of the reposted content; `None` if it is not a repost, or the author was not asked for.
    pub original_author: Option<UserId>,
    /// `None` if they were not asked for, or the content or its author has none.
    pub facts: Option<CardFacts>,
}

/// The changing facts about a content in a page's snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardFacts {
    /// The content's counters.
    pub counters: Counters,
    /// The reader's reactions to it; none if they were not asked for.
    pub reactions: ViewerReactions,
    /// The version of its author's profile.
    pub profile_version: i64,
}

/// The candidates of one snapshot for a page of a reader whose authors are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// The version of the reader's authors; `None` if there is no such account.
    pub version: Option<i64>,
    /// The version of the reader's reactions.
    pub reactions_version: i64,
    /// The reader's floor.
    pub floor: Floor,
    /// Contents in flight on both sides of the bound, in any order; `None` if there were too many of them, or of
    /// `leaving`, to read.
    pub in_flight: Option<Vec<Candidate>>,
    /// Authors whose accounts are being deleted. No timeline shows their remaining contents.
    pub leaving: Vec<UserId>,
    /// Inbox rows beyond the bound in reading order, down to the floor.
    pub ahead: Vec<Candidate>,
    /// As `ahead`, at the bound and on its near side; empty without a bound.
    pub behind: Vec<Candidate>,
    /// As `ahead`, from the outboxes of the pulled authors together.
    pub pulled_ahead: Vec<Candidate>,
    /// As `behind`, from these outboxes.
    pub pulled_behind: Vec<Candidate>,
    /// The versions of the pulled authors' outboxes, if these were asked for, in any order.
    pub versions: Vec<OutboxVersion>,
}

/// Most rows of a source in [`Candidates`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateLimits {
    /// Rows beyond the bound.
    pub ahead: usize,
    /// Rows at the bound and on its near side.
    pub behind: usize,
}
