//! Decides which changes a subscriber is sent, so that its client always holds what the timeline shows. docs/live.md
//! has the proof.
//!
//! One law: **above the floor the client holds exactly what the window says, after every single change that it was
//! sent.** The window has the raw timeline above the floor. Folded, that is what the client should hold. Whenever
//! either changes, the differences are sent, whatever caused them.

use std::collections::{HashSet, VecDeque};

use super::resume::ResumePoint;
use crate::{
    ids::{ContentId, UserId},
    limits::{MAX_RECENT_CHANGES, VIEW_WINDOW},
    timeline::{
        folding::{Showing, standing},
        position::{Entry, Position},
    },
};

/// A change of what a client holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The entry is in the timeline, at its position.
    Added(Entry),
    /// The content is no longer in the timeline, or a newer entry of its subject, sent before, replaces it.
    Removed(ContentId),
    /// No content of the author is in the timeline any more, at any depth.
    AuthorRemoved(UserId),
    /// Changes cannot bring the client up to date: it must read again.
    Refetch(Reason),
}

/// Why a client must read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A catch-up would have to bring more than it may.
    GapTooLarge,
    /// The reader's authors have changed, and it is unknown what the client holds.
    FollowsChanged,
    /// Changes may have been missed, and it is unknown what the client holds.
    Missed,
}

/// The timeline above a floor at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineTop {
    /// The entries, including folded ones, in any order.
    pub entries: Vec<Showing>,
    /// Whether these are all entries above the floor.
    pub whole: bool,
}

impl TimelineTop {
    /// The part above a floor that is not below its own.
    #[must_use]
    pub fn above(&self, floor: Position) -> Self {
        let entries = self.entries.iter().filter(|showing| showing.entry.position() > floor);
        Self { entries: entries.copied().collect(), whole: self.whole }
    }
}

/// What a client is known to hold, and the changes that wait for it.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// `None`: it is unknown what the client holds, and changes are passed on as they come.
    window: Option<HeldTop>,
    waiting: VecDeque<Change>,
    recently: RecentChanges,
}

/// The timeline above the floor, and what the client holds of it.
#[derive(Debug, Clone)]
struct HeldTop {
    floor: Position,
    /// The timeline as last read or announced, including folded entries, oldest first. At most [`VIEW_WINDOW`] when no
    /// change waits.
    entries: Vec<Showing>,
    /// What the client holds now. When no change waits, these are the entries that folding keeps.
    held: HashSet<ContentId>,
}

impl View {
    /// The view of a client that holds what `point` says while the timeline above its floor is `now`. The waiting
    /// changes are removals, then additions, oldest first, then removals of what those fold away.
    pub fn resume(point: &ResumePoint, now: &TimelineTop) -> Self {
        let mut view = Self::default();
        view.become_true(point.floor(), point.held().iter().copied().collect(), now);
        view
    }

    /// The position above which a catch-up reads. `None` if it is unknown what the client holds: then only the client
    /// itself can read again.
    pub fn floor(&self) -> Option<Position> {
        self.window.as_ref().map(|window| window.floor)
    }

    /// Changes that the client has not received yet, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Change> {
        self.waiting.iter()
    }

    /// The next change. It counts as received once it is taken.
    pub fn take_next(&mut self) -> Option<Change> {
        let change = self.waiting.pop_front()?;
        if let Some(window) = &mut self.window {
            window.record_sent(change);
        }
        if self.waiting.is_empty() {
            self.settle();
        }
        Some(change)
    }

    /// Takes `now` as the timeline above [`View::floor`], whatever was announced or missed before. Call it only when
    /// no change waits.
    pub fn catch_up(&mut self, now: &TimelineTop) {
        match self.window.take() {
            Some(window) => self.become_true(window.floor, window.held, now),
            None => self.refetch(Reason::Missed),
        }
    }

    /// Adds an entry that was in the timeline a moment ago. Call it only when no change waits.
    pub fn added(&mut self, new: Showing) {
        match &mut self.window {
            Some(window) if new.entry.position() > window.floor => {
                window.insert(new);
                self.settle();
            }
            // A newer entry of the subject replaces it.
            Some(window) if window.shows(new.subject) => {}
            _ if self.recently.record(new.entry.content, true) => self.waiting.push_back(Change::Added(new.entry)),
            _ => {}
        }
    }

    /// Whether a newer entry of its subject replaces `entry`.
    pub fn folds(&self, entry: Entry) -> bool {
        let folds = |window: &HeldTop| window.index_of(entry).is_ok() && !window.held.contains(&entry.content);
        self.window.as_ref().is_some_and(folds)
    }

    /// Removes an entry whose content was removed. Call it only when no change waits.
    pub fn removed(&mut self, entry: Entry) {
        match &mut self.window {
            Some(window) if entry.position() > window.floor => {
                window.remove(entry);
                self.settle();
            }
            _ if self.recently.record(entry.content, false) => self.waiting.push_back(Change::Removed(entry.content)),
            _ => {}
        }
    }

    /// Removes all contents of `author`.
    pub fn author_removed(&mut self, author: UserId) {
        self.waiting.push_back(Change::AuthorRemoved(author));
    }

    /// Asks the client to read again. From then on it is unknown what it holds.
    pub fn refetch(&mut self, reason: Reason) {
        *self = Self::default();
        self.waiting.push_back(Change::Refetch(reason));
    }

    /// Where the client can resume after the changes so far; `None` if it is unknown what it holds.
    pub fn point(&self) -> Option<ResumePoint> {
        let window = self.window.as_ref()?;
        Some(ResumePoint::exactly(window.floor, window.held.iter().copied().collect()))
    }
}

