//! One side of a page's bound: its direction, its window, its order and its limit.

use super::{
    super::{fragment::Fragment, keyset::Columns, rows::of_kinds},
    bindings::{Bindings, End},
    shown::Timeline,
};
use crate::domain::{Direction, Kinds, PageRequest};

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

    /// Everybody's newest contents, of all kinds.
    pub(super) const fn newest(bindings: &'a Bindings) -> Self {
        Self::ahead(PageShape { direction: Direction::Older, is_bounded: false, kinds: Kinds::ALL }, bindings)
    }

    /// The same below a position.
    pub(super) const fn below(bindings: &'a Bindings) -> Self {
        Self { is_bounded: true, ..Self::newest(bindings) }
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
}
