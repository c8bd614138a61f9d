//! One side of a page's bound: its direction, its window, its order and its limit.

use super::{
    super::{fragment::Fragment, keyset::Columns, rows::of_kinds},
    shown::Timeline,
};
use crate::domain::{Direction, Kinds, PageRequest, Position};

/// Offset of the tags of entries behind the bound.
pub(super) const BEHIND: i64 = 10;

/// One side of the bound: its direction, and the number of entries wanted from each source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Away from the bound.
    pub(super) direction: Direction,
    /// The position at which it starts; `None` for the start of the direction.
    pub(super) bound: Option<Position>,
    /// Whether an entry at the bound counts.
    pub(super) inclusive: bool,
    /// Entries of each source at most.
    pub(super) limit: usize,
    /// Offset added to the tags.
    pub(super) tag: i64,
    /// Skips contents of other kinds.
    pub(super) kinds: Kinds,
    /// Also skips reposts of authors that the timeline excludes.
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

    /// The same side, limited to what `timeline` shows.
    pub(super) fn shown_to(self, timeline: Timeline) -> Self {
        Self { timeline: Some(timeline), ..self }
    }

    /// The condition, ` AND ..`, for positions of this side.
    pub(super) fn window(&self, columns: Columns) -> Fragment {
        Fragment::keyset(if self.inclusive {
            columns.from(self.direction, self.bound)
        } else {
            columns.beyond(self.direction, self.bound)
        })
    }

    /// The condition, ` AND ..`, for contents of the table `alias`: not removed, of the requested kinds, and no
    /// reposts of excluded authors.
    pub(super) fn of_contents(&self, alias: &str) -> Fragment {
        let text = format!("{alias}.removed_at IS NULL{}", of_kinds(self.kinds, &format!("{alias}.kind")));
        let reposts = self.timeline.map(|timeline| timeline.shown_repost(alias));
        Fragment::new(text, []).then(reposts.unwrap_or_default())
    }

    /// The order of this side, and the limit.
    pub(super) fn first(&self, columns: Columns) -> Fragment {
        let limit = i64::try_from(self.limit).unwrap_or(i64::MAX);
        Fragment::new(columns.order(self.direction), []).add(" LIMIT ?", [limit])
    }
}
