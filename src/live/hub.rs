//! Who on this node is watching whom: announcements go in, events come out at each subscriber's bounded buffer. Nobody
//! waits for a slow subscriber: one whose buffer is full loses events and is told that it has.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::{broadcast, mpsc};

use super::{fresh::Batch, session::Cause};
use crate::{
    domain::{Entry, Position, UserId, timeline::folding::Showing},
    store::{
        Timelines,
        announcements::{Announcement, RelationChange},
    },
    telemetry::metrics::{LIVE_EVENTS_MISSED, SUBSCRIPTIONS},
};

/// What reaches a subscriber.
#[derive(Debug, Clone)]
pub enum Heard {
    /// A followed author has published, and the reader sees it. The batch holds this one entry.
    Added(Showing, Arc<Batch>),
    /// A followed author's content is gone.
    Removed(Entry),
    /// The reader has read up to here, perhaps on another device.
    ReadUpTo(Position),
    /// The subscriber must be looked after.
    Look(Cause),
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
    events: mpsc::Sender<Heard>,
    missed: Arc<AtomicBool>,
}

/// The index of this node's subscribers.
pub struct Hub {
    timelines: Arc<dyn Timelines>,
    buffer: usize,
    state: Mutex<State>,
    next: AtomicU64,
}

/// A subscriber's end; dropping it ends the subscription.
pub struct Registration {
    hub: Arc<Hub>,
    id: u64,
    events: mpsc::Receiver<Heard>,
    missed: Arc<AtomicBool>,
}

impl Hub {
    /// `timelines` tell who sees what was announced; `buffer` events wait for a subscriber at most.
    pub fn new(timelines: Arc<dyn Timelines>, buffer: usize) -> Self {
        Self { timelines, buffer: buffer.max(1), state: Mutex::default(), next: AtomicU64::new(0) }
    }

    /// Passes announcements on until there are no more to come. Announcements that this node was too slow for count as
    /// a gap.
    pub async fn run(&self, mut announcements: broadcast::Receiver<Announcement>) {
        loop {
            match announcements.recv().await {
                Ok(announcement) => self.pass_on(&announcement).await,
                Err(broadcast::error::RecvError::Lagged(_)) => self.pass_on(&Announcement::Gap).await,
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    /// Passes one announcement on to those whom it concerns; in the order of the calls.
    pub async fn pass_on(&self, announcement: &Announcement) {
        match announcement {
            Announcement::Published { entry, original } => {
                let subject = original.unwrap_or(entry.content);
                self.pass_on_published(Showing { entry: *entry, subject }).await;
            }
            Announcement::Removed { entry } => {
                let state = self.lock();
                state.tell(state.by_author.get(&entry.author), |_| Some(Heard::Removed(*entry)));
            }
            Announcement::FollowsChanged { reader, author, change } => {
                let excluded = *change == Some(RelationChange::Excluded);
                // What comes back may be others' reposts of the author's, whether they are followed or not: nothing
                // but a look tells.
                let author = author.filter(|_| *change != Some(RelationChange::Included));
                let cause = Cause::Relation { author, excluded };
                let state = self.lock();
                state.tell(state.by_reader.get(reader), |_| Some(Heard::Look(cause)));
            }
            Announcement::ReadMarkerMoved { reader, marker } => {
                let state = self.lock();
                state.tell(state.by_reader.get(reader), |_| Some(Heard::ReadUpTo(*marker)));
            }
            // As if everybody had unfollowed them at once: whom one follows is read anew, and they are not among them.
            Announcement::AccountDeleted { user } => {
                let cause = Cause::Relation { author: Some(*user), excluded: false };
                let state = self.lock();
                state.tell(state.by_author.get(user), |_| Some(Heard::Look(cause)));
            }
            // A session's end is its socket's end, see graphql-transport.
            Announcement::SessionEnded { .. } => {}
            Announcement::Gap => self.lock().subscribers.values().for_each(Subscriber::miss),
        }
    }

    /// One statement for all who watch the author, however many: an event is told to those who see the content *after*
    /// it was announced, so that what was removed or unfollowed before is not told after.
    async fn pass_on_published(&self, new: Showing) {
        let entry = new.entry;
        let readers = self.lock().readers_watching(entry.author);
        if readers.is_empty() {
            return;
        }
        let seeing = self.timelines.visible_to(entry.content, &readers).await;
        let state = self.lock();
        let watching = state.by_author.get(&entry.author);
        match seeing {
            Ok(seeing) => {
                let seeing: HashSet<UserId> = seeing.into_iter().collect();
                let batch = Batch::of(vec![entry]);
                state.tell(watching, |reader| seeing.contains(&reader).then(|| Heard::Added(new, Arc::clone(&batch))));
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "The subscribers who see a new content could not be determined."
                );
                watching.into_iter().flatten().filter_map(|id| state.subscribers.get(id)).for_each(Subscriber::miss);
            }
        }
    }

    /// Registers a subscriber, who hears of nobody until [`Registration::watch`].
    pub fn register(self: &Arc<Self>, reader: UserId) -> Registration {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, events) = mpsc::channel(self.buffer);
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
    fn readers_watching(&self, author: UserId) -> Vec<UserId> {
        let ids = self.by_author.get(&author).into_iter().flatten();
        let readers: HashSet<UserId> = ids.filter_map(|id| self.subscribers.get(id)).map(|it| it.reader).collect();
        readers.into_iter().collect()
    }

    fn tell(&self, ids: Option<&HashSet<u64>>, what: impl Fn(UserId) -> Option<Heard>) {
        for subscriber in ids.into_iter().flatten().filter_map(|id| self.subscribers.get(id)) {
            if let Some(heard) = what(subscriber.reader) {
                subscriber.tell(heard);
            }
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
    fn tell(&self, heard: Heard) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.events.try_send(heard) {
            self.missed.store(true, Ordering::SeqCst);
            metrics::counter!(LIVE_EVENTS_MISSED).increment(1);
        }
    }

    /// However often, until the subscriber notices, it is one.
    fn miss(&self) {
        self.missed.store(true, Ordering::SeqCst);
        // Only wakes: a full buffer means that the subscriber has something to wake up for.
        let _ = self.events.try_send(Heard::Look(Cause::Missed));
    }
}

impl Registration {
    /// From now on events of exactly these authors come.
    pub fn watch(&self, authors: HashSet<UserId>) {
        self.hub.lock().watch(self.id, authors);
    }

    /// The next event; what waits when something was missed is dropped for a single [`Cause::Missed`].
    pub async fn next(&mut self) -> Option<Heard> {
        let heard = self.events.recv().await?;
        if self.missed.swap(false, Ordering::SeqCst) {
            while self.events.try_recv().is_ok() {}
            return Some(Heard::Look(Cause::Missed));
        }
        Some(heard)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.hub.lock().remove(self.id);
    }
}

#[cfg(test)]
mod tests;
