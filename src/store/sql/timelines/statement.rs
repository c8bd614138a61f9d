//! The one statement of a timeline read: the sources F, U and Q of docs/protocol.md#read as branches of a `UNION ALL`, each row with the tag of its source.
//!
//! Every branch is a table of its own, `SELECT .. FROM (SELECT .. ORDER BY .. LIMIT ?) x`: the one form of an ordered and limited branch that all
//! engines take. What each branch may cost is held by tests/it/explain.rs.

use super::{
    super::{account_deletions::author_remains, dialect::Dialect, keyset::Columns, part::Part, rows::of_kinds},
    pulled::pulled,
};
use crate::{
    domain::{Direction, EdgeMode, Kinds, PageRequest, Position, UserId},
    store::timelines::Depth,
};

/// Rows of the state: floor time, floor content, 1 if anybody is kept out.
pub(super) const STATE: i64 = 0;
/// Rows of uncovered edges: outbox stamp, 0, author.
pub(super) const EDGE: i64 = 1;
/// Entries; [`BEHIND`] is added for those behind the bound.
pub(super) const IN_FLIGHT: i64 = 2;
/// As [`IN_FLIGHT`].
pub(super) const INBOX: i64 = 3;
/// As [`IN_FLIGHT`]: contents of uncovered authors.
pub(super) const UNCOVERED: i64 = 4;
/// As [`IN_FLIGHT`]: contents of covered authors below the floor.
pub(super) const BELOW: i64 = 5;
/// See [`IN_FLIGHT`].
pub(super) const BEHIND: i64 = 10;

/// One side of the bound: which way it leads, and how many entries are wanted of each source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Away from the bound.
    pub(super) direction: Direction,
    /// Where it starts.
    pub(super) bound: Option<Position>,
    /// Whether an entry at the bound counts.
    pub(super) inclusive: bool,
    /// Entries of each source at most.
    pub(super) limit: usize,
    /// What is added to the tags.
    pub(super) tag: i64,
    /// What else is passed over.
    pub(super) kinds: Kinds,
    /// Reposts of whom this timeline keeps out are passed over, too.
    pub(super) timeline: Option<Timeline>,
}

impl Side {
    /// The page's side.
    pub(super) fn ahead(request: &PageRequest) -> Self {
        let PageRequest { direction, bound, kinds, .. } = *request;
        Self { direction, bound, inclusive: false, limit: request.need(), tag: 0, kinds, timeline: None }
    }

    /// The other side, where one entry is enough; none without a bound.
    pub(super) fn behind(request: &PageRequest) -> Option<Self> {
        let direction = request.direction.reversed();
        let PageRequest { bound, kinds, .. } = *request;
        bound.map(|_| Self { direction, bound, inclusive: true, limit: 1, tag: BEHIND, kinds, timeline: None })
    }

    /// The same, of what `timeline` shows.
    pub(super) fn shown_to(self, timeline: Timeline) -> Self {
        Self { timeline: Some(timeline), ..self }
    }

    /// The condition, ` AND ..`, for positions of this side.
    pub(super) fn window(&self, columns: Columns) -> Part {
        Part::keyset(if self.inclusive {
            columns.from(self.direction, self.bound)
        } else {
            columns.beyond(self.direction, self.bound)
        })
    }

    /// The condition, ` AND ..`, for contents of the table `alias`: not removed, of the kinds that are asked for, no reposts of whom the timeline keeps out.
    pub(super) fn of_contents(&self, alias: &str) -> Part {
        let text = format!("{alias}.removed_at IS NULL{}", of_kinds(self.kinds, &format!("{alias}.kind")));
        let reposts = self.timeline.map(|timeline| timeline.shown_repost(alias));
        Part::new(text, []).then(reposts.unwrap_or_default())
    }

    /// The order of this side, and the limit.
    pub(super) fn first(&self, columns: Columns) -> Part {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        Part::new(columns.order(self.direction), []).add(" LIMIT ?", [limit])
    }
}

/// What a timeline statement is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    /// The engine's words.
    pub(super) dialect: Dialect,
    /// Whose timeline.
    pub(super) reader: UserId,
}

const DELIVERY: Columns = Columns { time: "d.publish_time", id: "d.content_id" };
const ROW: Columns = Columns { time: "i.publish_time", id: "i.content_id" };

