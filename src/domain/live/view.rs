//! What a subscriber shows of its timeline, and what it must be told so that this stays true. docs/live.md has the
//! proof.
//!
//! Pure: `live` listens and reads, this module decides. One law: **the client holds above the floor exactly what the
//! window says, after every single change that it was told.** The window knows the raw timeline above the floor; what
//! stands of it, folded, is what the client is to hold. Whatever changes the one, the difference between the two is
//! told, so nothing needs to be known about why they differ.

use std::collections::{HashSet, VecDeque};

use super::resume::ResumePoint;
use crate::domain::{
    ids::{ContentId, UserId},
    limits::{RECENTLY_TOLD, VIEW_WINDOW},
    timeline::{
        folding::{Showing, standing},
        position::{Entry, Position},
    },
};

/// A change of what a client holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The entry stands in the timeline, at its position.
    Added(Entry),
    /// The content is in the timeline no more, or a newer entry of its subject stands for it, which has been told.
    Removed(ContentId),
    /// Nothing of the author is in the timeline any more, at whatever depth.
    AuthorRemoved(UserId),
    /// What the client holds can no longer be made true by changes: it must read again.
    Refetch(Reason),
}

/// Why a client must read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// More has come than a catch-up brings.
    GapTooLarge,
    /// Who is in the timeline has changed, and what the client holds is not known.
    FollowsChanged,
    /// Changes may have been missed, and what the client holds is not known.
    Missed,
}

/// What the timeline holds above a floor at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineTop {
    /// Folded ones, too; in any order.
    pub entries: Vec<Showing>,
    /// Whether these are all.
    pub whole: bool,
}

/// What a client holds, as far as it is known, and the changes that wait for it.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// `None`: nothing is known, and changes are passed on as they come.
    window: Option<Window>,
    waiting: VecDeque<Change>,
    recently: Recently,
}

/// The timeline above the floor, and what the client holds of it.
#[derive(Debug, Clone)]
struct Window {
    floor: Position,
    /// The timeline as last read or announced, folded entries included; oldest first. At most [`VIEW_WINDOW`] when no
    /// change waits.
    entries: Vec<Showing>,
    /// What the client holds now. When no change waits, these are the entries that stand.
    held: HashSet<ContentId>,
}

impl View {
    /// The view of a client that holds what `point` says while the timeline above its floor is `now`. The changes that
    /// wait are removals, then additions, oldest first, then removals of what these fold away.
    pub fn resume(point: &ResumePoint, now: &TimelineTop) -> Self {
        let mut view = Self::default();
        view.become_true(point.floor(), point.held().iter().copied().collect(), now);
        view
    }

    /// The position above which a catch-up reads; `None` if what the client holds is not known, so that only the client
    /// itself can read again.
    pub fn floor(&self) -> Option<Position> {
        self.window.as_ref().map(|window| window.floor)
    }

    /// Changes that the client has not received yet, in their order.
    pub fn waiting(&self) -> impl Iterator<Item = &Change> {
        self.waiting.iter()
    }

    /// The next change. It counts as received once it has been taken.
    pub fn take_next(&mut self) -> Option<Change> {
        let change = self.waiting.pop_front()?;
        if let Some(window) = &mut self.window {
            window.tell(change);
        }
        if self.waiting.is_empty() {
            self.settle();
        }
        Some(change)
    }

    /// The timeline above [`View::floor`] is `now`, whatever was announced or missed before. To be called when no
    /// change waits.
    pub fn catch_up(&mut self, now: &TimelineTop) {
        match self.window.take() {
            Some(window) => self.become_true(window.floor, window.held, now),
            None => self.refetch(Reason::Missed),
        }
    }

    /// The entry was in the timeline a moment ago. To be called when no change waits.
    pub fn added(&mut self, new: Showing) {
        match &mut self.window {
            Some(window) if new.entry.position() > window.floor => {
                window.insert(new);
                self.settle();
            }
            // A newer one stands for it.
            Some(window) if window.shows(new.subject) => {}
            _ if self.recently.tell(new.entry.content, true) => self.waiting.push_back(Change::Added(new.entry)),
            _ => {}
        }
    }

