//! Tells clients which of the contents and users that they show may have changed. A hint says what to read again, never
//! what has become of it, so that a client has one truth: what it reads.
//!
//! The hub of timelines is separate, because it delivers each change; here one hint may stand for many.

mod anonymous;

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use self::anonymous::AnonymousWatches;
pub use self::anonymous::{AnonymousLimits, BYTES_OF_SHOWN, BYTES_OF_WATCH};
use super::error::LiveError;
use crate::{
    domain::{ContentId, Shown, UserId},
    store::{
        Announcements,
        announcements::{Announcement, CHANGED_MS, RelationChange},
    },
    telemetry::metrics::SHOWN_SUBSCRIPTIONS,
};

/// The longest time for which changes gather before a hint.
const LONGEST_MS: u64 = 30_000;
/// How long before its watch a client may have read. What has changed since then counts, and so does what this node has
/// not followed for as long.
const BEFORE: Duration = Duration::from_secs(10);

/// Who watches, and how much they may.
#[derive(Debug, Clone, Copy)]
pub enum WatchedBy {
    /// A viewer, who has at most this many watches.
    Viewer(UserId, usize),
    /// A client of this network without a viewer. Of an address that is unknown all are one.
    Anonymous(Option<IpAddr>, AnonymousLimits),
}

impl WatchedBy {
    const fn viewer(self) -> Option<UserId> {
        match self {
            Self::Viewer(viewer, _) => Some(viewer),
            Self::Anonymous(..) => None,
        }
    }
}

/// This node's clients that watch what they show.
pub struct ShownHub {
    announcements: Arc<dyn Announcements>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    watchers: HashMap<u64, Arc<Watcher>>,
    by_shown: HashMap<Shown, Watched>,
    by_viewer: HashMap<UserId, HashSet<u64>>,
    anonymous: AnonymousWatches,
    next: u64,
}

/// What is known of something that clients watch.
#[derive(Default)]
struct Watched {
    by: HashSet<u64>,
    /// Since when this node gets its announcements; `None` while that is not certain.
    followed_since: Option<Instant>,
    /// When it was announced last.
    changed: Option<Instant>,
}

impl Watched {
    fn may_have_changed(&self) -> bool {
        self.followed_since.is_none_or(|since| since.elapsed() < BEFORE)
            || self.changed.is_some_and(|at| at.elapsed() < BEFORE)
    }
}

struct Watcher {
    shown: HashSet<Shown>,
    /// When each was announced, first since its last hint and last. Bounded by what is shown.
    changed: Mutex<HashMap<Shown, (Instant, Instant)>>,
    arrived: Notify,
    /// What the viewer sees may have become different.
    is_unchecked: AtomicBool,
    /// Whose the shown contents are; `None` until that is read.
    authors: Mutex<Option<Authors>>,
}

type Authors = Box<[(ContentId, UserId)]>;

impl Watcher {
    fn new(shown: HashSet<Shown>) -> Self {
        let (changed, arrived, is_unchecked) = (Mutex::default(), Notify::new(), AtomicBool::new(true));
        Self { shown, changed, arrived, is_unchecked, authors: Mutex::default() }
    }

    fn touch(&self, changed: impl IntoIterator<Item = Shown>) {
        let now = Instant::now();
        let mut known = self.changed();
        for one in changed {
            known.entry(one).or_insert((now, now)).1 = now;
        }
        drop(known);
        self.arrived.notify_one();
    }

    fn touch_all(&self) {
        self.is_unchecked.store(true, Ordering::Relaxed);
        self.touch(self.shown.iter().copied());
    }

    /// Nobody sees contents of `author` any more.
    fn lose_author(&self, author: UserId) {
        let authors = self.authors();
        let Some(known) = &*authors else {
            drop(authors);
            return self.touch_all();
        };
        let of_author = known.iter().filter(|(_, by)| *by == author);
        let lost: Vec<Shown> = of_author.map(|(content, _)| (*content).into()).collect();
        drop(authors);
        if !lost.is_empty() {
            self.is_unchecked.store(true, Ordering::Relaxed);
            self.touch(lost);
        }
    }

