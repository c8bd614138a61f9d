//! Tells clients which of the contents and users that they show may have changed. A hint says what to read again, never
//! what has become of it, so that a client has one truth: what it reads.
//!
//! The hub of timelines is separate, because it delivers each change; here one hint may stand for many.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
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

use crate::{
    domain::{Shown, UserId},
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
}

impl Watcher {
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

    /// What was announced first at least `gathered` ago. It stays for another hint if it was announced again since
    /// then: a change is announced with the first of all changes of [`CHANGED_MS`].
    fn take(&self, gathered: Duration) -> HashSet<Shown> {
        let (now, mut taken) = (Instant::now(), HashSet::new());
        self.changed().retain(|shown, (first, last)| {
            if now.duration_since(*first) < gathered {
                return true;
            }
            taken.insert(*shown);
            *first = *last;
            now.duration_since(*last) < gathered
        });
        taken
    }

    fn changed(&self) -> MutexGuard<'_, HashMap<Shown, (Instant, Instant)>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client's watch. Dropping it ends it.
pub struct ShownWatch {
    hub: Arc<ShownHub>,
    id: u64,
    viewer: UserId,
    watcher: Arc<Watcher>,
}

impl ShownHub {
    /// `announcements` is told of what is watched, and by whom.
    pub fn new(announcements: Arc<dyn Announcements>) -> Self {
        Self { announcements, state: Mutex::default() }
    }

    /// Watches `shown` for a client of `viewer`. `None`: the viewer has `most` watches already.
    pub fn watch(self: &Arc<Self>, viewer: UserId, shown: HashSet<Shown>, most: usize) -> Option<ShownWatch> {
        let mut state = self.lock();
        let id = state.next;
        let own = state.by_viewer.entry(viewer).or_default();
        if own.len() >= most {
            return None;
        }
        own.insert(id);
        if own.len() == 1 {
            self.announcements.want(viewer.into());
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
        let (changed, arrived, is_unchecked) = (Mutex::default(), Notify::new(), AtomicBool::new(true));
        let watcher = Arc::new(Watcher { shown, changed, arrived, is_unchecked });
        watcher.touch(doubtful);
        state.watchers.insert(id, Arc::clone(&watcher));
        metrics::gauge!(SHOWN_SUBSCRIPTIONS).increment(1);
        Some(ShownWatch { hub: Arc::clone(self), id, viewer, watcher })
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
            Announcement::AccountDeleted { user } => state.touch((*user).into()),
            Announcement::Gap => state.miss(),
            Announcement::ReadMarkerMoved { .. } | Announcement::SessionEnded { .. } => {}
        }
    }

    /// The more clients watch, the longer changes gather: otherwise all of them would ask again each second while
    /// something is liked that all of them show.
    fn gathered(&self) -> Duration {
        let watchers = u64::try_from(self.watching()).unwrap_or(LONGEST_MS);
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
            let gathered = self.hub.gathered();
            sleep_until(first + gathered).await;
            self.hub.announcements.settled().await;
            self.note_followed();
            let changed = self.watcher.take(gathered);
            if !changed.is_empty() {
                return changed;
            }
        }
    }

    /// Whether what the viewer sees may have become different since the last call.
    pub fn is_unchecked(&self) -> bool {
        self.watcher.is_unchecked.swap(false, Ordering::Relaxed)
    }

    /// Returns `changed` later again: what the viewer sees of it could not be checked.
    pub fn put_off(&self, changed: HashSet<Shown>) {
        self.watcher.is_unchecked.store(true, Ordering::Relaxed);
        self.watcher.touch(changed);
    }

    /// Who watches.
    pub const fn viewer(&self) -> UserId {
        self.viewer
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
        if let Entry::Occupied(mut own) = state.by_viewer.entry(self.viewer) {
            own.get_mut().remove(&self.id);
            if own.get().is_empty() {
                own.remove();
                self.hub.announcements.unwant(self.viewer.into());
            }
        }
        metrics::gauge!(SHOWN_SUBSCRIPTIONS).decrement(1);
    }
}

#[cfg(test)]
mod tests;
