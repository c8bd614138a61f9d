//! Keeps inboxes outside SQL: admits buckets and gives them up, has the inboxes of readers who come built, and moves
//! those who stay away back to SQL.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use super::{outside_admission::Admission, outside_builder::OutsideBuilder};
use crate::{
    clock::SharedClock,
    domain::{
        UserId,
        timeline::outside::{Bucket, BucketToken, Generation},
    },
    rng::SharedRng,
    store::{Inboxes, OutsideStates, StoreError, outside_inboxes::OutsideError, outside_states::OutsideStores},
    telemetry::tiers::{InboxTier, note_tier_change},
};

/// Readers outside SQL who are looked at in one round.
const LOOKED_AT: u64 = 1_000;
/// Readers of whom a command moves all in turn.
const MOVED_IN_TURN: u64 = 1_000;
/// Readers moved to SQL in one round; the next one goes on with the others. It bounds how long the next look at the
/// buckets waits.
pub const MOVED_AT_ONCE: usize = 50;
/// Inboxes that could not be removed from their store and are remembered, so that this is tried again.
const LEFT_BEHIND: usize = 10_000;

/// What a round did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// Buckets admitted under a new token.
    pub admitted: usize,
    /// Buckets without a token from now on.
    pub given_up: usize,
    /// Readers moved to SQL.
    pub moved: usize,
}

/// See the module.
pub struct OutsideKeeper {
    stores: OutsideStores,
    inboxes: Arc<dyn Inboxes>,
    step: u32,
    admission: Admission,
    builder: OutsideBuilder,
    /// The reader up to whom the tier was looked through.
    looked_through: AtomicI64,
    /// Readers who have left, and whose inboxes are still in the store.
    left_behind: Mutex<VecDeque<UserId>>,
    clock: SharedClock,
    rng: SharedRng,
}

impl OutsideKeeper {
    /// `step`: rows that the inbox in SQL gets of somebody who goes back. Does no I/O.
    pub fn new(
        stores: OutsideStores,
        inboxes: Arc<dyn Inboxes>,
        step: u32,
        (clock, rng): (SharedClock, SharedRng),
    ) -> Self {
        let builder = OutsideBuilder::new(stores.clone(), rng.clone());
        let (admission, looked_through) = (Admission::default(), AtomicI64::new(0));
        Self { stores, inboxes, step, admission, builder, looked_through, left_behind: Mutex::default(), clock, rng }
    }

    /// Inboxes that this node builds at once.
    pub const fn builds_at_once(&self) -> usize {
        self.stores.builds_at_once
    }

    /// One round: compares every bucket's token with the node that answers for it, and moves back some of those who
    /// stay away.
    pub async fn run_once(&self) -> Result<Round, StoreError> {
        let changes = self.admission.run_once(&self.stores, &self.rng).await?;
        self.clear_up().await?;
        Ok(Round { admitted: changes.admitted, given_up: changes.given_up, moved: self.move_back().await? })
    }

    async fn move_back(&self) -> Result<usize, StoreError> {
        let before = self.clock.now_ms().saturating_sub(self.stores.active_ms);
        let (unseen, last) = self.stores.states.unseen(self.looked_through.load(Relaxed), before, LOOKED_AT).await?;
        let now = &unseen[..unseen.len().min(MOVED_AT_ONCE)];
        for reader in now {
            self.move_to_sql(*reader).await?;
        }
        let through = match now.last() {
            Some(reader) if now.len() < unseen.len() => Some(reader.get()),
            _ => last,
        };
        self.looked_through.store(through.unwrap_or_default(), Relaxed);
        Ok(now.len())
    }

    /// Moves a reader to SQL, where the inbox is filled anew; whether the reader was in the outside tier.
    pub async fn move_to_sql(&self, reader: UserId) -> Result<bool, StoreError> {
        if !self.stores.states.leave(reader).await? {
            return Ok(false);
        }
        self.arrive_in_sql(reader).await?;
        Ok(true)
    }

    /// What follows when a reader has left the outside tier.
    async fn arrive_in_sql(&self, reader: UserId) -> Result<(), StoreError> {
        note_tier_change(InboxTier::Outside, InboxTier::Sql, 1);
        self.forget(reader).await;
        self.inboxes.extend(reader, self.step).await.map(drop)
    }

    /// Removes the inbox of a reader who has left, or remembers to do so; whether it is removed.
    async fn forget(&self, reader: UserId) -> bool {
        let Err(error) = self.stores.inboxes.forget(reader).await else { return true };
        let error = &error as &dyn std::error::Error;
        tracing::debug!(%reader, error, "An unused inbox could not be removed from its store. It is tried again.");
        let mut left_behind = self.left_behind();
        if left_behind.len() < LEFT_BEHIND {
            left_behind.push_back(reader);
        }
        false
    }

