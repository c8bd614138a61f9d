//! Counts the bytes of a connection as they arrive, and breaks the connection when the peer stops reading.
//!
//! This applies to HTTP, event streams and WebSocket alike.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::received::Received;

/// A connection. It keeps its slot `R` until it is closed, even after an upgrade.
pub(super) struct Wire<R> {
    stream: TcpStream,
    received: Received,
    stall_time: Duration,
    /// Runs while a write finds no room.
    stalled: Option<Pin<Box<Sleep>>>,
    _room: R,
}

impl<R> Wire<R> {
    /// `stall_time`: how long a write may make no progress before the connection breaks.
    pub(super) fn new(stream: TcpStream, room: R, received: Received, stall_time: Duration) -> Self {
        Self { stream, received, stall_time, stalled: None, _room: room }
    }

    /// `written`, or an error if no write has made progress for too long.
    fn in_time<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.stall_time)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<R: Unpin> AsyncRead for Wire<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let count = buf.filled().len().saturating_sub(before);
        if let Err(no_room) = self.received.come(count) {
            buf.set_filled(before);
            return Poll::Ready(Err(io::Error::other(no_room)));
        }
        read
    }
}

impl<R: Unpin> AsyncWrite for Wire<R> {
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
