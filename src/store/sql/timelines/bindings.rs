//! The values of a timeline's statement.

use sql_driver::Value;

use super::super::{fragment::Fragment, rows::id_list};
use crate::domain::{
    PageRequest, Position, UserId,
    timeline::{
        candidates::Ask,
        outside::{Bucket, Fence},
    },
};

/// Offset of the tags of entries behind the bound.
const BEHIND: i64 = 10;

/// Where a side lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum End {
    /// Beyond the bound, in the direction of the page.
    Ahead,
    /// At the bound and on its near side.
    Behind,
}

impl End {
    /// The tag of entries from this source on this side.
    pub(super) const fn tag(self, source: i64) -> i64 {
        match self {
            Self::Ahead => source,
            Self::Behind => BEHIND + source,
        }
    }
}

/// Which ids a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum List {
    /// Contents ahead of the bound.
    Ahead,
    /// Contents at the bound and behind it.
    Behind,
    /// Authors.
    Authors,
}

impl From<End> for List {
    fn from(end: End) -> Self {
        match end {
            End::Ahead => Self::Ahead,
            End::Behind => Self::Behind,
        }
    }
}

/// The values of one statement, which its builders put in the place of each `?`.
#[derive(Clone, Debug)]
pub(super) struct Bindings {
    reader: UserId,
    bound: Position,
    /// Ahead of the bound, and behind it.
    limits: [i64; 2],
    /// By [`List`].
    lists: [Vec<i64>; 3],
    end_ms: i64,
    facts_end_ms: i64,
    /// Where the outboxes of many authors are read to, ahead of the bound and behind it.
    reaches: [Option<i64>; 2],
    fence: Option<Fence>,
}

impl Bindings {
    /// Of a reader's page. Behind the bound one entry is enough.
    pub(super) fn of(reader: UserId, request: &PageRequest) -> Self {
        let bound = request.bound.unwrap_or(request.direction.start());
        Self::from(reader, bound).limited(End::Ahead, request.need()).limited(End::Behind, 1)
    }

    /// Of a page that is made of candidates.
    pub(super) fn asking(reader: UserId, request: &PageRequest, ask: &Ask<'_>) -> Self {
        Self::of(reader, request)
            .limited(End::Ahead, ask.limits.ahead)
            .limited(End::Behind, ask.limits.behind)
            .listing(List::Authors, ask.pulled.authors())
    }

    /// Of what lies beyond a position.
    pub(super) fn from(reader: UserId, bound: Position) -> Self {
        let end_ms = Position::OLDEST.publish_time();
        Self {
            reader,
            bound,
            limits: [1, 1],
            lists: [vec![], vec![], vec![]],
            end_ms,
            facts_end_ms: end_ms,
            reaches: [None; 2],
            fence: None,
        }
    }

    /// With at most `limit` entries on the side of `end`.
    #[must_use]
    pub(super) fn limited(mut self, end: End, limit: usize) -> Self {
        self.limits[end as usize] = i64::try_from(limit).unwrap_or(i64::MAX);
        self
    }

    /// With these ids.
    #[must_use]
    pub(super) fn listing<I: Copy + Into<i64>>(mut self, list: List, ids: &[I]) -> Self {
        self.lists[list as usize] = ids.iter().map(|id| (*id).into()).collect();
        self
    }

    /// Down to a publish time (ms), or up to it.
    #[must_use]
    pub(super) fn ending(self, end_ms: i64) -> Self {
        Self { end_ms, ..self }
    }

    /// With facts down to a publish time (ms), or up to it.
    #[must_use]
    pub(super) fn facts_ending(self, facts_end_ms: i64) -> Self {
        Self { facts_end_ms, ..self }
    }

    /// With the outboxes of many authors read to a publish time (ms) on a side, where this is cheaper than the first
    /// contents of each.
    #[must_use]
    pub(super) fn reaching(mut self, end: End, end_ms: Option<i64>) -> Self {
        self.reaches[end as usize] = end_ms;
        self
    }

    /// With the fence of an inbox outside.
    #[must_use]
    pub(super) fn fenced(self, fence: Fence) -> Self {
        Self { fence: Some(fence), ..self }
    }

    /// The reader's id.
    pub(super) fn reader(&self) -> Value {
        self.reader.get().into()
    }

    /// The time and the content of the bound, as [`Columns::window`](super::super::keyset::Columns::window) takes them.
    pub(super) fn bound(&self) -> [Value; 2] {
        [self.bound.publish_time(), self.bound.content_number()].map(Value::from)
    }

    /// The entries wanted on a side of the bound.
    pub(super) const fn limit(&self, end: End) -> i64 {
        self.limits[end as usize]
    }

    /// The publish time (ms) to which the outboxes of many authors are read on a side.
    pub(super) const fn reach(&self, end: End) -> Option<i64> {
        self.reaches[end as usize]
    }

    /// `(?, ?, ..)` for the listed ids, filled up as lists are; none for an empty list.
    pub(super) fn list(&self, list: List) -> Fragment {
        let (text, ids) = id_list(&self.lists[list as usize]);
        Fragment::with(text, ids)
    }

    /// Whether nothing is listed.
    pub(super) const fn is_empty(&self, list: List) -> bool {
        self.lists[list as usize].is_empty()
    }

    /// The publish time (ms) at which the read stretch ends.
    pub(super) const fn end_ms(&self) -> i64 {
        self.end_ms
    }

    /// The publish time (ms) up to which entries come with facts.
    pub(super) fn facts_end_ms(&self) -> Value {
        self.facts_end_ms.into()
    }

    /// The bucket, the reader, and generation, epoch and node of the fence. Without a fence they are null, so that no
    /// row has it.
    pub(super) fn fence(&self) -> [Value; 5] {
        let fence = self.fence;
        [
            i64::from(Bucket::of(self.reader).number()).into(),
            self.reader(),
            fence.map(|fence| fence.generation.0).into(),
            fence.map(|fence| fence.token.epoch).into(),
            fence.map(|fence| fence.token.node.to_string()).into(),
        ]
    }
}
