//! Builds inboxes outside SQL, a bounded number at a time: a store that has lost all of them gets them back while
//! everybody's pages go on.

use tokio::sync::Semaphore;

use super::OutsideStores;
use crate::{
    domain::{
        Direction, UserId,
        timeline::outside::{Basis, Claim, Fence, Nonce, Window, floor_of_newest},
    },
    rng::SharedRng,
    store::{StoreError, inbox_store::InboxStoreError},
    telemetry::metrics::{OUTSIDE_BUILDING, OUTSIDE_BUILDS},
};

const HEADER: Window = Window { direction: Direction::Older, bound: None, limit: 0 };

/// See the module.
pub(super) struct OutsideBuilder {
    stores: OutsideStores,
    slots: Semaphore,
    rng: SharedRng,
}

impl OutsideBuilder {
    pub(super) fn new(stores: OutsideStores, rng: SharedRng) -> Self {
        Self { slots: Semaphore::new(stores.builds_at_once.max(1)), stores, rng }
    }

    /// Builds the reader's inbox, unless it is there under this fence and basis.
    pub(super) async fn build_unless_it_counts(
        &self,
        reader: UserId,
        fence: Fence,
        basis: Option<Basis>,
    ) -> Result<(), InboxStoreError> {
        let header = self.stores.inboxes.slice(reader, &HEADER).await?.map(|slice| slice.header);
        let counts = basis.is_some() && header.is_some_and(|header| header.fence == fence && header.basis == basis);
        if counts {
            return Ok(());
        }
        // Fails only if the semaphore is closed, and nobody closes it.
        let _slot = self.slots.acquire().await.map_err(|closed| StoreError::Contended(closed.into()))?;
        let running = metrics::gauge!(OUTSIDE_BUILDING);
        running.increment(1.0);
        let built = self.build(reader, fence).await;
        running.decrement(1.0);
        built
    }

    /// docs/protocol.md#outside, *Build*.
    async fn build(&self, reader: UserId, fence: Fence) -> Result<(), InboxStoreError> {
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