    /// Whether a newer entry of its subject stands for `entry`.
    pub fn folds(&self, entry: Entry) -> bool {
        let folds = |window: &Window| window.place(entry).is_ok() && !window.held.contains(&entry.content);
        self.window.as_ref().is_some_and(folds)
    }

    /// The entry's content was removed. To be called when no change waits.
    pub fn removed(&mut self, entry: Entry) {
        match &mut self.window {
            Some(window) if entry.position() > window.floor => {
                window.remove(entry);
                self.settle();
            }
            _ if self.recently.tell(entry.content, false) => self.waiting.push_back(Change::Removed(entry.content)),
            _ => {}
        }
    }

    /// Nothing of `author` is in the timeline.
    pub fn author_removed(&mut self, author: UserId) {
        self.waiting.push_back(Change::AuthorRemoved(author));
    }

    /// The client must read again; from then on what it holds is not known.
    pub fn refetch(&mut self, reason: Reason) {
        *self = Self::default();
        self.waiting.push_back(Change::Refetch(reason));
    }

    /// What the client can resume with after the changes so far; `None` if what it holds is not known.
    pub fn point(&self) -> Option<ResumePoint> {
        let window = self.window.as_ref()?;
        Some(ResumePoint::exactly(window.floor, window.held.iter().copied().collect()))
    }
}

impl View {
    /// The client holds `held` above `floor`, where the timeline is `now`.
    fn become_true(&mut self, floor: Position, held: HashSet<ContentId>, now: &TimelineTop) {
        if !now.whole {
            return self.refetch(Reason::GapTooLarge);
        }
        let mut entries: Vec<Showing> = now.entries.iter().copied().filter(|it| it.entry.position() > floor).collect();
        entries.sort_by_key(|it| it.entry.position());
        self.window = Some(Window { floor, entries, held });
        self.settle();
    }

    /// Queues the differences between what the client holds and what stands. Without any, cuts the window to its size.
    /// To be called when no change waits.
    fn settle(&mut self) {
        let Some(window) = &mut self.window else { return };
        self.waiting.extend(window.differences());
        if self.waiting.is_empty() {
            for trimmed in window.trim() {
                self.recently.tell(trimmed, true);
            }
        }
    }
}

impl Window {
    /// From what the client holds to what stands: what is gone, what has come, oldest first, and what that has folded
    /// away.
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

    /// The client has been told.
    fn tell(&mut self, change: Change) {
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

    /// Where the entry stands, or would.
    fn place(&self, entry: Entry) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&entry.position(), |it| it.entry.position())
    }

    fn insert(&mut self, new: Showing) {
        if let Err(place) = self.place(new.entry) {
            self.entries.insert(place, new);
        }
    }

    fn remove(&mut self, entry: Entry) {
        if let Ok(place) = self.place(entry) {
            self.entries.remove(place);
        }
    }

    /// Gives up the oldest entries above what a window holds: the floor rises above them, the client keeps what it
    /// holds of them, which is given.
    fn trim(&mut self) -> Vec<ContentId> {
        let surplus = self.entries.len().saturating_sub(VIEW_WINDOW);
        let trimmed: Vec<Showing> = self.entries.drain(..surplus).collect();
        if let Some(last) = trimmed.last() {
            self.floor = last.entry.position();
        }
        trimmed.iter().map(|it| it.entry.content).filter(|content| self.held.remove(content)).collect()
    }
}

/// What was told of contents outside a window, so that it is not told twice: the last few.
#[derive(Debug, Clone, Default)]
struct Recently(VecDeque<(ContentId, bool)>);

impl Recently {
    /// Whether this is news.
    fn tell(&mut self, content: ContentId, is_there: bool) -> bool {
        let known = self.0.iter().position(|(told, _)| *told == content).and_then(|place| self.0.remove(place));
        self.0.push_back((content, is_there));
        if self.0.len() > RECENTLY_TOLD {
            self.0.pop_front();
        }
        known != Some((content, is_there))
    }
}
