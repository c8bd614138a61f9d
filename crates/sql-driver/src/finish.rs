//! Finishes work on a connection even if its caller is dropped.
//!
//! A connection to a server whose work is given up half way is of no use any more (`server::connections`), and the
//! server would not notice before it has an answer.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{runtime::Handle, time::timeout};

/// Finishes abandoned work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finisher {
    limit: Duration,
}

impl Finisher {
    /// Time limit of work whose caller was dropped.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit }
    }

    /// Runs `work` to its end: here, or in a task of its own if this future is dropped.
    pub(crate) fn finish<T: Send + 'static>(self, work: impl Future<Output = T> + Send + 'static) -> Finish<T> {
        Finish { work: Some(Box::pin(work)), limit: self.limit }
    }
}

/// See [`Finisher::finish`].
pub(crate) struct Finish<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    limit: Duration,
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
        let limit = self.limit;
        drop(runtime.spawn(async move { timeout(limit, work.as_mut()).await.map(drop) }));
    }
}
