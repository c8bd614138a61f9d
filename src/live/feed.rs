//! Runs one live subscription: receives signals, reads the timeline when the state machine asks for it, and yields
//! updates.

use std::{collections::HashSet, iter, net::IpAddr, sync::Arc, time::Duration};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep_until},
};

use super::{
    error::LiveError,
    followed::Followed,
    fresh::Batch,
    hints::{CHECKS, ShownHints},
    hub::{Hub, Registration},
    mailbox::Signal,
    shared_reads::SharedReads,
    shown::{AnonymousLimits, WatchedBy},
    subscriber_state::{RereadCause, SubscriberState, Update},
};
use crate::{
    domain::{
        Entry, PageSize, Position, ResumePoint, Shown, UserId,
        live::view::{Change, TimelineTop},
    },
    read::TimelineReader,
    store::{Contents, Follows},
    telemetry::metrics::{LIVE_CATCH_UPS, LIVE_CHANGES},
};

/// Readers of this node whose follows are read at the same time; the others queue. Without the bound, a reconnecting
/// crowd would wait for database connections until their time limit, and fail.
const READING_FOLLOWS: usize = 32;

/// Limits of live subscriptions.
#[derive(Debug, Clone, Copy)]
pub struct LiveSettings {
    /// Events that wait for one subscriber at most.
    pub buffer: usize,
    /// Most entries that a catch-up reads; with more, the client must read again.
    pub catch_up: u16,
    /// Catch-ups of this node that read at the same time.
    pub catch_ups: usize,
    /// Time between two comparisons of a subscription with its timeline. They find losses that nothing has reported.
    /// Zero: never.
    pub check_every: Duration,
    /// Subscriptions of one reader, and watches of one network without a viewer.
    pub of_reader: usize,
    /// Bytes that watches without a viewer keep at most. 0: there are none.
    pub anonymous_bytes: usize,
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self {
            buffer: 64,
            catch_up: 200,
            catch_ups: 8,
            check_every: Duration::from_mins(5),
            of_reader: 200,
            anonymous_bytes: 64 * 1024 * 1024,
        }
    }
}

/// Opens live subscriptions; `S` as in [`Batch`].
pub struct LiveFeed<S> {
    hub: Arc<Hub<S>>,
    follows: Arc<dyn Follows>,
    contents: Arc<dyn Contents>,
    timelines: Arc<TimelineReader>,
    settings: LiveSettings,
    /// See [`CHECKS`].
    checks: Arc<Semaphore>,
    anonymous_checks: Arc<Semaphore>,
    /// Reads of follows.
    followed: SharedReads<(), Followed>,
    /// Reads of timelines, each above the lowest floor of those who ask.
    tops: SharedReads<Position, (Position, Arc<TimelineTop>)>,
}

/// An event and what is needed to show it.
#[derive(Debug)]
pub struct Event<S> {
    /// What has happened.
    pub update: Update,
    /// The batch of a new entry; `None` for other events.
    pub batch: Option<Arc<Batch<S>>>,
}

/// A running subscription.
pub struct Subscription<S> {
    feed: Arc<LiveFeed<S>>,
    reader: UserId,
    registration: Registration<S>,
    subscriber: SubscriberState,
    /// The batch of the entries that are being passed on; `None` before the first one.
    batch: Option<Arc<Batch<S>>>,
    check_at: Instant,
    note_at: Instant,
}

impl<S: Default> LiveFeed<S> {
    /// Subscriptions receive the signals of `hub`.
    pub fn new(
        hub: Arc<Hub<S>>,
        (follows, contents): (Arc<dyn Follows>, Arc<dyn Contents>),
        timelines: Arc<TimelineReader>,
        settings: LiveSettings,
    ) -> Self {
        let [checks, anonymous_checks] = [(); 2].map(|()| Arc::new(Semaphore::new(CHECKS)));
        let (followed, tops) = (SharedReads::new(READING_FOLLOWS), SharedReads::new(settings.catch_ups));
        Self { hub, follows, contents, timelines, settings, checks, anonymous_checks, followed, tops }
    }

