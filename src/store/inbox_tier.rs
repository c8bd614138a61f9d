//! Where readers have their inboxes: all of them in SQL, or those of active readers outside it, in Redis or Cassandra.
//! What use cases do for inboxes in one place and not in the other stands behind this port.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Deliveries, InboxStore, Inboxes, StoreError,
    deliveries::{AtOnce, Pushed, Subtask},
    inboxes::Covered,
    outside_states::NotConfigured,
    relations::Pair,
};
use crate::{
    domain::{ContentId, UserId, delivery::DeliveryPolicy},
    telemetry::tiers::ReaderTier,
};

/// What a round of upkeep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// Buckets admitted under a new token.
    pub admitted: usize,
    /// Buckets without a token from now on.
    pub given_up: usize,
    /// Readers moved to SQL.
    pub moved: usize,
}

/// All inboxes in SQL: the adapter that adds nothing to the port's own answers.
#[derive(Clone)]
pub struct InSql {
    /// The records of deliveries.
    pub deliveries: Arc<dyn Deliveries>,
    /// The inboxes.
    pub inboxes: Arc<dyn Inboxes>,
}

impl InSql {
    /// Over a store that keeps both.
    pub fn of<T: Deliveries + Inboxes + 'static>(store: Arc<T>) -> Self {
        Self { deliveries: store.clone(), inboxes: store }
    }
}

impl InboxTier for InSql {
    fn in_sql(&self) -> &Self {
        self
    }
}

/// The readers whose inbox was outside until this visit.
pub fn outside(readers: &[(UserId, ReaderTier)]) -> Vec<UserId> {
    readers.iter().filter(|(_, came_from)| *came_from == ReaderTier::Outside).map(|(reader, _)| *reader).collect()
}

/// The tier of active readers' inboxes. Every method answers as if nobody had an inbox outside SQL, and asks nothing
/// more than that takes; docs/protocol.md#outside says what an adapter for them does instead.
#[async_trait]
pub trait InboxTier: Send + Sync {
    /// The inboxes in SQL, which every tier has beside its own.
    fn in_sql(&self) -> &InSql;

    /// The inboxes outside, which pages read beside their statement; `None`: there are none.
    fn outside(&self) -> Option<&Arc<dyn InboxStore>> {
        None
    }

    /// See [`InboxStore::connect`].
    async fn connect(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// As [`Deliveries::deliver_at_once`], after the recipients outside have their rows.
    async fn deliver_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
    ) -> Result<AtOnce, StoreError> {
        self.in_sql().deliveries.deliver_at_once(content, most, policy).await
    }

    /// As [`Deliveries::push_batch`], after the recipients outside have their rows.
    async fn push_batch(&self, subtask: &Subtask, batch_size: u32) -> Result<Pushed, StoreError> {
        self.in_sql().deliveries.push_batch(subtask, batch_size).await
    }

    /// As [`Inboxes::cover`], wherever the inbox is; never [`Covered::Outside`].
    async fn cover(&self, Pair { follower, author }: Pair, keep: u32, version: i64) -> Result<Covered, StoreError> {
        match self.in_sql().inboxes.cover(follower, author, keep, version).await? {
            Covered::Outside => Err(NotConfigured.into()),
            covered => Ok(covered),
        }
    }

    /// Gives readers who are there an inbox outside, if that is possible. Beside each, in ascending order, is where it
    /// was until this visit. Returns in ascending order whose inbox is outside, or was dealt with.
    async fn settle(&self, readers: &[(UserId, ReaderTier)]) -> Result<Vec<UserId>, StoreError> {
        Ok(outside(readers))
    }

    /// Whether SQL knows of a claim of the reader's inbox outside.
    async fn is_claimed(&self, _reader: UserId) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Moves a reader to SQL, where the inbox is filled anew; whether it was outside.
    async fn move_to_sql(&self, _reader: UserId) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// See [`InboxStore::forget`].
    async fn forget(&self, _reader: UserId) -> Result<(), StoreError> {
        Ok(())
    }

    /// One round: compares every bucket's token with the node that answers for it, and moves some of the readers who
    /// stay away to SQL.
    async fn run_once(&self) -> Result<Round, StoreError> {
        Ok(Round::default())
    }
}
