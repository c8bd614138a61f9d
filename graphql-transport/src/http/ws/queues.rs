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

/// Most bytes of the reading half's frames, each with [`FRAME_BYTES`]. The library keeps as many of its own at most.
pub(in crate::http) const CONTROL_BYTES: usize = 8 * 1024;
/// Memory of a waiting frame beside its payload, rounded up.
const FRAME_BYTES: usize = 128;

/// A frame of an operation. It is dropped if the client has ended the operation before it is sent.
pub(super) struct QueuedFrame {
    pub(super) frame: Message,
    /// Cancelled when the client ends the operation; `None` for the socket's own frames.
    pub(super) operation: Option<CancellationToken>,
    /// Its memory, held until the client has taken it.
    pub(super) held: Option<Hold>,
}

impl QueuedFrame {
    pub(super) fn is_over(&self) -> bool {
        self.operation.as_ref().is_some_and(CancellationToken::is_cancelled)
    }
}

/// A frame that is sent before events.
enum Control {
    Frame(QueuedFrame),
    Ping,
    /// The library has made this frame, which answers a ping, and keeps it until the next flush.
    OfLibrary(Hold),
}

impl Control {
    fn bytes(&self) -> usize {
        match self {
            Self::Frame(event) => payload_bytes(&event.frame),
            Self::OfLibrary(hold) => hold.bytes(),
            Self::Ping => 0,
        }
        .saturating_add(FRAME_BYTES)
    }
}

/// Frames that are written together, and flushed.
pub(super) struct FrameBatch {
    pub(super) events: Vec<QueuedFrame>,
    pub(super) kind: Kind,
    /// The memory of a frame that the library flushes with them.
    pub(super) of_library: Option<Hold>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Frames,
    Ping,
    Last,
}

/// An answer has no room, because the client leaves too much unread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotDraining;

/// Both queues: one for control frames, bounded in bytes, and one for events, whose memory the ledger of answers
/// bounds.
pub(super) struct Queues {
    waiting: Mutex<Waiting>,
    /// Room for events.
    room: Semaphore,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    control: VecDeque<Control>,
    control_bytes: usize,
    events: VecDeque<Box<QueuedFrame>>,
    /// After these, nothing is sent.
    last: Option<Vec<Message>>,
}

impl Queues {
    /// `events`: how many wait at most, one at least.
    pub(super) fn new(events: usize) -> Self {
        Self { waiting: Mutex::default(), room: Semaphore::new(events.max(1)), arrived: Notify::new() }
    }

    /// A frame of the reading half, which never waits. `hold`: counts its memory.
    pub(super) fn send(&self, frame: Message, mut hold: Hold) -> Result<(), NotDraining> {
        hold.settle(payload_bytes(&frame));
        self.put(Control::Frame(QueuedFrame { frame, operation: None, held: Some(hold) }))
    }

    pub(super) fn ping(&self) -> Result<(), NotDraining> {
        self.put(Control::Ping)
    }

    /// The library has queued an answer of this many bytes, which only a flush sends.
    pub(super) fn flush(&self, bytes: usize, mut hold: Hold) -> Result<(), NotDraining> {
        hold.settle(bytes);
        self.put(Control::OfLibrary(hold))
    }

    /// The last frames. Nothing else is sent after them and those that wait already.
    pub(super) fn finish(&self, last: Vec<Message>) {
        self.waiting().last = Some(last);
        self.arrived.notify_one();
    }

