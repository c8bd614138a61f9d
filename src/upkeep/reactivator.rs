//! Reactivates returning readers: deliveries include them again, pulled authors are pushed again where that pays, and
//! a short inbox is filled from the outboxes. Many readers share each statement, so that a crowd that comes back at
//! once costs few commits.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;

use crate::{
    ambient::Ambient,
    domain::{
        Floor, Position, UserId,
        delivery::{AuthorFacts, DeliveryPolicy},
        timeline::tier::InboxTiers,
    },
    read::Readers,
    store::{
        Ports, StoreError,
        inboxes::{Extended, SeenReader},
        queue::{Message, Received, Topic, deeper},
        relations::Pair,
    },
    telemetry::{
        metrics::READERS_WOKEN,
        tiers::{ReaderTier, note_tier_change},
    },
};

/// Messages taken at a time: as many as are marked as seen in one transaction.
const BATCH: usize = 256;
/// Readers who are brought back in one set of statements. More would save little of a commit and of the round trips for
/// each, and on SQLite other writes wait until the set has ended.
const AT_ONCE: usize = 8;
/// Edges of a reader that are promoted at a visit.
const PROMOTED_EDGES: usize = 200;

/// How a reactivator works.
#[derive(Debug, Clone, Copy)]
pub struct ReactivatorOptions {
    /// Who is pushed to.
    pub policy: DeliveryPolicy,
    /// How much inboxes hold.
    pub tiers: InboxTiers,
}

/// Wakes readers.
pub struct Reactivator {
    ports: Ports,
    readers: Arc<Readers>,
    options: ReactivatorOptions,
    ambient: Ambient,
}

