//! Deliveries and their subtasks in SQL. Locks are taken in one order: the delivery's row, its subtasks' rows, inbox
//! rows; never a row of `follows` or `inbox_states`, so that no delivery waits for a reader's job.

mod at_once;
mod batch;
mod begin;
mod chain;
mod end;
pub(super) mod fences;
mod first;
pub(super) mod outside;
mod records;
mod together;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment};

use super::{SqlStore, rows::MAX_LIST};
use crate::{
    domain::{
        ContentId, Entry, UserId,
        delivery::{DeliveryPolicy, subtask},
    },
    store::{
        Deliveries, StoreError,
        deliveries::{AtOnce, Backlog, Begun, Delivery, First, Lease, Pushed, Subtask, Together},
    },
};

/// Characters of a failure that are kept.
const ERROR_CHARS: usize = 500;

/// The statement that serves a batch of followers.
pub(super) fn fan_out(dialect: Dialect, entry: Entry, batch: subtask::Range) -> Fragment {
    batch::statement(dialect, entry, batch)
}

/// The statement that says whether any follower of a range is being filled.
pub(super) fn filling(dialect: Dialect, author: UserId, range: subtask::Range) -> Fragment {
    chain::filling(dialect, author, range)
}

/// The statement that finds where a range of a number of targets ends while none is being filled.
pub(super) fn targets(dialect: Dialect, author: UserId, range: subtask::Range, size: u32) -> Fragment {
    chain::pushed(dialect, author, range, i64::from(size.max(1)) - 1)
}

/// The statements that serve first who was seen last: led by the author's targets, or by the readers seen last.
pub(super) fn first(dialect: Dialect, entry: Entry, first: First, few: bool) -> Fragment {
    first::statement(dialect, entry, first, few)
}

/// The statement that finds what is due between two times (ms).
pub(super) fn due(dialect: Dialect, from_ms: i64, now_ms: i64, limit: u64) -> Fragment {
    records::due_statement(dialect, (from_ms, now_ms), limit)
}

/// The statement that counts what waits.
pub(super) fn backlog(dialect: Dialect, from_ms: i64, attempts: u32) -> Fragment {
    records::backlog(dialect, from_ms, attempts)
}

#[async_trait]
impl Deliveries for SqlStore {
    async fn find(&self, content: ContentId) -> Result<Option<Delivery>, StoreError> {
        let sql = format!("{} WHERE d.content_id = ?", records::SELECT);
        self.read(&sql, [content.get().into()]).await?.first().map(records::delivery).transpose()
    }

