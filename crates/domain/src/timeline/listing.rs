//! Lists ordered by the time at which an item was added: followers, bookmarks and the like. One source is the whole
//! answer.

use super::{
    page::{Cut, PageRequest},
    position::Position,
};

/// A row of a list: an item and the time at which it was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed<T> {
    /// Milliseconds UTC.
    pub since: i64,
    /// The item.
    pub item: T,
}

impl<T> Listed<T> {
    /// The position of an item with this id. Ids order rows of the same time.
    pub fn position(&self, id: impl Into<i64>) -> Position {
        Position::bound(self.since, id.into())
    }
}

/// A page of a list, newest first. Exact at the moment of the read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    /// Newest first.
    pub rows: Vec<Listed<T>>,
    /// Whether an older row follows the last one.
    pub has_older: bool,
    /// Whether a newer row precedes the first one.
    pub has_newer: bool,
}

impl<T> Listing<T> {
    /// The page that `request` asks for; `ahead` and `behind` as [`Cut::of`] takes them.
    pub fn of(request: &PageRequest, ahead: Vec<Listed<T>>, behind: bool) -> Self {
        let Cut { rows, has_older, has_newer } = Cut::of(request, ahead, behind);
        Self { rows, has_older, has_newer }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::timeline::page::{Direction, PageSize};

    #[test]
    fn one_surplus_row_shows_that_the_list_continues() {
        let size = PageSize::try_new(2).unwrap();
        let rows = |since: [i64; 3]| since.map(|since| Listed { since, item: () }).to_vec();
        let times = |listing: &Listing<()>| listing.rows.iter().map(|row| row.since).collect::<Vec<_>>();
        let older = Listing::of(&PageRequest::newest(size), rows([9, 8, 7]), false);
        assert_eq!((times(&older), older.has_older, older.has_newer), (vec![9, 8], true, false));
        let newer = PageRequest { direction: Direction::Newer, bound: None, size, kinds: crate::Kinds::ALL };
        let newer = Listing::of(&newer, rows([1, 2, 3]), true);
        assert_eq!((times(&newer), newer.has_older, newer.has_newer), (vec![2, 1], true, true));
    }
}
