//! One operation of a socket, from `subscribe` to `complete`, and the register of running ones. Each is a task.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_graphql::ServerError;
use axum::extract::ws::Message;
use tokio_util::sync::CancellationToken;

use super::{
    message::ServerMessage,
    queues::{QueuedFrame, Queues, payload_bytes},
};
use crate::{
    execution::PreparedExecutor,
    http::{
        outcome::Payload,
        runner::{self, TooLarge, UnpreparedOperation},
        state::Core,
        viewer::Viewer,
    },
    memory::Hold,
};

/// The ids in use on one socket, each with the token that stops its operation.
#[derive(Clone, Default)]
pub(super) struct Register(Arc<Mutex<HashMap<String, CancellationToken>>>);

impl Register {
    pub(super) fn contains(&self, id: &str) -> bool {
        self.with(|running| running.contains_key(id))
    }

    pub(super) fn len(&self) -> usize {
        self.with(|running| running.len())
    }

    pub(super) fn add(&self, id: &str) -> CancellationToken {
        let stop = CancellationToken::new();
        self.with(|running| running.insert(id.to_owned(), stop.clone()));
        stop
    }

    /// Frees `id`; `None` if it was free already.
    pub(super) fn remove(&self, id: &str) -> Option<CancellationToken> {
        self.with(|running| running.remove(id))
    }

    /// Frees all ids.
    pub(super) fn take_all(&self) -> HashMap<String, CancellationToken> {
        self.with(std::mem::take)
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<String, CancellationToken>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The destination of an operation's results.
pub(super) struct OperationSink {
    pub(super) id: String,
    pub(super) stop: CancellationToken,
    pub(super) register: Register,
    pub(super) queues: Arc<Queues>,
    /// Most bytes of one result.
    pub(super) answer_bytes: usize,
    /// Counts the memory of the last message if it is an error.
    pub(super) hold: Hold,
}

impl OperationSink {
    fn put(&self, frame: Message, held: Option<Hold>) -> impl Future<Output = ()> {
        self.queues.send_event(Box::new(QueuedFrame { frame, operation: Some(self.stop.clone()), held }))
    }

    /// Sends the last message. The id is freed before the client can know, because it may reuse it at once.
    async fn end(mut self, errors: Option<Vec<ServerError>>) {
        if self.register.remove(&self.id).is_none() {
            return;
        }
        let last = match &errors {
            Some(errors) => ServerMessage::Error { id: &self.id, payload: errors },
            None => ServerMessage::Complete { id: &self.id },
        };
        let (frame, mut held) = (last.to_frame(), self.hold.take());
        held.settle(payload_bytes(&frame));
        self.put(frame, Some(held)).await;
    }
}

impl runner::OperationSink for OperationSink {
    type Encoded = (Message, Hold);

    fn event(&self, payload: Payload<'_>, hold: Hold) -> Result<(Message, Hold), TooLarge> {
        let next = ServerMessage::Next { id: &self.id, payload };
        next.to_held_frame(self.answer_bytes, hold).ok_or(TooLarge)
    }

    fn send(&self, (frame, held): (Message, Hold)) -> impl Future<Output = ()> + Send {
        self.put(frame, Some(held))
    }
}

/// Runs the operation until it ends or the client stops it.
pub(super) fn run<E: PreparedExecutor, V: Viewer>(
    core: Arc<Core<E, V>>,
    unprepared: Box<UnpreparedOperation<V>>,
    sink: OperationSink,
) -> impl Future<Output = ()> {
    let stop = sink.stop.clone();
    // Keeps these parts where they are; arguments of an async function would take their room twice.
    async move {
        let work = runner::prepare_and_run(&core, unprepared, &sink);
        if let Some(ended) = stop.run_until_cancelled(work).await {
            sink.end(ended.err().map(|refused| refused.errors)).await;
        }
    }
}
