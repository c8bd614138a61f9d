//! Page requests and pages: a bounded window of a timeline, and whether there is more at either end.

use super::{
    cursor::{self, InvalidCursor, List},
    floor::Floor,
    position::{Entry, Position},
};
use crate::{
    kinds::{Kinds, NoKinds},
    limits::{DEFAULT_PAGE, MAX_CATCH_UP, MAX_COUNT, MAX_PAGE, MAX_RAW_COUNT, MAX_RAW_PAGE, MAX_SUGGESTIONS},
};

/// The direction in which a window leaves its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Into the past: the entries below the bound, newest first.
    Older,
    /// Towards now: the entries above the bound, oldest first.
    Newer,
}

impl Direction {
    /// The opposite direction.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Older => Self::Newer,
            Self::Newer => Self::Older,
        }
    }

    /// The start of a window without a bound.
    pub const fn start(self) -> Position {
        match self {
            Self::Older => Position::NEWEST,
            Self::Newer => Position::OLDEST,
        }
    }

    /// The end of a window without further entries.
    pub const fn end(self) -> Position {
        self.reversed().start()
    }

    /// Whether a window reads `a` before `b`.
    pub fn meets_first(self, a: Position, b: Position) -> bool {
        match self {
            Self::Older => a > b,
            Self::Newer => a < b,
        }
    }
}

/// A number of entries: 1 to [`MAX_PAGE`] for clients, up to [`MAX_RAW_PAGE`] for pages that are folded, up to
/// [`MAX_COUNT`] for counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageSize(u16);

impl PageSize {
    /// Checks that `raw` is 1 to [`MAX_PAGE`].
    pub fn try_new(raw: i64) -> Result<Self, InvalidPage> {
        match u16::try_from(raw) {
            Ok(size) if (1..=MAX_PAGE).contains(&size) => Ok(Self(size)),
            _ => Err(InvalidPage::Size(raw)),
        }
    }

    /// Twice the size, at least [`DEFAULT_PAGE`]; `None` beyond [`MAX_RAW_PAGE`].
    #[must_use]
    pub fn wider(self) -> Option<Self> {
        let wider = self.0.saturating_mul(2).clamp(DEFAULT_PAGE, MAX_RAW_PAGE);
        (wider > self.0).then_some(Self(wider))
    }

    /// A single entry.
    pub const ONE: Self = Self(1);
    /// The size of a count when a smaller one is short after folding.
    pub const WIDEST_COUNT: Self = Self(MAX_RAW_COUNT);

    /// This size and one entry more, which shows whether the list goes on.
    #[must_use]
    pub const fn one_more(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The bound of a count; see [`MAX_COUNT`].
    pub fn to_count(max: i64) -> Result<Self, InvalidPage> {
        match u16::try_from(max) {
            Ok(size) if (1..=MAX_COUNT).contains(&size) => Ok(Self(size)),
            _ => Err(InvalidPage::Count(max)),
        }
    }

    /// The number of suggestions; see [`MAX_SUGGESTIONS`].
    pub fn to_suggest(first: i64) -> Result<Self, InvalidPage> {
        match u16::try_from(first) {
            Ok(size) if (1..=MAX_SUGGESTIONS).contains(&size) => Ok(Self(size)),
            _ => Err(InvalidPage::Suggestions(first)),
        }
    }

    /// The size of a catch-up: `raw`, clamped to 1 to [`MAX_CATCH_UP`].
    pub fn of_catch_up(raw: u16) -> Self {
        Self(raw.clamp(1, MAX_CATCH_UP))
    }

    /// The number of entries.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(DEFAULT_PAGE)
    }
}

/// A request for a page of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageRequest {
    /// The direction to read in.
    pub direction: Direction,
    /// Exclusive. `None` starts at the newest entry, or at the oldest.
    pub bound: Option<Position>,
    /// The most entries to return.
    pub size: PageSize,
    /// The kinds to return. Others count nowhere, not even for whether there are more.
    pub kinds: Kinds,
}

/// Why the arguments of a connection are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPage {
    /// Outside of 1 to [`MAX_PAGE`].
    #[error("a page has 1 to {MAX_PAGE} entries, not {0}")]
    Size(i64),
    /// Outside of 1 to [`MAX_COUNT`].
    #[error("`max` must be 1 to {MAX_COUNT}, not {0}")]
    Count(i64),
    /// Outside of 1 to [`MAX_SUGGESTIONS`].
    #[error("`first` must be 1 to {MAX_SUGGESTIONS}, not {0}")]
    Suggestions(i64),
    /// `first` with `last`, `first` with `before`, or `last` with `after`.
    #[error("use `first` with `after` to read older entries, or `last` with `before` to read newer ones, not both")]
    Mixed,
    /// `after` is not a cursor.
    #[error("`after` is {0}")]
    After(InvalidCursor),
    /// `upTo` is not a cursor.
    #[error("`upTo` is {0}")]
    UpTo(InvalidCursor),
    /// `before` is not a cursor.
    #[error("`before` is {0}")]
    Before(InvalidCursor),
    /// A filter that no content passes.
    #[error("`filter.kinds`: {0}")]
    Kinds(#[from] NoKinds),
}

impl InvalidPage {
    /// The faulty argument.
    pub const fn argument(&self, backward: bool) -> &'static str {
        match self {
            Self::Size(_) if backward => "last",
            Self::Size(_) | Self::Suggestions(_) => "first",
            Self::Count(_) => "max",
            Self::Mixed => "last",
            Self::After(_) => "after",
            Self::UpTo(_) => "upTo",
            Self::Before(_) => "before",
            Self::Kinds(_) => "filter",
        }
    }
}

