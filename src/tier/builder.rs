//! Builds inboxes outside SQL, a bounded number at a time: a store that has lost all of them gets them back while
//! everybody's pages go on. The contents of all that are built at once are read in one transaction.

use std::collections::HashMap;

use futures_util::future::join_all;
use tokio::sync::Semaphore;

use super::OutsideStores;
use crate::{
    domain::{
        Direction, Position, UserId,
        timeline::outside::{Basis, Claim, Nonce, Revision, Window, floor_of_newest},
    },
    rng::SharedRng,
    store::{StoreError, inbox_store::InboxStoreError, outside_states::FencedReader},
    telemetry::metrics::{OUTSIDE_BUILDING, OUTSIDE_BUILDS},
};

const HEADER: Window = Window { direction: Direction::Older, bound: None, limit: 0 };

/// See the module.
pub(super) struct OutsideBuilder {
    stores: OutsideStores,
    slots: Semaphore,
    rng: SharedRng,
}

/// An inbox that was opened, and what it will be claimed from.
struct Opened {
    fenced: FencedReader,
    revision: Revision,
    basis: Basis,
}

impl OutsideBuilder {
    pub(super) fn new(stores: OutsideStores, rng: SharedRng) -> Self {
        Self { slots: Semaphore::new(stores.builds_at_once.max(1)), stores, rng }
    }

    /// Builds the inboxes that are not there under their fence and basis. Returns whose fence is spent. What fails is
    /// logged.
    pub(super) async fn build(&self, readers: &[FencedReader]) -> Vec<UserId> {
        let mut spent = Vec::new();
        for some in readers.chunks(self.stores.builds_at_once.max(1)) {
            let looked = join_all(some.iter().map(|fenced| self.counts(fenced))).await;
            let mut missing = Vec::with_capacity(some.len());
            for (fenced, counts) in some.iter().zip(looked) {
                match counts {
                    Ok(true) => {}
                    Ok(false) => missing.push(*fenced),
                    Err(error) => note_failure(fenced.reader, &error),
                }
            }
            if !missing.is_empty() {
                spent.extend(self.build_at_once(&missing).await);
            }
        }
        spent
    }

    async fn counts(&self, fenced: &FencedReader) -> Result<bool, StoreError> {
        let header = self.stores.inboxes.slice(fenced.reader, &HEADER).await?.map(|slice| slice.header);
        let is_current = |fence, basis| fence == fenced.fence && basis == fenced.basis;
        Ok(fenced.basis.is_some() && header.is_some_and(|header| is_current(header.fence, header.basis)))
    }

    /// docs/protocol.md#outside, *Build*: opens all, then reads for all, then claims each. At most as many as may be
    /// built at once.
    async fn build_at_once(&self, readers: &[FencedReader]) -> Vec<UserId> {
        let wanted = u32::try_from(readers.len()).unwrap_or(u32::MAX);
        // Fails only if the semaphore is closed, and nobody closes it.
        let Ok(_slots) = self.slots.acquire_many(wanted).await else { return Vec::new() };
        let running = metrics::gauge!(OUTSIDE_BUILDING);
        running.increment(f64::from(wanted));
        let spent = self.open_read_and_claim(readers).await;
        running.decrement(f64::from(wanted));
        spent
    }

    async fn open_read_and_claim(&self, readers: &[FencedReader]) -> Vec<UserId> {
        let OutsideStores { inboxes, states, keep, .. } = &self.stores;
        let nonces: Vec<Nonce> = readers.iter().map(|_| Nonce(self.rng.number())).collect();
        let open = |(fenced, nonce): (&FencedReader, Nonce)| inboxes.open(fenced.reader, fenced.fence, nonce);
        let (mut spent, mut opened) = (Vec::new(), Vec::with_capacity(readers.len()));
        for (fenced, outcome) in readers.iter().zip(join_all(readers.iter().zip(nonces).map(open)).await) {
            match outcome {
                Ok(revision) => opened.push(Opened { fenced: *fenced, revision, basis: Basis(self.rng.number()) }),
                Err(error) => {
                    note_failure(fenced.reader, &error);
                    spent.extend(matches!(error, InboxStoreError::Spent).then_some(fenced.reader));
                }
            }
        }
        let builds: Vec<_> = opened.iter().map(|it| (it.fenced.reader, it.fenced.fence.generation, it.basis)).collect();
        match states.read_for_builds(&builds, *keep).await {
            Ok(read) => self.claim(&opened, read).await,
            Err(error) => opened.iter().for_each(|it| note_failure(it.fenced.reader, &error)),
        }
        spent
    }

    /// Who is not in `read` has left the tier, or entered it again.
    async fn claim(&self, opened: &[Opened], read: Vec<(UserId, Vec<Position>)>) {
        let (inboxes, keep) = (&self.stores.inboxes, self.stores.rows_kept());
        let mut read: HashMap<UserId, Vec<Position>> = read.into_iter().collect();
        let claims = opened.iter().filter_map(|it| {
            let rows = read.remove(&it.fenced.reader)?;
            let floor = floor_of_newest(&rows, keep);
            Some((it, Claim { rows, floor, basis: it.basis, nonce: Nonce(self.rng.number()) }))
        });
        let claim = async |(it, claim): (&Opened, Claim)| {
            let at = (it.fenced.fence.token, it.revision);
            match inboxes.claim(it.fenced.reader, at, &claim, keep).await {
                Ok(built) => {
                    let outcome = if built { "built" } else { "overtaken" };
                    metrics::counter!(OUTSIDE_BUILDS, "outcome" => outcome).increment(1);
                }
                Err(error) => note_failure(it.fenced.reader, &error),
            }
        };
        join_all(claims.collect::<Vec<_>>().into_iter().map(claim)).await;
    }
}

fn note_failure(reader: UserId, error: &(dyn std::error::Error + 'static)) {
    tracing::debug!(%reader, error, "An inbox outside SQL could not be built. The next visit tries again.");
}
