//! Schedules the loaders' batches of an operation, so that fields that wait together are fetched together.
//!
//! A batch in a task of its own would race with the operation and start with the keys of the first of twenty siblings.
//! So batches run in the operation's task. The operation runs until all of its fields wait; then the batches run. A
//! batch completes all of its waiting fields before any of them continues, so siblings stay together, level by level.

use std::{cell::RefCell, pin::pin, task::Poll};

use futures_util::{
    stream::{FuturesUnordered, StreamExt as _},
    task::FutureObj,
};

tokio::task_local! {
    /// Batches that were added since the fields last waited.
    static WAITING: RefCell<Vec<FutureObj<'static, ()>>>;
}

/// Runs `work`, and concurrently the batches that it passes to [`spawn_in_operation`].
pub async fn run<F: Future>(work: F) -> F::Output {
    let in_batches = async {
        let (mut work, mut batches) = (pin!(work), FuturesUnordered::new());
        std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = work.as_mut().poll(cx) {
                return Poll::Ready(output);
            }
            // Repeats until nothing can go on, because a batch that ends or begins another may unblock the rest.
            loop {
                batches.extend(WAITING.with(RefCell::take));
                let has_ended = matches!(batches.poll_next_unpin(cx), Poll::Ready(Some(())));
                if !has_ended && WAITING.with(|begun| begun.borrow().is_empty()) {
                    return Poll::Pending;
                }
            }
        })
        .await
    };
    WAITING.scope(RefCell::default(), in_batches).await
}

/// Runs `batch` as soon as the surrounding [`run`] waits. Without a surrounding one, returns it.
pub fn spawn_in_operation(batch: FutureObj<'static, ()>) -> Option<FutureObj<'static, ()>> {
    let mut batch = Some(batch);
    let _outside = WAITING.try_with(|begun| begun.borrow_mut().extend(batch.take()));
    batch
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::future::join_all;
    use tokio::{sync::Notify, task::yield_now};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_batch_begins_when_all_siblings_wait_and_they_go_on_together() {
        for _ in 0..100 {
            let (events, brought) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
            let siblings = (0..20).map(|sibling| {
                let (events, brought) = (Arc::clone(&events), Arc::clone(&brought));
                async move {
                    let waits = brought.notified();
                    events.lock().map(|mut events| events.push(format!("{sibling} waits"))).ok();
                    if sibling == 0 {
                        let events = Arc::clone(&events);
                        let brought = Arc::clone(&brought);
                        let batch = async move {
                            events.lock().map(|mut events| events.push("batch".to_owned())).ok();
                            yield_now().await;
                            brought.notify_waiters();
                        };
                        assert!(spawn_in_operation(FutureObj::new(Box::new(batch))).is_none());
                    }
                    waits.await;
                    events.lock().map(|mut events| events.push(format!("{sibling} goes on"))).ok();
                }
            });
            run(join_all(siblings)).await;
            let events = events.lock().map(|events| events.clone()).unwrap_or_default();
            let waiting = (0..20).map(|sibling| format!("{sibling} waits"));
            let going = (0..20).map(|sibling| format!("{sibling} goes on"));
            assert_eq!(events, waiting.chain(["batch".to_owned()]).chain(going).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn a_batch_that_begins_another_and_waits_for_it_goes_on() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let (inner, answer) = tokio::sync::oneshot::channel();
        let batch = async move {
            assert!(
                spawn_in_operation(FutureObj::new(Box::new(async { inner.send(7).unwrap_or_default() }))).is_none()
            );
            sender.send(answer.await).unwrap_or_default();
        };
        let work = async {
            assert!(spawn_in_operation(FutureObj::new(Box::new(batch))).is_none());
            receiver.await
        };
        let brought = tokio::time::timeout(std::time::Duration::from_mins(1), run(work)).await;
        assert!(matches!(brought, Ok(Ok(Ok(7)))), "{brought:?}");
    }

    #[tokio::test]
    async fn outside_of_any_work_a_batch_is_given_back() {
        assert!(spawn_in_operation(FutureObj::new(Box::new(async {}))).is_some());
    }
}
