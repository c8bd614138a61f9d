//! Routes announcements to this node's subscribers, each with a bounded buffer. A full buffer loses signals; its
//! subscriber learns of the loss with the next one, and delays nobody.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::broadcast;

use super::{
    followed::Followed,
    fresh::Batch,
    mailbox::{Mailbox, Signal},
    shown::ShownHub,
    subscriber_state::RereadCause,
};
use crate::{
    domain::{UserId, timeline::folding::Showing},
    store::{
        Announcements, Timelines,
        announcements::{Announcement, RelationChange},
    },
    telemetry::metrics::{LIVE_EVENTS_MISSED, SUBSCRIPTIONS},
};

/// Readers whose view of a new content is looked up in one statement.
const AT_ONCE: usize = 1_000;

struct State<S> {
    subscribers: HashMap<u64, Subscriber<S>>,
    /// For each author, the readers with a subscriber that watches them.
    by_author: HashMap<UserId, HashSet<UserId>>,
    by_reader: HashMap<UserId, Reader>,
    /// Told of each author and each reader that enters or leaves the index.
    announcements: Arc<dyn Announcements>,
}

/// One reader's subscribers.
#[derive(Default)]
struct Reader {
    ids: Vec<u64>,
    /// The lists of authors that they watch, each with the number of those that watch it. Empty lists do not count.
    lists: Vec<(Followed, usize)>,
}

struct Subscriber<S> {
    reader: UserId,
    /// Shares memory with the reader's other subscribers that watch the same authors.
    authors: Followed,
    signals: Arc<Mailbox<S>>,
}

/// The index of this node's subscribers; `S` as in [`Batch`].
pub struct Hub<S> {
    /// Those who watch single contents and users.
    pub shown: Arc<ShownHub>,
    timelines: Arc<dyn Timelines>,
    announcements: Arc<dyn Announcements>,
    buffer: usize,
    state: Mutex<State<S>>,
    next: AtomicU64,
}

/// The receiving side of a subscriber. Dropping it unregisters the subscriber.
pub struct Registration<S> {
    hub: Arc<Hub<S>>,
    id: u64,
    signals: Arc<Mailbox<S>>,
}

impl<S: Default> Hub<S> {
    /// `timelines` finds out who sees a new content, `announcements` is told who is watched. At most `buffer` events
    /// wait for one subscriber.
    pub fn new(timelines: Arc<dyn Timelines>, announcements: Arc<dyn Announcements>, buffer: usize) -> Self {
        let state = Mutex::new(State::empty(Arc::clone(&announcements)));
        let shown = Arc::new(ShownHub::new(Arc::clone(&announcements)));
        Self { shown, timelines, announcements, buffer: buffer.max(1), state, next: AtomicU64::new(0) }
    }

    /// Returns once this node hears about all readers who were registered and all authors who were watched when it was
    /// called, or a gap will follow.
    pub async fn settled(&self) {
        self.announcements.settled().await;
    }

