//! A question that many have at once and that is sent once for all of them. Nobody gets the answer to a question that
//! was sent before they came: a caller who comes while one is under way waits for the next.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{runtime::Handle, sync::oneshot};

use super::catching_up::KnowsPrimary;

/// Those who have given up are looked for when more than this many wait.
const MANY: usize = 1_024;

/// Who sends the question.
pub trait Asker: Send + 'static {
    /// What all who wait get.
    type Answer: Clone + Send + Sync + 'static;

    /// Sends the question, and waits for its answer; `None` if there is none. Ends within a bound of its own.
    fn ask(&mut self) -> impl Future<Output = Option<Self::Answer>> + Send;
}

/// Sends the question, again and again, until nobody waits for an answer.
pub type Asking = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Clones share the question.
pub struct SharedQuestion<A: Asker>(Arc<Mutex<State<A>>>);

struct State<A: Asker> {
    /// Who asks, unless it is asking.
    asker: Option<A>,
    /// Who came after the last question was sent.
    waiting: Vec<oneshot::Sender<Option<A::Answer>>>,
}

impl<A: Asker> Clone for SharedQuestion<A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<A: Asker> SharedQuestion<A> {
    /// Nobody has asked yet.
    pub fn of(asker: A) -> Self {
        Self(Arc::new(Mutex::new(State { asker: Some(asker), waiting: Vec::new() })))
    }

    /// The answer to a question that is sent after this call began; `None` if there is none. If nobody is asking,
    /// `spawn` gets the future that asks, to run it beside this call, which may be dropped while others wait.
    pub async fn ask_by(&self, spawn: impl FnOnce(Asking)) -> Option<A::Answer> {
        let (sender, answer) = oneshot::channel();
        if let Some(asker) = self.join(sender) {
            spawn(Box::pin(self.clone().ask_for_all(asker)));
        }
        answer.await.ok().flatten()
    }

    /// Joins those who wait; returns the asker if nobody is asking.
    fn join(&self, sender: oneshot::Sender<Option<A::Answer>>) -> Option<A> {
        let mut state = self.state();
        if state.waiting.len() > MANY {
            state.waiting.retain(|waiting| !waiting.is_closed());
        }
        state.waiting.push(sender);
        state.asker.take()
    }

    /// Asks until nobody waits.
    async fn ask_for_all(self, mut asker: A) {
        loop {
            let waiting = {
                let mut state = self.state();
                if state.waiting.is_empty() {
                    state.asker = Some(asker);
                    return;
                }
                // Before the question is sent: from here on, all who come wait for the next one.
                mem::take(&mut state.waiting)
            };
            let answer = asker.ask().await;
            for waiting in waiting {
                // An error means that somebody has given up.
                let _ = waiting.send(answer.clone());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State<A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Asker> KnowsPrimary for SharedQuestion<A> {
    type There = A::Answer;

    async fn ask(&self) -> Option<A::Answer> {
        let runtime = Handle::try_current().ok()?;
        self.ask_by(|asking| drop(runtime.spawn(asking))).await
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    /// Answers with how much was committed when the question was sent, once it is allowed to.
    struct Slow {
        committed: Arc<AtomicU64>,
        allowed: Arc<Semaphore>,
        sent: Arc<AtomicU64>,
    }

    impl Asker for Slow {
        type Answer = u64;

        async fn ask(&mut self) -> Option<u64> {
            let answer = self.committed.load(Ordering::SeqCst);
            self.sent.fetch_add(1, Ordering::SeqCst);
            self.allowed.acquire().await.ok()?.forget();
            Some(answer)
        }
    }

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn nobody_gets_an_answer_that_was_asked_for_before_they_came() {
        let (committed, allowed) = (Arc::new(AtomicU64::new(1)), Arc::new(Semaphore::new(0)));
        let sent = Arc::new(AtomicU64::new(0));
        let asker = Slow { committed: committed.clone(), allowed: allowed.clone(), sent: sent.clone() };
        let question = SharedQuestion::of(asker);
        let ask = || {
            let question = question.clone();
            Handle::current().spawn(async move { question.ask().await })
        };
        let first = ask();
        until(|| sent.load(Ordering::SeqCst) == 1).await;
        committed.store(2, Ordering::SeqCst);
        let later: Vec<_> = (0..5).map(|_| ask()).collect();
        let waiting = || question.state().waiting.len();
        until(|| waiting() == 5).await;
        first.abort();
        allowed.add_permits(2);
        for answer in later {
            assert_eq!(answer.await.unwrap(), Some(2), "the commit of before is in the answer");
        }
        assert_eq!(sent.load(Ordering::SeqCst), 2, "one question for the five");
        until(|| question.state().asker.is_some()).await;
        allowed.add_permits(1);
        assert_eq!(question.ask().await, Some(2), "and it is asked again");
    }
}
