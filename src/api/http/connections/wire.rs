//! A connection's bytes: counted as they come, and given up on when the other side takes none.
//!
//! Apart, because it holds for whatever is spoken: HTTP, streams of events, WebSocket. It refuses to know what is said.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::Room;

/// How many bytes have come on a connection; every request on it has it among its extensions.
#[derive(Debug, Clone, Default)]
pub(in crate::api::http) struct Received(Arc<AtomicU64>);

impl Received {
    pub(in crate::api::http) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection, which keeps its room until it is closed, whatever is spoken on it by then.
pub(super) struct Wire {
    stream: TcpStream,
    received: Received,
    stall_time: Duration,
    /// Since a write has found no room.
    stalled: Option<Pin<Box<Sleep>>>,
    _room: Room,
}

impl Wire {
    /// `stall_time`: what waits to be sent for so long, without a byte being taken, breaks the connection.
    pub(super) fn new(stream: TcpStream, room: Room, stall_time: Duration) -> Self {
        Self { stream, received: Received::default(), stall_time, stalled: None, _room: room }
    }

    pub(super) fn received(&self) -> Received {
        self.received.clone()
    }

    /// `written`, or an error if nothing could be written for too long.
    fn in_time<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.stall_time)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let count = buf.filled().len().saturating_sub(before);
        self.received.0.fetch_add(count as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.in_time(written, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.in_time(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.in_time(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
