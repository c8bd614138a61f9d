//! One outside inbox, and each operation on it as one atomic step. The simulation and the tests' adapter use this
//! code. The Lua scripts of the Redis adapter do the same, as the conformance suite shows.

use std::{collections::BTreeSet, ops::Bound};

use super::fence::{Basis, Fence, Nonce, Revision};
use crate::timeline::{
    merge::{Run, TrustedArea},
    page::Direction,
    position::{Entry, Position},
};

/// The header: what the rows prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The fence under which the inbox was built.
    pub fence: Fence,
    /// Changes whenever rows go or claims change.
    pub revision: Revision,
    /// What the claim was read from; `None` while nothing is claimed.
    pub basis: Option<Basis>,
    /// No delivered entry of a pushed author at or above it is missing. [`Position::NEWEST`] claims nothing,
    /// [`Position::OLDEST`] everything.
    pub floor: Position,
}

impl Header {
    /// The header of a new inbox: deliveries of this fence add to it, and it claims nothing.
    pub const fn opened(fence: Fence, revision: Revision) -> Self {
        Self { fence, revision, basis: None, floor: Position::NEWEST }
    }
}

/// The rows that a page reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The direction to read in.
    pub direction: Direction,
    /// Exclusive; `None` starts at the newest (or oldest) row.
    pub bound: Option<Position>,
    /// The most rows to return.
    pub limit: usize,
}

impl Window {
    /// A window that begins at `bound` and includes it.
    pub fn from(bound: Position, direction: Direction, limit: usize) -> Self {
        let (time, id) = (bound.publish_time(), bound.content_number());
        let before = match direction {
            Direction::Older if id < i64::MAX => Position::bound(time, id + 1),
            Direction::Older => Position::bound(time.saturating_add(1), 0),
            Direction::Newer if id > 0 => Position::bound(time, id - 1),
            Direction::Newer => Position::bound(time - 1, i64::MAX),
        };
        Self { direction, bound: Some(before), limit }
    }
}

/// Header and rows of a window, read at one instant. Rows stand as the window meets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// What they are worth.
    pub header: Header,
    /// At most as many rows as the window allows.
    pub rows: Vec<Position>,
}

impl Slice {
    /// What the slice proves about the timeline: `shown` are the entries among its rows that the statement returned.
    /// Other entries are left out.
    pub fn run(&self, window: &Window, shown: Vec<Entry>) -> Run {
        let shown = shown.into_iter().filter(|entry| self.rows.contains(&entry.position())).collect();
        let area = TrustedArea {
            direction: window.direction,
            bound: window.bound,
            limit: window.limit,
            edge: self.header.floor,
        };
        Run::from_filtered_area(&area, &self.rows, shown)
    }
}

/// A new claim, made of what a build or an extension has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The rows read, in any order.
    pub rows: Vec<Position>,
    /// The rows are complete from here on; see [`floor_of_newest`].
    pub floor: Position,
    /// Committed in the transaction that read them.
    pub basis: Basis,
    /// Gives the next revision.
    pub nonce: Nonce,
}

/// The outcome of a delivery to one inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// The inbox has the row.
    Added,
    /// There is no inbox, or it has another fence. The next build reads the content from SQL.
    Skipped,
}

/// The number of rows above which an inbox is trimmed to `keep`: 110 %.
pub const fn trimmed_above(keep: usize) -> usize {
    keep.saturating_add(keep / 10)
}

/// The position from which the newest `limit` contents are complete: everything, if there were fewer.
pub fn floor_of_newest(rows: &[Position], limit: usize) -> Position {
    match rows.iter().min() {
        Some(oldest) if rows.len() >= limit => *oldest,
        None if limit == 0 => Position::NEWEST,
        _ => Position::OLDEST,
    }
}

/// An inbox outside SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideInbox {
    /// What its rows prove.
    pub header: Header,
    rows: BTreeSet<Position>,
}

impl OutsideInbox {
    /// Replaces the inbox with one that has no rows and no claim.
    pub const fn open(fence: Fence, revision: Revision) -> Self {
        Self { header: Header::opened(fence, revision), rows: BTreeSet::new() }
    }

    /// Delivers a content. Neither the floor nor a missing claim is a reason to skip: a build under way relies on it.
    /// Above 110 % of `keep` the inbox is trimmed, and gets the next revision.
    pub fn deliver(&mut self, fence: Fence, row: Position, keep: usize, nonce: Nonce) -> Delivered {
        if self.header.fence != fence {
            return Delivered::Skipped;
        }
        self.rows.insert(row);
        let next = self.next(nonce);
        self.trim(keep, next);
        Delivered::Added
    }

    /// Adds the rows of a build or an extension and claims them, if the revision is still `expected`. Rows that came
    /// in between stay.
    pub fn claim(&mut self, expected: Revision, claim: &Claim, keep: usize) -> bool {
        if self.header.revision != expected {
            return false;
        }
        self.rows.extend(&claim.rows);
        self.header.floor = claim.floor;
        self.header.basis = Some(claim.basis);
        self.header.revision = self.next(claim.nonce);
        self.trim(keep, self.header.revision);
        true
    }

    /// Adds the newest contents of an author who is about to be trusted. If the author has older ones, the floor rises
    /// to the oldest that was added.
    pub fn cover(&mut self, fence: Fence, newest: &Cover, keep: usize) -> bool {
        if self.header.fence != fence {
            return false;
        }
        self.rows.extend(&newest.rows);
        self.header.floor = self.header.floor.max(newest.floor);
        self.header.revision = self.next(newest.nonce);
        self.trim(keep, self.header.revision);
        true
    }

    /// Removes the rows of authors who are no longer followed, if the revision is still `expected`. The floor stays.
    pub fn remove(&mut self, expected: Revision, cleared: &Cleared) -> bool {
        if self.header.revision != expected {
            return false;
        }
        for row in &cleared.rows {
            self.rows.remove(row);
        }
        self.header.basis = Some(cleared.basis);
        self.header.revision = self.next(cleared.nonce);
        true
    }

    /// The header, and the rows in the window.
    pub fn slice(&self, window: &Window) -> Slice {
        let start = window.bound.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = match window.direction {
            Direction::Older => self.rows.range((Bound::Unbounded, start)).rev().take(window.limit).copied().collect(),
            Direction::Newer => self.rows.range((start, Bound::Unbounded)).take(window.limit).copied().collect(),
        };
        Slice { header: self.header, rows }
    }

    const fn next(&self, nonce: Nonce) -> Revision {
        Revision::after(Some(self.header.revision), nonce)
    }

    fn trim(&mut self, keep: usize, revision: Revision) {
        if self.rows.len() <= trimmed_above(keep) {
            return;
        }
        let excess = self.rows.len() - keep;
        let lowest_kept = self.rows.iter().nth(excess).copied().unwrap_or(Position::NEWEST);
        self.rows = self.rows.split_off(&lowest_kept);
        self.header.floor = self.header.floor.max(lowest_kept);
        self.header.revision = revision;
    }
}

/// Rows of authors who are no longer followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleared {
    /// In any order.
    pub rows: Vec<Position>,
    /// Committed in the transaction that found nobody following. If SQL loses the unfollow, the inbox without these
    /// rows must not count.
    pub basis: Basis,
    /// Gives the next revision.
    pub nonce: Nonce,
}

/// The newest contents of one author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// In any order.
    pub rows: Vec<Position>,
    /// The rows are complete from here on; see [`floor_of_newest`].
    pub floor: Position,
    /// Gives the next revision.
    pub nonce: Nonce,
}

#[cfg(test)]
mod tests;
