//! The state machine of one subscriber: the next event, whether to read the timeline, and what a read changes. `feed`
//! does the I/O; tests.rs runs it against lost, repeated and reordered announcements.

use std::collections::VecDeque;

use super::followed::Followed;
use crate::domain::{
    Entry, Position, ResumePoint, UserId,
    live::view::{Change, Reason, TimelineTop, View},
    timeline::folding::Showing,
};

/// An event for a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// The reader's timeline has changed.
    Change(Change),
    /// The reader has followed or unfollowed an author.
    Relation {
        /// The author.
        author: UserId,
        /// Whether the reader follows them now.
        following: bool,
    },
    /// The reader has read up to this position, perhaps on another device. Best effort: the store has the marker.
    ReadUpTo(Position),
    /// What the client holds may differ from the timeline where no event reports it: below the window, and where a
    /// newer entry shows the same subject.
    MayDiffer,
}

impl Update {
    /// The label for metrics.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Change(Change::Added(_)) => "added",
            Self::Change(Change::Removed(_)) => "removed",
            Self::Change(Change::AuthorRemoved(_)) => "author_removed",
            Self::Change(Change::Refetch(Reason::GapTooLarge)) => "refetch_gap_too_large",
            Self::Change(Change::Refetch(Reason::FollowsChanged)) => "refetch_follows_changed",
            Self::Change(Change::Refetch(Reason::Missed)) => "refetch_missed",
            Self::Relation { .. } => "relation",
            Self::ReadUpTo(_) => "read_marker",
            Self::MayDiffer => "may_differ",
        }
    }
}

/// Why to read a subscriber's follows again, and perhaps its timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RereadCause {
    /// The relation between the reader and an author has changed.
    Relation {
        /// The author, if known.
        author: Option<UserId>,
        /// Whether the author left the timeline without an unfollow: by a mute, hide or block.
        excluded: bool,
    },
    /// Announcements may have been missed.
    Missed,
}

/// The state of one subscriber.
#[derive(Debug)]
pub struct SubscriberState {
    view: View,
    followed: Followed,
    relations: VecDeque<Update>,
    /// The client's own resume point, until the first read.
    point: Option<ResumePoint>,
    needs_read: bool,
    /// Whether the client asked for [`Update::MayDiffer`].
    compares: bool,
    may_differ: bool,
}

impl SubscriberState {
    /// A subscriber of a reader who follows `followed`. The client holds what `point` says; without a point, it is
    /// unknown what it holds.
    pub fn begin(followed: Followed, point: Option<ResumePoint>) -> Self {
        let is_resuming = point.is_some();
        let (view, relations) = (View::default(), VecDeque::new());
        Self { view, followed, relations, point, needs_read: is_resuming, compares: false, may_differ: is_resuming }
    }

    /// Adds [`Update::MayDiffer`] to the events.
    pub fn compare(&mut self) {
        self.compares = true;
    }

    /// The next event. It counts as received by the client once it is taken.
    pub fn next(&mut self) -> Option<Update> {
        self.view.take_next().map(Update::Change).or_else(|| self.relations.pop_front()).or_else(|| self.doubt())
    }

    /// Comes after all changes of a read, so that the client compares when no other event is due.
    fn doubt(&mut self) -> Option<Update> {
        let may_differ = self.compares && !self.needs_read && std::mem::take(&mut self.may_differ);
        may_differ.then_some(Update::MayDiffer)
    }

    /// The position above which to read the timeline for [`Self::caught_up`]; `None` if no read is due. Call it when
    /// [`Self::next`] returns `None`, and before passing on another signal.
    pub fn catch_up_from(&self) -> Option<Position> {
        if self.needs_read { self.floor() } else { None }
    }

    /// Whether it is known what the client holds. Only then can a periodic read find losses.
    pub fn is_known(&self) -> bool {
        self.floor().is_some()
    }

    /// Takes the timeline above [`Self::catch_up_from`] as it was at one instant after all of `followed` were watched.
    pub fn caught_up(&mut self, now: &TimelineTop) {
        self.needs_read = false;
        match self.point.take() {
            Some(point) => self.view = View::resume(&point, now),
            None => self.view.catch_up(now),
        }
    }

    /// Changes that the client has not received yet, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Change> {
        self.view.waiting()
    }

    /// The outcome of the last read, as a label for metrics.
    pub fn outcome(&self) -> &'static str {
        match self.waiting().next() {
            None => "nothing_missed",
            Some(Change::Refetch(_)) => "refetch",
            Some(_) => "caught_up",
        }
    }

    /// The entry was announced, and a read afterwards found it in the timeline.
    pub fn added(&mut self, new: Showing) {
        self.view.added(new);
    }

    /// The author has removed the entry.
    pub fn removed(&mut self, entry: Entry) {
        self.may_differ |= self.view.folds(entry);
        self.view.removed(entry);
    }

    /// The reader's follows were read again because of `cause`. All of `followed` are watched by now.
    pub fn follows(&mut self, cause: RereadCause, followed: Followed) {
        self.may_differ = true;
        let before = std::mem::replace(&mut self.followed, followed);
        let mut gone: Vec<UserId> = before.without(&self.followed).collect();
        let come: Vec<UserId> = self.followed.without(&before).collect();
        let relation = |author: &UserId, following| Update::Relation { author: *author, following };
        self.relations.extend(gone.iter().map(|author| relation(author, false)));
        self.relations.extend(come.iter().map(|author| relation(author, true)));
        let (named, excluded) = match cause {
            RereadCause::Relation { author, excluded } => (author, excluded),
            RereadCause::Missed => (None, false),
        };
        // The named author goes even if this was known before: an announcement that was on its way may have added
        // entries since. If the reader did not follow them, only reposts by others can be affected. A read removes
        // those one by one, so that no event names the author who hides or blocks.
        gone.extend(named.filter(|author| {
            let is_out = if excluded { before.contains(*author) } else { !self.followed.contains(*author) };
            is_out && !gone.contains(author)
        }));
        for author in gone {
            self.view.author_removed(author);
        }
        let explained = !excluded && come.is_empty() && named.is_some_and(|author| !self.followed.contains(author));
        if !explained {
            self.catch_up_because(cause);
        }
    }

    /// Reports that a change could not be shown to the client, which then has to read again.
    pub fn failed_to_show(&mut self) {
        self.give_up(Reason::Missed);
    }

    /// Where the client can resume after the events so far; `None` if it is unknown what it holds.
    pub fn point(&self) -> Option<ResumePoint> {
        self.point.clone().or_else(|| self.view.point())
    }

    fn floor(&self) -> Option<Position> {
        self.point.as_ref().map(ResumePoint::floor).or_else(|| self.view.floor())
    }

    fn catch_up_because(&mut self, cause: RereadCause) {
        self.needs_read = self.is_known();
        if !self.needs_read {
            let reason = if cause == RereadCause::Missed { Reason::Missed } else { Reason::FollowsChanged };
            self.give_up(reason);
        }
    }

    fn give_up(&mut self, reason: Reason) {
        self.point = None;
        self.needs_read = false;
        self.may_differ = false;
        self.view.refetch(reason);
    }
}

#[cfg(test)]
mod tests;
