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

/// What a socket keeps of a frame that is no longer than this counts for nothing.
const KEPT_BYTES: usize = 64 * 1024;

/// A frame of an operation: dropped if the client has ended the operation by the time its turn comes.
pub(super) struct Event {
    pub(super) frame: Message,
    /// Cancelled when the client ends the operation; `None` for a frame of the socket's own.
    pub(super) operation: Option<CancellationToken>,
    /// What it takes of memory, until the client has taken it.
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

/// Where frames wait for a client. In boxes: an empty queue has room for 32 of what it queues.
pub(super) struct Queues {
    control: Receiver<Box<Control>>,
    events: Receiver<Box<Event>>,
}

/// What goes before events.
enum Control {
    Frame(Message),
    Ping,
    /// The last frames: after what waits already, nothing else is sent.
    Last(Vec<Message>),
}

/// What is written at once.
#[derive(Clone, Copy)]
enum Batch {
    Frames,
    Ping,
    Last,
}

/// Puts in what the reading half has to say; never waits.
#[derive(Clone)]
pub(super) struct ControlQueue(Sender<Box<Control>>);

/// The client has left so much unread that there is no room for an answer.
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

/// Both queues, each with room for `room` frames.
pub(super) fn queues(room: usize) -> (ControlQueue, Sender<Box<Event>>, Queues) {
    let (control, control_queue) = channel(room.max(1));
    let (events, event_queue) = channel(room.max(1));
    (ControlQueue(control), events, Queues { control: control_queue, events: event_queue })
}

/// Sends until the last frames have gone, or a frame takes longer than `send_time`, or the socket fails.
///
/// What waits together goes together: a result and its `complete` are one write. `pinged` is notified of each ping
/// that has been sent.
pub(super) async fn write(sink: impl Sink<Message>, mut queues: Queues, send_time: Duration, pinged: &Notify) {
    let mut sink = pin!(sink);
    // The library keeps the memory of the longest frame that it has sent.
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
    /// The events that wait now, as many as the queue has room for.
    fn waiting(&mut self) -> Vec<Event> {
        let count = self.events.len();
        (0..count).map_while(|_| self.events.try_recv().ok().map(|event| *event)).collect()
    }
}