impl View {
    /// Sets the window to `now` above `floor`, for a client that holds `held`.
    fn become_true(&mut self, floor: Position, held: HashSet<ContentId>, now: &TimelineTop) {
        if !now.whole {
            return self.refetch(Reason::GapTooLarge);
        }
        let mut entries: Vec<Showing> = now.entries.iter().copied().filter(|it| it.entry.position() > floor).collect();
        entries.sort_by_key(|it| it.entry.position());
        self.window = Some(HeldTop { floor, entries, held });
        self.settle();
    }

    /// Queues the differences between what the client holds and what it should hold. Without any, cuts the window to
    /// its size. Call it only when no change waits.
    fn settle(&mut self) {
        let Some(window) = &mut self.window else { return };
        self.waiting.extend(window.differences());
        if self.waiting.is_empty() {
            for trimmed in window.trim() {
                self.recently.record(trimmed, true);
            }
        }
    }
}

impl HeldTop {
    /// The differences in order: removals, additions, oldest first, and removals of what those fold away.
    fn differences(&self) -> impl Iterator<Item = Change> + use<> {
        let stands = standing(&self.entries);
        let come = stands.iter().filter(|it| !self.held.contains(&it.entry.content));
        let come: Vec<Change> = come.map(|it| Change::Added(it.entry)).collect();
        let stands: HashSet<ContentId> = stands.iter().map(|it| it.entry.content).collect();
        let there: HashSet<ContentId> = self.entries.iter().map(|it| it.entry.content).collect();
        let mut surplus: Vec<ContentId> = self.held.difference(&stands).copied().collect();
        surplus.sort_unstable();
        let (folded, gone): (Vec<_>, Vec<_>) = surplus.into_iter().partition(|content| there.contains(content));
        let removed = |all: Vec<ContentId>| all.into_iter().map(Change::Removed);
        removed(gone).chain(come).chain(removed(folded))
    }

    /// Records that the change was sent to the client.
    fn record_sent(&mut self, change: Change) {
        match change {
            Change::Added(entry) if entry.position() > self.floor => drop(self.held.insert(entry.content)),
            Change::Removed(content) => drop(self.held.remove(&content)),
            Change::AuthorRemoved(author) => {
                for gone in self.entries.extract_if(.., |it| it.entry.author == author) {
                    self.held.remove(&gone.entry.content);
                }
            }
            Change::Added(_) | Change::Refetch(_) => {}
        }
    }

    fn shows(&self, subject: ContentId) -> bool {
        self.entries.iter().any(|it| it.subject == subject)
    }

    /// The index at which the entry is, or belongs.
    fn index_of(&self, entry: Entry) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&entry.position(), |it| it.entry.position())
    }

    fn insert(&mut self, new: Showing) {
        if let Err(index) = self.index_of(new.entry) {
            self.entries.insert(index, new);
        }
    }

    fn remove(&mut self, entry: Entry) {
        if let Ok(index) = self.index_of(entry) {
            self.entries.remove(index);
        }
    }

    /// Drops the oldest entries beyond the window's size and raises the floor above them. Returns those that the
    /// client holds.
    fn trim(&mut self) -> Vec<ContentId> {
        let surplus = self.entries.len().saturating_sub(VIEW_WINDOW);
        let trimmed: Vec<Showing> = self.entries.drain(..surplus).collect();
        if let Some(last) = trimmed.last() {
            self.floor = last.entry.position();
        }
        trimmed.iter().map(|it| it.entry.content).filter(|content| self.held.remove(content)).collect()
    }
}

/// The last changes sent about contents outside a window, so that none is sent twice.
#[derive(Debug, Clone, Default)]
struct RecentChanges(VecDeque<(ContentId, bool)>);

impl RecentChanges {
    /// Records the change. Returns whether it is new.
    fn record(&mut self, content: ContentId, is_there: bool) -> bool {
        let known = self.0.iter().position(|(sent, _)| *sent == content).and_then(|index| self.0.remove(index));
        self.0.push_back((content, is_there));
        if self.0.len() > MAX_RECENT_CHANGES {
            self.0.pop_front();
        }
        known != Some((content, is_there))
    }
}
