//! The sending half of a socket: reads two bounded queues, writes frames, and gives up on a client that does not read.
//!
//! A client that does not read cannot keep the server from reading.

use std::{pin::pin, time::Duration};

use axum::extract::ws::Message;
use futures_util::{Sink, SinkExt as _};
use tokio::{
    sync::{
        Notify,
        mpsc::{Receiver, Sender, channel},
    },
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::memory::Hold;

/// Memory of a frame up to this length is not counted.
const KEPT_BYTES: usize = 64 * 1024;

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

    fn is_over(&self) -> bool {
        self.operation.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}

/// The frames that wait for a client. Boxed, because an empty queue reserves room for 32 items.
pub(super) struct Queues {
    control: Receiver<Box<Control>>,
    events: Receiver<Box<Event>>,
}

/// Frames that are sent before events.
enum Control {
    Frame(Message),
    Ping,
    /// The last frames: after those already waiting, nothing else is sent.
    Last(Vec<Message>),
}

/// Frames that are written together.
#[derive(Clone, Copy)]
enum Batch {
    Frames,
    Ping,
    Last,
}

/// The queue of the reading half's frames; never waits.
#[derive(Clone)]
pub(super) struct ControlQueue(Sender<Box<Control>>);

/// The client has left so much unread that an answer has no room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotDraining;

impl ControlQueue {
    pub(super) fn send(&self, frame: Message) -> Result<(), NotDraining> {
        self.put(Control::Frame(frame))
    }

    /// A ping; `write` says when it has gone.
    pub(super) fn ping(&self) -> Result<(), NotDraining> {
        self.put(Control::Ping)
    }

    pub(super) fn finish(&self, last: Vec<Message>) -> Result<(), NotDraining> {
        self.put(Control::Last(last))
    }

    fn put(&self, control: Control) -> Result<(), NotDraining> {
        self.0.try_send(Box::new(control)).map_err(|_| NotDraining)
    }
}

/// Both queues, each with `room` frames.
pub(super) fn queues(room: usize) -> (ControlQueue, Sender<Box<Event>>, Queues) {
    let (control, control_queue) = channel(room.max(1));
    let (events, event_queue) = channel(room.max(1));
    (ControlQueue(control), events, Queues { control: control_queue, events: event_queue })
}

/// Sends until the last frames are sent, a frame takes longer than `send_time`, or the socket fails.
///
/// Frames that wait together are written together, such as a result and its `complete`. `pinged` is notified of each
/// sent ping.
pub(super) async fn write(sink: impl Sink<Message>, mut queues: Queues, send_time: Duration, pinged: &Notify) {
    let mut sink = pin!(sink);
    // The library keeps the memory of its longest frame.
    let mut kept: Option<Hold> = None;
    loop {
        let (events, what): (Vec<Event>, Batch) = tokio::select! {
            biased;
            control = queues.control.recv() => match control.map(|control| *control) {
                Some(Control::Frame(frame)) => (vec![Event::of_socket(frame)], Batch::Frames),
                Some(Control::Ping) => (vec![Event::of_socket(Message::Ping(Vec::new().into()))], Batch::Ping),
                Some(Control::Last(last)) => {
                    (queues.waiting().into_iter().chain(last.into_iter().map(Event::of_socket)).collect(), Batch::Last)
                },
                None => return,
            },
            Some(event) = queues.events.recv() => {
                ([*event].into_iter().chain(queues.waiting()).collect(), Batch::Frames)
            }
        };
        let mut unsent = Vec::new();
        for event in events {
            if event.is_over() {
                continue;
            }
            unsent.extend(event.held);
            if !matches!(timeout(send_time, sink.feed(event.frame)).await, Ok(Ok(()))) {
                return;
            }
        }
        if !matches!(timeout(send_time, sink.flush()).await, Ok(Ok(()))) {
            return;
        }
        let longest = unsent.into_iter().chain(kept.take()).max_by_key(Hold::bytes);
        kept = longest.filter(|held| held.bytes() > KEPT_BYTES);
        match what {
            Batch::Frames => {}
            Batch::Ping => pinged.notify_one(),
            Batch::Last => return,
        }
    }
}

impl Queues {
    /// The waiting events, at most as many as the queue's capacity.
    fn waiting(&mut self) -> Vec<Event> {
        let count = self.events.len();
        (0..count).map_while(|_| self.events.try_recv().ok().map(|event| *event)).collect()
    }
}