    fn put(&self, control: Control) -> Result<(), NotDraining> {
        let mut waiting = self.waiting();
        let bytes = waiting.control_bytes + control.bytes();
        if bytes > CONTROL_BYTES {
            return Err(NotDraining);
        }
        waiting.control_bytes = bytes;
        waiting.control.push_back(control);
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    /// Puts in an event as soon as there is room.
    pub(super) async fn send_event(&self, event: Box<QueuedFrame>) {
        // The semaphore is never closed.
        if let Ok(room) = self.room.acquire().await {
            room.forget();
        }
        self.waiting().events.push_back(event);
        self.arrived.notify_one();
    }

    /// The next frames to write. For one reader.
    pub(super) async fn next(&self) -> FrameBatch {
        loop {
            if let Some(batch) = self.take() {
                return batch;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Option<FrameBatch> {
        let mut waiting = self.waiting();
        if let Some(control) = waiting.control.pop_front() {
            waiting.control_bytes -= control.bytes();
            if waiting.control.is_empty() {
                // An idle socket keeps no room for frames.
                waiting.control = VecDeque::new();
            }
            return Some(batch_of(control));
        }
        let last = waiting.last.take();
        if waiting.events.is_empty() && last.is_none() {
            return None;
        }
        let events = std::mem::take(&mut waiting.events);
        drop(waiting);
        self.room.add_permits(events.len());
        let kind = if last.is_some() { Kind::Last } else { Kind::Frames };
        let last = last.into_iter().flatten().map(|frame| QueuedFrame { frame, operation: None, held: None });
        let events = events.into_iter().map(|event| *event).chain(last).collect();
        Some(FrameBatch { events, kind, of_library: None })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn batch_of(control: Control) -> FrameBatch {
    match control {
        Control::Frame(event) => FrameBatch { events: vec![event], kind: Kind::Frames, of_library: None },
        Control::Ping => {
            let ping = QueuedFrame { frame: Message::Ping(Vec::new().into()), operation: None, held: None };
            FrameBatch { events: vec![ping], kind: Kind::Ping, of_library: None }
        }
        Control::OfLibrary(hold) => FrameBatch { events: Vec::new(), kind: Kind::Frames, of_library: Some(hold) },
    }
}

/// Bytes of a frame's payload.
pub(super) fn payload_bytes(frame: &Message) -> usize {
    match frame {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => bytes.len(),
        Message::Close(close) => close.as_ref().map_or(0, |close| 2 + close.reason.len()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use futures_util::FutureExt as _;

    use super::*;
    use crate::{
        measurements::MetricNames,
        memory::{Ledger, LedgerLimits},
    };

    fn ledger() -> Ledger {
        Ledger::new("tests", LedgerLimits { node: 0, client: 0 }, MetricNames::default())
    }

    async fn send_event(queues: &Queues, text: &str) {
        let event = QueuedFrame { frame: Message::text(text), operation: None, held: None };
        queues.send_event(Box::new(event)).await;
    }

    fn texts(batch: &FrameBatch) -> Vec<&str> {
        batch.events.iter().map(|event| event.frame.to_text().unwrap()).collect()
    }

    #[tokio::test]
    async fn waiting_events_are_one_batch_and_the_socket_goes_first() {
        let queues = Queues::new(4);
        send_event(&queues, "a").await;
        send_event(&queues, "b").await;
        queues.send(Message::text("first"), ledger().open([None, None])).unwrap();
        assert_eq!(texts(&queues.next().await), ["first"]);
        assert_eq!(texts(&queues.next().await), ["a", "b"]);
        assert!(queues.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn an_event_waits_for_room_and_an_answer_does_not() {
        let (queues, ledger) = (Queues::new(1), ledger());
        send_event(&queues, "a").await;
        let mut second = Box::pin(send_event(&queues, "b"));
        assert!(second.as_mut().now_or_never().is_none());
        assert_eq!(texts(&queues.next().await), ["a"]);
        second.await;
        assert_eq!(texts(&queues.next().await), ["b"]);
        let long = || Message::text("c".repeat(CONTROL_BYTES / 2));
        assert_eq!(queues.send(long(), ledger.open([None, None])), Ok(()));
        assert_eq!(queues.send(long(), ledger.open([None, None])), Err(NotDraining));
        assert_eq!(queues.send(Message::text("d"), ledger.open([None, None])), Ok(()), "there is room for less");
    }

    #[tokio::test]
    async fn frames_of_the_reading_half_are_bounded_in_bytes_and_counted() {
        let (queues, ledger) = (Queues::new(1), ledger());
        let mut sent = 0;
        while queues.send(Message::text("x"), ledger.open([None, None])).is_ok()
            && queues.flush(127, ledger.open([None, None])).is_ok()
        {
            sent += 128;
        }
        assert!((sent / 2..=CONTROL_BYTES).contains(&ledger.total()), "{} of {sent}", ledger.total());
        let first = queues.next().await;
        let library = queues.next().await;
        assert!(library.events.is_empty() && library.of_library.is_some(), "it is only flushed");
        let before = ledger.total();
        drop((first, library));
        assert_eq!(ledger.total(), before - 128);
        assert_eq!(queues.send(Message::text("y"), ledger.open([None, None])), Ok(()));
        drop(queues);
        assert_eq!(ledger.total(), 0);
    }

    #[tokio::test]
    async fn the_last_frames_come_after_waiting_events() {
        let (queues, ledger) = (Queues::new(2), ledger());
        send_event(&queues, "a").await;
        while queues.flush(100, ledger.open([None, None])).is_ok() {}
        queues.finish(vec![Message::text("last")]);
        loop {
            let batch = queues.next().await;
            if batch.kind == Kind::Last {
                assert_eq!(texts(&batch), ["a", "last"], "even if there is no room for others");
                break;
            }
        }
    }
}
