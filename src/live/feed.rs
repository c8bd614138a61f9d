//! One reader's live feed: listens, reads what its session asks for, tells what its session says.

use std::{collections::HashSet, iter, sync::Arc, time::Duration};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep_until},
};

use super::{
    fresh::Batch,
    hub::{Heard, Hub, Registration},
    session::{Cause, Session, Told},
};
use crate::{
    domain::{
        Direction, Entry, PageRequest, PageSize, Position, ResumePoint, UserId,
        live::view::{Above, Change},
        timeline::{
            folding::Subjects,
            plan::{Next, decide},
        },
    },
    store::{Contents, Follows, StoreError, Timelines, timelines::Depth},
    telemetry::metrics::{LIVE_CATCH_UPS, LIVE_CHANGES},
};

/// Subscriptions of this node that begin at the same time; others wait their turn, however many there are. If all
/// asked the store at once, those at the end would wait longer than anybody may for a connection, and fail.
const BEGINNING: usize = 32;

/// The numbers that live feeds work by.
#[derive(Debug, Clone, Copy)]
pub struct LiveSettings {
    /// Events that wait for a subscriber at most.
    pub buffer: usize,
    /// Entries that a catch-up reads at most; if there are more, the client must read again.
    pub catch_up: u16,
    /// Catch-ups of this node that read at the same time.
    pub catch_ups: usize,
    /// How long nothing may have been missed without anybody noticing; zero: for ever.
    pub check_every: Duration,
}

impl Default for LiveSettings {
    fn default() -> Self {
        Self { buffer: 64, catch_up: 200, catch_ups: 8, check_every: Duration::from_mins(5) }
    }
}

/// Opens live feeds.
pub struct LiveFeed {
    hub: Arc<Hub>,
    follows: Arc<dyn Follows>,
    timelines: Arc<dyn Timelines>,
    contents: Arc<dyn Contents>,
    settings: LiveSettings,
    room: Semaphore,
    beginning: Semaphore,
}

/// What a subscriber is told, and what shows it.
#[derive(Debug, Clone)]
pub struct Event {
    /// What has happened.
    pub told: Told,
    /// If that is a new entry: those that it travels with.
    pub batch: Option<Arc<Batch>>,
}

/// A running subscription.
pub struct Subscription {
    feed: Arc<LiveFeed>,
    reader: UserId,
    registration: Registration,
    session: Session,
    /// That of the entries now being told.
    batch: Arc<Batch>,
    check_at: Instant,
}

impl LiveFeed {
    /// Events come from `hub`.
    pub fn new(
        hub: Arc<Hub>,
        follows: Arc<dyn Follows>,
        timelines: Arc<dyn Timelines>,
        contents: Arc<dyn Contents>,
        settings: LiveSettings,
    ) -> Self {
        let room = Semaphore::new(settings.catch_ups.max(1));
        Self { hub, follows, timelines, contents, settings, room, beginning: Semaphore::new(BEGINNING) }
    }

    /// What happens in `reader`'s timeline, for a client that holds what `point` says: first what it has missed.
    /// Without a point: from the moment on at which this returns; a client that reads its timeline after that misses
    /// nothing.
    pub async fn subscribe(
        self: &Arc<Self>,
        reader: UserId,
        point: Option<ResumePoint>,
    ) -> Result<Subscription, StoreError> {
        let _turn = self.beginning.acquire().await;
        let registration = self.hub.register(reader);
        let followed = self.watch(&registration, reader).await?;
        let session = Session::begin(followed, point);
        let (feed, batch, check_at) = (Arc::clone(self), Batch::of(Vec::new()), self.next_check());
        Ok(Subscription { feed, reader, registration, session, batch, check_at })
    }

    /// Whom the reader follows, all watched before this returns: what is read after it misses nothing of theirs.
    async fn watch(&self, registration: &Registration, reader: UserId) -> Result<HashSet<UserId>, StoreError> {
        let followed: HashSet<UserId> = self.follows.followed_by(reader).await?.into_iter().collect();
        registration.watch(followed.clone());
        Ok(followed)
    }