    /// Subscribes `reader`'s client, which holds what `point` says, and first sends what it has missed. Without a
    /// point, events begin when this returns: a client that reads its timeline afterwards misses nothing.
    pub async fn subscribe(
        self: &Arc<Self>,
        reader: UserId,
        point: Option<ResumePoint>,
    ) -> Result<Subscription<S>, LiveError> {
        self.subscribe_within(self.settings.of_reader, reader, point).await
    }

    /// As [`Self::subscribe`], for a service that acts as the reader. It leaves the reader half of their subscriptions.
    pub async fn subscribe_service(
        self: &Arc<Self>,
        reader: UserId,
        point: Option<ResumePoint>,
    ) -> Result<Subscription<S>, LiveError> {
        self.subscribe_within(self.of_service(), reader, point).await
    }

    const fn of_service(&self) -> usize {
        self.settings.of_reader.div_ceil(2)
    }

    /// Hints at what may have changed of `shown`, which a client of `reader` shows. A reader has as many watches as
    /// subscriptions, and a service that acts as them leaves them half.
    pub fn watch_shown(
        &self,
        reader: UserId,
        is_service: bool,
        shown: HashSet<Shown>,
    ) -> Result<ShownHints, LiveError> {
        let most = if is_service { self.of_service() } else { self.settings.of_reader };
        let watch = self.hub.shown.watch(WatchedBy::Viewer(reader, most), shown)?;
        Ok(ShownHints::new(watch, Arc::clone(&self.contents), Arc::clone(&self.checks)))
    }

    /// Whether clients without a viewer may watch.
    pub const fn is_open_to_anybody(&self) -> bool {
        self.settings.anonymous_bytes > 0
    }

    /// As [`Self::watch_shown`], for a client of this network without a viewer.
    pub fn watch_shown_anonymously(
        &self,
        network: Option<IpAddr>,
        shown: HashSet<Shown>,
    ) -> Result<ShownHints, LiveError> {
        let limits = AnonymousLimits { watches: self.settings.of_reader, bytes: self.settings.anonymous_bytes };
        let watch = self.hub.shown.watch(WatchedBy::Anonymous(network, limits), shown)?;
        Ok(ShownHints::new(watch, Arc::clone(&self.contents), Arc::clone(&self.anonymous_checks)))
    }

    async fn subscribe_within(
        self: &Arc<Self>,
        most: usize,
        reader: UserId,
        point: Option<ResumePoint>,
    ) -> Result<Subscription<S>, LiveError> {
        let registration = self.hub.register(reader, most).ok_or(LiveError::TooMany(most))?;
        let followed = self.watch(&registration, reader).await?;
        let subscriber = SubscriberState::begin(followed, point);
        let (feed, check_at) = (Arc::clone(self), self.next_check());
        let note_at = self.note_present(reader).await;
        Ok(Subscription { feed, reader, registration, subscriber, batch: None, check_at, note_at })
    }

    /// Watches all authors whom the reader follows, and returns them. This node hears about the reader before the
    /// follows are read, and about the authors when this returns: any later read of the timeline, together with the
    /// signals from now on, misses nothing of theirs.
    async fn watch(&self, registration: &Registration<S>, reader: UserId) -> Result<Followed, LiveError> {
        self.hub.settled().await;
        let follows = Arc::clone(&self.follows);
        let read = move |()| async move { follows.followed_by(reader).await.map(Followed::of) };
        let followed = registration.watch(self.followed.ask(reader, (), |(), ()| (), read).await?);
        self.hub.settled().await;
        Ok(followed)
    }

    /// The timeline above `floor` at one instant. At most [`LiveSettings::catch_ups`] run at once, so that a gap on
    /// every subscription causes no stampede. Subscriptions of one reader share a read above the lowest of their
    /// floors; if that has too much for one read, those with higher floors read on.
    async fn top(&self, reader: UserId, floor: Position) -> Result<TimelineTop, LiveError> {
        loop {
            let (timelines, size) = (Arc::clone(&self.timelines), PageSize::of_catch_up(self.settings.catch_up));
            let lowest = |waiting: &mut Position, new: Position| *waiting = new.min(*waiting);
            let read = move |floor| async move { Ok((floor, Arc::new(timelines.top(reader, floor, size).await?))) };
            let (read_from, top) = self.tops.ask(reader, floor, lowest, read).await?;
            if top.whole || read_from == floor {
                return Ok(top.above(floor));
            }
        }
    }

