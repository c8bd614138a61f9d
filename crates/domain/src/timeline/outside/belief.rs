//! Decides whether a slice of an outside inbox counts: it must be equal before and after the statement, under the
//! statement's fence.

use super::{
    fence::{Basis, Fence},
    inbox::Slice,
};

/// What the page's statement says about the reader's outside inbox, in its own snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The bucket's token and the reader's generation.
    pub fence: Fence,
    /// The basis of the last build or extension.
    pub basis: Basis,
}

/// What a page may do with a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belief {
    /// The slice is the inbox at the statement's instant.
    Believed,
    /// The inbox changed during the read. Another try may help.
    Changed,
    /// There is no inbox, its fence or basis differs, or the reader is not in the outside tier.
    Foreign,
}

/// Compares the slice before the statement, the slice after it, and what the statement said. `None` stands for a
/// missing header, and for a reader outside the tier or in a bucket without a token.
///
/// Within a revision rows are only added. So a slice that is equal before and after is the slice at every instant
/// between.
pub fn believe(before: Option<&Slice>, after: Option<&Slice>, expected: Option<Expected>) -> Belief {
    let (Some(before), Some(after), Some(expected)) = (before, after, expected) else { return Belief::Foreign };
    if before != after {
        return Belief::Changed;
    }
    let header = &after.header;
    if header.fence == expected.fence && header.basis == Some(expected.basis) {
        Belief::Believed
    } else {
        Belief::Foreign
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            fence::{BucketToken, Generation, NodeId, Revision},
            inbox::Header,
        },
        *,
    };
    use crate::Position;

    fn fence(epoch: i64, generation: i64) -> Fence {
        Fence { token: BucketToken { node: NodeId::of([1; 20]), epoch }, generation: Generation(generation) }
    }

    fn slice(revision: i64, times: &[i64]) -> Slice {
        let header =
            Header { fence: fence(1, 1), revision: Revision(revision), basis: Some(Basis(1)), floor: Position::OLDEST };
        Slice { header, rows: times.iter().map(|time| Position::bound(*time, 1)).collect() }
    }

    #[test]
    fn only_an_unchanged_slice_of_the_same_fence_and_basis_is_believed() {
        let read = slice(1, &[2, 1]);
        let expected = Expected { fence: fence(1, 1), basis: Basis(1) };
        let ask = |after: &Slice, expected| believe(Some(&read), Some(after), Some(expected));
        assert_eq!(ask(&read, expected), Belief::Believed);
        assert_eq!(ask(&slice(2, &[2, 1]), expected), Belief::Changed, "rows went and came");
        assert_eq!(ask(&slice(1, &[3, 2]), expected), Belief::Changed, "a row was added");
        for fence in [fence(2, 1), fence(1, 2)] {
            assert_eq!(ask(&read, Expected { fence, ..expected }), Belief::Foreign);
        }
        assert_eq!(ask(&read, Expected { basis: Basis(2), ..expected }), Belief::Foreign, "SQL knows of no such claim");
    }

    #[test]
    fn a_missing_inbox_is_not_believed() {
        let read = slice(1, &[]);
        let expected = Some(Expected { fence: fence(1, 1), basis: Basis(1) });
        assert_eq!(believe(None, Some(&read), expected), Belief::Foreign);
        assert_eq!(believe(Some(&read), None, expected), Belief::Foreign);
        assert_eq!(believe(Some(&read), Some(&read), None), Belief::Foreign);
    }
}
