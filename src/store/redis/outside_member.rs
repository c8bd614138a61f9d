//! How an outside inbox lies in a sorted set: one member for each row, and the header.
//!
//! | member | score |
//! |---|---|
//! | the content's id, 20 digits | the publish time in ms |
//! | `inbox:<node>:<epoch>:<generation>:<revision>:<basis, or nothing>:<floor time>:<floor id>` | -1 |
//!
//! The floor's numbers have 20 digits each, so that floors compare as text. All of it is one key: eviction, expiry or a
//! restored dump cannot tear rows from their header.

use redis::{FromRedisValue as _, RedisError, Value};

use super::outbox_member::{MAX_SCORE, exact};
use crate::{
    domain::{
        Position,
        timeline::outside::{Basis, Fence, Generation, Header, NodeId, Revision, Token},
    },
    store::StoreError,
};

/// A token as scripts compare it.
pub fn token(token: Token) -> String {
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

/// The header's member.
pub fn header(header: &Header) -> String {
    let Header { fence, revision, basis, floor: from } = header;
    let basis = basis.map(|basis| basis.to_string()).unwrap_or_default();
    format!("inbox:{}:{}:{revision}:{basis}:{}", token(fence.token), fence.generation, floor(*from))
}

/// Reads what the script that reads a slice answers: header and rows, oldest first. `None`: no inbox.
pub fn read(reply: &Value) -> Result<Option<(Header, Vec<Position>)>, StoreError> {
    let unreadable = |error: RedisError| StoreError::Unreadable(error.to_string());
    let slice = Option::<(String, Vec<(String, f64)>)>::from_redis_value_ref(reply)
        .map_err(|error| unreadable(RedisError::from(error)))?;
    let Some((header, rows)) = slice else { return Ok(None) };
    let row = |(member, score): (String, f64)| {
        let content = member.parse().ok()?;
        Position::try_new(exact(score)?, content).ok()
    };
    let rows = rows.into_iter().map(row).collect::<Option<Vec<_>>>();
    match (read_header(&header), rows) {
        (Some(header), Some(rows)) => Ok(Some((header, rows))),
        _ => Err(StoreError::Unreadable(format!("an outside inbox with the header {header:?}"))),
    }
}

fn read_header(member: &str) -> Option<Header> {
    let mut fields = member.strip_prefix("inbox:")?.split(':');
    let node: NodeId = fields.next()?.parse().ok()?;
    let mut number = || fields.next()?.parse::<i64>().ok();
    let token = Token { node, epoch: number()? };
    let fence = Fence { token, generation: Generation(number()?) };
    let revision = Revision(number()?);
    let basis = match fields.next()? {
        "" => None,
        basis => Some(Basis(basis.parse().ok()?)),
    };
    let mut number = || fields.next()?.parse::<i64>().ok();
    let floor = Position::bound(number()?, number()?);
    fields.next().is_none().then_some(Header { fence, revision, basis, floor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let token = Token { node: NodeId::of([171; 20]), epoch: i64::MIN };
        let fence = Fence { token, generation: Generation(i64::MAX) };
        let opened = Header::opened(fence, Revision(-1));
        let claimed = Header { basis: Some(Basis(-7)), floor: Position::bound(3, i64::MAX), ..opened };
        for written in [opened, claimed, Header { floor: Position::OLDEST, ..claimed }] {
            assert_eq!(read_header(&header(&written)), Some(written));
        }
        for foreign in ["", "inbox:", "stamp:1:0:0", &format!("{}:1", header(&claimed))] {
            assert_eq!(read_header(foreign), None, "{foreign}");
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
