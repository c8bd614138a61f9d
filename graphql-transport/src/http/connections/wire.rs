//! Counts the bytes of a connection as they arrive, and breaks the connection when the peer stops reading.
//!
//! This applies to HTTP, event streams and WebSocket alike. If the server closes a WebSocket, its connection lingers:
//! bytes that nobody has read would reset it, and the client would not see the reason.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf, copy, sink},
    net::TcpStream,
    runtime::Handle,
    time::{Sleep, sleep, timeout},
};
use tokio_util::task::TaskTracker;

use super::received::Received;

/// Time for what a client still sends after the server has closed.
const LINGER_TIME: Duration = Duration::from_secs(1);
/// Most bytes of it.
const LINGER_BYTES: u64 = 4 * 1024 * 1024;

/// A connection. It keeps its slot `R` until it is closed, even after an upgrade.
pub(super) struct Wire<R: Send + 'static> {
    /// The connection and its slot; `None` once it lingers.
    open: Option<(TcpStream, R)>,
    /// For the task of a connection that lingers.
    tasks: TaskTracker,
    received: Received,
    stall_time: Duration,
    /// Runs while a write finds no room.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<R: Send> Wire<R> {
    /// `stall_time`: how long a write may make no progress before the connection breaks.
    pub(super) fn new(open: (TcpStream, R), tasks: TaskTracker, received: Received, stall_time: Duration) -> Self {
        Self { open: Some(open), tasks, received, stall_time, stalled: None }
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.open.as_mut().map(|(stream, _)| Pin::new(stream)).ok_or_else(|| io::ErrorKind::NotConnected.into())
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

impl<R: Send + Unpin> AsyncRead for Wire<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = self.stream()?.poll_read(cx, buf);
        let count = buf.filled().len().saturating_sub(before);
        if let Err(unreceived) = self.received.come(count) {
            buf.set_filled(before);
            return Poll::Ready(Err(io::Error::other(unreceived)));
        }
        read
    }
}

impl<R: Send + Unpin> AsyncWrite for Wire<R> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.stream()?.poll_write(cx, buf);
        self.in_time(written, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.stream()?.poll_flush(cx);
        self.in_time(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream()?.poll_write_vectored(cx, bufs);
        self.in_time(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.open.as_ref().is_some_and(|(stream, _)| stream.is_write_vectored())
    }
}

impl<R: Send + 'static> Drop for Wire<R> {
    fn drop(&mut self) {
        if self.received.leaves_unread()
            && let (Some(open), Ok(runtime)) = (self.open.take(), Handle::try_current())
        {
            self.tasks.spawn_on(linger(open), &runtime);
        }
    }
}

/// Ends the sending side, so that the client closes, and discards what it still sends.
async fn linger<R>((mut stream, room): (TcpStream, R)) {
    let rest = async {
        stream.shutdown().await?;
        copy(&mut stream.take(LINGER_BYTES), &mut sink()).await
    };
    // Whether the client has closed or the time is up, the connection ends.
    let _ = timeout(LINGER_TIME, rest).await;
    drop(room);
}