impl Reactivator {
    /// A reactivator of the readers in `ports`, whose new floors `readers` get to know, so that the next page on this
    /// node comes from the inbox.
    pub fn new(ports: &Ports, readers: Arc<Readers>, options: ReactivatorOptions, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), readers, options, ambient: ambient.clone() }
    }

    /// Handles the waiting messages, or waits up to `wait` for one. Returns how many there were. If the visits cannot
    /// be stored, the messages come again. If a later step fails for a reader, their next visit repeats it.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.ports.queue.receive(Topic::Visit, consumer, BATCH, wait).await?;
        self.deal_with(&visits(&received)).await?;
        let ids: Vec<String> = received.iter().map(|message| message.id.clone()).collect();
        self.ports.queue.acknowledge(Topic::Visit, &ids).await?;
        Ok(received.len())
    }

    /// Handles one visit; `reached` is as in [`Message::ReaderSeen`].
    pub async fn visit(&self, reader: UserId, reached: Option<i64>) -> Result<(), StoreError> {
        metrics::counter!(READERS_WOKEN).increment(1);
        let now = self.ambient.now_ms();
        let seen = self.ports.inboxes.mark_seen(&[reader], now).await?;
        self.bring_back(&seen, &Visits::from([(reader, reached)]), now).await
    }

    /// As many sets of readers are brought back at once as the store has room for, which is asked before each round.
    async fn deal_with(&self, visits: &Visits) -> Result<(), StoreError> {
        let readers: Vec<UserId> = visits.keys().copied().collect();
        let now = self.ambient.now_ms();
        metrics::counter!(READERS_WOKEN).increment(readers.len() as u64);
        let seen = self.ports.inboxes.mark_seen(&readers, now).await?;
        let mut sets = seen.chunks(AT_ONCE);
        loop {
            let round: Vec<&[SeenReader]> = sets.by_ref().take(self.ports.inboxes.room()).collect();
            if round.is_empty() {
                return Ok(());
            }
            join_all(round.into_iter().map(|readers| self.try_to_bring_back(readers, visits, now))).await;
        }
    }

    /// Tries the readers one by one if the store refuses them together.
    async fn try_to_bring_back(&self, readers: &[SeenReader], visits: &Visits, now: i64) {
        let Err(error) = self.bring_back(readers, visits, now).await else { return };
        let is_hopeless = readers.len() == 1 || matches!(error, StoreError::Unavailable(_));
        if is_hopeless {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(readers = readers.len(), error, "Readers could not be reactivated.");
            return;
        }
        for reader in readers {
            if let Err(error) = self.bring_back(std::slice::from_ref(reader), visits, now).await {
                let (reader, error) = (reader.reader.reader, &error as &dyn std::error::Error);
                tracing::warn!(%reader, error, "A reader could not be reactivated.");
            }
        }
    }

    /// Reactivates these readers, in ascending order.
    async fn bring_back(&self, readers: &[SeenReader], visits: &Visits, now: i64) -> Result<(), StoreError> {
        self.promote(readers, now).await?;
        let came: Vec<(UserId, ReaderTier)> = readers.iter().map(|it| (it.reader.reader, came_from(it))).collect();
        let settled = self.ports.tier.settle(&came).await?;
        let in_sql: Vec<&SeenReader> =
            readers.iter().filter(|it| settled.binary_search(&it.reader.reader).is_err()).collect();
        let returned = in_sql.iter().filter(|it| it.was_off).count();
        note_tier_change(ReaderTier::Nowhere, ReaderTier::Sql, returned as u64);
        let (open, others): (Vec<&SeenReader>, Vec<&SeenReader>) =
            in_sql.into_iter().partition(|it| it.floor.trusts_nothing());
        let open: Vec<UserId> = open.iter().map(|it| it.reader.reader).collect();
        for (reader, extended) in self.ports.inboxes.extend_all(&open, self.options.tiers.step).await? {
            self.note(reader, extended);
        }
        for seen in others {
            let reader = seen.reader.reader;
            self.fill(reader, seen.floor, visits.get(&reader).copied().flatten()).await?;
        }
        Ok(())
    }

    /// Extends an inbox that holds less than it may: less than `keep`, or than `deep_keep` if a page `reached` below
    /// its floor. The more a deep inbox holds, the sooner it is trimmed. A repeated or late note does no harm, because
    /// it finds the floor lower.
    async fn fill(&self, reader: UserId, floor: Floor, reached: Option<i64>) -> Result<(), StoreError> {
        let tiers = self.options.tiers;
        if floor == Floor::At(Position::OLDEST) {
            return Ok(());
        }
        let deep = reached.is_some_and(|reached| reached <= floor.trusted_from().publish_time());
        let most = if deep { tiers.deep_keep } else { tiers.keep };
        let growth = tiers.growth(self.ports.inboxes.held(reader, most).await?, deep);
        if growth > 0 {
            self.note(reader, self.ports.inboxes.extend(reader, growth).await?);
        }
        if deep && let Some(life) = tiers.life_ms(self.ports.inboxes.held(reader, most).await?) {
            self.ports.inboxes.keep_deep(reader, self.ambient.now_ms() + life).await?;
        }
        Ok(())
    }

    fn note(&self, reader: UserId, extended: Extended) {
        if let Extended::To(floor) = extended {
            self.readers.note_floor(reader, floor);
        }
    }

    /// Applies the policy at a visit: pulled authors who are worth a push are pushed from now on.
    async fn promote(&self, readers: &[SeenReader], now: i64) -> Result<(), StoreError> {
        let followers: Vec<UserId> = readers.iter().map(|it| it.reader.reader).collect();
        let pulled = self.ports.follows.pulled_authors(&followers).await?;
        let mut worthy = Vec::new();
        for of_one in pulled.chunk_by(|(one, _), (next, _)| one == next) {
            let reader =
                of_one.first().and_then(|(follower, _)| readers.iter().find(|it| it.reader.reader == *follower));
            let Some(SeenReader { reader, .. }) = reader else { continue };
            let authors: Vec<AuthorFacts> = of_one.iter().map(|(_, author)| *author).collect();
            let to_push = self.options.policy.to_push(&authors, reader, now, PROMOTED_EDGES);
            worthy.extend(to_push.into_iter().map(|author| Pair { follower: reader.reader, author }));
        }
        for pairs in worthy.chunks(PROMOTED_EDGES) {
            let promoted = self.ports.follows.promote(pairs, self.ambient.rng.incarnation(), now).await?;
            let messages: Vec<Message> = promoted.into_iter().map(|pair| Message::RelationChanged { pair }).collect();
            self.ports.queue.send(&messages).await?;
        }
        Ok(())
    }
}

/// The visitors in order, each with the greatest depth that they reached.
type Visits = BTreeMap<UserId, Option<i64>>;

/// Where the inbox was until this visit. Of those who were just seen, only they are off who have it outside SQL.
fn came_from(seen: &SeenReader) -> ReaderTier {
    match seen.floor {
        Floor::Off => ReaderTier::Outside,
        Floor::At(_) if seen.was_off => ReaderTier::Nowhere,
        Floor::At(_) => ReaderTier::Sql,
    }
}

fn visits(received: &[Received]) -> Visits {
    let mut visits = Visits::new();
    for message in received {
        if let Some(Message::ReaderSeen { reader, reached }) = message.message {
            let deepest = visits.entry(reader).or_default();
            *deepest = deeper(*deepest, reached);
        }
    }
    visits
}
