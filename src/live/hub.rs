//! Who on this node is watching whom: announcements go in, events come out at each subscriber's bounded buffer. Nobody waits
//! for a slow subscriber: one whose buffer is full loses events and is told so.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::{broadcast, mpsc};

use crate::{
    domain::{ContentId, Entry, Position, UserId},
    store::announcements::Announcement,
    telemetry::metrics::{LIVE_EVENTS_MISSED, SUBSCRIPTIONS},
};

/// Events that wait for a subscriber at most.
pub const BUFFER: usize = 64;

/// What a subscriber is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveEvent {
    /// A followed author has published.
    Added(Entry),
    /// A followed author's content is gone.
    Removed(ContentId),
    /// The subscriber's own follows have changed.
    FollowsChanged,
    /// The subscriber has read up to here, perhaps on another device.
    ReadMarkerMoved(Position),
    /// Events may have been missed.
    Missed,
}

#[derive(Default)]
struct State {
    subscribers: HashMap<u64, Subscriber>,
    by_author: HashMap<UserId, HashSet<u64>>,
    by_reader: HashMap<UserId, HashSet<u64>>,
}

struct Subscriber {
    reader: UserId,
    authors: HashSet<UserId>,
    events: mpsc::Sender<LiveEvent>,
    missed: Arc<AtomicBool>,
}

/// The index of this node's subscribers.
#[derive(Default)]
pub struct Hub {
    state: Mutex<State>,
    next: AtomicU64,
}

/// A subscriber's end; dropping it ends the subscription.
pub struct Registration {
    hub: Arc<Hub>,
    id: u64,
    events: mpsc::Receiver<LiveEvent>,
    missed: Arc<AtomicBool>,
}

