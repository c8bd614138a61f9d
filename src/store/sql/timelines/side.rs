//! One side of a page's bound: its direction, its window, its order and its limit, and the contents of many outboxes
//! on it (source Q), with one text for every engine.
//!
//! MariaDB and SQLite have no `LATERAL`. A sub-select with `LIMIT` in the list of columns does the same for one value,
//! and one value for each author is enough: first the time of its first content, then the time of the last one that can
//! matter. On MySQL and MariaDB a range of the outbox index cannot start at another table's value. They skip the
//! entries between the author's end of the index and the window one by one, so a page far from both ends costs more.

use super::{
    super::{dialect::Dialect, fragment::Fragment, keyset::Columns, rows::of_kinds},
    bindings::{Bindings, End},
    shown::Timeline,
};
use crate::domain::{Direction, Kinds, PageRequest};

/// Stops the engine from merging a derived table into the outer select, which would run its sub-select more than once
/// for each row.
const ALL: &str = "LIMIT 9223372036854775807";

const OF_AUTHOR: Columns = Columns { time: "w.publish_time", id: "w.id" };
const CONTENT: Columns = Columns { time: "c.publish_time", id: "c.id" };

/// What a page asks for, without positions and numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PageShape {
    /// The direction to read in.
    pub(super) direction: Direction,
    /// Whether it starts at a bound.
    pub(super) is_bounded: bool,
    /// The kinds to return.
    pub(super) kinds: Kinds,
}

impl PageShape {
    /// The shape of a request.
    pub(super) const fn of(request: &PageRequest) -> Self {
        Self { direction: request.direction, is_bounded: request.bound.is_some(), kinds: request.kinds }
    }
}

/// What is read on one side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    /// Where it lies.
    pub(super) end: End,
    /// Away from the bound.
    pub(super) direction: Direction,
    /// Whether it starts at a bound, not at the start of the direction.
    pub(super) is_bounded: bool,
    /// Entries of each source at most.
    pub(super) limit: i64,
    /// Skips contents of other kinds.
    pub(super) kinds: Kinds,
    /// Also skips reposts of authors that the timeline excludes.
    pub(super) timeline: Option<Timeline<'a>>,
    bindings: &'a Bindings,
}

impl<'a> Side<'a> {
    /// The page's side.
    pub(super) const fn ahead(page: PageShape, bindings: &'a Bindings) -> Self {
        let PageShape { direction, is_bounded, kinds } = page;
        Self {
            end: End::Ahead,
            direction,
            is_bounded,
            limit: bindings.limit(End::Ahead),
            kinds,
            timeline: None,
            bindings,
        }
    }

    /// The other side, where one entry is enough; none without a bound.
    pub(super) fn behind(page: PageShape, bindings: &'a Bindings) -> Option<Self> {
        let ahead = Self::ahead(page, bindings);
        page.is_bounded.then_some(Self { end: End::Behind, direction: page.direction.reversed(), limit: 1, ..ahead })
    }

    /// Everybody's newest contents below the bound, of all kinds.
    pub(super) const fn below(bindings: &'a Bindings) -> Self {
        Self::ahead(PageShape { direction: Direction::Older, is_bounded: true, kinds: Kinds::ALL }, bindings)
    }

    /// The same side, with the limit of its own.
    pub(super) const fn limited(self) -> Self {
        Self { limit: self.bindings.limit(self.end), ..self }
    }

    /// The same side, limited to what `timeline` shows.
    pub(super) const fn shown_to(self, timeline: Timeline<'a>) -> Self {
        Self { timeline: Some(timeline), ..self }
    }

    /// Whether one entry is wanted.
    pub(super) const fn is_single(self) -> bool {
        self.limit == 1
    }

    fn is_inclusive(self) -> bool {
        self.end == End::Behind
    }

    /// The condition, ` AND ..`, for positions of this side.
    pub(super) fn window(self, columns: Columns) -> Fragment {
        if !self.is_bounded {
            return Fragment::default();
        }
        columns.window(self.direction, self.is_inclusive(), self.bindings.bound())
    }

    /// The condition, ` AND ..`, for contents of the table `alias`: not removed, of the requested kinds, and no
    /// reposts of excluded authors.
    pub(super) fn of_contents(self, alias: &str) -> Fragment {
        let text = format!("{alias}.removed_at IS NULL{}", of_kinds(self.kinds, &format!("{alias}.kind")));
        let reposts = self.timeline.map(|timeline| timeline.shown_repost(alias));
        Fragment::new(text, []).then(reposts.unwrap_or_default())
    }

