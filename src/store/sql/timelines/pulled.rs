//! Pulls contents from the outboxes of many authors at once (source Q), with one text for every engine.
//!
//! MariaDB and SQLite have no `LATERAL`. A sub-select with `LIMIT` in the list of columns does the same for one value,
//! and one value for each author is enough: first the time of its first content, then the time of the last one that can
//! matter. On MySQL and MariaDB a range of the outbox index cannot start at another table's value. They skip the
//! entries between the author's end of the index and the window one by one, so a page far from both ends costs more.

use super::{
    super::{dialect::Dialect, fragment::Fragment, keyset::Columns},
    side::Side,
};
use crate::domain::{Direction, Position};

/// Stops the engine from merging a derived table into the outer select, which would run its sub-select more than once
/// for each row.
const ALL: &str = "LIMIT 9223372036854775807";

const OF_AUTHOR: Columns = Columns { time: "w.publish_time", id: "w.id" };
const CONTENT: Columns = Columns { time: "c.publish_time", id: "c.id" };

/// Q: the first contents of several authors together, without reading any outbox whole.
///
/// The outbox index gives the time of each author's first content. Only the authors of the first `side.limit` of these
/// times, and of times equal to the last of them, can have entries in the page: contents of as many others lie before
/// everything else. The statement reads at most `side.limit` contents of each, more if times are equal. `floor` names
/// the columns of the floor, or is empty.
pub(super) fn pulled(dialect: Dialect, side: Side<'_>, authors: Fragment, floor: &str) -> Fragment {
    let then = dialect.join_in_order();
    let carried = |alias: &str| floor.replace("f.", &format!("{alias}."));
    let order = side_order(side.direction);
    let heads = Fragment::new(
        format!(
            "SELECT r.author_id, r.head{} FROM (SELECT n.*, RANK() OVER (ORDER BY n.head {order}) AS place \
             FROM (SELECT f.*, (SELECT w.publish_time",
            carried("r")
        ),
        [],
    )
    .then(of_author(side, "f", floor))
    .add(" LIMIT 1) AS head FROM ", [])
    .then(authors.into_table("f"))
    .add(&format!(" {ALL}) n WHERE n.head IS NOT NULL) r WHERE r.place <= ?"), [side.limit]);
    if side.is_single() {
        return Fragment::new("SELECT c.publish_time, c.id, c.author_id FROM ", [])
            .then(heads.into_table("a"))
            .add(&format!(" {then} contents c ON c.author_id = a.author_id AND c.publish_time = a.head WHERE "), [])
            .then(side.of_contents("c"))
            .then(side.window(CONTENT))
            .then(below(CONTENT, "a", floor))
            .then(side.first(CONTENT));
    }
    let (last, compare) = match side.direction {
        Direction::Older => (Position::OLDEST, ">="),
        Direction::Newer => (Position::NEWEST, "<="),
    };
    Fragment::new(
        format!(
            "SELECT c.publish_time, c.id, c.author_id FROM (SELECT a.author_id{}, COALESCE((SELECT w.publish_time",
            carried("a")
        ),
        [],
    )
    .then(of_author(side, "a", floor))
    .add(" LIMIT 1 OFFSET ?), ?) AS last FROM ", [side.limit - 1, last.publish_time()])
    .then(heads.into_table("a"))
    .add(&format!(" {ALL}) p {then} contents c ON c.author_id = p.author_id AND c.publish_time {compare} p.last"), [])
    .add(" WHERE ", [])
    .then(side.of_contents("c"))
    .then(side.window(CONTENT))
    .then(below(CONTENT, "p", floor))
    .then(side.first(CONTENT))
}

/// The author's contents in the window, in order. MySQL recognises the index's order only if `ORDER BY` names the
/// author.
pub(super) fn of_author(side: Side<'_>, alias: &str, floor: &str) -> Fragment {
    let order = side_order(side.direction);
    Fragment::new(format!(" FROM contents w WHERE w.author_id = {alias}.author_id AND "), [])
        .then(side.of_contents("w"))
        .then(side.window(OF_AUTHOR))
        .then(below(OF_AUTHOR, alias, floor))
        .add(&format!(" ORDER BY w.author_id {order}, w.publish_time {order}, w.id {order}"), [])
}

/// Condition for positions below the floor in `alias`; empty if it has no floor.
fn below(columns: Columns, alias: &str, floor: &str) -> Fragment {
    if floor.is_empty() {
        return Fragment::default();
    }
    let Columns { time, id } = columns;
    Fragment::new(format!(" AND {time} <= {alias}.ft AND ({time} < {alias}.ft OR {id} < {alias}.fc)"), [])
}

const fn side_order(direction: Direction) -> &'static str {
    match direction {
        Direction::Older => "DESC",
        Direction::Newer => "ASC",
    }
}