impl Timeline {
    /// The whole statement: rows of a tag and three numbers, an entry's in the order of `Row::entry`.
    pub(super) fn statement(self, request: &PageRequest, depth: Depth) -> Part {
        let reader = self.reader.get();
        let text = format!(
            "SELECT {STATE} AS tag, floor_time AS t, floor_content AS c, \
             COALESCE((SELECT 1 FROM exclusions x{by_key} WHERE x.reader_id = ? LIMIT 1), 0) AS a FROM inbox_states WHERE user_id = ?",
            by_key = self.by_key(),
        );
        let mut whole = Part::new(text, [reader, reader]);
        if depth == Depth::Inbox {
            whole = whole.add(" UNION ALL ", []).then(self.uncovered_edges());
        }
        for side in [Some(Side::ahead(request)), Side::behind(request)].into_iter().flatten() {
            let side = side.shown_to(self);
            for (tag, branch) in self.sources(side, depth) {
                let open = format!(" UNION ALL SELECT {} AS tag, x.* FROM ", side.tag + tag);
                whole = whole.add(&open, []).then(branch.into_table("x"));
            }
        }
        whole
    }

    /// The covered authors' newest `limit` entries below `floor`, whatever the reader's state says.
    pub(super) fn covered_below(self, floor: Position, limit: usize) -> Part {
        let (direction, bound, kinds) = (Direction::Older, Some(floor), Kinds::ALL);
        let side = Side { direction, bound, inclusive: false, limit, tag: 0, kinds, timeline: None };
        let text = format!(
            "SELECT e.author_id FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode = {push}",
            uncovered = self.dialect.force_index("uncovered"),
            push = EdgeMode::Push.code(),
        );
        pulled(self.dialect, side, Part::new(text, [self.reader.get()]), "")
    }

    fn sources(self, side: Side, depth: Depth) -> Vec<(i64, Part)> {
        let mut sources = vec![(IN_FLIGHT, self.in_flight(side)), (INBOX, self.inbox(side))];
        if depth == Depth::Everything {
            sources.push((UNCOVERED, pulled(self.dialect, side, self.uncovered_authors(), "")));
            sources.push((BELOW, pulled(self.dialect, side, self.authors_below_floor(side), ", f.ft, f.fc")));
        }
        sources
    }

    /// The primary key of `follows`. MariaDB otherwise prefers an index on the follower alone, and reads all edges for each row of the inbox.
    fn by_key(self) -> String {
        self.dialect.force_index("PRIMARY")
    }

    /// ` AND ..`: nothing keeps the author, whose id is in this column, out of the reader's timeline. Not `NOT EXISTS`, of which MySQL and MariaDB
    /// make a table of all the reader's exclusions: one probe of the key for each row.
    pub(super) fn shown(self, author: &str) -> Part {
        Part::new(shown_to(self.dialect, "?", author), [self.reader.get()])
    }

    /// As [`Self::shown`], for the original of a repost; whatever is none passes.
    fn shown_repost(self, contents: &str) -> Part {
        Part::new(repost_shown_to(self.dialect, "?", contents), [self.reader.get()])
    }

    /// Both, for a content of the table `contents`.
    pub(super) fn shown_content(self, contents: &str) -> Part {
        self.shown(&format!("{contents}.author_id")).then(self.shown_repost(contents))
    }

    fn uncovered_edges(self) -> Part {
        let text = format!(
            "SELECT {EDGE} AS tag, COALESCE(o.stamp, 0) AS t, 0 AS c, f.author_id AS a FROM follows f{uncovered} \
             LEFT JOIN outbox_heads o ON o.author_id = f.author_id WHERE f.follower_id = ? AND f.mode IN ({pull}, {fill})",
            uncovered = self.dialect.force_index("uncovered"),
            pull = EdgeMode::Pull.code(),
            fill = EdgeMode::Fill.code(),
        );
        Part::new(text, [self.reader.get()]).then(self.shown("f.author_id"))
    }

    /// F. Whether it scans the deliveries or seeks each followed author's is the planner's choice: it knows how many there are.
    fn in_flight(self, side: Side) -> Part {
        let text = format!(
            "SELECT d.publish_time, d.content_id, d.author_id FROM deliveries d \
             JOIN follows f{by_key} ON f.follower_id = ? AND f.author_id = d.author_id \
             JOIN contents c ON c.id = d.content_id WHERE ",
            by_key = self.by_key(),
        );
        Part::new(text, [self.reader.get()])
            .then(side.of_contents("c"))
            .then(self.shown("f.author_id"))
            .then(side.window(DELIVERY))
            .then(side.first(DELIVERY))
    }