    fn left_behind(&self) -> MutexGuard<'_, VecDeque<UserId>> {
        self.left_behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what was left behind, some in each round, until the store fails once more.
    async fn clear_up(&self) -> Result<(), StoreError> {
        for _ in 0..MOVED_AT_ONCE {
            let Some(reader) = self.left_behind().front().copied() else { break };
            // A returned reader has another inbox in its place.
            let is_back = self.stores.states.fence(reader).await?.is_some();
            self.left_behind().pop_front();
            if !is_back && !self.forget(reader).await {
                break;
            }
        }
        Ok(())
    }

    /// Lets a reader who is there have the inbox outside: enters the tier, and builds the inbox if it does not count.
    /// While the reader's bucket has no token the inbox is in SQL. `came_from` is the reader's tier until this visit.
    /// Whether the inbox is outside, or was dealt with.
    pub async fn settle(&self, reader: UserId, came_from: InboxTier) -> Result<bool, StoreError> {
        let states = &self.stores.states;
        if came_from != InboxTier::Outside {
            // An inbox in SQL is not given up for one that cannot be built.
            if self.stores.inboxes.identify(Bucket::of(reader)).await.is_err() {
                return Ok(false);
            }
            if !states.enter(reader, Generation(self.rng.number())).await? {
                return Ok(false);
            }
            note_tier_change(came_from, InboxTier::Outside, 1);
        }
        let Some((fence, basis)) = states.fence(reader).await? else {
            self.move_to_sql(reader).await?;
            return Ok(true);
        };
        if self.stores.inboxes.is_too_long(reader, self.stores.rows_kept()).await.unwrap_or(false) {
            self.begin_anew(reader).await?;
            return Ok(true);
        }
        if let Err(error) = self.builder.build_unless_it_counts(reader, fence, basis).await {
            if matches!(error, OutsideError::Spent) {
                self.move_to_sql(reader).await?;
                return Ok(true);
            }
            let error = &error as &dyn std::error::Error;
            tracing::debug!(%reader, error, "An inbox outside SQL could not be built. The next visit tries again.");
        }
        Ok(true)
    }

    /// Draws another generation and builds its inbox. Deliveries of the former one go nowhere that is read.
    async fn begin_anew(&self, reader: UserId) -> Result<(), StoreError> {
        let states = &self.stores.states;
        if !states.leave(reader).await? {
            return Ok(());
        }
        if !states.enter(reader, Generation(self.rng.number())).await? {
            // The bucket was given up meanwhile.
            return self.arrive_in_sql(reader).await;
        }
        if let Some((fence, _)) = states.fence(reader).await?
            && let Err(error) = self.builder.build_unless_it_counts(reader, fence, None).await
        {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(%reader, error, "An inbox outside SQL could not be built. The next visit tries again.");
        }
        Ok(())
    }

    /// Whether SQL knows of a claim of the reader's inbox outside.
    pub async fn is_claimed(&self, reader: UserId) -> Result<bool, StoreError> {
        Ok(self.stores.states.fence(reader).await?.is_some_and(|(_, basis)| basis.is_some()))
    }
}

/// Draws a new token for every bucket that has one: what is there counts no longer, and is built again as readers
/// come. Returns how many buckets.
pub async fn renew_tokens(states: &dyn OutsideStates, rng: &SharedRng) -> Result<usize, StoreError> {
    let mut renewed = 0;
    for (bucket, token) in states.tokens().await? {
        let next = BucketToken { epoch: rng.number(), ..token };
        renewed += usize::from(states.set_token(bucket, Some(token), Some(next)).await?);
    }
    Ok(renewed)
}

/// Gives up every bucket, and moves every reader to SQL, `step` rows each; while a node that is configured for inboxes
/// outside runs, it admits buckets again. Returns how many readers.
pub async fn move_all(states: &dyn OutsideStates, inboxes: &dyn Inboxes, step: u32) -> Result<u64, StoreError> {
    for (bucket, token) in states.tokens().await? {
        states.set_token(bucket, Some(token), None).await?;
    }
    let (mut moved, mut next) = (0, Some(0));
    while let Some(after) = next {
        let (readers, last) = states.unseen(after, i64::MAX, MOVED_IN_TURN).await?;
        for reader in readers {
            moved += u64::from(states.leave(reader).await?);
            inboxes.extend(reader, step).await?;
        }
        next = last;
    }
    Ok(moved)
}