impl PageRequest {
    /// The newest `size` entries.
    pub const fn newest(size: PageSize) -> Self {
        Self { direction: Direction::Older, bound: None, size, kinds: Kinds::ALL }
    }

    /// Whether the page certainly reaches below this floor, judging only by its bound.
    pub fn lies_below(&self, floor: Floor) -> bool {
        let edge = floor.trusted_from();
        match self.direction {
            Direction::Older => self.bound.unwrap_or(Position::NEWEST) <= edge,
            Direction::Newer => self.bound.unwrap_or(Position::OLDEST) < edge,
        }
    }

    /// The request of a Relay connection. Edges are newest first, so `after` leads to older entries.
    pub fn from_connection(
        first: Option<i64>,
        after: Option<&str>,
        last: Option<i64>,
        before: Option<&str>,
    ) -> Result<Self, InvalidPage> {
        Self::in_list(List::Contents, first, after, last, before)
    }

    /// As [`Self::from_connection`], for any list.
    pub fn in_list(
        of: List,
        first: Option<i64>,
        after: Option<&str>,
        last: Option<i64>,
        before: Option<&str>,
    ) -> Result<Self, InvalidPage> {
        let backward = last.is_some() || before.is_some();
        if backward && (first.is_some() || after.is_some()) {
            return Err(InvalidPage::Mixed);
        }
        let size = first.or(last).map_or(Ok(PageSize::default()), PageSize::try_new)?;
        if backward {
            let bound = before.map(|it| cursor::decode_in(of, it)).transpose().map_err(InvalidPage::Before)?;
            return Ok(Self { direction: Direction::Newer, bound, size, kinds: Kinds::ALL });
        }
        let bound = after.map(|it| cursor::decode_in(of, it)).transpose().map_err(InvalidPage::After)?;
        Ok(Self { direction: Direction::Older, bound, size, kinds: Kinds::ALL })
    }

    /// The same request for these kinds.
    #[must_use]
    pub const fn of(self, kinds: Kinds) -> Self {
        Self { kinds, ..self }
    }

    /// Entries to read: one more than the page holds tells whether there are more.
    pub const fn need(&self) -> usize {
        self.size.get() + 1
    }
}

/// The rows of a page, newest first, and whether there are more at either end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut<T> {
    /// Newest first.
    pub rows: Vec<T>,
    /// Whether an older row follows the last one.
    pub has_older: bool,
    /// Whether a newer row precedes the first one.
    pub has_newer: bool,
}

impl<T> Cut<T> {
    /// `ahead`: rows beyond the bound in reading order, up to the request's need. `behind`: whether there is a row at
    /// the bound or on its near side.
    pub fn of(request: &PageRequest, mut ahead: Vec<T>, behind: bool) -> Self {
        let more = ahead.len() > request.size.get();
        ahead.truncate(request.size.get());
        match request.direction {
            Direction::Older => Self { rows: ahead, has_older: more, has_newer: behind },
            Direction::Newer => {
                ahead.reverse();
                Self { rows: ahead, has_older: behind, has_newer: more }
            }
        }
    }
}

/// A page: entries, newest first, and whether the timeline goes on at either end. Exact at the moment of the read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Newest first, without duplicates.
    pub entries: Vec<Entry>,
    /// Whether an older entry follows the last one.
    pub has_older: bool,
    /// Whether a newer entry precedes the first one.
    pub has_newer: bool,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn a_page_without_arguments_is_the_newest_twenty() {
        let request = PageRequest::from_connection(None, None, None, None).unwrap();
        assert_eq!(request, PageRequest::newest(PageSize(20)));
    }

    #[test]
    fn mixed_arguments_are_refused() {
        let cursor = cursor::encode(Position::bound(1, 1));
        for (first, after, last, before) in [
            (Some(1), None, Some(1), None),
            (Some(1), None, None, Some(cursor.as_str())),
            (None, Some(cursor.as_str()), Some(1), None),
            (None, Some(cursor.as_str()), None, Some(cursor.as_str())),
        ] {
            assert_eq!(PageRequest::from_connection(first, after, last, before), Err(InvalidPage::Mixed));
        }
    }

    #[test]
    fn sizes_out_of_bounds_are_refused() {
        for size in [i64::MIN, -1, 0, 101, i64::MAX] {
            assert_eq!(PageRequest::from_connection(Some(size), None, None, None), Err(InvalidPage::Size(size)));
        }
        assert!(PageRequest::from_connection(None, None, Some(100), None).is_ok());
    }

    #[test]
    fn pages_grow_to_a_bound_and_not_beyond() {
        let sizes = std::iter::successors(Some(PageSize(1)), |size| size.wider()).map(PageSize::get);
        assert_eq!(sizes.collect::<Vec<_>>(), [1, 20, 40, 80, 160, 320, 400]);
    }

    #[test]
    fn the_way_back_leads_to_newer_entries() {
        let bound = Position::bound(7, 8);
        let request = PageRequest::from_connection(None, None, Some(3), Some(&cursor::encode(bound))).unwrap();
        assert_eq!(request.direction, Direction::Newer);
        assert_eq!(request.bound, Some(bound));
        assert_eq!(request.need(), 4);
    }
}