    /// What was announced first at least `gathered` ago. It stays for another hint if it was announced again since
    /// then: a change is announced with the first of all changes of [`CHANGED_MS`].
    fn take(&self, gathered: Duration) -> HashSet<Shown> {
        let (now, mut taken) = (Instant::now(), HashSet::new());
        let mut known = self.changed();
        known.retain(|shown, (first, last)| {
            if now.duration_since(*first) < gathered {
                return true;
            }
            taken.insert(*shown);
            *first = *last;
            now.duration_since(*last) < gathered
        });
        known.shrink_to_fit();
        taken
    }

    fn changed(&self) -> MutexGuard<'_, HashMap<Shown, (Instant, Instant)>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn authors(&self) -> MutexGuard<'_, Option<Authors>> {
        self.authors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client's watch. Dropping it ends it.
pub struct ShownWatch {
    hub: Arc<ShownHub>,
    id: u64,
    by: WatchedBy,
    watcher: Arc<Watcher>,
}

impl ShownHub {
    /// `announcements` is told of what is watched, and by whom.
    pub fn new(announcements: Arc<dyn Announcements>) -> Self {
        Self { announcements, state: Mutex::default() }
    }

    /// Watches `shown`. Fails if they watch as much already as they may.
    pub fn watch(self: &Arc<Self>, by: WatchedBy, shown: HashSet<Shown>) -> Result<ShownWatch, LiveError> {
        let mut state = self.lock();
        let id = state.next;
        match by {
            WatchedBy::Viewer(viewer, most) => {
                let own = state.by_viewer.entry(viewer).or_default();
                if own.len() >= most {
                    return Err(LiveError::TooMany(most));
                }
                own.insert(id);
                if own.len() == 1 {
                    self.announcements.want(viewer.into());
                }
            }
            WatchedBy::Anonymous(network, limits) => state.anonymous.add(network, shown.len(), limits)?,
        }
        state.next += 1;
        let mut doubtful = Vec::new();
        for one in &shown {
            let watched = state.by_shown.entry(*one).or_insert_with(|| {
                self.announcements.want(*one);
                Watched::default()
            });
            watched.by.insert(id);
            if watched.may_have_changed() {
                doubtful.push(*one);
            }
        }
        let watcher = Arc::new(Watcher::new(shown));
        watcher.touch(doubtful);
        state.watchers.insert(id, Arc::clone(&watcher));
        metrics::gauge!(SHOWN_SUBSCRIPTIONS).increment(1);
        Ok(ShownWatch { hub: Arc::clone(self), id, by, watcher })
    }

    /// The number of watches on this node.
    pub fn watching(&self) -> usize {
        self.lock().watchers.len()
    }

    /// Tells those who show what the announcement is about.
    pub fn pass_on(&self, announcement: &Announcement) {
        let mut state = self.lock();
        match announcement {
            Announcement::Published { entry, .. } | Announcement::Removed { entry } => state.touch(entry.author.into()),
            Announcement::OutboxChanged { author } => state.touch((*author).into()),
            Announcement::Changed { shown } => state.touch(*shown),
            Announcement::FollowsChanged {
                reader,
                change: Some(RelationChange::Followed | RelationChange::Unfollowed),
                ..
            } => state.touch((*reader).into()),
            // What its reader sees of anything may be different, and is nobody else's business.
            Announcement::FollowsChanged { reader, .. } => {
                let own = state.by_viewer.get(reader).into_iter().flatten();
                own.filter_map(|id| state.watchers.get(id)).for_each(|watcher| watcher.touch_all());
            }
            Announcement::AccountDeleted { user } => {
                state.touch((*user).into());
                state.watchers.values().for_each(|watcher| watcher.lose_author(*user));
            }
            Announcement::Gap => state.miss(),
            Announcement::ReadMarkerMoved { .. } | Announcement::SessionEnded { .. } => {}
        }
    }

    /// The more clients watch, the longer changes gather: otherwise all of them would ask again each second while
    /// something is liked that all of them show. However many watch without a viewer, no viewer waits longer for them.
    fn gathered(&self, by: WatchedBy) -> Duration {
        let state = self.lock();
        let without_viewer = if by.viewer().is_some() { state.anonymous.count() } else { 0 };
        let watchers = u64::try_from(state.watchers.len() - without_viewer).unwrap_or(LONGEST_MS);
        Duration::from_millis(CHANGED_MS.saturating_add(watchers).min(LONGEST_MS))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn touch(&mut self, shown: Shown) {
        let Some(watched) = self.by_shown.get_mut(&shown) else { return };
        watched.changed = Some(Instant::now());
        watched.by.iter().filter_map(|id| self.watchers.get(id)).for_each(|watcher| watcher.touch([shown]));
    }

    fn miss(&mut self) {
        self.by_shown.values_mut().for_each(|watched| watched.followed_since = None);
        self.watchers.values().for_each(|watcher| watcher.touch_all());
    }
}

impl ShownWatch {
    /// What may have changed since the last call: at least one. This node now gets the announcements of all that is
    /// shown, so that a client which reads it again misses nothing.
    pub async fn next(&self) -> HashSet<Shown> {
        loop {
            let first = self.watcher.changed().values().map(|(first, _)| *first).min();
            let Some(first) = first else {
                self.watcher.arrived.notified().await;
                continue;
            };
            let gathered = self.hub.gathered(self.by);
            sleep_until(first + gathered).await;
            self.hub.announcements.settled().await;
            self.note_followed();
            let changed = self.watcher.take(gathered);
            if !changed.is_empty() {
                return changed;
            }
        }
    }

    /// Whether what the viewer sees may have become different since the last call, so that it has to be read.
    pub fn is_unchecked(&self) -> bool {
        let is_unchecked = self.watcher.is_unchecked.swap(false, Ordering::Relaxed);
        if is_unchecked {
            // An account that is deleted while it is read may be of any of them.
            *self.watcher.authors() = None;
        }
        is_unchecked
    }

    /// Whose the shown contents are that the viewer sees.
    pub fn note_authors(&self, authors: impl Iterator<Item = (ContentId, UserId)>) {
        *self.watcher.authors() = Some(authors.collect());
    }

    /// Returns `changed` later again: what the viewer sees of it could not be checked.
    pub fn put_off(&self, changed: HashSet<Shown>) {
        self.watcher.is_unchecked.store(true, Ordering::Relaxed);
        self.watcher.touch(changed);
    }

    /// Who watches; `None` without a viewer.
    pub const fn viewer(&self) -> Option<UserId> {
        self.by.viewer()
    }

    /// All that is watched.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        self.watcher.shown.iter().copied()
    }

    fn note_followed(&self) {
        let mut state = self.hub.lock();
        for one in &self.watcher.shown {
            if let Some(watched) = state.by_shown.get_mut(one) {
                watched.followed_since.get_or_insert_with(Instant::now);
            }
        }
    }
}

impl Drop for ShownWatch {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        state.watchers.remove(&self.id);
        for one in &self.watcher.shown {
            if let Entry::Occupied(mut watched) = state.by_shown.entry(*one) {
                watched.get_mut().by.remove(&self.id);
                if watched.get().by.is_empty() {
                    watched.remove();
                    self.hub.announcements.unwant(*one);
                }
            }
        }
        match self.by {
            WatchedBy::Viewer(viewer, _) => {
                if let Entry::Occupied(mut own) = state.by_viewer.entry(viewer) {
                    own.get_mut().remove(&self.id);
                    if own.get().is_empty() {
                        own.remove();
                        self.hub.announcements.unwant(viewer.into());
                    }
                }
            }
            WatchedBy::Anonymous(network, _) => state.anonymous.remove(network, self.watcher.shown.len()),
        }
        metrics::gauge!(SHOWN_SUBSCRIPTIONS).decrement(1);
    }
}

#[cfg(test)]
mod tests;
