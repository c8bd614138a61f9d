//! Writes the condition, order and limit of one keyset page: the rows beyond a position, in one direction.
//!
//! The condition is a range of the index on every engine. The row-value form `(publish_time, id) < (?, ?)` is not:
//! MySQL and MariaDB answer it by reading all newer rows. The bound on the time alone is redundant, but SQLite plans
//! without looking at values and needs it to see the range.

use sql_driver::{Fragment, Value};

use crate::domain::{Direction, Position};

/// The columns of a position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    /// The publish time's.
    pub(super) time: &'static str,
    /// The content id's.
    pub(super) id: &'static str,
}

impl Columns {
    /// ` AND (..)` for positions that lie strictly beyond `bound`, and its values. Empty without a bound.
    pub(super) fn beyond(self, direction: Direction, bound: Option<Position>) -> (String, Vec<Value>) {
        self.of_position(direction, false, bound)
    }

    /// As [`Self::beyond`], for positions at `bound` or beyond.
    pub(super) fn from(self, direction: Direction, bound: Option<Position>) -> (String, Vec<Value>) {
        self.of_position(direction, true, bound)
    }

    /// The same condition for the time and the id of a bound.
    pub(super) fn window(self, direction: Direction, inclusive: bool, [at, id_at]: [Value; 2]) -> Fragment {
        let Self { time, id } = self;
        let beyond = match direction {
            Direction::Older => '<',
            Direction::Newer => '>',
        };
        let equal = if inclusive { "=" } else { "" };
        let text =
            format!(" AND {time} {beyond}= ? AND ({time} {beyond} ? OR ({time} = ? AND {id} {beyond}{equal} ?))");
        Fragment::with(text, [at.clone(), at.clone(), at, id_at])
    }

    fn of_position(self, direction: Direction, inclusive: bool, bound: Option<Position>) -> (String, Vec<Value>) {
        let Some(bound) = bound else { return Default::default() };
        let at = [bound.publish_time(), bound.content_number()].map(Value::from);
        let Fragment { text, values } = self.window(direction, inclusive, at);
        (text, values)
    }

    /// ` ORDER BY ..` in the order in which the window meets its entries.
    pub(super) fn order(self, direction: Direction) -> String {
        let word = match direction {
            Direction::Older => "DESC",
            Direction::Newer => "ASC",
        };
        format!(" ORDER BY {} {word}, {} {word}", self.time, self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_written_as_a_range_condition_on_every_engine() {
        let columns = Columns { time: "publish_time", id: "id" };
        let (text, values) = columns.beyond(Direction::Older, Some(Position::bound(7, 8)));
        assert_eq!(text, " AND publish_time <= ? AND (publish_time < ? OR (publish_time = ? AND id < ?))");
        assert_eq!(values, [7_i64, 7, 7, 8].map(Value::from));
        let Fragment { text, .. } = columns.window(Direction::Newer, true, [7_i64, 8].map(Value::from));
        assert_eq!(text, " AND publish_time >= ? AND (publish_time > ? OR (publish_time = ? AND id >= ?))");
        assert_eq!(columns.beyond(Direction::Newer, None), (String::new(), Vec::new()));
    }
}
