//! The values of a timeline's statement, apart from its text: a text has a placeholder for each `?`, and what fills the
//! placeholders differs from run to run.

use sql_driver::Value;

use super::super::{
    fragment::Fragment,
    rows::{list_of, padded},
};
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

/// What stands for a `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    /// The same number in each run.
    Number(i64),
    /// The reader's id.
    Reader,
    /// The publish time of the bound.
    BoundTime,
    /// The content of the bound.
    BoundContent,
    /// The entries wanted on a side of the bound.
    Limit(End),
    /// One less.
    Offset(End),
    /// A listed id, by its place.
    Listed(List, usize),
    /// The publish time at which the read stretch ends.
    EndTime,
    /// The publish time up to which entries come with facts.
    FactsEndTime,
    /// The reader's bucket.
    Bucket,
    /// The generation of the fence.
    Generation,
    /// The epoch of the fence.
    Epoch,
    /// The node of the fence.
    Node,
}

impl From<i64> for Placeholder {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl Placeholder {
    /// The bound, as [`Columns::window`](super::super::keyset::Columns::window) takes it.
    pub(super) const BOUND: [Self; 2] = [Self::BoundTime, Self::BoundContent];

    /// The offset of the last of so many rows.
    pub(super) const fn offset(self) -> Self {
        match self {
            Self::Limit(end) => Self::Offset(end),
            Self::Number(limit) => Self::Number(limit - 1),
            other => other,
        }
    }

    /// `(?, ?, ..)` for so many ids, filled up as lists are.
    pub(super) fn list(list: List, ids: usize) -> Fragment<Self> {
        let ids = padded(ids);
        Fragment::with(list_of(ids), (0..ids).map(|place| Self::Listed(list, place)))
    }
}

/// The values of one run.
#[derive(Clone, Debug)]
pub(super) struct Filling {
    reader: UserId,
    bound: Position,
    /// Ahead of the bound, and behind it.
    limits: [i64; 2],
    /// By [`List`].
    lists: [Vec<i64>; 3],
    end_ms: i64,
    facts_end_ms: i64,
    fence: Option<Fence>,
}

impl Filling {
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
            fence: None,
        }
    }

    /// With so many entries on a side.
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

    /// With the fence of an inbox outside.
    #[must_use]
    pub(super) fn fenced(self, fence: Fence) -> Self {
        Self { fence: Some(fence), ..self }
    }

    /// The values of a text, in its order.
    pub(super) fn values(&self, placeholders: &[Placeholder]) -> Vec<Value> {
        placeholders.iter().map(|placeholder| self.value(*placeholder)).collect()
    }

    /// Without a fence, its placeholders are null, so that no row has it. A list's last id fills it up.
    fn value(&self, placeholder: Placeholder) -> Value {
        Value::from(match placeholder {
            Placeholder::Number(number) => number,
            Placeholder::Reader => self.reader.get(),
            Placeholder::BoundTime => self.bound.publish_time(),
            Placeholder::BoundContent => self.bound.content_number(),
            Placeholder::Limit(end) => self.limits[end as usize],
            Placeholder::Offset(end) => self.limits[end as usize].saturating_sub(1),
            Placeholder::Listed(list, place) => {
                let ids = &self.lists[list as usize];
                return ids.get(place).or(ids.last()).copied().into();
            }
            Placeholder::EndTime => self.end_ms,
            Placeholder::FactsEndTime => self.facts_end_ms,
            Placeholder::Bucket => i64::from(Bucket::of(self.reader).number()),
            Placeholder::Generation => return self.fence.map(|fence| fence.generation.0).into(),
            Placeholder::Epoch => return self.fence.map(|fence| fence.token.epoch).into(),
            Placeholder::Node => return self.fence.map(|fence| fence.token.node.to_string()).into(),
        })
    }
}
