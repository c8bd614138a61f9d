//! One subscriber as a pure state machine: the next event, whether to read the timeline, and what a read means. `feed`
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
    /// Its timeline has changed.
    Change(Change),
    /// It follows the author now, or no longer does.
    Relation {
        /// Whom.
        author: UserId,
        /// Since the subscription last knew.
        following: bool,
    },
    /// It has read up to here, perhaps on another device. Best effort: the marker itself is in the store.
    ReadUpTo(Position),
    /// What the client holds may differ from its timeline where no event says so: below the window, and where a newer
    /// entry of a subject stands.
    MayDiffer,
}

impl Update {
    /// For metrics.
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

/// Why a subscriber's follows, and perhaps its timeline, are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RereadCause {
    /// Something has changed between the reader and the author, if that is known.
    Relation {
        /// Whom it is about.
        author: Option<UserId>,
        /// Whether the author has been shut out of the timeline without being unfollowed.
        excluded: bool,
    },
    /// Announcements may have been missed.
    Missed,
}

/// One subscriber.
#[derive(Debug)]
pub struct SubscriberState {
    view: View,
    followed: Followed,
    relations: VecDeque<Update>,
    /// The client's own words, until the first look.
    point: Option<ResumePoint>,
    look: bool,
    /// Whether it wants to be told that what it holds may differ.
    compares: bool,
    may_differ: bool,
}

impl SubscriberState {
    /// A subscriber of a reader who follows `followed`. The client holds what `point` says; without one, what it holds
    /// is not known.
    pub fn begin(followed: Followed, point: Option<ResumePoint>) -> Self {
        let look = point.is_some();
        let (view, relations) = (View::default(), VecDeque::new());
        Self { view, followed, relations, point, look, compares: false, may_differ: look }
    }

    /// From now on [`Update::MayDiffer`] is among the events.
    pub fn compare(&mut self) {
        self.compares = true;
    }

    /// The next event. The subscriber counts it as received by the client once it has been taken.
    pub fn next(&mut self) -> Option<Update> {
        self.view.take_next().map(Update::Change).or_else(|| self.relations.pop_front()).or_else(|| self.doubt())
    }

    /// Comes after all changes of a read, so that the client compares when nothing is on its way.
    fn doubt(&mut self) -> Option<Update> {
        let may_differ = self.compares && !self.look && std::mem::take(&mut self.may_differ);
        may_differ.then_some(Update::MayDiffer)
    }

    /// The position above which the timeline must be read for [`Self::looked`]; `None` if it need not be. To be asked
    /// when [`Self::next`] has nothing left, and before any further signal.
    pub fn look_from(&self) -> Option<Position> {
        if self.look { self.floor() } else { None }
    }

    /// Whether what the client holds is known, so that a periodic read can find what was missed unnoticed.
    pub fn is_known(&self) -> bool {
        self.floor().is_some()
    }

    /// The timeline above [`Self::look_from`] as it was at one instant after all of `followed` were watched.
    pub fn looked(&mut self, now: &TimelineTop) {
        self.look = false;
        match self.point.take() {
            Some(point) => self.view = View::resume(&point, now),
            None => self.view.catch_up(now),
        }
    }

    /// Changes that the client has not received yet, in their order.
    pub fn waiting(&self) -> impl Iterator<Item = &Change> {
        self.view.waiting()
    }

    /// The outcome of the last read, for metrics.
    pub fn outcome(&self) -> &'static str {
        match self.waiting().next() {
            None => "nothing_missed",
            Some(Change::Refetch(_)) => "refetch",
            Some(_) => "caught_up",
        }
    }

    /// The entry was seen in the timeline after it had been announced.
    pub fn added(&mut self, new: Showing) {
        self.view.added(new);
    }

    /// The entry has been removed by its author.
    pub fn removed(&mut self, entry: Entry) {
        self.may_differ |= self.view.folds(entry);
        self.view.removed(entry);
    }

    /// The reader's follows were read because of `cause`: they are `followed`, and all of them are watched by now.
    pub fn follows(&mut self, cause: RereadCause, followed: Followed) {
        self.may_differ = true;
        let before = std::mem::replace(&mut self.followed, followed);
        let mut gone: Vec<UserId> = before.without(&self.followed).collect();
        let come: Vec<UserId> = self.followed.without(&before).collect();
        let tell = |author: &UserId, following| Update::Relation { author: *author, following };
        self.relations.extend(gone.iter().map(|author| tell(author, false)));
        self.relations.extend(come.iter().map(|author| tell(author, true)));
        let (named, excluded) = match cause {
            RereadCause::Relation { author, excluded } => (author, excluded),
            RereadCause::Missed => (None, false),
        };
        // Also of whom that was known before: what was on its way then may have arrived since. Of somebody who was not
        // followed there is nothing but others' reposts, which a look takes away one by one: nobody is told who keeps
        // them out.
        gone.extend(named.filter(|author| {
            let is_out = if excluded { before.contains(*author) } else { !self.followed.contains(*author) };
            is_out && !gone.contains(author)
        }));
        for author in gone {
            self.view.author_removed(author);
        }
        let explained = !excluded && come.is_empty() && named.is_some_and(|author| !self.followed.contains(author));
        if !explained {
            self.look_because(cause);
        }
    }

    /// A change could not be shown to the client: it has to read again.
    pub fn failed_to_show(&mut self) {
        self.give_up(Reason::Missed);
    }

    /// What the client can resume with after the events so far; `None` if what it holds is not known.
    pub fn point(&self) -> Option<ResumePoint> {
        self.point.clone().or_else(|| self.view.point())
    }

    fn floor(&self) -> Option<Position> {
        self.point.as_ref().map(ResumePoint::floor).or_else(|| self.view.floor())
    }

    fn look_because(&mut self, cause: RereadCause) {
        self.look = self.is_known();
        if !self.look {
            let reason = if cause == RereadCause::Missed { Reason::Missed } else { Reason::FollowsChanged };
            self.give_up(reason);
        }
    }

    fn give_up(&mut self, reason: Reason) {
        self.point = None;
        self.look = false;
        self.may_differ = false;
        self.view.refetch(reason);
    }
}

#[cfg(test)]
mod tests;
