//! A reader's header as its row in Cassandra has it.

use crate::domain::{
    Position,
    timeline::outside::{Basis, BucketToken, Fence, Generation, Header, NodeId, Revision, StoredHeader},
};

/// The columns in the order of the statement that reads them.
pub type Columns =
    (Option<i64>, Option<Vec<u8>>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<Vec<i64>>);

/// `None`: there is no header. One that is not whole is nobody's: its revision is there to be replaced.
pub fn read(columns: Columns) -> Option<StoredHeader> {
    let (generation, node, epoch, revision, basis, floor_time, floor_id, dropped) = columns;
    let (revision, dropped) = (Revision(revision?), dropped.unwrap_or_default());
    let fence = fence(node, epoch, generation);
    let header = match (fence, floor_time.zip(floor_id)) {
        (Some(fence), Some((time, id))) => {
            Header { fence, revision, basis: basis.map(Basis), floor: Position::bound(time, id) }
        }
        _ => return Some(StoredHeader::nobodys(revision, dropped)),
    };
    Some(StoredHeader { header, dropped })
}

fn fence(node: Option<Vec<u8>>, epoch: Option<i64>, generation: Option<i64>) -> Option<Fence> {
    let node = NodeId::of(node?.try_into().ok()?);
    Some(Fence { token: BucketToken { node, epoch: epoch? }, generation: Generation(generation?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_not_whole_is_nobodys_and_keeps_its_revision() {
        let with = |node: Vec<u8>, revision, floor| {
            read((Some(1), Some(node), Some(5), revision, Some(9), Some(0), floor, Some(vec![4])))
        };
        let whole = with(vec![3; 20], Some(7), Some(0));
        assert_eq!(whole.as_ref().map(StoredHeader::is_there), Some(true));
        for broken in [with(vec![3; 19], Some(7), Some(0)), with(vec![3; 20], Some(7), None)] {
            let broken = broken.as_ref();
            assert_eq!(broken.map(|broken| (broken.is_there(), broken.header.basis)), Some((false, None)));
            assert_eq!(broken.map(|broken| (broken.header.revision.0, &*broken.dropped)), Some((7, &[4][..])));
        }
        assert_eq!(with(vec![3; 20], None, Some(0)), None);
    }
}
