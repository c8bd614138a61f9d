//! One outside inbox and each operation on it, as one script does it at once. The memory adapter and the simulation
//! use this code; the Lua scripts of the Redis adapter do the same, which the conformance suite shows.

use std::{collections::BTreeSet, ops::Bound};

use super::fence::{Basis, Fence, Nonce, Revision};
use crate::domain::timeline::{
    coverage::{Run, TrustedArea},
    page::Direction,
    position::{Entry, Position},
};

/// What the rows are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the inbox was built under.
    pub fence: Fence,
    /// Changes whenever rows go or claims change.
    pub revision: Revision,
    /// What the claim was read from; `None` while nothing is claimed yet.
    pub basis: Option<Basis>,
    /// No entry of a pushed author at or above it is missing, once it was delivered. [`Position::NEWEST`] claims
    /// nothing, [`Position::OLDEST`] everything.
    pub floor: Position,
}

impl Header {
    /// Opens an inbox: deliveries of this fence add to it, and it claims nothing.
    pub const fn opened(fence: Fence, revision: Revision) -> Self {
        Self { fence, revision, basis: None, floor: Position::NEWEST }
    }
}

/// Which rows a page looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Which way to read.
    pub direction: Direction,
    /// Exclusive; `None` starts at the newest (or oldest) row.
    pub bound: Option<Position>,
    /// Rows at most.
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
    /// At most as many as the window allows.
    pub rows: Vec<Position>,
}

impl Slice {
    /// What the slice proves of the timeline: `shown` are the entries among its rows that the statement let pass.
    /// Entries that the slice does not hold are left out.
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

/// A new claim: what a build or an extension has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The rows read, in any order.
    pub rows: Vec<Position>,
    /// From where on they are complete; see [`floor_of_newest`].
    pub floor: Position,
    /// Committed in the transaction that read them.
    pub basis: Basis,
    /// Gives the next revision.
    pub nonce: Nonce,
}

/// What a delivery did to one inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// The row is there.
    Added,
    /// No inbox, or one of another fence: whoever builds the next one reads the content from SQL.
    Skipped,
}

/// Rows above which an inbox is trimmed to `keep`: 110 %.
pub const fn trimmed_above(keep: usize) -> usize {
    keep.saturating_add(keep / 10)
}

/// From where on the newest `limit` contents, or fewer, are complete: everywhere if there were fewer.
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
    /// What its rows are worth.
    pub header: Header,
    rows: BTreeSet<Position>,
}

impl OutsideInbox {
    /// Replaces whatever was there: no rows, and no claim.
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

    /// Adds what a build or an extension has read and claims it, if the revision is still `expected`. Rows that came
    /// meanwhile stay.
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

    /// Adds the newest contents of an author who is about to be trusted. If there are older ones (`cut`), the floor
    /// rises to the oldest that was added.
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

    /// Removes the rows of `cleared`, of authors who are no longer followed, if the revision is still `expected`. What
    /// stays is claimed from the same floor on.
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

    /// The header, and the rows that the window shows.
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
    /// Committed in the transaction that found nobody following: if SQL loses the unfollow, the inbox without these
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
    /// From where on they are complete; see [`floor_of_newest`].
    pub floor: Position,
    /// Gives the next revision.
    pub nonce: Nonce,
}

#[cfg(test)]
mod tests;
