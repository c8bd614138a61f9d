//! The index of this node's subscribers: announcements go in, signals come out at each subscriber's bounded buffer. A
//! subscriber whose buffer is full loses signals, which it learns from the next one; nobody waits for it.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::{broadcast, mpsc};

use super::{fresh::Batch, subscriber_state::RereadCause};
use crate::{
    domain::{Entry, Position, UserId, timeline::folding::Showing},
    store::{
        Timelines,
        announcements::{Announcement, RelationChange},
    },
    telemetry::metrics::{LIVE_EVENTS_MISSED, SUBSCRIPTIONS},
};

/// A signal to a subscriber.
#[derive(Debug, Clone)]
pub enum Signal<S> {
    /// A followed author has published, and the reader sees it. The batch holds this one entry.
    Added(Showing, Arc<Batch<S>>),
    /// A followed author's content is gone.
    Removed(Entry),
    /// The reader has read up to here, perhaps on another device.
    ReadUpTo(Position),
    /// The subscriber must read its follows again, and perhaps its timeline.
    Look(RereadCause),
}

struct State<S> {
    subscribers: HashMap<u64, Subscriber<S>>,
    by_author: HashMap<UserId, HashSet<u64>>,
    by_reader: HashMap<UserId, HashSet<u64>>,
}

struct Subscriber<S> {
    reader: UserId,
    authors: HashSet<UserId>,
    events: mpsc::Sender<Signal<S>>,
    missed: Arc<AtomicBool>,
}

/// The index of this node's subscribers; `S` as in [`Batch`].
pub struct Hub<S> {
    timelines: Arc<dyn Timelines>,
    buffer: usize,
    state: Mutex<State<S>>,
    next: AtomicU64,
}

/// The receiving side of a subscriber. Dropping it unregisters the subscriber.
pub struct Registration<S> {
    hub: Arc<Hub<S>>,
    id: u64,
    events: mpsc::Receiver<Signal<S>>,
    missed: Arc<AtomicBool>,
}

impl<S: Default> Hub<S> {
    /// `timelines` tell who sees what was announced; `buffer` events wait for a subscriber at most.
    pub fn new(timelines: Arc<dyn Timelines>, buffer: usize) -> Self {
        Self { timelines, buffer: buffer.max(1), state: Mutex::new(State::empty()), next: AtomicU64::new(0) }
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
                state.send(state.by_author.get(&entry.author), |_| Some(Signal::Removed(*entry)));
            }
            Announcement::FollowsChanged { reader, author, change } => {
                let excluded = *change == Some(RelationChange::Excluded);
                // What comes back may be others' reposts of the author's, whether they are followed or not: nothing
                // but a look tells.
                let author = author.filter(|_| *change != Some(RelationChange::Included));
                let cause = RereadCause::Relation { author, excluded };
                let state = self.lock();
                state.send(state.by_reader.get(reader), |_| Some(Signal::Look(cause)));
            }
            Announcement::ReadMarkerMoved { reader, marker } => {
                let state = self.lock();
                state.send(state.by_reader.get(reader), |_| Some(Signal::ReadUpTo(*marker)));
            }
            // As if everybody had unfollowed them at once: whom one follows is read anew, and they are not among them.
            Announcement::AccountDeleted { user } => {
                let cause = RereadCause::Relation { author: Some(*user), excluded: false };
                let state = self.lock();
                state.send(state.by_author.get(user), |_| Some(Signal::Look(cause)));
            }
            // A session's end is its socket's end, see graphql-transport.
            Announcement::SessionEnded { .. } => {}
            Announcement::Gap => self.lock().subscribers.values().for_each(Subscriber::miss),
        }
    }

    /// One statement for all who watch the author, however many. It runs after the announcement, so that nobody is
    /// shown what was removed, or whom they unfollowed, before.
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
                state.send(watching, |reader| seeing.contains(&reader).then(|| Signal::Added(new, Arc::clone(&batch))));
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "The subscribers who see a new content could not be read. They will be caught up."
                );
                watching.into_iter().flatten().filter_map(|id| state.subscribers.get(id)).for_each(Subscriber::miss);
            }
        }
    }

    /// Registers a subscriber, who watches nobody until [`Registration::watch`].
    pub fn register(self: &Arc<Self>, reader: UserId) -> Registration<S> {
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

    /// Subscribers on this node that watch somebody.
    pub fn watching(&self) -> usize {
        self.lock().subscribers.values().filter(|it| !it.authors.is_empty()).count()
    }
}

impl<S> Hub<S> {
    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> State<S> {
    fn empty() -> Self {
        Self { subscribers: HashMap::new(), by_author: HashMap::new(), by_reader: HashMap::new() }
    }

    fn readers_watching(&self, author: UserId) -> Vec<UserId> {
        let ids = self.by_author.get(&author).into_iter().flatten();
        let readers: HashSet<UserId> = ids.filter_map(|id| self.subscribers.get(id)).map(|it| it.reader).collect();
        readers.into_iter().collect()
    }

    fn send(&self, ids: Option<&HashSet<u64>>, what: impl Fn(UserId) -> Option<Signal<S>>) {
        for subscriber in ids.into_iter().flatten().filter_map(|id| self.subscribers.get(id)) {
            if let Some(signal) = what(subscriber.reader) {
                subscriber.send(signal);
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

impl<S> Subscriber<S> {
    fn send(&self, signal: Signal<S>) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.events.try_send(signal) {
            self.missed.store(true, Ordering::SeqCst);
            metrics::counter!(LIVE_EVENTS_MISSED).increment(1);
        }
    }

    /// Repeated calls count once until the subscriber notices.
    fn miss(&self) {
        self.missed.store(true, Ordering::SeqCst);
        // Only wakes: a full buffer means that the subscriber has something to wake up for.
        let _ = self.events.try_send(Signal::Look(RereadCause::Missed));
    }
}

impl<S> Registration<S> {
    /// From now on the subscriber gets signals of exactly these authors.
    pub fn watch(&self, authors: HashSet<UserId>) {
        self.hub.lock().watch(self.id, authors);
    }

    /// The next signal. If something was missed, everything that waits is replaced by one [`RereadCause::Missed`].
    pub async fn next(&mut self) -> Option<Signal<S>> {
        let signal = self.events.recv().await?;
        if self.missed.swap(false, Ordering::SeqCst) {
            while self.events.try_recv().is_ok() {}
            return Some(Signal::Look(RereadCause::Missed));
        }
        Some(signal)
    }
}

impl<S> Drop for Registration<S> {
    fn drop(&mut self) {
        self.hub.lock().remove(self.id);
    }
}

#[cfg(test)]
mod tests;