    /// U: a range of the inbox's own key from the floor on, read in the page's order, so that it stops at the limit. A floor that is off is null and
    /// compares with nothing.
    pub(super) fn inbox(self, side: Side) -> Part {
        let then = self.dialect.join_in_order();
        let text = format!(
            "SELECT i.publish_time, i.content_id, i.author_id FROM inbox_states s \
             {then} inboxes i ON i.user_id = s.user_id AND i.publish_time >= s.floor_time \
             AND (i.publish_time > s.floor_time OR i.content_id >= s.floor_content) \
             {then} follows f{by_key} ON f.follower_id = i.user_id AND f.author_id = i.author_id \
             {then} contents c ON c.id = i.content_id WHERE s.user_id = ? AND ",
            by_key = self.by_key(),
        );
        Part::new(text, [self.reader.get()])
            .then(side.of_contents("c"))
            .then(self.shown("i.author_id"))
            .then(side.window(ROW))
            .then(side.first(ROW))
    }

    fn uncovered_authors(self) -> Part {
        let text = format!(
            "SELECT e.author_id FROM follows e{uncovered} WHERE e.follower_id = ? AND e.mode IN ({pull}, {fill})",
            uncovered = self.dialect.force_index("uncovered"),
            pull = EdgeMode::Pull.code(),
            fill = EdgeMode::Fill.code(),
        );
        Part::new(text, [self.reader.get()]).then(self.shown("e.author_id"))
    }

    /// The covered authors, each with the floor; none if nothing is wanted of below it, and then no edge is read.
    fn authors_below_floor(self, side: Side) -> Part {
        let text = format!(
            ") g {then} follows e{uncovered} ON e.follower_id = ? AND e.mode = {push}",
            then = self.dialect.join_in_order(),
            uncovered = self.dialect.force_index("uncovered"),
            push = EdgeMode::Push.code(),
        );
        let reader = self.reader.get();
        let off = Position::NEWEST;
        Part::new(
            "SELECT e.author_id, g.ft, g.fc FROM (SELECT COALESCE(MAX(s.floor_time), ?) AS ft, ",
            [off.publish_time()],
        )
        .add(
            "COALESCE(MAX(s.floor_content), ?) AS fc FROM inbox_states s WHERE s.user_id = ?",
            [off.content_number(), reader],
        )
        .then(self.wants_below_floor(side))
        .add(&text, [reader])
        .then(self.shown("e.author_id"))
    }

    /// Towards older entries: the inbox has not given all that is wanted, and the floor is not as low as it goes. Towards newer ones: the bound lies
    /// below the floor.
    fn wants_below_floor(self, side: Side) -> Part {
        let below = |bound: Position| {
            let at = bound.publish_time();
            Part::new(" HAVING (ft > ? OR (ft = ? AND fc > ?))", [at, at, bound.content_number()])
        };
        match side.direction {
            Direction::Newer => below(side.bound.unwrap_or(Position::OLDEST)),
            Direction::Older => below(Position::OLDEST)
                .add(" AND (SELECT COUNT(*) FROM ", [])
                .then(self.inbox(side).into_table("u"))
                .add(") < ?", [i64::try_from(side.limit).unwrap_or(i64::MAX)]),
        }
    }
}

/// ` AND ..`: the author has an account, and nothing keeps them out of the reader's timeline, both being columns or parameters, as [`Timeline::shown`] says it.
pub(super) fn shown_to(dialect: Dialect, reader: &str, author: &str) -> String {
    not_excluded_from(dialect, reader, author) + &author_remains(author)
}

fn not_excluded_from(dialect: Dialect, reader: &str, author: &str) -> String {
    let by_key = dialect.force_index("PRIMARY");
    format!(
        " AND (SELECT x.cause FROM exclusions x{by_key} WHERE x.reader_id = {reader} AND x.author_id = {author} LIMIT 1) IS NULL"
    )
}

/// ` AND ..`: nothing keeps the author of the original out, for a repost of the table `contents`; whatever is none passes. A repost
/// outlives its original, also one whose author has deleted their account.
pub(super) fn repost_shown_to(dialect: Dialect, reader: &str, contents: &str) -> String {
    let original = format!("{contents}.repost_author_id");
    let shown = not_excluded_from(dialect, reader, &original);
    format!(" AND ({original} IS NULL OR {})", shown.trim_start_matches(" AND "))
}
