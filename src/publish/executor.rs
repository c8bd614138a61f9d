//! The subtask executor: takes a subtask and inserts its inbox rows batch by batch, each with its progress in one
//! transaction. The last subtask ends the delivery. If an executor dies, the next one continues after the last
//! follower served.

use std::time::Duration;

use crate::{
    ambient::Ambient,
    domain::{
        ContentId,
        delivery::{
            AuthorFacts, DeliveryPolicy,
            subtask::{Progress, Range},
        },
    },
    store::{
        Ports, StoreError,
        deliveries::{Begun, Lease, Subtask},
        error::wait_ms,
        queue::{Message, Topic},
    },
    telemetry::metrics::{DELIVERY_FAILURES, EDGES_DEMOTED, ROWS_PUSHED, SUBTASKS},
};

/// How an executor works.
#[derive(Debug, Clone, Copy)]
pub struct ExecutorOptions {
    /// Followers served in one transaction.
    pub batch_size: u32,
    /// How long a subtask belongs to its executor, in ms. Afterwards another one may take it.
    pub lease_ms: i64,
    /// Decides which followers are pushed to.
    pub policy: DeliveryPolicy,
}

/// Runs subtasks.
pub struct SubtaskExecutor {
    ports: Ports,
    options: ExecutorOptions,
    ambient: Ambient,
}

impl SubtaskExecutor {
    /// An executor of the subtasks in `ports`.
    pub fn new(ports: &Ports, options: ExecutorOptions, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), options, ambient: ambient.clone() }
    }

    /// Takes one subtask off the queue, waiting up to `wait`, and runs it. Returns how many messages there were.
    ///
    /// If the subtask fails, its message stays unacknowledged, so the queue hands it out again.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.ports.queue.receive(Topic::Push, consumer, 1, wait).await?;
        for message in &received {
            let settled = match &message.message {
                Some(Message::Subtask { content, after }) => self.run_or_record(*content, *after).await,
                _ => true,
            };
            if settled {
                self.ports.queue.acknowledge(Topic::Push, std::slice::from_ref(&message.id)).await?;
            }
        }
        Ok(received.len())
    }

    async fn run_or_record(&self, content: ContentId, after: i64) -> bool {
        let Err(error) = self.run(content, after).await else { return true };
        tracing::warn!(%content, after, error = &error as &dyn std::error::Error, "A subtask of a delivery failed. It will be tried again.");
        metrics::counter!(DELIVERY_FAILURES).increment(1);
        if let Err(error) = self.record((content, after), &error).await {
            tracing::warn!(%content, error = &error as &dyn std::error::Error, "The failure of a delivery could not be recorded.");
        }
        false
    }

    async fn record(&self, (content, after): (ContentId, i64), error: &StoreError) -> Result<(), StoreError> {
        let Some(delivery) = self.ports.deliveries.find(content).await? else { return Ok(()) };
        let retry_at = self.ambient.now_ms() + wait_ms(error, delivery.attempts + 1, self.ambient.rng.u32());
        self.ports.deliveries.record_failure(content, Some(after), &error.with_causes(), retry_at).await
    }

    /// Runs one subtask to its end. Does nothing if it is done, gone, or leased by another executor.
    pub async fn run(&self, content: ContentId, after: i64) -> Result<(), StoreError> {
        let Some(mut begun) = self.begin(content, after).await? else { return Ok(()) };
        let mut left = Some(begun.subtask.progress);
        while let Some(progress) = left.filter(|progress| !progress.is_done()) {
            begun.subtask.progress = progress;
            let pushed = self.ports.tier.push_batch(&begun.subtask, self.options.batch_size).await?;
            metrics::counter!(ROWS_PUSHED).increment(pushed.rows);
            left = pushed.progress;
        }
        metrics::counter!(SUBTASKS).increment(1);
        if !begun.ended {
            self.ports.deliveries.finish(content).await?;
        }
        Ok(())
    }

    /// Takes the subtask. Where nothing else comes between, the same transaction serves its first batch.
    async fn begin(&self, content: ContentId, after: i64) -> Result<Option<Running>, StoreError> {
        let now_ms = self.ambient.now_ms();
        let lease = Lease { now_ms, until_ms: now_ms + self.options.lease_ms };
        let ExecutorOptions { batch_size, policy, .. } = &self.options;
        let author = match self.ports.deliveries.begin_subtask((content, after), lease, *batch_size, policy).await? {
            Begun::NotTaken => return Ok(None),
            Begun::Served { subtask, rows, ended } => {
                metrics::counter!(ROWS_PUSHED).increment(rows);
                return Ok(Some(Running { subtask, ended }));
            }
            Begun::ToBeJudged(author) => author,
        };
        let taken = self.ports.deliveries.take_subtask((content, after), lease).await?;
        let Some(subtask) = taken else { return Ok(None) };
        self.demote_unworthy(&subtask, &author).await?;
        Ok(Some(Running { subtask, ended: false }))
    }

    /// Applies the policy before the delivery: an edge that is not worth a push becomes `Pull`.
    async fn demote_unworthy(&self, subtask: &Subtask, author: &AuthorFacts) -> Result<(), StoreError> {
        if !self.options.policy.is_selective(author) {
            return Ok(());
        }
        let Progress { range, pushed_through } = subtask.progress;
        let (left, now) = (Range { after: pushed_through, through: range.through }, self.ambient.now_ms());
        let unseen_since = self.options.policy.pushed_if_seen_since(now);
        let readers = self.ports.delivered_follows.pushed_readers(author.author, left, unseen_since).await?;
        let pulled = self.options.policy.to_pull(author, &readers, now);
        if !pulled.is_empty() {
            let demoted =
                self.ports.delivered_follows.demote(author.author, &pulled, self.ambient.rng.version()).await?;
            metrics::counter!(EDGES_DEMOTED).increment(demoted);
        }
        Ok(())
    }
}

/// A subtask that this executor has taken.
struct Running {
    subtask: Subtask,
    /// Whether the delivery has ended already.
    ended: bool,
}
