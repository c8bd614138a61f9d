//! The sweeper: repeats notifications for work that waits too long, so that losing messages only delays. Also takes
//! dormant readers out of deliveries.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicI64, Ordering},
};

use crate::{
    ambient::Ambient,
    domain::{backoff, delivery::DeliveryPolicy, sweep::SweepStart},
    store::{
        Ports, StoreError,
        queue::{Message, Topic},
        relations::Pair,
    },
    telemetry::{
        metrics::{DELIVERIES_FAILING, DELIVERIES_UNFINISHED, OLDEST_DELIVERY_SECONDS, QUEUE_DEPTH, SWEPT},
        tiers::{ReaderTier, note_tier_change},
    },
};

/// Most records announced again, and readers turned off, in one sweep.
const AT_ONCE: u64 = 200;
/// Doublings of the first wait (16 s) after which an announced record is looked at again.
const LOOK_AGAIN_AFTER: u32 = 6;
/// Waiting subtasks above which late deliveries are not announced again.
const BUSY: u64 = 1_000;
/// Deliveries that a sweeper counts in a second, on average. A longer backlog is counted less often.
const COUNTED_IN_A_SECOND: u64 = 10_000;
/// The longest time between two counts, in ms.
const MAX_COUNT_WAIT_MS: i64 = 60 * 1000;
/// How often to look for readers who have become dormant, in ms.
const DORMANT_EVERY_MS: i64 = 10 * 60 * 1000;

/// What one sweep found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// Deliveries announced again.
    pub deliveries: usize,
    /// Pairs announced again.
    pub relations: usize,
    /// Readers turned off.
    pub readers_off: u64,
}

impl SweepReport {
    /// Whether there was nothing to do.
    pub const fn is_nothing(&self) -> bool {
        self.deliveries == 0 && self.relations == 0 && self.readers_off == 0
    }
}

/// Sweeps.
pub struct Sweeper {
    ports: Ports,
    policy: DeliveryPolicy,
    failing_after: u32,
    next_dormant_look: AtomicI64,
    next_count: AtomicI64,
    starts: Mutex<Starts>,
    ambient: Ambient,
}

/// Where the next sweep begins in each queue.
#[derive(Debug, Clone, Copy)]
struct Starts {
    deliveries: SweepStart,
    relations: SweepStart,
}

impl Sweeper {
    /// `failing_after`: failures after which a delivery counts as failing.
    pub fn new(ports: &Ports, policy: DeliveryPolicy, failing_after: u32, ambient: &Ambient) -> Self {
        let starts = Starts { deliveries: SweepStart::BEGINNING, relations: SweepStart::BEGINNING };
        Self {
            ports: ports.clone(),
            policy,
            failing_after,
            next_dormant_look: AtomicI64::new(0),
            next_count: AtomicI64::new(0),
            starts: Mutex::new(starts),
            ambient: ambient.clone(),
        }
    }

    /// Runs one sweep. Steps that need only SQL come first, so that they run while the queue is down.
    pub async fn run_once(&self) -> Result<SweepReport, StoreError> {
        let now = self.ambient.now_ms();
        let next_look = now + backoff::wait_ms(LOOK_AGAIN_AFTER, self.ambient.rng.u32());
        let start = self.starts().deliveries;
        let from = start.from_ms(now);
        let deliveries = if self.is_busy().await {
            Vec::new()
        } else {
            let due = self.ports.deliveries.due(from, now, next_look, AT_ONCE).await?;
            self.starts().deliveries = start.after(from, now, is_all(due.len()));
            due
        };
        let relations = self.due_relations(now, next_look).await?;
        let messages: Vec<Message> = deliveries
            .iter()
            .map(|it| Message::ContentPublished { entry: it.entry })
            .chain(relations.iter().map(|pair| Message::RelationChanged { pair: *pair }))
            .collect();
        metrics::counter!(SWEPT, "kind" => "delivery").increment(deliveries.len() as u64);
        metrics::counter!(SWEPT, "kind" => "relation").increment(relations.len() as u64);
        let readers_off = self.turn_off_dormant(now).await?;
        self.measure_deliveries(from, now).await?;
        self.ports.queue.send(&messages).await?;
        self.measure_queue().await?;
        Ok(SweepReport { deliveries: deliveries.len(), relations: relations.len(), readers_off })
    }

