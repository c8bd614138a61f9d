//! Keeps inboxes outside SQL: admits buckets and gives them up, builds the inboxes of readers who come, and moves
//! those who stay away back to SQL.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use futures_util::future::join_all;

use crate::{
    clock::SharedClock,
    domain::{
        Direction, UserId,
        timeline::outside::{Basis, Bucket, Claim, Fence, Generation, NodeId, Nonce, Token, Window, floor_of_newest},
    },
    rng::SharedRng,
    store::{Inboxes, OutsideStates, StoreError, outside_inboxes::OutsideError, outside_states::OutsideStores},
    telemetry::metrics::{BUCKET_CHANGES, OUTSIDE_BUILDS, TIER_CHANGES},
};

/// Buckets whose node is asked for at once.
const ASKED_AT_ONCE: usize = 16;
/// Rounds in a row in which nobody answered for a bucket before it is given up: deliveries to it wait that long.
const GIVEN_UP_AFTER: u32 = 3;
/// Readers outside SQL who are looked at in one round.
const LOOKED_AT: u64 = 1_000;
const HEADER: Window = Window { direction: Direction::Older, bound: None, limit: 0 };

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
    /// Rounds in a row in which nobody answered.
    silent: Mutex<HashMap<Bucket, u32>>,
    /// The reader up to whom the tier was looked through.
    looked_through: AtomicI64,
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
        Self { stores, inboxes, step, silent: Mutex::default(), looked_through: AtomicI64::new(0), clock, rng }
    }

    /// One round: compares every bucket's token with the node that answers for it, and moves back who stays away.
    pub async fn run_once(&self) -> Result<Round, StoreError> {
        let (admitted, given_up) = self.admit().await?;
        Ok(Round { admitted, given_up, moved: self.move_back().await? })
    }

    async fn admit(&self) -> Result<(usize, usize), StoreError> {
        let tokens: HashMap<Bucket, Token> = self.stores.states.tokens().await?.into_iter().collect();
        let buckets: Vec<Bucket> = Bucket::all().collect();
        let mut answers: Vec<(Bucket, Result<NodeId, StoreError>)> = Vec::with_capacity(buckets.len());
        for some in buckets.chunks(ASKED_AT_ONCE) {
            let mut asked = Vec::with_capacity(some.len());
            for bucket in some {
                asked.push(self.stores.inboxes.identify(*bucket));
            }
            answers.extend(some.iter().copied().zip(join_all(asked).await));
        }
        let (mut admitted, mut given_up) = (0, 0);
        for (bucket, answer) in answers {
            let former = tokens.get(&bucket).copied();
            let next = match answer {
                Ok(node) => {
                    self.rounds_of_silence(bucket, false);
                    Some(Token { node, epoch: self.rng.number() })
                }
                Err(_) if self.rounds_of_silence(bucket, true) < GIVEN_UP_AFTER => continue,
                Err(_) => None,
            };
            if former.map(|token| token.node) == next.map(|token| token.node) {
                continue;
            }
            if self.stores.states.set_token(bucket, former, next).await? {
                let (change, counted) =
                    if next.is_some() { ("admitted", &mut admitted) } else { ("given_up", &mut given_up) };
                *counted += 1;
                metrics::counter!(BUCKET_CHANGES, "change" => change).increment(1);
            }
        }
        if admitted + given_up > 0 {
            tracing::info!(admitted, given_up, "Buckets of inboxes outside SQL were admitted or given up.");
        }
        Ok((admitted, given_up))
    }

    fn rounds_of_silence(&self, bucket: Bucket, is_silent: bool) -> u32 {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let rounds = silent.entry(bucket).or_default();
        *rounds = if is_silent { rounds.saturating_add(1) } else { 0 };
        *rounds
    }

    async fn move_back(&self) -> Result<usize, StoreError> {
        let before = self.clock.now_ms().saturating_sub(self.stores.active_ms);
        let (unseen, last) = self.stores.states.unseen(self.looked_through.load(Relaxed), before, LOOKED_AT).await?;
        self.looked_through.store(last.unwrap_or_default(), Relaxed);
        for reader in &unseen {
            self.move_to_sql(*reader).await?;
        }
        Ok(unseen.len())
    }

    /// Moves a reader to SQL, where the inbox is filled anew; whether the reader was in Redis.
    pub async fn move_to_sql(&self, reader: UserId) -> Result<bool, StoreError> {
        if !self.stores.states.leave(reader).await? {
            return Ok(false);
        }
        metrics::counter!(TIER_CHANGES, "to" => "sql").increment(1);
        self.inboxes.extend(reader, self.step).await?;
        Ok(true)
    }

    /// Lets a reader who is there have the inbox outside: enters the tier, and builds the inbox if it does not count.
    /// While the reader's bucket has no token the inbox is in SQL. Whether the inbox is outside, or was dealt with.
    pub async fn settle(&self, reader: UserId, is_outside: bool) -> Result<bool, StoreError> {
        let states = &self.stores.states;
        if !is_outside {
            // An inbox in SQL is not given up for one that cannot be built.
            if self.stores.inboxes.identify(Bucket::of(reader)).await.is_err() {
                return Ok(false);
            }
            if !states.enter(reader, Generation(self.rng.number())).await? {
                return Ok(false);
            }
            metrics::counter!(TIER_CHANGES, "to" => "outside").increment(1);
        }
        let Some((fence, basis)) = states.fence(reader).await? else {
            self.move_to_sql(reader).await?;
            return Ok(true);
        };
        if self.stores.inboxes.is_too_long(reader, self.stores.rows_kept()).await.unwrap_or(false) {
            self.begin_anew(reader).await?;
            return Ok(true);
        }
        if let Err(error) = self.build_unless_it_counts(reader, fence, basis).await {
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
        if !states.leave(reader).await? || !states.enter(reader, Generation(self.rng.number())).await? {
            return Ok(());
        }
        if let Some((fence, _)) = states.fence(reader).await?
            && let Err(error) = self.build(reader, fence).await
        {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(%reader, error, "An inbox outside SQL could not be built. The next visit tries again.");
        }
        Ok(())
    }

    async fn build_unless_it_counts(
        &self,
        reader: UserId,
        fence: Fence,
        basis: Option<Basis>,
    ) -> Result<(), OutsideError> {
        let header = self.stores.inboxes.slice(reader, &HEADER).await?.map(|slice| slice.header);
        let counts = basis.is_some() && header.is_some_and(|header| header.fence == fence && header.basis == basis);
        if counts { Ok(()) } else { self.build(reader, fence).await }
    }

    /// docs/protocol.md#outside, *Build*.
    async fn build(&self, reader: UserId, fence: Fence) -> Result<(), OutsideError> {
        let OutsideStores { inboxes, states, keep, .. } = &self.stores;
        let opened = inboxes.open(reader, fence, Nonce(self.rng.number())).await?;
        let basis = Basis(self.rng.number());
        let Some(rows) = states.read_for_build(reader, fence.generation, *keep, basis).await? else { return Ok(()) };
        let floor = floor_of_newest(&rows, self.stores.rows_kept());
        let claim = Claim { rows, floor, basis, nonce: Nonce(self.rng.number()) };
        let built = inboxes.claim(reader, (fence.token, opened), &claim, self.stores.rows_kept()).await?;
        metrics::counter!(OUTSIDE_BUILDS, "outcome" => if built { "built" } else { "overtaken" }).increment(1);
        Ok(())
    }
}

/// Draws a new token for every bucket that has one: what is there counts no longer, and is built again as readers
/// come. Returns how many buckets.
pub async fn renew_tokens(states: &dyn OutsideStates, rng: &SharedRng) -> Result<usize, StoreError> {
    let mut renewed = 0;
    for (bucket, token) in states.tokens().await? {
        let next = Token { epoch: rng.number(), ..token };
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
        let (readers, last) = states.unseen(after, i64::MAX, LOOKED_AT).await?;
        for reader in readers {
            moved += u64::from(states.leave(reader).await?);
            inboxes.extend(reader, step).await?;
        }
        next = last;
    }
    Ok(moved)
}