    /// Routes announcements until their channel closes. Announcements that this node was too slow for count as a gap.
    pub async fn run(&self, mut announcements: broadcast::Receiver<Announcement>) {
        loop {
            match announcements.recv().await {
                Ok(announcement) => self.pass_on(&announcement).await,
                Err(broadcast::error::RecvError::Lagged(_)) => self.pass_on(&Announcement::Gap).await,
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    /// Routes one announcement to the subscribers that it concerns. Subscribers receive signals in the order of the
    /// calls.
    pub async fn pass_on(&self, announcement: &Announcement) {
        self.shown.pass_on(announcement);
        match announcement {
            Announcement::Published { entry, original } => {
                let subject = original.unwrap_or(entry.content);
                self.pass_on_published(Showing { entry: *entry, subject }).await;
            }
            Announcement::Removed { entry } => {
                let state = self.lock();
                state.watching(entry.author).for_each(|it| it.send(Signal::Removed(*entry)));
            }
            Announcement::OutboxChanged { author } => self.lock().watching(*author).for_each(Subscriber::miss),
            Announcement::FollowsChanged { reader, author, change } => {
                let excluded = *change == Some(RelationChange::Excluded);
                // When an author comes back, reposts by others may come back, too. Only a read of the timeline can
                // tell.
                let author = author.filter(|_| *change != Some(RelationChange::Included));
                let cause = RereadCause::Relation { author, excluded };
                let state = self.lock();
                state.of_reader(*reader).for_each(|it| it.send(Signal::Reread(cause)));
            }
            Announcement::ReadMarkerMoved { reader, marker } => {
                let state = self.lock();
                state.of_reader(*reader).for_each(|it| it.send(Signal::ReadUpTo(*marker)));
            }
            // Works like an unfollow by everybody: the follows are read again, and the deleted user is not among them.
            Announcement::AccountDeleted { user } => {
                let cause = RereadCause::Relation { author: Some(*user), excluded: false };
                let state = self.lock();
                state.watching(*user).for_each(|it| it.send(Signal::Reread(cause)));
            }
            // The end of a session closes its socket, in graphql-transport. What is shown has a hub of its own.
            Announcement::SessionEnded { .. } | Announcement::Changed { .. } => {}
            Announcement::Gap => self.lock().subscribers.values().for_each(Subscriber::miss),
        }
    }

    /// Looks up who sees the new content, [`AT_ONCE`] readers a statement, and signals each group at once. The
    /// statements run after the announcement, so nobody is shown a content that was removed before it, or one of an
    /// author whom they had unfollowed before it.
    async fn pass_on_published(&self, new: Showing) {
        let (entry, readers) = (new.entry, self.lock().readers_watching(new.entry.author));
        let batch = Batch::of(vec![entry]);
        for readers in readers.chunks(AT_ONCE) {
            let seeing = self.timelines.visible_to(entry.content, readers).await;
            let state = self.lock();
            let watching = |reader: &UserId| state.of_reader(*reader).filter(|it| it.authors.contains(entry.author));
            match seeing {
                Ok(seeing) => {
                    let added = || Signal::Added(new, Arc::clone(&batch));
                    seeing.iter().flat_map(watching).for_each(|it| it.send(added()));
                }
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "The subscribers who see a new content could not be read. They will be caught up."
                    );
                    readers.iter().flat_map(watching).for_each(Subscriber::miss);
                }
            }
        }
    }

    /// Registers a subscriber that watches no author until [`Registration::watch`]. `None`: the reader has `most`
    /// already.
    pub fn register(self: &Arc<Self>, reader: UserId, most: usize) -> Option<Registration<S>> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let signals = Arc::new(Mailbox::new(self.buffer));
        let subscriber = Subscriber { reader, authors: Followed::default(), signals: Arc::clone(&signals) };
        let mut state = self.lock();
        let own = state.by_reader.entry(reader).or_default();
        if own.ids.len() >= most {
            return None;
        }
        own.ids.push(id);
        if own.ids.len() == 1 {
            state.announcements.want(reader.into());
        }
        state.subscribers.insert(id, subscriber);
        metrics::gauge!(SUBSCRIPTIONS).increment(1);
        Some(Registration { hub: Arc::clone(self), id, signals })
    }

    /// The number of subscribers on this node.
    pub fn subscribers(&self) -> usize {
        self.lock().subscribers.len()
    }

    /// The number of subscribers on this node that watch some author.
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
    fn empty(announcements: Arc<dyn Announcements>) -> Self {
        Self { subscribers: HashMap::new(), by_author: HashMap::new(), by_reader: HashMap::new(), announcements }
    }

    fn readers_watching(&self, author: UserId) -> Vec<UserId> {
        self.by_author.get(&author).into_iter().flatten().copied().collect()
    }

    fn of_reader(&self, reader: UserId) -> impl Iterator<Item = &Subscriber<S>> {
        let own = self.by_reader.get(&reader);
        own.into_iter().flat_map(|own| &own.ids).filter_map(|id| self.subscribers.get(id))
    }