    /// The timeline above `floor` at one instant: one statement, and one for what the entries show, which never
    /// changes. Waits for room: a gap of everybody's is no stampede.
    async fn above(&self, reader: UserId, floor: Position) -> Result<Above, StoreError> {
        let _room = self.room.acquire().await;
        let newest = PageRequest::newest(PageSize::of_catch_up(self.settings.catch_up));
        let bound = Some(floor).filter(|floor| *floor > Position::OLDEST);
        let request = PageRequest { direction: Direction::Newer, bound, ..newest };
        let snapshot = self.timelines.read(reader, &request, Depth::Everything).await?;
        let page = match decide(&request, &snapshot, None) {
            Next::Serve(page) if !page.has_newer => page,
            _ => return Ok(Above { whole: false, entries: Vec::new() }),
        };
        let mut subjects = Subjects::default();
        let contents = subjects.unknown(&page);
        if !contents.is_empty() {
            subjects.learn(&contents, &self.contents.originals(&contents).await?);
        }
        Ok(Above { whole: true, entries: page.entries.into_iter().map(|entry| subjects.showing(entry)).collect() })
    }

    fn next_check(&self) -> Instant {
        let never = Duration::from_hours(24 * 365);
        let every = Some(self.settings.check_every).filter(|every| !every.is_zero());
        Instant::now() + every.unwrap_or(never)
    }
}

impl Subscription {
    /// The next event; `None` when there will be none. After a failure the subscription is over: what the client holds
    /// is still what [`Self::point`] says.
    pub async fn next(&mut self) -> Result<Option<Event>, StoreError> {
        loop {
            if let Some(told) = self.session.next() {
                return Ok(Some(self.event(told)));
            }
            if let Some(floor) = self.session.wants() {
                self.look(floor).await?;
                continue;
            }
            let known = self.session.is_known();
            let heard = tokio::select! {
                heard = self.registration.next() => heard,
                () = sleep_until(self.check_at), if known => Some(Heard::Look(Cause::Missed)),
            };
            match heard {
                None => return Ok(None),
                Some(Heard::ReadUpTo(marker)) => return Ok(Some(self.event(Told::ReadUpTo(marker)))),
                Some(Heard::Removed(entry)) => self.session.removed(entry),
                Some(Heard::Added(new, batch)) => {
                    self.batch = batch;
                    self.session.added(new);
                }
                Some(Heard::Look(cause)) => {
                    let followed = self.feed.watch(&self.registration, self.reader).await?;
                    self.session.follows(cause, followed);
                }
            }
        }
    }

    /// From now on the client is told when what it holds may differ in what no event tells.
    #[must_use]
    pub fn comparing(mut self) -> Self {
        self.session.compare();
        self
    }

    /// What the client can resume with after the last event; `None` if nobody knows what it holds.
    pub fn point(&self) -> Option<ResumePoint> {
        self.session.point()
    }

    /// The last event could not be shown: the next one asks the client to read again.
    pub fn failed_to_show(&mut self) {
        self.session.failed_to_show();
    }

    async fn look(&mut self, floor: Position) -> Result<(), StoreError> {
        let above = self.feed.above(self.reader, floor).await?;
        self.check_at = self.feed.next_check();
        self.session.looked(&above);
        metrics::counter!(LIVE_CATCH_UPS, "outcome" => self.session.outcome()).increment(1);
        Ok(())
    }

    fn event(&mut self, told: Told) -> Event {
        metrics::counter!(LIVE_CHANGES, "kind" => told.kind()).increment(1);
        let batch = match told {
            Told::Change(Change::Added(entry)) => Some(self.batch_of(entry)),
            _ => None,
        };
        Event { told, batch }
    }

    /// That which the entry came with; or, for one that a look or a removal has brought, one of all that wait.
    fn batch_of(&mut self, entry: Entry) -> Arc<Batch> {
        if !self.batch.entries().contains(&entry) {
            let come = self.session.waiting().filter_map(added);
            self.batch = Batch::of(iter::once(entry).chain(come).collect());
        }
        Arc::clone(&self.batch)
    }
}

const fn added(change: &Change) -> Option<Entry> {
    match change {
        Change::Added(entry) => Some(*entry),
        _ => None,
    }
}
