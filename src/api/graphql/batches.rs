//! Batch scheduling: what the fields of an operation ask for at once is fetched at once.
//!
//! An operation is one task, and a loader's batch a task of its own would race with it: it would leave with the keys
//! that the first of twenty siblings asks for. So the batches of an operation run beside it in its task. It goes on
//! until all of its fields wait; then the batches do. Whatever a batch brings, it brings to all who wait for it before
//! one of them goes on: siblings stay together, level by level.

use std::{cell::RefCell, pin::pin, task::Poll};

use futures_util::{
    stream::{FuturesUnordered, StreamExt as _},
    task::FutureObj,
};

tokio::task_local! {
    /// What has been begun in this turn.
    static WAITING: RefCell<Vec<FutureObj<'static, ()>>>;
}

/// Runs `work`, and what it leaves to [`beside`] while it lasts.
pub async fn run<F: Future>(work: F) -> F::Output {
    let in_batches = async {
        let (mut work, mut batches) = (pin!(work), FuturesUnordered::new());
        std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = work.as_mut().poll(cx) {
                return Poll::Ready(output);
            }
            // Until nothing can go on: a batch that ends, or begins another, leaves the rest to be looked at again.
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

/// Lets `batch` run when the work that this belongs to waits; gives it back where there is none.
pub fn beside(batch: FutureObj<'static, ()>) -> Option<FutureObj<'static, ()>> {
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
            let (told, brought) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
            let siblings = (0..20).map(|sibling| {
                let (told, brought) = (Arc::clone(&told), Arc::clone(&brought));
                async move {
                    let waits = brought.notified();
                    told.lock().map(|mut told| told.push(format!("{sibling} waits"))).ok();
                    if sibling == 0 {
                        let told = Arc::clone(&told);
                        let brought = Arc::clone(&brought);
                        let batch = async move {
                            told.lock().map(|mut told| told.push("batch".to_owned())).ok();
                            yield_now().await;
                            brought.notify_waiters();
                        };
                        assert!(beside(FutureObj::new(Box::new(batch))).is_none());
                    }
                    waits.await;
                    told.lock().map(|mut told| told.push(format!("{sibling} goes on"))).ok();
                }
            });
            run(join_all(siblings)).await;
            let told = told.lock().map(|told| told.clone()).unwrap_or_default();
            let waiting = (0..20).map(|sibling| format!("{sibling} waits"));
            let going = (0..20).map(|sibling| format!("{sibling} goes on"));
            assert_eq!(told, waiting.chain(["batch".to_owned()]).chain(going).collect::<Vec<_>>());
        }
    }

    #[tokio::test]
    async fn a_batch_that_begins_another_and_waits_for_it_goes_on() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let (inner, answer) = tokio::sync::oneshot::channel();
        let batch = async move {
            assert!(beside(FutureObj::new(Box::new(async { inner.send(7).unwrap_or_default() }))).is_none());
            sender.send(answer.await).unwrap_or_default();
        };
        let work = async {
            assert!(beside(FutureObj::new(Box::new(batch))).is_none());
            receiver.await
        };
        let brought = tokio::time::timeout(std::time::Duration::from_mins(1), run(work)).await;
        assert!(matches!(brought, Ok(Ok(Ok(7)))), "{brought:?}");
    }

    #[tokio::test]
    async fn outside_of_any_work_a_batch_is_given_back() {
        assert!(beside(FutureObj::new(Box::new(async {}))).is_some());
    }
}
