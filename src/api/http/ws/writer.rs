//! The sending half of a socket: two bounded queues in, frames out, and an end when the client does not read.
//!
//! Apart from the reading half, so that a client that does not read cannot keep the server from reading. It refuses to
//! know what the frames say.

use std::{pin::pin, time::Duration};

use axum::extract::ws::Message;
use futures_util::{Sink, SinkExt as _};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// A frame of an operation: dropped if the operation is over by the time its turn comes.
pub(super) struct Event {
    pub(super) frame: Message,
    pub(super) operation: CancellationToken,
}

/// Where frames wait for a client.
pub(super) struct Queues {
    control: Receiver<Control>,
    events: Receiver<Event>,
}

/// What goes before events.
enum Control {
    Frame(Message),
    /// The last frames: after what waits already, nothing else is sent.
    Last(Vec<Message>),
}

/// Puts in what the reading half has to say; never waits.
#[derive(Clone)]
pub(super) struct ControlQueue(Sender<Control>);

/// The client has left so much unread that there is no room for an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotDraining;

impl ControlQueue {
    pub(super) fn send(&self, frame: Message) -> Result<(), NotDraining> {
        self.0.try_send(Control::Frame(frame)).map_err(|_| NotDraining)
    }

    pub(super) fn finish(&self, last: Vec<Message>) -> Result<(), NotDraining> {
        self.0.try_send(Control::Last(last)).map_err(|_| NotDraining)
    }
}

/// Both queues, each with room for `room` frames.
pub(super) fn queues(room: usize) -> (ControlQueue, Sender<Event>, Queues) {
    let (control, control_queue) = channel(room.max(1));
    let (events, event_queue) = channel(room.max(1));
    (ControlQueue(control), events, Queues { control: control_queue, events: event_queue })
}

/// Sends until the last frames have gone, or a frame takes longer than `send_time`, or the socket fails.
pub(super) async fn write(sink: impl Sink<Message>, mut queues: Queues, send_time: Duration) {
    let mut sink = pin!(sink);
    loop {
        let (frames, is_last) = tokio::select! {
            biased;
            control = queues.control.recv() => match control {
                Some(Control::Frame(frame)) => (vec![frame], false),
                Some(Control::Last(last)) => (queues.waiting().into_iter().chain(last).collect(), true),
                None => return,
            },
            Some(event) = queues.events.recv() => (live(event).into_iter().collect(), false),
        };
        for frame in frames {
            if !matches!(timeout(send_time, sink.send(frame)).await, Ok(Ok(()))) {
                return;
            }
        }
        if is_last {
            return;
        }
    }
}

impl Queues {
    fn waiting(&mut self) -> Vec<Message> {
        let mut frames = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            frames.extend(live(event));
        }
        frames
    }
}

fn live(event: Event) -> Option<Message> {
    (!event.operation.is_cancelled()).then_some(event.frame)
}
