//! A deliveries port over a real store that fails, or hangs like an executor that will be killed, where a test wants
//! it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use tidefeed::{
    domain::{ContentId, delivery::DeliveryPolicy},
    store::{
        Deliveries, StoreError,
        deliveries::{AtOnce, Backlog, Begun, Delivery, First, Lease, Pushed, Subtask, Together},
    },
};
use tokio::sync::Notify;

/// What happens at a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The batch after this many never returns.
    HangAfter(usize),
    /// Every batch fails.
    Fail,
}

pub struct FaultyDeliveries {
    inner: Arc<dyn Deliveries>,
    fault: Fault,
    batches: AtomicUsize,
    /// The start of each batch.
    pub began: Mutex<Vec<i64>>,
    /// Notified when a batch hangs.
    pub hanging: Notify,
}

impl FaultyDeliveries {
    pub fn new(inner: Arc<dyn Deliveries>, fault: Fault) -> Arc<Self> {
        let (batches, began, hanging) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Notify::new());
        Arc::new(Self { inner, fault, batches, began, hanging })
    }

    /// What happens to a batch that starts here.
    async fn batch(&self, start: i64) -> Result<(), StoreError> {
        self.began.lock().unwrap().push(start);
        let number = self.batches.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::Fail => Err(StoreError::Unavailable("the store is on fire".into())),
            Fault::HangAfter(limit) if number >= limit => {
                self.hanging.notify_one();
                std::future::pending().await
            }
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Deliveries for FaultyDeliveries {
    async fn push_batch(&self, subtask: &Subtask, batch_size: u32) -> Result<Pushed, StoreError> {
        self.batch(subtask.progress.pushed_through).await?;
        self.inner.push_batch(subtask, batch_size).await
    }

    async fn begin_subtask(
        &self,
        (content, after): (ContentId, i64),
        lease: Lease,
        batch_size: u32,
        policy: &DeliveryPolicy,
    ) -> Result<Begun, StoreError> {
        let open = self.inner.open_subtasks(content).await?;
        let start =
            open.iter().find(|it| it.progress.range.after == after).map_or(after, |it| it.progress.pushed_through);
        if self.fault == Fault::Fail {
            self.batch(start).await?;
        }
        let begun = self.inner.begin_subtask((content, after), lease, batch_size, policy).await?;
        if matches!(begun, Begun::Served { .. }) {
            self.batch(start).await?;
        }
        Ok(begun)
    }

    async fn find(&self, content: ContentId) -> Result<Option<Delivery>, StoreError> {
        self.inner.find(content).await
    }

    async fn deliver_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
    ) -> Result<AtOnce, StoreError> {
        self.inner.deliver_at_once(content, most, policy).await
    }

    async fn deliver_together(&self, contents: &[ContentId], most: u64) -> Result<Together, StoreError> {
        self.inner.deliver_together(contents, most).await
    }

    async fn serve_first(&self, content: ContentId, first: First) -> Result<u64, StoreError> {
        self.inner.serve_first(content, first).await
    }

    async fn extend_chain(&self, content: ContentId, subtask_size: u32, limit: usize) -> Result<bool, StoreError> {
        self.inner.extend_chain(content, subtask_size, limit).await
    }

    async fn open_subtasks(&self, content: ContentId) -> Result<Vec<Subtask>, StoreError> {
        self.inner.open_subtasks(content).await
    }

    async fn take_subtask(&self, subtask: (ContentId, i64), lease: Lease) -> Result<Option<Subtask>, StoreError> {
        self.inner.take_subtask(subtask, lease).await
    }

    async fn finish(&self, content: ContentId) -> Result<bool, StoreError> {
        self.inner.finish(content).await
    }

    async fn record_failure(
        &self,
        content: ContentId,
        subtask: Option<i64>,
        error: &str,
        retry_at_ms: i64,
    ) -> Result<(), StoreError> {
        self.inner.record_failure(content, subtask, error, retry_at_ms).await
    }

    async fn due(&self, from_ms: i64, now_ms: i64, next_look_ms: i64, limit: u64) -> Result<Vec<Delivery>, StoreError> {
        self.inner.due(from_ms, now_ms, next_look_ms, limit).await
    }

    async fn backlog(&self, from_ms: i64, attempts: u32) -> Result<Backlog, StoreError> {
        self.inner.backlog(from_ms, attempts).await
    }

    async fn failing(&self, attempts: u32, limit: u64) -> Result<Vec<Delivery>, StoreError> {
        self.inner.failing(attempts, limit).await
    }
}
