//! A permit, and the wait for one. Both give back what they hold when they are dropped.

use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::oneshot;

use crate::{
    Client, FairQueue, Full,
    state::{Place, Verdict},
};

/// What a client gets that asks.
#[derive(Debug)]
pub enum Asked<K: Client> {
    /// A permit.
    Served(Turn<K>),
    /// A place in the queue.
    Waits(Waiting<K>),
}

/// A permit, held until it is dropped.
pub struct Turn<K: Client> {
    queue: FairQueue<K>,
    client: K,
}

impl<K: Client> Turn<K> {
    pub(crate) const fn new(queue: FairQueue<K>, client: K) -> Self {
        Self { queue, client }
    }

    /// Who holds it.
    pub const fn client(&self) -> &K {
        &self.client
    }
}

impl<K: Client> Drop for Turn<K> {
    fn drop(&mut self) {
        self.queue.state().end(&self.client);
    }
}

impl<K: Client> fmt::Debug for Turn<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Turn").finish_non_exhaustive()
    }
}

/// A place in the queue. Its result is a permit, or [`Full`] if another client has taken the place.
pub struct Waiting<K: Client> {
    queue: FairQueue<K>,
    client: K,
    id: u64,
    verdict: oneshot::Receiver<Verdict>,
    is_over: bool,
}

impl<K: Client> Waiting<K> {
    pub(crate) fn new(queue: FairQueue<K>, client: K, place: Place) -> Self {
        let Place { id, verdict } = place;
        Self { queue, client, id, verdict, is_over: false }
    }

    /// As the future itself, without wrapping the permit, which is the caller's then.
    pub(crate) async fn served(mut self) -> Result<(), Full> {
        let verdict = (&mut self.verdict).await;
        self.is_over = true;
        verdict_of(verdict.ok())
    }
}

fn verdict_of(verdict: Option<Verdict>) -> Result<(), Full> {
    if verdict == Some(Verdict::Served) { Ok(()) } else { Err(Full) }
}

impl<K: Client> Future for Waiting<K> {
    type Output = Result<Turn<K>, Full>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Poll::Ready(verdict) = Pin::new(&mut self.verdict).poll(cx) else { return Poll::Pending };
        self.is_over = true;
        Poll::Ready(verdict_of(verdict.ok()).map(|()| Turn::new(self.queue.clone(), self.client.clone())))
    }
}

impl<K: Client> Drop for Waiting<K> {
    fn drop(&mut self) {
        if mem::replace(&mut self.is_over, true) {
            return;
        }
        let mut state = self.queue.state();
        // Verdicts are given under the same lock: either it still waits, or its verdict is here.
        if !state.leave(&self.client, self.id) && self.verdict.try_recv() == Ok(Verdict::Served) {
            state.end(&self.client);
        }
    }
}

impl<K: Client> fmt::Debug for Waiting<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Waiting").finish_non_exhaustive()
    }
}
