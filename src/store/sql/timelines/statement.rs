//! Builds the one statement of a timeline read: the sources F, U and Q of docs/protocol.md#read are branches of a
//! `UNION ALL`, and each row has the tag of its source.
//!
//! Every branch is a table of its own, `SELECT .. FROM (SELECT .. ORDER BY .. LIMIT ?) x`: the only form of an ordered
//! and limited branch that all engines accept. tests/it/store/explain.rs bounds the cost of each branch.

use super::{
    super::{fragment::Fragment, keyset::Columns},
    pulled::pulled,
    shown::Timeline,
    side::{PageShape, SideShape},
    slots::Slot,
};
use crate::{
    domain::{Direction, EdgeMode, Position},
    store::timelines::Depth,
};

/// Rows of the state: floor time, floor content, 1 if the reader has exclusions.
pub(super) const STATE: i64 = 0;
/// Rows of uncovered edges: outbox version, 0, author.
pub(super) const EDGE: i64 = 1;
/// Entries; [`End::tag`](super::slots::End::tag) is of one side.
pub(super) const IN_FLIGHT: i64 = 2;
/// As [`IN_FLIGHT`].
pub(super) const INBOX: i64 = 3;
/// As [`IN_FLIGHT`]: contents of uncovered authors.
pub(super) const UNCOVERED: i64 = 4;
/// As [`IN_FLIGHT`]: contents of covered authors below the floor.
pub(super) const BELOW: i64 = 5;
/// As [`IN_FLIGHT`]: contents of all followed authors.
pub(super) const FOLLOWED: i64 = 7;

const DELIVERY: Columns = Columns { time: "d.publish_time", id: "d.content_id" };
/// Columns of the position of an inbox row.
pub(super) const ROW: Columns = Columns { time: "i.publish_time", id: "i.content_id" };

impl Timeline {
    /// The whole statement: rows of a tag and three numbers, an entry's in the order of `Row::entry`.
    pub(super) fn statement(self, page: PageShape, depth: Depth) -> Fragment<Slot> {
        let mut whole = self.state();
        if depth == Depth::Inbox {
            whole = whole.add(" UNION ALL ", []).then(self.uncovered_edges());
        }
        for side in [Some(SideShape::ahead(page)), SideShape::behind(page)].into_iter().flatten() {
            let side = side.shown_to(self);
            for (tag, branch) in self.sources(side, depth) {
                let open = format!(" UNION ALL SELECT {} AS tag, x.* FROM ", side.end.tag(tag));
                whole = whole.add(&open, []).then(branch.into_table("x"));
            }
        }
        whole
    }

    /// The row of the reader's state; none if the reader has none.
    pub(super) fn state(self) -> Fragment<Slot> {
        let text = format!(
            "SELECT {STATE} AS tag, floor_time AS t, floor_content AS c, \
             COALESCE((SELECT 1 FROM exclusions x{by_key} WHERE x.reader_id = ? LIMIT 1), 0) AS a FROM inbox_states WHERE user_id = ?",
            by_key = self.by_key(),
        );
        Fragment::with(text, [Slot::Reader, Slot::Reader])
    }

    /// The covered authors' newest entries below a position, which need not be the floor of the reader's state.
    pub(super) fn covered_below(self) -> Fragment<Slot> {
        let text = format!(
            "SELECT e.author_id FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode = {push}",
            uncovered = self.dialect.force_index("uncovered"),
            push = EdgeMode::Push.code(),
        );
        pulled(self.dialect, SideShape::below(), Fragment::with(text, [Slot::Reader]), "")
    }

    /// The newest entries of everyone whom the reader follows.
    pub(super) fn newest_of_followed(self) -> Fragment<Slot> {
        pulled(self.dialect, SideShape::newest(), self.followed_authors(), "")
    }

    fn followed_authors(self) -> Fragment<Slot> {
        let text = format!("SELECT e.author_id FROM follows e{} WHERE e.follower_id = ?", self.by_key());
        Fragment::with(text, [Slot::Reader])
    }

    fn sources(self, side: SideShape, depth: Depth) -> Vec<(i64, Fragment<Slot>)> {
        if depth == Depth::Outboxes {
            return self.followed(side);
        }
        let mut sources = vec![(IN_FLIGHT, self.in_flight(side)), (INBOX, self.inbox(side))];
        if depth == Depth::Everything {
            sources.push((UNCOVERED, pulled(self.dialect, side, self.uncovered_authors(), "")));
            sources.push((BELOW, pulled(self.dialect, side, self.authors_below_floor(side), ", f.ft, f.fc")));
        }
        sources
    }

    /// Contents of all followed authors. Behind the bound the entry at the bound is enough. The outboxes are read on
    /// that side only if this entry has left the timeline.
    fn followed(self, side: SideShape) -> Vec<(i64, Fragment<Slot>)> {
        let authors = self.followed_authors().then(self.shown_of_many("e.author_id"));
        if !side.is_entry_at_bound() {
            return vec![(FOLLOWED, pulled(self.dialect, side, authors, ""))];
        }
        let at_bound = || Fragment::new("SELECT c.publish_time, c.id, c.author_id", []).then(self.at_bound(side));
        let authors = authors.add(" AND (SELECT b.id FROM ", []).then(at_bound().into_table("b")).add(") IS NULL", []);
        vec![(FOLLOWED, at_bound()), (FOLLOWED, pulled(self.dialect, side, authors, ""))]
    }