    /// Notes that the reader is present; returns when to note it again.
    async fn note_present(&self, reader: UserId) -> Instant {
        let readers = self.timelines.readers();
        // Boxed: the call is rare, and its state would take room in every subscription.
        Box::pin(readers.note_present(reader)).await;
        Instant::now() + readers.interval()
    }

    fn next_check(&self) -> Instant {
        let never = Duration::from_hours(24 * 365);
        let every = Some(self.settings.check_every).filter(|every| !every.is_zero());
        Instant::now() + every.unwrap_or(never)
    }
}

impl<S: Default> Subscription<S> {
    /// The next event. An error ends the subscription. The client can then resume from [`Self::point`].
    pub async fn next(&mut self) -> Result<Event<S>, LiveError> {
        loop {
            if let Some(update) = self.subscriber.next() {
                return Ok(self.event(update));
            }
            if let Some(floor) = self.subscriber.catch_up_from() {
                // Boxed, because it is rare.
                Box::pin(self.catch_up(floor)).await?;
                continue;
            }
            let is_check = self.subscriber.is_known() && self.check_at <= self.note_at;
            let due = if is_check { self.check_at } else { self.note_at };
            let signal = tokio::select! {
                signal = self.registration.next() => signal,
                () = sleep_until(due) => if is_check {
                    Signal::Reread(RereadCause::Missed)
                } else {
                    self.note_at = self.feed.note_present(self.reader).await;
                    continue;
                },
            };
            match signal {
                Signal::ReadUpTo(marker) => return Ok(self.event(Update::ReadUpTo(marker))),
                Signal::Removed(entry) => self.subscriber.removed(entry),
                Signal::Added(new, batch) => {
                    self.batch = Some(batch);
                    self.subscriber.added(new);
                }
                Signal::Reread(cause) => {
                    let followed = self.feed.watch(&self.registration, self.reader).await?;
                    self.subscriber.follows(cause, followed);
                }
            }
        }
    }

    /// Adds [`Update::MayDiffer`] to the events.
    #[must_use]
    pub fn comparing(mut self) -> Self {
        self.subscriber.compare();
        self
    }

    /// Where the client can resume after the last event; `None` if it is unknown what the client holds.
    pub fn point(&self) -> Option<ResumePoint> {
        self.subscriber.point()
    }

    /// Reports that the last event could not be shown. The next event is a refetch.
    pub fn failed_to_show(&mut self) {
        self.subscriber.failed_to_show();
    }

    async fn catch_up(&mut self, floor: Position) -> Result<(), LiveError> {
        let top = self.feed.top(self.reader, floor).await?;
        self.check_at = self.feed.next_check();
        self.subscriber.caught_up(&top);
        metrics::counter!(LIVE_CATCH_UPS, "outcome" => self.subscriber.outcome()).increment(1);
        Ok(())
    }

    fn event(&mut self, update: Update) -> Event<S> {
        metrics::counter!(LIVE_CHANGES, "kind" => update.kind()).increment(1);
        let batch = match update {
            Update::Change(Change::Added(entry)) => Some(self.batch_of(entry)),
            _ => None,
        };
        Event { update, batch }
    }

    /// The batch that the entry came with. An entry from a read or a removal gets a batch with all waiting entries.
    fn batch_of(&mut self, entry: Entry) -> Arc<Batch<S>> {
        let known = self.batch.take().filter(|batch| batch.entries().contains(&entry));
        let batch = known.unwrap_or_else(|| {
            let come = self.subscriber.waiting().filter_map(added);
            Batch::of(iter::once(entry).chain(come).collect())
        });
        self.batch = Some(Arc::clone(&batch));
        batch
    }
}

const fn added(change: &Change) -> Option<Entry> {
    match change {
        Change::Added(entry) => Some(*entry),
        _ => None,
    }
}