    /// The order of this side, and the limit.
    pub(super) fn first(self, columns: Columns) -> Fragment {
        Fragment::new(columns.order(self.direction), []).add(" LIMIT ?", [self.limit])
    }

    /// Q: the first contents of several authors together, without reading any outbox whole.
    ///
    /// The outbox index gives the time of each author's first content. Only the authors of the first `limit` of these
    /// times, and of times equal to the last of them, can have entries in the page: contents of as many others lie
    /// before everything else. The statement reads at most `limit` contents of each, more if times are equal.
    pub(super) fn pulled(self, dialect: Dialect, authors: Fragment) -> Fragment {
        if let Some(end_ms) = self.bindings.reach(self.end) {
            return self.pulled_to(end_ms, dialect, authors);
        }
        let (then, order) = (dialect.join_in_order(), self.order());
        let text = format!(
            "SELECT r.author_id, r.head FROM (SELECT n.*, RANK() OVER (ORDER BY n.head {order}) AS place \
             FROM (SELECT f.*, (SELECT w.publish_time"
        );
        let heads = Fragment::new(text, [])
            .then(self.of_author("f"))
            .add(" LIMIT 1) AS head FROM ", [])
            .then(authors.into_table("f"))
            .add(&format!(" {ALL}) n WHERE n.head IS NOT NULL) r WHERE r.place <= ?"), [self.limit]);
        if self.is_single() {
            return Fragment::new("SELECT c.publish_time, c.id, c.author_id FROM ", [])
                .then(heads.into_table("a"))
                .add(&format!(" {then} contents c ON c.author_id = a.author_id AND c.publish_time = a.head WHERE "), [])
                .then(self.of_contents("c"))
                .then(self.window(CONTENT))
                .then(self.first(CONTENT));
        }
        let (last, compare) = (self.direction.end(), self.up_to());
        let contents =
            format!(" {ALL}) p {then} contents c ON c.author_id = p.author_id AND c.publish_time {compare} p.last");
        Fragment::new(
            "SELECT c.publish_time, c.id, c.author_id FROM (SELECT a.author_id, COALESCE((SELECT w.publish_time",
            [],
        )
        .then(self.of_author("a"))
        .add(" LIMIT 1 OFFSET ?), ?) AS last FROM ", [self.limit - 1, last.publish_time()])
        .then(heads.into_table("a"))
        .add(&contents, [])
        .add(" WHERE ", [])
        .then(self.of_contents("c"))
        .then(self.window(CONTENT))
        .then(self.first(CONTENT))
    }

    /// The same of contents up to a publish time (ms). For TiDB: it would ask its store for the first content of each
    /// author, and takes a range of each at once.
    fn pulled_to(self, end_ms: i64, dialect: Dialect, authors: Fragment) -> Fragment {
        let compare = self.up_to();
        let contents = format!(
            " JOIN contents c{outbox} ON c.author_id = f.author_id AND c.publish_time {compare} ? WHERE ",
            outbox = dialect.in_order_of("outbox"),
        );
        Fragment::new("SELECT /*+ LEADING(f, c) INL_JOIN(c) */ c.publish_time, c.id, c.author_id FROM ", [])
            .then(authors.into_table("f"))
            .add(&contents, [end_ms])
            .then(self.of_contents("c"))
            .then(self.window(CONTENT))
            .then(self.first(CONTENT))
    }

    /// The contents of `alias`'s author in the window, in order. MySQL recognises the index's order only if `ORDER BY`
    /// names the author.
    pub(super) fn of_author(self, alias: &str) -> Fragment {
        let order = self.order();
        Fragment::new(format!(" FROM contents w WHERE w.author_id = {alias}.author_id AND "), [])
            .then(self.of_contents("w"))
            .then(self.window(OF_AUTHOR))
            .add(&format!(" ORDER BY w.author_id {order}, w.publish_time {order}, w.id {order}"), [])
    }

    /// Compares the time of a content of this side with that of the last one.
    pub(super) const fn up_to(self) -> &'static str {
        match self.direction {
            Direction::Older => ">=",
            Direction::Newer => "<=",
        }
    }

    const fn order(self) -> &'static str {
        match self.direction {
            Direction::Older => "DESC",
            Direction::Newer => "ASC",
        }
    }
}
