//! Finishes work on a connection even if its caller is dropped.
//!
//! On MySQL, sqlx must not be cancelled half way. It counts a transaction only once its `BEGIN` is answered, and does
//! not know how much of an answer it has read. A connection abandoned in between returns to the pool inside a
//! transaction, where the next write is acknowledged and never committed; or it waits for ever for answers that it has
//! read already.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    time::{Instant, timeout},
};

/// Finishes abandoned work. Clones share its state.
#[derive(Clone, Debug)]
pub(super) struct Finisher {
    limit: Duration,
    stopped: Arc<Mutex<Option<Instant>>>,
}

impl Finisher {
    /// Time limit of work whose caller was dropped.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, stopped: Arc::default() }
    }

    /// Runs `work` to its end: here, or in a task of its own if this future is dropped.
    pub(super) fn finish<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Finish<T> {
        Finish { work: Some(Box::pin(work)), finisher: self.clone() }
    }

    /// Whether no work has stopped half way since a connection of this age was made. Such work may have used it.
    pub(super) fn has_finished_all(&self, age: Duration) -> bool {
        let stopped = *self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.is_none_or(|stopped| stopped.elapsed() > age)
    }

    fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

/// See [`Finisher::finish`].
pub(super) struct Finish<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    finisher: Finisher,
}

impl<T: Send + 'static> Future for Finish<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let done = ready!(work.as_mut().poll(context));
        self.work = None;
        Poll::Ready(done)
    }
}

impl<T: Send + 'static> Drop for Finish<T> {
    fn drop(&mut self) {
        let (Some(mut work), Ok(runtime)) = (self.work.take(), Handle::try_current()) else { return };
        let finisher = self.finisher.clone();
        drop(runtime.spawn(async move {
            if timeout(finisher.limit, work.as_mut()).await.is_err() {
                finisher.stop();
            }
        }));
    }
}
