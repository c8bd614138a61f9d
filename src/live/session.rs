//! One subscriber as a state machine: what it is told next, when it must be looked after, and what a look says. Pure;
//! `feed` listens, reads and awaits. tests.rs plays it against a world that loses, repeats and disorders
//! announcements.

use std::collections::{HashSet, VecDeque};

use crate::domain::{
    Entry, Position, ResumePoint, UserId,
    live::view::{Above, Change, Reason, View},
    timeline::folding::Showing,
};

/// What a subscriber is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Its timeline has changed.
    Change(Change),
    /// It follows the author, or does so no more.
    Relation {
        /// Whom.
        author: UserId,
        /// Since the subscription last knew.
        following: bool,
    },
    /// It has read up to here, perhaps on another device. Best effort: the marker itself is in the store.
    ReadUpTo(Position),
    /// What it holds may differ from its timeline in what no event tells: below the window, and where a newer entry of
    /// a subject stands.
    MayDiffer,
}

impl Told {
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

/// Why a subscriber must be looked after: who is in its timeline is read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
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
pub struct Session {
    view: View,
    followed: HashSet<UserId>,
    relations: VecDeque<Told>,
    /// The client's own words, until the first look.
    point: Option<ResumePoint>,
    look: bool,
    /// Whether it wants to be told that what it holds may differ.
    compares: bool,
    may_differ: bool,
}

impl Session {
    /// Of a reader who follows `followed`, and holds what `point` says, if it says anything.
    pub fn begin(followed: HashSet<UserId>, point: Option<ResumePoint>) -> Self {
        let look = point.is_some();
        let (view, relations) = (View::default(), VecDeque::new());
        Self { view, followed, relations, point, look, compares: false, may_differ: look }
    }

    /// From now on it is told when what it holds may differ in what no event tells.
    pub fn compare(&mut self) {
        self.compares = true;
    }

    /// What the subscriber is told next; told it is, once it has been taken.
    pub fn next(&mut self) -> Option<Told> {
        self.view.take_next().map(Told::Change).or_else(|| self.relations.pop_front()).or_else(|| self.doubt())
    }

    /// After everything that a look has brought: what is read then lies above nothing that was missed.
    fn doubt(&mut self) -> Option<Told> {
        let may_differ = self.compares && !self.look && std::mem::take(&mut self.may_differ);
        may_differ.then_some(Told::MayDiffer)
    }

    /// From where on the timeline must be read for [`Self::looked`], before anything else is heard and once nothing is
    /// left to tell.
    pub fn wants(&self) -> Option<Position> {
        if self.look { self.floor() } else { None }
    }

    /// Whether what the client holds is known, so that a look now and then makes up for what nobody noticed.
    pub fn is_known(&self) -> bool {
        self.floor().is_some()
    }

    /// The timeline above [`Self::wants`] as it was at one instant after all of `followed` were watched.
    pub fn looked(&mut self, now: &Above) {
        self.look = false;
        match self.point.take() {
            Some(point) => self.view = View::resume(&point, now),
            None => self.view.catch_up(now),
        }
    }

    /// Changes that wait to be told, in their order.
    pub fn waiting(&self) -> impl Iterator<Item = &Change> {
        self.view.waiting()
    }

    /// Of the last look, for metrics.
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

    /// Because of `cause`, whom the reader follows was read: `followed`, all of whom are watched by now.
    pub fn follows(&mut self, cause: Cause, followed: HashSet<UserId>) {
        self.may_differ = true;
        let before = std::mem::replace(&mut self.followed, followed);
        let mut gone: Vec<UserId> = before.difference(&self.followed).copied().collect();
        let mut come: Vec<UserId> = self.followed.difference(&before).copied().collect();
        gone.sort_unstable();
        come.sort_unstable();
        let tell = |author: &UserId, following| Told::Relation { author: *author, following };
        self.relations.extend(gone.iter().map(|author| tell(author, false)));
        self.relations.extend(come.iter().map(|author| tell(author, true)));
        let (named, excluded) = match cause {
            Cause::Relation { author, excluded } => (author, excluded),
            Cause::Missed => (None, false),
        };
        // Also of whom that was known before: what was on its way then may have arrived since. Of somebody who was not
        // followed there is nothing but others' reposts, which a look takes away one by one: nobody is told who keeps
        // them out.
        gone.extend(named.filter(|author| {
            let is_out = if excluded { before.contains(author) } else { !self.followed.contains(author) };
            is_out && !gone.contains(author)
        }));
        for author in gone {
            self.view.author_removed(author);
        }
        let explained = !excluded && come.is_empty() && named.is_some_and(|author| !self.followed.contains(&author));
        if !explained {
            self.look_because(cause);
        }
    }

    /// The client could not be shown a change that it was to be told.
    pub fn failed_to_show(&mut self) {
        self.give_up(Reason::Missed);
    }

    /// What the client can resume with after what it has been told so far; `None` if nobody knows what it holds.
    pub fn point(&self) -> Option<ResumePoint> {
        self.point.clone().or_else(|| self.view.point())
    }

    fn floor(&self) -> Option<Position> {
        self.point.as_ref().map(ResumePoint::floor).or_else(|| self.view.floor())
    }

    fn look_because(&mut self, cause: Cause) {
        self.look = self.is_known();
        if !self.look {
            let reason = if cause == Cause::Missed { Reason::Missed } else { Reason::FollowsChanged };
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