    async fn due_relations(&self, now: i64, next_look: i64) -> Result<Vec<Pair>, StoreError> {
        let start = self.starts().relations;
        let from = start.from_ms(now);
        let due = self.ports.relations.due(from, now, next_look, AT_ONCE).await?;
        self.starts().relations = start.after(from, now, is_all(due.len()));
        Ok(due)
    }

    fn starts(&self) -> MutexGuard<'_, Starts> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a late delivery merely waits in a long queue. Announcing it again would only lengthen the queue.
    async fn is_busy(&self) -> bool {
        self.ports.queue.depth(Topic::Push).await.is_ok_and(|waiting| waiting > BUSY)
    }

    /// Looks once in [`DORMANT_EVERY_MS`], because readers become dormant after days; again in the next sweep while
    /// there are many. An index leads to them past all others.
    async fn turn_off_dormant(&self, now: i64) -> Result<u64, StoreError> {
        let next = self.next_dormant_look.load(Ordering::Relaxed);
        if now < next && next - now <= DORMANT_EVERY_MS {
            return Ok(0);
        }
        let off = self.ports.inboxes.turn_off_unseen(self.policy.dormant_before(now), AT_ONCE).await?;
        note_tier_change(ReaderTier::Sql, ReaderTier::Nowhere, off);
        if off < AT_ONCE {
            self.next_dormant_look.store(now + DORMANT_EVERY_MS, Ordering::Relaxed);
        }
        Ok(off)
    }

    #[expect(clippy::cast_precision_loss, reason = "gauges are floats; 2^52 deliveries are not to be expected")]
    async fn measure_deliveries(&self, from: i64, now: i64) -> Result<(), StoreError> {
        let next = self.next_count.load(Ordering::Relaxed);
        if now < next && next - now <= MAX_COUNT_WAIT_MS {
            return Ok(());
        }
        let backlog = self.ports.deliveries.backlog(from, self.failing_after).await?;
        let wait = count_wait_ms(backlog.unfinished);
        let next = if wait == 0 { i64::MIN } else { now.saturating_add(wait) };
        self.next_count.store(next, Ordering::Relaxed);
        metrics::gauge!(DELIVERIES_UNFINISHED).set(backlog.unfinished as f64);
        metrics::gauge!(DELIVERIES_FAILING).set(backlog.failing as f64);
        let age_ms = backlog.oldest.map_or(0, |oldest| (now - oldest).max(0));
        metrics::gauge!(OLDEST_DELIVERY_SECONDS).set(age_ms as f64 / 1000.0);
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "gauges are floats; 2^52 messages are not to be expected")]
    async fn measure_queue(&self) -> Result<(), StoreError> {
        for topic in Topic::ALL {
            metrics::gauge!(QUEUE_DEPTH, "topic" => topic.name()).set(self.ports.queue.depth(topic).await? as f64);
        }
        Ok(())
    }
}

/// Whether a query that has found this many records has found all that are due.
const fn is_all(found: usize) -> bool {
    (found as u64) < AT_ONCE
}

/// How long to wait after this many deliveries were counted, in ms. Below [`COUNTED_IN_A_SECOND`] each sweep counts.
fn count_wait_ms(counted: u64) -> i64 {
    let seconds = counted / COUNTED_IN_A_SECOND;
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000).min(MAX_COUNT_WAIT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_backlogs_are_counted_less_often() {
        assert_eq!([0, 9_999, 10_000, 250_000, u64::MAX].map(count_wait_ms), [0, 0, 1_000, 25_000, MAX_COUNT_WAIT_MS]);
    }
}