    fn watching(&self, author: UserId) -> impl Iterator<Item = &Subscriber<S>> {
        let readers = self.by_author.get(&author).into_iter().flatten();
        readers.flat_map(|reader| self.of_reader(*reader)).filter(move |it| it.authors.contains(author))
    }

    /// Sets the authors that the subscriber watches. Returns the reader's existing list if another subscriber watches
    /// the same authors.
    fn watch(&mut self, id: u64, authors: Followed) -> Followed {
        let Some(subscriber) = self.subscribers.get_mut(&id) else { return authors };
        let (reader, before) = (subscriber.reader, std::mem::take(&mut subscriber.authors));
        let authors = self.count(reader, authors);
        if let Some(subscriber) = self.subscribers.get_mut(&id) {
            subscriber.authors = authors.clone();
        }
        self.forget(reader, &before);
        authors
    }

    /// Counts one more subscriber that watches `authors`. Returns the list that all of them share.
    fn count(&mut self, reader: UserId, authors: Followed) -> Followed {
        if authors.is_empty() {
            return authors;
        }
        let lists = &mut self.by_reader.entry(reader).or_default().lists;
        if let Some((known, count)) = lists.iter_mut().find(|(known, _)| *known == authors) {
            *count += 1;
            return known.clone();
        }
        lists.push((authors.clone(), 1));
        for author in authors.iter() {
            let readers = self.by_author.entry(author).or_default();
            if readers.is_empty() {
                self.announcements.want(author.into());
            }
            readers.insert(reader);
        }
        authors
    }

    fn remove(&mut self, id: u64) {
        let Some(Subscriber { reader, authors, .. }) = self.subscribers.remove(&id) else { return };
        metrics::gauge!(SUBSCRIPTIONS).decrement(1);
        self.forget(reader, &authors);
        if let Some(own) = self.by_reader.get_mut(&reader) {
            own.ids.retain(|other| *other != id);
            if own.ids.is_empty() {
                self.by_reader.remove(&reader);
                self.announcements.unwant(reader.into());
            }
        }
    }

    /// Counts one subscriber less that watches `before`. The last one takes its authors out of the index, but for those
    /// in the reader's other lists.
    fn forget(&mut self, reader: UserId, before: &Followed) {
        let Some(lists) = self.by_reader.get_mut(&reader).map(|own| &mut own.lists) else { return };
        let is_before = |(list, _): &(Followed, usize)| !before.is_empty() && list.is_one_with(before);
        let Some(at) = lists.iter().position(is_before) else { return };
        lists[at].1 -= 1;
        if lists[at].1 > 0 {
            return;
        }
        lists.swap_remove(at);
        for gone in before.iter().filter(|author| !lists.iter().any(|(list, _)| list.contains(*author))) {
            if let Some(readers) = self.by_author.get_mut(&gone) {
                readers.remove(&reader);
                if readers.is_empty() {
                    self.by_author.remove(&gone);
                    self.announcements.unwant(gone.into());
                }
            }
        }
    }
}

impl<S> Subscriber<S> {
    fn send(&self, signal: Signal<S>) {
        if !self.signals.put(signal) {
            metrics::counter!(LIVE_EVENTS_MISSED).increment(1);
        }
    }

    fn miss(&self) {
        self.signals.miss();
    }
}

impl<S> Registration<S> {
    /// Limits the signals to these authors from now on. Returns them as [`Followed`] shared with the reader's other
    /// subscribers that watch the same authors.
    pub fn watch(&self, authors: Followed) -> Followed {
        self.hub.lock().watch(self.id, authors)
    }

    /// The next signal. If some were lost, one [`RereadCause::Missed`] replaces everything that waits.
    pub async fn next(&mut self) -> Signal<S> {
        self.signals.next().await
    }
}

impl<S> Drop for Registration<S> {
    fn drop(&mut self) {
        self.hub.lock().remove(self.id);
    }
}

#[cfg(test)]
mod tests;
