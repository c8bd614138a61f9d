//! How an outside inbox lies in a sorted set: one member for each row, and three for the header, none of which is
//! longer than the 64 bytes up to which Redis keeps a set small.
//!
//! | member | score |
//! |---|---|
//! | the content's id, 20 digits | the publish time in ms |
//! | `<node>:<epoch>` | -3 |
//! | `<generation>:<revision>:<basis, or nothing>` | -2 |
//! | `<floor time>:<floor id>` | -1 |
//!
//! The floor's numbers have 20 digits each, so that floors compare as text. All of it is one key: eviction, expiry or
//! a restored dump cannot tear rows from their header.

use redis::{FromRedisValue as _, RedisError, Value};

use super::outbox_member::{MAX_SCORE, exact};
use crate::{
    domain::{
        Position,
        timeline::outside::{Basis, BucketToken, Fence, Generation, Header, NodeId, Revision},
    },
    store::StoreError,
};

/// A token as scripts compare it.
pub fn token(token: BucketToken) -> String {
    format!("{}:{}", token.node, token.epoch)
}

/// A floor as scripts compare it.
pub fn floor(floor: Position) -> String {
    format!("{:020}:{:020}", floor.publish_time(), floor.content_number())
}

/// The member of a row, or of a bound.
pub fn member(row: Position) -> String {
    format!("{:020}", row.content_number())
}

/// A row as score and member; `None` if its time has no exact score (after the year 285000).
pub fn scored(row: Position) -> Option<(i64, String)> {
    (row.publish_time() <= MAX_SCORE).then(|| (row.publish_time(), member(row)))
}

/// The score of a window's bound. No row has a time without an exact score, so such a bound lies above all of them.
pub fn bound_score(bound: Position) -> String {
    let time = bound.publish_time();
    if time <= MAX_SCORE { time.to_string() } else { "+inf".to_owned() }
}

/// Reads what the script that reads a slice answers: header and rows, oldest first. `None`: no inbox.
pub fn read(reply: &Value) -> Result<Option<(Header, Vec<Position>)>, StoreError> {
    let unreadable = |error: RedisError| StoreError::Unreadable(error.to_string());
    let slice = Option::<(String, String, String, Vec<(String, f64)>)>::from_redis_value_ref(reply)
        .map_err(|error| unreadable(RedisError::from(error)))?;
    let Some((token, numbers, floor, rows)) = slice else { return Ok(None) };
    let row = |(member, score): (String, f64)| {
        let content = member.parse().ok()?;
        Position::try_new(exact(score)?, content).ok()
    };
    let rows = rows.into_iter().map(row).collect::<Option<Vec<_>>>();
    match (read_header(&token, &numbers, &floor), rows) {
        (Some(header), Some(rows)) => Ok(Some((header, rows))),
        _ => Err(StoreError::Unreadable(format!("an outside inbox of {token}, {numbers}, {floor}"))),
    }
}

fn read_header(token: &str, numbers: &str, floor: &str) -> Option<Header> {
    let (node, epoch) = token.split_once(':')?;
    let token = BucketToken { node: node.parse::<NodeId>().ok()?, epoch: epoch.parse().ok()? };
    let (generation, numbers) = numbers.split_once(':')?;
    let (revision, basis) = numbers.split_once(':')?;
    let basis = if basis.is_empty() { None } else { Some(Basis(basis.parse().ok()?)) };
    let (time, id) = floor.split_once(':')?;
    Some(Header {
        fence: Fence { token, generation: Generation(generation.parse().ok()?) },
        revision: Revision(revision.parse().ok()?),
        basis,
        floor: Position::bound(time.parse().ok()?, id.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the scripts write them: generation, revision and basis.
    fn numbers(header: &Header) -> String {
        let basis = header.basis.map(|basis| basis.to_string()).unwrap_or_default();
        format!("{}:{}:{basis}", header.fence.generation, header.revision)
    }

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let token = BucketToken { node: NodeId::of([171; 20]), epoch: i64::MIN };
        let fence = Fence { token, generation: Generation(i64::MAX) };
        let opened = Header::opened(fence, Revision(-1));
        let claimed = Header { basis: Some(Basis(-7)), floor: Position::bound(3, i64::MAX), ..opened };
        for written in [opened, claimed, Header { floor: Position::OLDEST, ..claimed }] {
            let members = [super::token(written.fence.token), numbers(&written), super::floor(written.floor)];
            assert!(members.iter().all(|member| member.len() <= 64), "{members:?}");
            assert_eq!(read_header(&members[0], &members[1], &members[2]), Some(written));
        }
        for foreign in ["", ":", "1:2", "1:2:3:4", "x:1:2"] {
            assert_eq!(read_header(foreign, foreign, foreign), None, "{foreign}");
        }
    }

    #[test]
    fn floors_compare_as_text() {
        let at = Position::bound;
        let ascending = [Position::OLDEST, at(9, 8), at(9, 70), at(10, 1), Position::NEWEST];
        assert!(ascending.map(floor).is_sorted());
    }

    #[test]
    fn only_times_with_an_exact_score_become_rows() {
        assert!(scored(Position::bound(MAX_SCORE, 1)).is_some() && scored(Position::bound(MAX_SCORE + 1, 1)).is_none());
        assert_eq!(bound_score(Position::NEWEST), "+inf");
    }
}
