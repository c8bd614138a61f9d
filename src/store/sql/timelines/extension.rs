//! Reads what an extension of an inbox needs: the contents of all covered authors in a window below the floor.
//! `domain::timeline::extension` chooses the window.
//!
//! Two statements cost less than one: MySQL and MariaDB bound an index by listed keys and a range after them, but not
//! by keys of another table. The first statement gives the keys and the times that bound the range.

use super::{
    super::{fragment::Fragment, keyset::Columns, rows::id_list},
    pulled::of_author,
    shown::Timeline,
    side::Side,
};
use crate::domain::{Direction, EdgeMode, Kinds, Position, UserId};

const CONTENT: Columns = Columns { time: "c.publish_time", id: "c.id" };

/// A window below a floor.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Below {
    /// The floor, exclusive.
    pub(in super::super) floor: Position,
    /// The publish time (ms) at which the window ends, inclusive; `None` for the oldest content.
    pub(in super::super) end_ms: Option<i64>,
    /// Rows to read at most, in no order.
    pub(in super::super) limit: usize,
}

impl Timeline {
    /// Rows of an author and a publish time: each covered author's `nth` newest content below the floor, counted from
    /// 1. The time is null if the author has none.
    pub(super) fn nth_of_covered(self, floor: Position, nth: usize) -> Fragment {
        let offset = i64::try_from(nth).unwrap_or(i64::MAX) - 1;
        let from = format!(
            " LIMIT 1 OFFSET ?) AS t FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode = {push}",
            uncovered = self.dialect.force_index("uncovered"),
            push = EdgeMode::Push.code(),
        );
        Fragment::new("SELECT e.author_id, (SELECT w.publish_time", [])
            .then(of_author(below(floor, 1), "e", ""))
            .add(&from, [offset, self.reader.get()])
    }

    /// The contents of `authors` in the window, as `Row::entry` takes them. `authors` has at least one and at most
    /// [`Dialect::max_ranges`](super::super::dialect::Dialect::max_ranges).
    pub(super) fn of_authors_below(self, authors: &[UserId], window: Below) -> Fragment {
        let side = below(window.floor, window.limit);
        let (list, values) = id_list(authors);
        let text = format!(
            "SELECT c.publish_time, c.id, c.author_id FROM contents c{outbox} WHERE c.author_id IN {list}",
            outbox = self.dialect.in_order_of("outbox"),
        );
        let limit = i64::try_from(window.limit).unwrap_or(i64::MAX);
        Fragment { text, values }
            .add(" AND c.publish_time >= ? AND ", [window.end_ms.unwrap_or(Position::OLDEST.publish_time())])
            .then(side.of_contents("c"))
            .then(side.window(CONTENT))
            .add(" LIMIT ?", [limit])
    }
}

/// Everybody's contents below the floor.
fn below(floor: Position, limit: usize) -> Side {
    let (direction, bound, kinds) = (Direction::Older, Some(floor), Kinds::ALL);
    Side { direction, bound, inclusive: false, limit, tag: 0, kinds, timeline: None }
}
