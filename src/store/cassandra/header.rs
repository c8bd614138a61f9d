//! A reader's header as its row in Cassandra has it.

use crate::domain::{
    Position,
    timeline::outside::{Basis, Fence, Generation, Header, NodeId, Revision, StoredHeader, Token},
};

/// The columns in the order of the statement that reads them.
pub type Columns =
    (Option<i64>, Option<Vec<u8>>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<Vec<i64>>);

/// `None`: the columns are no whole header.
pub fn read(columns: Columns) -> Option<StoredHeader> {
    let (generation, node, epoch, revision, basis, floor_time, floor_id, dropped) = columns;
    let node = NodeId::of(node?.try_into().ok()?);
    let fence = Fence { token: Token { node, epoch: epoch? }, generation: Generation(generation?) };
    let header = Header {
        fence,
        revision: Revision(revision?),
        basis: basis.map(Basis),
        floor: Position::bound(floor_time?, floor_id?),
    };
    Some(StoredHeader { header, dropped: dropped.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_not_whole_is_none() {
        let with = |node: Vec<u8>, revision| (Some(1), Some(node), Some(5), revision, None, Some(0), Some(0), None);
        assert!(read(with(vec![3; 20], Some(7))).is_some());
        assert_eq!(read(with(vec![3; 19], Some(7))), None);
        assert_eq!(read(with(vec![3; 20], None)), None);
    }
}
