//! The dispatcher: delivers a content to all followers at once if they fit one transaction, or else cuts the delivery
//! into subtasks. It decides by what SQL holds; a message only says where to look. Any number of dispatchers may run,
//! die and repeat each other's work.

use std::time::Duration;

use futures_util::{StreamExt, stream};

use crate::{
    ambient::Ambient,
    domain::{ContentId, delivery::DeliveryPolicy, limits::MAX_SUBTASKS_PER_TX},
    store::{
        Ports, StoreError,
        deliveries::{AtOnce, First},
        error::wait_ms,
        queue::{Message, Received, Topic},
    },
    telemetry::metrics::{DELIVERY_FAILURES, ROWS_PUSHED},
};

/// Deliveries that one dispatcher runs at once. On SQLite, transactions that wait for each other share a commit.
const UNDER_WAY: usize = 4;

/// Which followers are served first when a delivery is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstServed {
    /// The most followers; 0 for none.
    pub most: u32,
    /// Only deliveries that take more than this many transactions of [`DispatcherOptions::at_once`] targets serve
    /// somebody first. A smaller delivery ends within milliseconds, and would insert most of its rows twice.
    pub beyond_transactions: u32,
    /// Only followers who were seen within this time, in ms.
    pub within_ms: i64,
}

/// What a dispatcher may do at once.
#[derive(Debug, Clone, Copy)]
pub struct DispatcherOptions {
    /// Followers of one subtask.
    pub subtask_size: u32,
    /// Most followers that one transaction delivers to.
    pub at_once: u32,
    /// Decides which followers are pushed to.
    pub policy: DeliveryPolicy,
    /// Which followers are served before the rest.
    pub first: FirstServed,
    /// Messages taken at a time.
    pub batch: usize,
}

/// Cuts deliveries into subtasks.
pub struct Dispatcher {
    ports: Ports,
    options: DispatcherOptions,
    ambient: Ambient,
}

impl Dispatcher {
    /// A dispatcher of the deliveries in `ports`.
    pub fn new(ports: &Ports, options: DispatcherOptions, ambient: &Ambient) -> Self {
        Self { ports: ports.clone(), options, ambient: ambient.clone() }
    }

    /// Handles the waiting messages, or waits up to `wait` for one. Returns how many there were.
    ///
    /// If a content fails, its message stays unacknowledged, so the queue hands it out again.
    pub async fn run_once(&self, consumer: &str, wait: Duration) -> Result<usize, StoreError> {
        let received = self.ports.queue.receive(Topic::ContentChange, consumer, self.options.batch, wait).await?;
        let count = received.len();
        let settled = stream::iter(received).map(|message| self.settle(message)).buffer_unordered(UNDER_WAY);
        let done: Vec<String> = settled.filter_map(std::future::ready).collect().await;
        self.ports.queue.acknowledge(Topic::ContentChange, &done).await?;
        Ok(count)
    }

    /// Handles one message. Returns its id if it can be acknowledged.
    async fn settle(&self, message: Received) -> Option<String> {
        let settled = match message.message {
            Some(Message::ContentPublished { entry } | Message::ContentRemoved { entry }) => {
                self.dispatch_or_record(entry.content).await
            }
            _ => true,
        };
        settled.then_some(message.id)
    }

    async fn dispatch_or_record(&self, content: ContentId) -> bool {
        let Err(error) = self.dispatch(content).await else { return true };
        metrics::counter!(DELIVERY_FAILURES).increment(1);
        tracing::warn!(%content, error = &error as &dyn std::error::Error, "Cutting a delivery into subtasks failed. It will be tried again.");
        if let Err(error) = self.record(content, &error).await {
            tracing::warn!(%content, error = &error as &dyn std::error::Error, "The failure of a delivery could not be recorded.");
        }
        false
    }

    async fn record(&self, content: ContentId, error: &StoreError) -> Result<(), StoreError> {
        let Some(delivery) = self.ports.deliveries.find(content).await? else { return Ok(()) };
        let retry_at = self.ambient.now_ms() + wait_ms(error, delivery.attempts + 1, self.ambient.rng.u32());
        self.ports.deliveries.record_failure(content, None, &error.with_causes(), retry_at).await
    }

    /// Advances one delivery. A small one is done at once. A large one serves the active readers, completes its chain
    /// of subtasks and sends the open ones. A complete one ends.
    pub async fn dispatch(&self, content: ContentId) -> Result<(), StoreError> {
        let DispatcherOptions { at_once, policy, .. } = &self.options;
        if let AtOnce::Ended { rows } = self.ports.tier.deliver_at_once(content, *at_once, policy).await? {
            metrics::counter!(ROWS_PUSHED).increment(rows);
            return Ok(());
        }
        self.serve_first(content).await?;
        while !self.ports.deliveries.extend_chain(content, self.options.subtask_size, MAX_SUBTASKS_PER_TX).await? {}
        if self.send_open(content).await? == 0 {
            self.ports.deliveries.finish(content).await?;
        }
        Ok(())
    }

    async fn serve_first(&self, content: ContentId) -> Result<(), StoreError> {
        let DispatcherOptions { at_once, first: FirstServed { most, beyond_transactions, within_ms }, .. } =
            self.options;
        if most > 0 {
            let seen_since_ms = self.ambient.now_ms().saturating_sub(within_ms);
            let first = First { more_than: at_once.saturating_mul(beyond_transactions.max(1)), seen_since_ms, most };
            let rows = self.ports.deliveries.serve_first(content, first).await?;
            metrics::counter!(ROWS_PUSHED).increment(rows);
        }
        Ok(())
    }

    async fn send_open(&self, content: ContentId) -> Result<usize, StoreError> {
        let open = self.ports.deliveries.open_subtasks(content).await?;
        let messages: Vec<Message> =
            open.iter().map(|task| Message::Subtask { content, after: task.progress.range.after }).collect();
        self.ports.queue.send(&messages).await?;
        Ok(messages.len())
    }
}
