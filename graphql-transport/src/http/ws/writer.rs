//! The sending half of a socket: writes the frames that wait, and gives up on a client that does not read.
//!
//! A client that does not read cannot keep the server from reading.

use std::time::Duration;

use axum::extract::ws::Message;
use futures_util::{Sink, SinkExt as _};
use tokio::{sync::Notify, time::timeout};

use super::queues::{FrameBatch, Kind, QueuedFrame, Queues, payload_bytes};
use crate::memory::Hold;

/// Short frames are gathered up to this many bytes before they are written.
pub(in crate::http) const WRITE_BUFFER_BYTES: usize = 4 * 1024;
/// Memory of a frame up to this length is not counted once the frame is sent.
pub(in crate::http) const KEPT_BYTES: usize = 16 * 1024;

/// Most bytes of a frame's head (RFC 6455 section 5.2), without the mask, which servers do not use.
const HEAD_BYTES: usize = 10;

/// Why nothing is written any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// The last frames.
    All,
    /// The client has left frames unread for too long.
    Unread,
    /// The connection is broken, or a frame does not fit into the library's buffer.
    Broken,
}

/// Sends until the last frames are sent, a frame takes longer than `send_time`, or the socket fails.
///
/// Frames that wait together are written together, such as a result and its `complete`. `pinged` is notified of each
/// sent ping.
pub(super) async fn write(
    sink: &mut (impl Sink<Message> + Unpin),
    queues: &Queues,
    send_time: Duration,
    pinged: &Notify,
) -> Written {
    let mut sink = BoundedSink { sink, send_time, buffered: 0, unsent: Vec::new(), kept: None };
    loop {
        let FrameBatch { events, kind, of_library } = queues.next().await;
        sink.unsent.extend(of_library);
        if let Err(ended) = sink.write(events).await {
            return ended;
        }
        match kind {
            Kind::Frames => {}
            Kind::Ping => pinged.notify_one(),
            Kind::Last => return Written::All,
        }
    }
}

/// A sink whose library buffers no more than [`WRITE_BUFFER_BYTES`], or one frame.
struct BoundedSink<'a, S> {
    sink: &'a mut S,
    send_time: Duration,
    /// Bytes since the last flush.
    buffered: usize,
    /// The memory of frames since the last flush.
    unsent: Vec<Hold>,
    /// The library keeps the memory of its longest frame.
    kept: Option<Hold>,
}

impl<S: Sink<Message> + Unpin> BoundedSink<'_, S> {
    /// Writes and flushes the events that are not over.
    async fn write(&mut self, events: Vec<QueuedFrame>) -> Result<(), Written> {
        for event in events {
            if event.is_over() {
                continue;
            }
            let bytes = payload_bytes(&event.frame) + HEAD_BYTES;
            // A long frame is alone in the library's buffer, so that the buffer grows no longer than this frame.
            if self.buffered + bytes > WRITE_BUFFER_BYTES {
                self.flush().await?;
            }
            self.buffered += bytes;
            self.unsent.extend(event.held);
            in_time(self.send_time, self.sink.feed(event.frame)).await?;
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Written> {
        in_time(self.send_time, self.sink.flush()).await?;
        self.buffered = 0;
        let longest = std::mem::take(&mut self.unsent).into_iter().chain(self.kept.take()).max_by_key(Hold::bytes);
        self.kept = longest.filter(|held| held.bytes() > KEPT_BYTES);
        Ok(())
    }
}

async fn in_time<E>(time: Duration, sending: impl Future<Output = Result<(), E>>) -> Result<(), Written> {
    match timeout(time, sending).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Written::Broken),
        Err(_) => Err(Written::Unread),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        pin::Pin,
        task::{Context, Poll},
    };

    use tokio::time::Instant;

    use super::*;
    use crate::{
        measurements::MetricNames,
        memory::{Ledger, LedgerLimits},
    };

    /// The library's buffer: what was fed since the last flush, and the most that it ever was.
    #[derive(Default)]
    struct Buffer {
        bytes: usize,
        most: usize,
        never_flushes: bool,
    }

    impl Sink<Message> for Buffer {
        type Error = Infallible;

        fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn start_send(mut self: Pin<&mut Self>, frame: Message) -> Result<(), Infallible> {
            self.bytes += payload_bytes(&frame);
            self.most = self.most.max(self.bytes);
            Ok(())
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            if self.never_flushes {
                return Poll::Pending;
            }
            self.bytes = 0;
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }
    }

    fn ledger() -> Ledger {
        Ledger::new("tests", LedgerLimits { node: 0, client: 0 }, MetricNames::default())
    }

    fn held(ledger: &Ledger, bytes: usize) -> QueuedFrame {
        let mut held = ledger.open([None, None]);
        held.settle(bytes);
        QueuedFrame { frame: Message::text("x".repeat(bytes)), operation: None, held: Some(held) }
    }

    #[tokio::test(start_paused = true)]
    async fn the_library_s_own_answers_have_the_time_of_any_frame() {
        let (queues, ledger, begin) = (Queues::new(1), ledger(), Instant::now());
        let mut buffer = Buffer { never_flushes: true, ..Buffer::default() };
        assert!(queues.flush(125, ledger.open([None, None])).is_ok());
        let written = write(&mut buffer, &queues, Duration::from_secs(10), &Notify::new()).await;
        assert_eq!((written, begin.elapsed()), (Written::Unread, Duration::from_secs(10)));
    }

    #[tokio::test]
    async fn the_library_buffers_one_long_frame_or_a_few_short_ones() {
        let (queues, ledger, mut buffer) = (Queues::new(64), ledger(), Buffer::default());
        for bytes in [3_000, 50_000, 500, 500, 60_000, 1_000, 1_000, 1_000, 1_000] {
            queues.send_event(Box::new(held(&ledger, bytes))).await;
        }
        queues.finish(Vec::new());
        let written = write(&mut buffer, &queues, Duration::from_secs(10), &Notify::new()).await;
        assert_eq!((written, buffer.most, ledger.total()), (Written::All, 60_000, 0));
    }

    #[tokio::test]
    async fn the_longest_frame_stays_counted_while_the_library_keeps_its_memory() {
        let (queues, ledger, mut buffer) = (Queues::new(64), ledger(), Buffer::default());
        let pinged = Notify::new();
        for bytes in [KEPT_BYTES, 50_000, 60_000, 10] {
            queues.send_event(Box::new(held(&ledger, bytes))).await;
        }
        let mut writing = Box::pin(write(&mut buffer, &queues, Duration::from_secs(10), &pinged));
        assert!(timeout(Duration::from_millis(1), &mut writing).await.is_err(), "it waits for more");
        assert_eq!(ledger.total(), 60_000);
        drop(writing);
        assert_eq!(ledger.total(), 0);
    }
}
