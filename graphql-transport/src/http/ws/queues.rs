//! The frames that wait for one client, in two bounded queues: those of the reading half go first.
//!
//! Two channels of tokio would take 1,600 bytes of every idle socket.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::extract::ws::Message;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::memory::Hold;

/// A frame of an operation. It is dropped if the client has ended the operation before it is sent.
pub(super) struct Event {
    pub(super) frame: Message,
    /// Cancelled when the client ends the operation; `None` for the socket's own frames.
    pub(super) operation: Option<CancellationToken>,
    /// Its memory, held until the client has taken it.
    pub(super) held: Option<Hold>,
}

impl Event {
    fn of_socket(frame: Message) -> Self {
        Self { frame, operation: None, held: None }
    }

    pub(super) fn is_over(&self) -> bool {
        self.operation.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}

/// Frames that are sent before events.
enum Control {
    Frame(Message),
    Ping,
    /// The last frames: after those already waiting, nothing else is sent.
    Last(Vec<Message>),
}

/// Frames that are written together.
pub(super) struct Batch {
    pub(super) events: Vec<Event>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Frames,
    Ping,
    Last,
}

/// The client has left so much unread that an answer has no room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotDraining;

/// Both queues, each with the same room.
pub(super) struct Queues {
    waiting: Mutex<Waiting>,
    /// Control frames that wait at most.
    most: usize,
    /// Room for events.
    room: Semaphore,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    control: VecDeque<Control>,
    events: VecDeque<Box<Event>>,
}

impl Queues {
    /// `most`: frames that wait in each queue at most, one at least.
    pub(super) fn new(most: usize) -> Self {
        let most = most.max(1);
        Self { waiting: Mutex::default(), most, room: Semaphore::new(most), arrived: Notify::new() }
    }

    /// A frame of the reading half, which never waits.
    pub(super) fn send(&self, frame: Message) -> Result<(), NotDraining> {
        self.put(Control::Frame(frame))
    }

    pub(super) fn ping(&self) -> Result<(), NotDraining> {
        self.put(Control::Ping)
    }

    /// The last frames.
    pub(super) fn finish(&self, last: Vec<Message>) -> Result<(), NotDraining> {
        self.put(Control::Last(last))
    }

    fn put(&self, control: Control) -> Result<(), NotDraining> {
        let mut waiting = self.waiting();
        if waiting.control.len() >= self.most {
            return Err(NotDraining);
        }
        waiting.control.push_back(control);
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    /// Puts in an event as soon as there is room.
    pub(super) async fn send_event(&self, event: Box<Event>) {
        // The semaphore is never closed.
        if let Ok(room) = self.room.acquire().await {
            room.forget();
        }
        self.waiting().events.push_back(event);
        self.arrived.notify_one();
    }

    /// The next frames to write. For one reader.
    pub(super) async fn next(&self) -> Batch {
        loop {
            if let Some(batch) = self.take() {
                return batch;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Option<Batch> {
        let mut waiting = self.waiting();
        let control = waiting.control.pop_front();
        if waiting.control.is_empty() {
            // An idle socket keeps no room for frames.
            waiting.control = VecDeque::new();
        }
        let of_socket = |frame, kind| Some(Batch { events: vec![Event::of_socket(frame)], kind });
        let (last, kind) = match control {
            Some(Control::Frame(frame)) => return of_socket(frame, Kind::Frames),
            Some(Control::Ping) => return of_socket(Message::Ping(Vec::new().into()), Kind::Ping),
            Some(Control::Last(last)) => (last, Kind::Last),
            None if waiting.events.is_empty() => return None,
            None => (Vec::new(), Kind::Frames),
        };
        let events = std::mem::take(&mut waiting.events);
        drop(waiting);
        self.room.add_permits(events.len());
        let events = events.into_iter().map(|event| *event).chain(last.into_iter().map(Event::of_socket)).collect();
        Some(Batch { events, kind })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use futures_util::FutureExt as _;

    use super::*;

    async fn send_event(queues: &Queues, text: &str) {
        queues.send_event(Box::new(Event::of_socket(Message::text(text)))).await;
    }

    fn texts(batch: &Batch) -> Vec<&str> {
        batch.events.iter().map(|event| event.frame.to_text().unwrap()).collect()
    }

    #[tokio::test]
    async fn waiting_events_are_one_batch_and_the_socket_goes_first() {
        let queues = Queues::new(4);
        send_event(&queues, "a").await;
        send_event(&queues, "b").await;
        queues.send(Message::text("first")).unwrap();
        assert_eq!(texts(&queues.next().await), ["first"]);
        assert_eq!(texts(&queues.next().await), ["a", "b"]);
        assert!(queues.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn an_event_waits_for_room_and_an_answer_does_not() {
        let queues = Queues::new(1);
        send_event(&queues, "a").await;
        let mut second = Box::pin(send_event(&queues, "b"));
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!(texts(&queues.next().await), ["a"]);
        second.await;
        assert_eq!(texts(&queues.next().await), ["b"]);
        assert_eq!((queues.send(Message::text("c")), queues.send(Message::text("d"))), (Ok(()), Err(NotDraining)));
    }

    #[tokio::test]
    async fn the_last_frames_come_after_waiting_events() {
        let queues = Queues::new(2);
        send_event(&queues, "a").await;
        queues.finish(vec![Message::text("last")]).unwrap();
        let batch = queues.next().await;
        assert!(batch.kind == Kind::Last && texts(&batch) == ["a", "last"]);
    }
}
