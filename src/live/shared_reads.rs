//! Reads that all subscriptions of a reader share.
//!
//! One small change makes all of a reader's subscriptions read the same. A question before the read has begun gets
//! its result; a later one needs the next read, because only a read that begins after a signal is known to
//! include what it announces. Readers are served in turn, and each has one read under way.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use fair_queue::{Asked, Bounds, FairQueue, Full, Limits, counted};
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};

use super::error::LiveError;
use crate::{domain::UserId, store::StoreError, telemetry::metrics::LIVE_READ_WAITS};

/// Reads for questions `Q` with answers `A`. Clones share them.
pub struct SharedReads<Q, A> {
    queue: FairQueue<UserId>,
    pending: Arc<Pending<Q, A>>,
}

type ReadResult<A> = Result<A, LiveError>;
type Read<A> = Shared<BoxFuture<'static, ReadResult<A>>>;

/// The reads that have not begun, by reader.
struct Pending<Q, A> {
    reads: Mutex<HashMap<UserId, PendingRead<Q, A>>>,
    next: AtomicU64,
}

struct PendingRead<Q, A> {
    id: u64,
    question: Q,
    read: WeakShared<BoxFuture<'static, ReadResult<A>>>,
}

/// Removes a read from those that have not begun, when it begins or is abandoned.
struct NotBegun<Q, A> {
    pending: Arc<Pending<Q, A>>,
    reader: UserId,
    id: u64,
}

impl<Q: Send + 'static, A: Clone + Send + Sync + 'static> SharedReads<Q, A> {
    /// At most `running` reads run at once. The number of subscriptions bounds those that wait.
    pub fn new(running: usize) -> Self {
        let all = Limits { running: running.max(1), waiting: usize::MAX };
        let queue = FairQueue::new(Bounds { all, one: Limits { running: 1, ..all } });
        let pending = Pending { reads: Mutex::default(), next: AtomicU64::new(0) };
        Self { queue, pending: Arc::new(pending) }
    }

    /// The answer of a read that begins after this call. `join` adds a question to one that waits already. An error is
    /// logged once, however many share it.
    pub async fn ask<F: Future<Output = Result<A, StoreError>> + Send + 'static>(
        &self,
        reader: UserId,
        question: Q,
        join: impl FnOnce(&mut Q, Q) + Send,
        read: impl FnOnce(Q) -> F + Send + 'static,
    ) -> ReadResult<A> {
        // The lock is not held across the wait.
        let read = self.joined(reader, question, join, read);
        read.await
    }

    fn joined<F: Future<Output = Result<A, StoreError>> + Send + 'static>(
        &self,
        reader: UserId,
        question: Q,
        join: impl FnOnce(&mut Q, Q),
        read: impl FnOnce(Q) -> F + Send + 'static,
    ) -> Read<A> {
        let mut reads = self.pending.reads();
        let known = reads.get_mut(&reader).and_then(|pending| Some((pending.read.upgrade()?, pending)));
        if let Some((read, pending)) = known {
            join(&mut pending.question, question);
            return read;
        }
        let id = self.pending.next.fetch_add(1, Ordering::Relaxed);
        let (queue, not_begun) = (self.queue.clone(), NotBegun { pending: Arc::clone(&self.pending), reader, id });
        let reading = async move {
            // There is always room to wait.
            let _turn = match queue.ask(reader) {
                Ok(Asked::Waits(turn)) => counted(LIVE_READ_WAITS, turn).await.ok(),
                Ok(Asked::Served(turn)) => Some(turn),
                Err(Full) => None,
            };
            let Some(question) = not_begun.begin() else { return Err(LiveError::Abandoned) };
            read(question).await.map_err(LiveError::logged)
        };
        let read = reading.boxed().shared();
        if let Some(weak) = read.downgrade() {
            reads.insert(reader, PendingRead { id, question, read: weak });
        }
        read
    }
}

impl<Q, A> Pending<Q, A> {
    fn reads(&self) -> MutexGuard<'_, HashMap<UserId, PendingRead<Q, A>>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Q, A> NotBegun<Q, A> {
    /// What is asked by now. From here on others need another read.
    fn begin(&self) -> Option<Q> {
        let mut reads = self.pending.reads();
        if reads.get(&self.reader).is_none_or(|pending| pending.id != self.id) {
            return None;
        }
        reads.remove(&self.reader).map(|pending| pending.question)
    }
}

impl<Q, A> Drop for NotBegun<Q, A> {
    fn drop(&mut self) {
        self.begin();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use futures_util::future::join_all;
    use tokio::sync::watch;

    use super::*;

    fn reader(id: i64) -> UserId {
        UserId::try_new(id).unwrap()
    }

    /// Reads that end when a test lets them, and count.
    #[derive(Clone)]
    struct Store {
        begun: Arc<Mutex<Vec<u32>>>,
        ends: watch::Sender<usize>,
    }

    impl Store {
        fn new() -> Self {
            Self { begun: Arc::default(), ends: watch::Sender::new(0) }
        }

        /// Asks for the lowest of all numbers.
        async fn ask(&self, reads: &SharedReads<u32, u32>, of: UserId, number: u32) -> ReadResult<u32> {
            let store = self.clone();
            let lowest = |waiting: &mut u32, new: u32| *waiting = new.min(*waiting);
            let read = move |number| async move {
                let nth = {
                    let mut begun = store.begun.lock().unwrap();
                    begun.push(number);
                    begun.len()
                };
                let _ = store.ends.subscribe().wait_for(|ends| *ends >= nth).await;
                Ok(number)
            };
            reads.ask(of, number, lowest, read).await
        }

        fn begun(&self) -> Vec<u32> {
            self.begun.lock().unwrap().clone()
        }
    }

    #[tokio::test]
    async fn who_asks_meanwhile_shares_the_next_read() {
        let (reads, store) = (SharedReads::new(8), Store::new());
        let mut first = Box::pin(store.ask(&reads, reader(1), 9));
        assert!((&mut first).now_or_never().is_none());
        let mut later = Box::pin(join_all([7, 5, 6].map(|number| store.ask(&reads, reader(1), number))));
        assert!((&mut later).now_or_never().is_none());
        let mut other = Box::pin(store.ask(&reads, reader(2), 8));
        assert!((&mut other).now_or_never().is_none());
        assert_eq!(store.begun(), [9, 8], "another reader does not wait");
        store.ends.send_replace(3);
        assert_eq!(first.await.unwrap(), 9);
        assert!(later.await.into_iter().all(|answer| answer.unwrap() == 5));
        assert_eq!((other.await.unwrap(), store.begun()), (8, vec![9, 8, 5]));
    }

    #[tokio::test]
    async fn an_abandoned_read_keeps_nobody_waiting() {
        let (reads, store) = (SharedReads::new(1), Store::new());
        let mut running = Box::pin(store.ask(&reads, reader(1), 1));
        let mut left = Box::pin(store.ask(&reads, reader(2), 2));
        let mut waits = Box::pin(store.ask(&reads, reader(3), 3));
        for asking in [&mut running, &mut left, &mut waits] {
            assert!(asking.now_or_never().is_none());
        }
        drop((running, left));
        store.ends.send_replace(2);
        assert_eq!(waits.await.unwrap(), 3);
        assert!(reads.pending.reads().is_empty());
    }
}
