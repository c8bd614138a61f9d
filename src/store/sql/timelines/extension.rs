//! Reads what an extension of an inbox needs: the contents of all covered authors in a window below the floor.
//! `domain::timeline::extension` chooses the window.
//!
//! Two statements cost less than one: MySQL and MariaDB bound an index by listed keys and a range after them, but not
//! by keys of another table. The first statement gives the keys and the times that bound the range.

use sql_driver::Value;

use super::{
    super::{fragment::Fragment, keyset::Columns},
    bindings::List,
    shown::Timeline,
    side::Side,
};
use crate::domain::EdgeMode;

const CONTENT: Columns = Columns { time: "c.publish_time", id: "c.id" };

impl Timeline<'_> {
    /// Rows of an author and a publish time: the last of each covered author's newest contents below the bound, if
    /// there are as many as wanted. Otherwise the time is null.
    pub(super) fn nth_of_covered(self) -> Fragment {
        let side = Side::below(self.bindings);
        let from = format!(
            " LIMIT 1 OFFSET ?) AS t FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode = {push}",
            uncovered = self.dialect.force_index("uncovered"),
            push = EdgeMode::Push.code(),
        );
        Fragment::new("SELECT e.author_id, (SELECT w.publish_time", [])
            .then(side.of_author("e"))
            .add_with(&from, [Value::from(side.limit - 1), self.bindings.reader()])
    }

    /// The contents of a number of authors in the window, as `Row::entry` takes them; at least one author and at most
    /// [`Dialect::max_ranges`](super::super::dialect::Dialect::max_ranges).
    pub(super) fn of_authors_below(self) -> Fragment {
        let side = Side::below(self.bindings);
        let text = format!(
            "SELECT c.publish_time, c.id, c.author_id FROM contents c{outbox} WHERE c.author_id IN ",
            outbox = self.dialect.in_order_of("outbox"),
        );
        Fragment::new(text, [])
            .then(self.bindings.list(List::Authors))
            .add(" AND c.publish_time >= ? AND ", [self.bindings.end_ms()])
            .then(side.of_contents("c"))
            .then(side.window(CONTENT))
            .add(" LIMIT ?", [side.limit])
    }

    /// The covered authors' newest entries below a position, which need not be the floor of the reader's state.
    pub(super) fn covered_below(self) -> Fragment {
        let text = format!(
            "SELECT e.author_id FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode = {push}",
            uncovered = self.dialect.force_index("uncovered"),
            push = EdgeMode::Push.code(),
        );
        Side::below(self.bindings).pulled(self.dialect, Fragment::with(text, [self.bindings.reader()]))
    }

    /// The newest entries of everyone whom the reader follows below a position.
    pub(super) fn followed_below(self) -> Fragment {
        Side::below(self.bindings).pulled(self.dialect, self.followed_authors())
    }

    /// The authors whom the reader follows.
    pub(super) fn followed_authors(self) -> Fragment {
        let text = format!("SELECT e.author_id FROM follows e{} WHERE e.follower_id = ?", self.by_key());
        Fragment::with(text, [self.bindings.reader()])
    }
}