    async fn deliver_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
    ) -> Result<AtOnce, StoreError> {
        outside::deliver_at_once(self, content, (most, policy), None).await
    }

    async fn deliver_together(&self, contents: &[ContentId], most: u64) -> Result<Together, StoreError> {
        if contents.is_empty() {
            return Ok(Together::default());
        }
        self.transaction(move |tx| async move {
            let together = together::deliver(&tx, contents, most).await?;
            tx.commit(together).await
        })
        .await
    }

    async fn serve_first(&self, content: ContentId, first: First) -> Result<u64, StoreError> {
        self.transaction(move |tx| async move {
            match first::serve(&tx, content, first).await? {
                0 => tx.roll_back(0).await,
                rows => tx.commit(rows).await,
            }
        })
        .await
    }

    async fn extend_chain(&self, content: ContentId, subtask_size: u32, limit: usize) -> Result<bool, StoreError> {
        self.transaction(move |tx| async move {
            let Some(author) = records::lock(&tx, content).await? else { return tx.roll_back(true).await };
            let complete = chain::extend(&tx, content, author, (subtask_size, limit)).await?;
            tx.commit(complete).await
        })
        .await
    }

    async fn open_subtasks(&self, content: ContentId) -> Result<Vec<Subtask>, StoreError> {
        let sql =
            format!("{} WHERE content_id = ? AND pushed_through < last_fan ORDER BY first_fan", chain::SELECT_SUBTASK);
        self.read(&sql, [content.get().into()]).await?.iter().map(chain::subtask).collect()
    }

    async fn take_subtask(&self, subtask: (ContentId, i64), lease: Lease) -> Result<Option<Subtask>, StoreError> {
        self.transaction(move |tx| async move {
            let taken = chain::take(&tx, subtask, lease).await?;
            tx.commit(taken).await
        })
        .await
    }

    async fn push_batch(&self, subtask: &Subtask, batch_size: u32) -> Result<Pushed, StoreError> {
        let subtask = *subtask;
        self.transaction(move |tx| async move {
            let pushed = batch::push(&tx, &subtask, batch_size).await?;
            tx.commit(pushed).await
        })
        .await
    }

    async fn begin_subtask(
        &self,
        subtask: (ContentId, i64),
        lease: Lease,
        batch_size: u32,
        policy: &DeliveryPolicy,
    ) -> Result<Begun, StoreError> {
        self.transaction(move |tx| async move {
            match begin::begin(&tx, subtask, lease, batch_size, policy).await? {
                undone @ (Begun::NotTaken | Begun::ToBeJudged(_)) => tx.roll_back(undone).await,
                served @ Begun::Served { .. } => tx.commit(served).await,
            }
        })
        .await
    }

    async fn finish(&self, content: ContentId) -> Result<bool, StoreError> {
        let state = end::state(content);
        if let Some(known) = self.read(&state.text, state.values).await?.first().map(end::known).transpose()?.flatten()
        {
            return Ok(known);
        }
        self.transaction(move |tx| async move {
            if records::lock(&tx, content).await?.is_none() {
                return tx.roll_back(true).await;
            }
            if end::end(&tx, content).await? { tx.commit(true).await } else { tx.roll_back(false).await }
        })
        .await
    }

    async fn record_failure(
        &self,
        content: ContentId,
        subtask: Option<i64>,
        error: &str,
        retry_at_ms: i64,
    ) -> Result<(), StoreError> {
        let error: &String = &error.chars().take(ERROR_CHARS).collect();
        self.transaction(move |tx| async move {
            let sql = "UPDATE deliveries SET attempts = attempts + 1, last_error = ?, look_at = ? WHERE content_id = ?";
            tx.execute(sql, [error.clone().into(), retry_at_ms.into(), content.get().into()]).await?;
            if let Some(after) = subtask {
                let sql = "UPDATE subtasks SET lease_until = 0 WHERE content_id = ? AND first_fan = ?";
                tx.execute(sql, [content.get().into(), after.into()]).await?;
            }
            tx.commit(()).await
        })
        .await
    }

    async fn due(&self, from_ms: i64, now_ms: i64, next_look_ms: i64, limit: u64) -> Result<Vec<Delivery>, StoreError> {
        let limit = limit.min(MAX_LIST as u64);
        self.transaction(move |tx| async move {
            let due = records::due(&tx, (from_ms, now_ms, next_look_ms), limit).await?;
            tx.commit(due).await
        })
        .await
    }

    async fn backlog(&self, from_ms: i64, attempts: u32) -> Result<Backlog, StoreError> {
        let Fragment { text, values } = records::backlog(self.dialect, from_ms, attempts);
        let rows = self.read(&text, values).await?;
        let Some(row) = rows.first() else { return Ok(Backlog::default()) };
        Ok(Backlog { unfinished: row.count(0)?, failing: row.count(1)?, oldest: row.get(2)? })
    }

    async fn failing(&self, attempts: u32, limit: u64) -> Result<Vec<Delivery>, StoreError> {
        let sql = format!("{} WHERE d.attempts >= ? ORDER BY d.publish_time, d.content_id LIMIT ?", records::SELECT);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(&sql, [i64::from(attempts).into(), limit.into()]).await?.iter().map(records::delivery).collect()
    }
}
