//! The header of an outside inbox whose rows lie apart from it, by fence, and what each operation makes of it. The
//! store sets the next one if the revision is still the same. docs/protocol.md#outside-in-cassandra.

use super::{
    fence::{Basis, BucketToken, Fence, Generation, NodeId, Nonce, Revision},
    inbox::{Claim, Cover, Header},
};
use crate::{limits::NODE_ID_BYTES, timeline::position::Position};

/// Fences remembered as dropped. More would have to be given back by one loss of SQL's commits to be used again.
const REMEMBERED: usize = 32;

/// A header, and the fences whose rows were removed: they must never hold rows again, because an old removal could
/// hide a later row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHeader {
    /// What the rows of its fence prove.
    pub header: Header,
    /// The last [`REMEMBERED`] fences whose rows were removed, by [`mark`].
    pub dropped: Vec<i64>,
}

/// How an inbox may be opened.
#[derive(Debug, PartialEq, Eq)]
pub enum Opening {
    /// This replaces what is there; then the rows of the former fence go, if there was another.
    Next(StoredHeader, Option<Fence>),
    /// The rows of this fence were removed.
    Spent,
}

impl StoredHeader {
    /// Opens an inbox over `before`.
    pub fn open(before: Option<&Self>, fence: Fence, nonce: Nonce) -> Opening {
        let mut dropped = before.map(|before| before.dropped.clone()).unwrap_or_default();
        if dropped.contains(&mark(fence)) {
            return Opening::Spent;
        }
        let former = before.filter(|before| before.is_there()).map(|before| before.header.fence);
        let former = former.filter(|former| *former != fence);
        dropped.extend(former.map(mark));
        dropped.drain(..dropped.len().saturating_sub(REMEMBERED));
        let revision = Revision::after(before.map(|before| before.header.revision), nonce);
        Opening::Next(Self { header: Header::opened(fence, revision), dropped }, former)
    }

    /// Claims, if token and revision are the expected ones.
    pub fn claim(&self, (token, expected): (BucketToken, Revision), claim: &Claim) -> Option<Self> {
        let header = &self.header;
        (header.fence.token == token && header.revision == expected)
            .then(|| self.with(Some(claim.basis), claim.floor, claim.nonce))
    }

    /// Raises the floor, if the fence is the expected one.
    pub fn cover(&self, fence: Fence, cover: &Cover) -> Option<Self> {
        let header = &self.header;
        (header.fence == fence).then(|| self.with(header.basis, header.floor.max(cover.floor), cover.nonce))
    }

    /// The header of an inbox that nobody has: its fence is one that no token has.
    pub fn nobodys(revision: Revision, dropped: Vec<i64>) -> Self {
        let token = BucketToken { node: NodeId::of([0; NODE_ID_BYTES]), epoch: 0 };
        let nobody = Fence { token, generation: Generation(0) };
        Self { header: Header::opened(nobody, revision), dropped }
    }

    /// Nobody has the inbox any more. `None`: nobody had. The header stays, with a fence that no token has.
    pub fn forget(&self) -> Option<Self> {
        let former = self.header.fence;
        if !self.is_there() {
            return None;
        }
        let mut dropped = self.dropped.clone();
        dropped.push(mark(former));
        dropped.drain(..dropped.len().saturating_sub(REMEMBERED));
        let revision = Revision::after(Some(self.header.revision), Nonce(0));
        Some(Self::nobodys(revision, dropped))
    }

    /// Whether somebody has the inbox.
    pub fn is_there(&self) -> bool {
        self.header.fence.token.node != NodeId::of([0; NODE_ID_BYTES])
    }

    fn with(&self, basis: Option<Basis>, floor: Position, nonce: Nonce) -> Self {
        let revision = Revision::after(Some(self.header.revision), nonce);
        Self { header: Header { revision, basis, floor, ..self.header }, dropped: self.dropped.clone() }
    }
}

/// A number that stands for a fence among the few of one reader.
const fn mark(fence: Fence) -> i64 {
    Revision::after(Some(Revision(fence.generation.0)), Nonce(fence.token.epoch)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fence(generation: i64) -> Fence {
        Fence { token: BucketToken { node: NodeId::of([3; 20]), epoch: 5 }, generation: Generation(generation) }
    }

    fn open(before: Option<&StoredHeader>, generation: i64) -> (Option<StoredHeader>, Option<Fence>) {
        match StoredHeader::open(before, fence(generation), Nonce(1)) {
            Opening::Next(next, former) => (Some(next), former),
            Opening::Spent => (None, None),
        }
    }

    #[test]
    fn a_fence_whose_rows_were_removed_is_never_opened_again() {
        let (first, former) = open(None, 1);
        assert_eq!(former, None);
        let (again, former) = open(first.as_ref(), 1);
        assert_eq!(former, None, "the same fence keeps its rows");
        assert_ne!(again, first);
        let (second, former) = open(again.as_ref(), 2);
        assert_eq!(former, Some(fence(1)));
        assert_eq!(open(second.as_ref(), 1), (None, None));
        assert_eq!(StoredHeader::open(second.as_ref(), fence(1), Nonce(9)), Opening::Spent);
    }

    #[test]
    fn a_forgotten_inbox_is_opened_under_another_fence_only() {
        let forgotten = open(None, 1).0.and_then(|opened| opened.forget());
        assert_eq!(forgotten.as_ref().map(StoredHeader::is_there), Some(false));
        assert_eq!(forgotten.as_ref().and_then(StoredHeader::forget), None);
        assert_eq!(open(forgotten.as_ref(), 1), (None, None));
        let (next, former) = open(forgotten.as_ref(), 2);
        assert_eq!((next.map(|next| next.is_there()), former), (Some(true), None));
    }

    #[test]
    fn only_the_last_dropped_fences_are_remembered() {
        let mut stored = open(None, 0).0;
        for generation in 1..=40 {
            stored = open(stored.as_ref(), generation).0;
        }
        assert_eq!(stored.as_ref().map(|stored| stored.dropped.len()), Some(REMEMBERED));
        assert_eq!(open(stored.as_ref(), 39), (None, None));
    }
}