    /// `FROM` and `WHERE` of the entry at the bound, if there is one: the content `c`.
    pub(super) fn at_bound(self, side: SideShape) -> Fragment<Slot> {
        let text = format!(
            " FROM contents c{by_key} {then} follows f{by_key} ON f.follower_id = ? AND f.author_id = c.author_id \
             WHERE c.id = ? AND c.publish_time = ? AND ",
            by_key = self.by_key(),
            then = self.dialect.join_in_order(),
        );
        Fragment::with(text, [Slot::Reader, Slot::BoundContent, Slot::BoundTime])
            .then(side.of_contents("c"))
            .then(self.shown("f.author_id"))
    }

    fn uncovered_edges(self) -> Fragment<Slot> {
        let text = format!(
            "SELECT {EDGE} AS tag, COALESCE(o.stamp, 0) AS t, 0 AS c, f.author_id AS a FROM follows f{uncovered} \
             LEFT JOIN outbox_heads o ON o.author_id = f.author_id WHERE f.follower_id = ? AND f.mode IN ({pull}, {fill})",
            uncovered = self.dialect.force_index("uncovered"),
            pull = EdgeMode::Pull.code(),
            fill = EdgeMode::Fill.code(),
        );
        Fragment::with(text, [Slot::Reader]).then(self.shown("f.author_id"))
    }

    /// F. The engine's planner chooses, by their numbers, between a scan of the deliveries and a seek for each
    /// followed author.
    pub(super) fn in_flight(self, side: SideShape) -> Fragment<Slot> {
        let text = format!(
            "SELECT d.publish_time, d.content_id, d.author_id FROM deliveries d \
             JOIN follows f{by_key} ON f.follower_id = ? AND f.author_id = d.author_id \
             JOIN contents c ON c.id = d.content_id WHERE ",
            by_key = self.by_key(),
        );
        Fragment::with(text, [Slot::Reader])
            .then(side.of_contents("c"))
            .then(self.shown("f.author_id"))
            .then(side.window(DELIVERY))
            .then(side.first(DELIVERY))
    }

    /// U: a range of the inbox's own key from the floor on, read in the page's order, so that it stops at the limit. A
    /// floor that is off is null, so the range is empty.
    pub(super) fn inbox(self, side: SideShape) -> Fragment<Slot> {
        let then = self.dialect.join_in_order();
        let text = format!(
            "SELECT i.publish_time, i.content_id, i.author_id FROM inbox_states s \
             {then} inboxes i ON i.user_id = s.user_id AND i.publish_time >= s.floor_time \
             AND (i.publish_time > s.floor_time OR i.content_id >= s.floor_content) \
             {then} follows f{by_key} ON f.follower_id = i.user_id AND f.author_id = i.author_id \
             {then} contents c ON c.id = i.content_id WHERE s.user_id = ? AND ",
            by_key = self.by_key(),
        );
        Fragment::with(text, [Slot::Reader])
            .then(side.of_contents("c"))
            .then(self.shown("i.author_id"))
            .then(side.window(ROW))
            .then(side.first(ROW))
    }

    pub(super) fn uncovered_authors(self) -> Fragment<Slot> {
        let text = format!(
            "SELECT e.author_id FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode IN ({pull}, {fill})",
            uncovered = self.dialect.force_index("uncovered"),
            pull = EdgeMode::Pull.code(),
            fill = EdgeMode::Fill.code(),
        );
        Fragment::with(text, [Slot::Reader]).then(self.shown_of_many("e.author_id"))
    }

    /// The covered authors, each with the floor. If the page needs no entries below the floor, it gives no rows and
    /// reads no edge.
    fn authors_below_floor(self, side: SideShape) -> Fragment<Slot> {
        let text = format!(
            ") g {then} follows e{uncovered} ON e.follower_id = ? AND e.mode = {push}",
            then = self.dialect.join_in_order(),
            uncovered = self.dialect.force_index("uncovered"),
            push = EdgeMode::Push.code(),
        );
        let off = Position::NEWEST;
        let open = "SELECT e.author_id, g.ft, g.fc FROM (SELECT COALESCE(MAX(s.floor_time), ?) AS ft, \
                    COALESCE(MAX(s.floor_content), ?) AS fc FROM inbox_states s WHERE s.user_id = ?";
        Fragment::with(open, [off.publish_time().into(), off.content_number().into(), Slot::Reader])
            .then(self.wants_below_floor(side))
            .add_with(&text, [Slot::Reader])
            .then(self.shown_of_many("e.author_id"))
    }

    /// Whether the page needs entries below the floor. Towards older entries: the inbox gives fewer than wanted, and
    /// the floor is above the oldest position. Towards newer ones: the bound is below the floor.
    fn wants_below_floor(self, side: SideShape) -> Fragment<Slot> {
        let oldest = [Position::OLDEST.publish_time(), Position::OLDEST.content_number()].map(Slot::Number);
        let below =
            |[at, content]: [Slot; 2]| Fragment::with(" HAVING (ft > ? OR (ft = ? AND fc > ?))", [at, at, content]);
        match side.direction {
            Direction::Newer => below(if side.is_bounded { Slot::BOUND } else { oldest }),
            Direction::Older => below(oldest)
                .add(" AND (SELECT COUNT(*) FROM ", [])
                .then(self.inbox(side).into_table("u"))
                .add_with(") < ?", [side.limit]),
        }
    }
}