impl Hub {
    /// Passes announcements on until there are no more to come. Announcements that this node was too slow for count as a gap.
    pub async fn run(&self, mut announcements: broadcast::Receiver<Announcement>) {
        loop {
            match announcements.recv().await {
                Ok(announcement) => self.pass_on(&announcement),
                Err(broadcast::error::RecvError::Lagged(_)) => self.pass_on(&Announcement::Gap),
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    /// Passes one announcement on to those whom it concerns.
    pub fn pass_on(&self, announcement: &Announcement) {
        let state = self.lock();
        match announcement {
            Announcement::Published { entry } => state.tell_watchers(entry.author, &LiveEvent::Added(*entry)),
            Announcement::Removed { entry } => state.tell_watchers(entry.author, &LiveEvent::Removed(entry.content)),
            Announcement::FollowsChanged { reader } => {
                state.tell(state.by_reader.get(reader), &LiveEvent::FollowsChanged);
            }
            Announcement::ReadMarkerMoved { reader, marker } => {
                state.tell(state.by_reader.get(reader), &LiveEvent::ReadMarkerMoved(*marker));
            }
            Announcement::Gap => state.subscribers.values().for_each(|it| it.tell(&LiveEvent::Missed)),
        }
    }

    /// Registers a subscriber, who hears of nobody until [`Registration::watch`].
    pub fn register(self: &Arc<Self>, reader: UserId) -> Registration {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, events) = mpsc::channel(BUFFER);
        let missed = Arc::new(AtomicBool::new(false));
        let subscriber = Subscriber { reader, authors: HashSet::new(), events: sender, missed: Arc::clone(&missed) };
        let mut state = self.lock();
        state.subscribers.insert(id, subscriber);
        state.by_reader.entry(reader).or_default().insert(id);
        metrics::gauge!(SUBSCRIPTIONS).increment(1);
        Registration { hub: Arc::clone(self), id, events, missed }
    }

    /// Subscribers on this node.
    pub fn subscribers(&self) -> usize {
        self.lock().subscribers.len()
    }

    /// Subscribers on this node that watch somebody, hence hear of what happens from now on.
    pub fn watching(&self) -> usize {
        self.lock().subscribers.values().filter(|it| !it.authors.is_empty()).count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell_watchers(&self, author: UserId, event: &LiveEvent) {
        self.tell(self.by_author.get(&author), event);
    }

    fn tell(&self, ids: Option<&HashSet<u64>>, event: &LiveEvent) {
        for subscriber in ids.into_iter().flatten().filter_map(|id| self.subscribers.get(id)) {
            subscriber.tell(event);
        }
    }

    fn watch(&mut self, id: u64, authors: HashSet<UserId>) {
        let Some(subscriber) = self.subscribers.get_mut(&id) else { return };
        let before = std::mem::replace(&mut subscriber.authors, authors.clone());
        for gone in before.difference(&authors) {
            remove(&mut self.by_author, *gone, id);
        }
        for author in authors {
            self.by_author.entry(author).or_default().insert(id);
        }
    }

    fn remove(&mut self, id: u64) {
        let Some(subscriber) = self.subscribers.remove(&id) else { return };
        metrics::gauge!(SUBSCRIPTIONS).decrement(1);
        remove(&mut self.by_reader, subscriber.reader, id);
        for author in subscriber.authors {
            remove(&mut self.by_author, author, id);
        }
    }
}

fn remove(index: &mut HashMap<UserId, HashSet<u64>>, key: UserId, id: u64) {
    if let Some(ids) = index.get_mut(&key) {
        ids.remove(&id);
        if ids.is_empty() {
            index.remove(&key);
        }
    }
}

impl Subscriber {
    fn tell(&self, event: &LiveEvent) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.events.try_send(event.clone()) {
            self.missed.store(true, Ordering::SeqCst);
            metrics::counter!(LIVE_EVENTS_MISSED).increment(1);
        }
    }
}

impl Registration {
    /// From now on events of exactly these authors come.
    pub fn watch(&self, authors: HashSet<UserId>) {
        self.hub.lock().watch(self.id, authors);
    }

    /// The next event; what waits behind a lost one is dropped for a single [`LiveEvent::Missed`].
    pub async fn next(&mut self) -> Option<LiveEvent> {
        let event = self.events.recv().await?;
        if self.missed.swap(false, Ordering::SeqCst) {
            while self.events.try_recv().is_ok() {}
            return Some(LiveEvent::Missed);
        }
        Some(event)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.hub.lock().remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    fn user(id: i64) -> UserId {
        UserId::try_new(id).unwrap()
    }

    fn published(author: i64, content: i64) -> Announcement {
        let entry = Entry { publish_time: 1, content: ContentId::try_new(content).unwrap(), author: user(author) };
        Announcement::Published { entry }
    }

    #[tokio::test]
    async fn events_reach_only_those_who_watch_the_author() {
        let hub = Arc::new(Hub::default());
        let mut watching = hub.register(user(1));
        let mut other = hub.register(user(2));
        watching.watch(HashSet::from([user(7)]));
        other.watch(HashSet::from([user(8)]));
        hub.pass_on(&published(7, 70));
        hub.pass_on(&published(8, 80));
        assert!(matches!(watching.next().await, Some(LiveEvent::Added(entry)) if entry.content.get() == 70));
        assert!(matches!(other.next().await, Some(LiveEvent::Added(entry)) if entry.content.get() == 80));
    }

    #[tokio::test]
    async fn a_slow_subscriber_is_told_that_it_missed_something_and_goes_on() {
        let hub = Arc::new(Hub::default());
        let mut slow = hub.register(user(1));
        slow.watch(HashSet::from([user(7)]));
        for content in 1..=i64::try_from(BUFFER).unwrap() + 1 {
            hub.pass_on(&published(7, content));
        }
        assert_eq!(slow.next().await, Some(LiveEvent::Missed));
        hub.pass_on(&published(7, 999));
        assert!(matches!(slow.next().await, Some(LiveEvent::Added(entry)) if entry.content.get() == 999));
    }

    #[tokio::test]
    async fn a_moved_read_marker_is_told_to_that_readers_subscriptions_alone() {
        let hub = Arc::new(Hub::default());
        let (mut phone, mut desk, mut other) = (hub.register(user(1)), hub.register(user(1)), hub.register(user(2)));
        let marker = Position::bound(5, 50);
        hub.pass_on(&Announcement::ReadMarkerMoved { reader: user(1), marker });
        hub.pass_on(&Announcement::FollowsChanged { reader: user(2) });
        assert_eq!(phone.next().await, Some(LiveEvent::ReadMarkerMoved(marker)));
        assert_eq!(desk.next().await, Some(LiveEvent::ReadMarkerMoved(marker)));
        assert_eq!(other.next().await, Some(LiveEvent::FollowsChanged));
    }

    #[tokio::test]
    async fn watching_anew_forgets_those_watched_before() {
        let hub = Arc::new(Hub::default());
        let mut subscriber = hub.register(user(1));
        subscriber.watch(HashSet::from([user(7)]));
        subscriber.watch(HashSet::from([user(8)]));
        hub.pass_on(&published(7, 70));
        hub.pass_on(&published(8, 80));
        assert!(matches!(subscriber.next().await, Some(LiveEvent::Added(entry)) if entry.content.get() == 80));
    }

    #[test]
    fn an_ended_subscription_leaves_nothing_behind() {
        let hub = Arc::new(Hub::default());
        let subscriber = hub.register(user(1));
        subscriber.watch(HashSet::from([user(7), user(8)]));
        drop(subscriber);
        let state = hub.lock();
        assert!(state.subscribers.is_empty() && state.by_author.is_empty() && state.by_reader.is_empty());
    }
}
