//! What a subscriber holds of its timeline, and what it must be told so that this stays true. docs/live.md has the proof.
//!
//! Pure: `live` listens and reads, this module decides. One law: **the client holds above the floor exactly what the window
//! says, after every single change that it was told.** A catch-up compares the window with the timeline and tells the
//! difference, so nothing needs to be known about why they differ.

use std::collections::{HashSet, VecDeque};

use super::{
    ids::{ContentId, UserId},
    limits::{RECENTLY_TOLD, VIEW_WINDOW},
    position::{Entry, Position},
    resume::ResumePoint,
};

/// What a client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The entry is in the timeline, at its position.
    Added(Entry),
    /// The content is in the timeline no more.
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
pub struct Above {
    /// In any order.
    pub entries: Vec<Entry>,
    /// Whether these are all.
    pub whole: bool,
}

/// What is known of what a client holds, and what it is still to be told.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// `None`: nothing is known, and changes are passed on as they come.
    window: Option<Window>,
    waiting: VecDeque<Change>,
    recently: Recently,
}

/// The timeline above the floor, as the client holds it.
#[derive(Debug, Clone)]
struct Window {
    floor: Position,
    /// What the client holds and the timeline held when it was last looked at or heard of; oldest first. At most
    /// [`VIEW_WINDOW`] when nothing waits.
    entries: Vec<Entry>,
    /// What the client holds until it is told otherwise.
    gone: HashSet<ContentId>,
}

impl View {
    /// Of a client that holds what `point` says while the timeline above its floor is `now`; what waits to be told is what is
    /// gone, then what has come, oldest first.
    pub fn resume(point: &ResumePoint, now: &Above) -> Self {
        let held = point.held().iter().copied().collect();
        let mut view = Self::default();
        view.become_true(point.floor(), &held, now);
        view
    }

    /// From where on a catch-up has to read; `None` if only the client itself can.
    pub fn floor(&self) -> Option<Position> {
        self.window.as_ref().map(|window| window.floor)
    }

    /// What waits to be told, in its order.
    pub fn waiting(&self) -> impl Iterator<Item = &Change> {
        self.waiting.iter()
    }

    /// The next change that waits to be told; told it is, once it has been taken.
    pub fn take_next(&mut self) -> Option<Change> {
        let change = self.waiting.pop_front()?;
        let Some(window) = &mut self.window else { return Some(change) };
        match change {
            Change::Added(entry) if entry.position() > window.floor => window.insert(entry),
            Change::Removed(content) => drop(window.gone.remove(&content)),
            Change::AuthorRemoved(author) => window.entries.retain(|entry| entry.author != author),
            Change::Added(_) | Change::Refetch(_) => {}
        }
        if self.waiting.is_empty() {
            for trimmed in window.trim() {
                self.recently.tell(trimmed.content, true);
            }
        }
        Some(change)
    }

    /// The timeline above [`View::floor`] is `now`, whatever has been heard or missed before. Nothing must wait to be told.
    pub fn catch_up(&mut self, now: &Above) {
        let Some(window) = self.window.take() else { return self.refetch(Reason::Missed) };
        let held = window.entries.iter().map(|entry| entry.content).chain(window.gone).collect();
        self.become_true(window.floor, &held, now);
    }

    /// `entry` was in the timeline a moment ago. Nothing must wait to be told.
    pub fn added(&mut self, entry: Entry) {
        let is_news = match &self.window {
            Some(window) if entry.position() > window.floor => window.place(entry).is_err(),
            _ => self.recently.tell(entry.content, true),
        };
        if is_news {
            self.waiting.push_back(Change::Added(entry));
        }
    }

    /// `entry` is in no timeline any more. Nothing must wait to be told.
    pub fn removed(&mut self, entry: Entry) {
        let is_news = match &mut self.window {
            Some(window) if entry.position() > window.floor => window.let_go(entry),
            _ => self.recently.tell(entry.content, false),
        };
        if is_news {
            self.waiting.push_back(Change::Removed(entry.content));
        }
    }

    /// Nothing of `author` is in the timeline.
    pub fn author_removed(&mut self, author: UserId) {
        self.waiting.push_back(Change::AuthorRemoved(author));
    }

    /// The client is to be told to read again; from then on it is not known what it holds.
    pub fn refetch(&mut self, reason: Reason) {
        *self = Self::default();
        self.waiting.push_back(Change::Refetch(reason));
    }

    /// What the client can resume with after all that it has been told so far; `None` if that is not known.
    pub fn point(&self) -> Option<ResumePoint> {
        let window = self.window.as_ref()?;
        let held = window.entries.iter().map(|entry| entry.content).chain(window.gone.iter().copied());
        Some(ResumePoint::exactly(window.floor, held.collect()))
    }
}

impl View {
    /// The client holds `held` above `floor`; the window becomes what it holds of `now`, the rest waits to be told.
    fn become_true(&mut self, floor: Position, held: &HashSet<ContentId>, now: &Above) {
        if !now.whole {
            return self.refetch(Reason::GapTooLarge);
        }
        let mut there: Vec<Entry> = now.entries.iter().copied().filter(|it| it.position() > floor).collect();
        there.sort_by_key(Entry::position);
        let mut gone = held.clone();
        for entry in &there {
            gone.remove(&entry.content);
        }
        let mut removed: Vec<ContentId> = gone.iter().copied().collect();
        removed.sort_unstable();
        let (entries, come): (Vec<Entry>, Vec<Entry>) = there.into_iter().partition(|it| held.contains(&it.content));
        self.waiting.extend(removed.into_iter().map(Change::Removed));
        self.waiting.extend(come.into_iter().map(Change::Added));
        self.window = Some(Window { floor, entries, gone });
    }
}

impl Window {
    /// Where the entry stands, or would.
    fn place(&self, entry: Entry) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&entry.position(), Entry::position)
    }

    fn insert(&mut self, entry: Entry) {
        if let Err(place) = self.place(entry) {
            self.entries.insert(place, entry);
        }
    }

    /// Whether the client has it, and so must be told.
    fn let_go(&mut self, entry: Entry) -> bool {
        let Ok(place) = self.place(entry) else { return false };
        self.gone.insert(self.entries.remove(place).content)
    }

    /// Gives up the oldest entries above what a window holds: the floor rises above them, the client keeps them.
    fn trim(&mut self) -> Vec<Entry> {
        let surplus = self.entries.len().saturating_sub(VIEW_WINDOW);
        let trimmed: Vec<Entry> = self.entries.drain(..surplus).collect();
        if let Some(last) = trimmed.last() {
            self.floor = last.position();
        }
        trimmed
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
