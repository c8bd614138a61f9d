//! A TCP proxy before a server that delays bytes, holds them, cuts every connection, or leads to another server. It
//! knows no protocol.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use std::time::Duration;

use anyhow::Result;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::JoinHandle,
    time::sleep,
};

/// Bytes carried at once.
const CHUNK: usize = 16 * 1024;

/// What the line does to those who use it.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// Where new connections lead.
    server: SocketAddr,
    /// Every chunk takes so long.
    delay: Duration,
    /// Bytes are held while connections stay open.
    held: bool,
    /// Connections of an earlier number are cut.
    cuts: u64,
}

/// Listens on a port of its own until it is dropped.
pub struct Proxy {
    port: u16,
    line: watch::Sender<Line>,
    connections: Arc<AtomicU64>,
    listening: JoinHandle<()>,
}

impl Proxy {
    /// Before the server on this port of 127.0.0.1, whether it runs or not.
    pub async fn before(server: u16) -> Result<Self> {
        Self::between((Ipv4Addr::LOCALHOST, 0).into(), (Ipv4Addr::LOCALHOST, server).into()).await
    }

    /// At this address, before that server.
    pub async fn between(announced: SocketAddr, server: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(announced).await?;
        let port = listener.local_addr()?.port();
        let untroubled = Line { server, delay: Duration::ZERO, held: false, cuts: 0 };
        let ((line, seen), connections) = (watch::channel(untroubled), Arc::default());
        let listening = tokio::spawn(listen(listener, seen, Arc::clone(&connections)));
        Ok(Self { port, line, connections, listening })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Connections so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Ends every connection; new ones are taken.
    pub fn cut(&self) {
        self.line.send_modify(|line| line.cuts += 1);
    }

    /// Ends every connection; new ones lead to the server on this port of 127.0.0.1.
    pub fn lead_to(&self, server: u16) {
        self.line.send_modify(|line| {
            line.server = (Ipv4Addr::LOCALHOST, server).into();
            line.cuts += 1;
        });
    }

    /// From now on every chunk takes so long.
    pub fn slow_down(&self, delay: Duration) {
        self.line.send_modify(|line| line.delay = delay);
    }

    /// From now on nothing passes, or everything again.
    pub fn hold(&self, held: bool) {
        self.line.send_modify(|line| line.held = held);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, line: watch::Receiver<Line>, connections: Arc<AtomicU64>) {
    while let Ok((client, _)) = listener.accept().await {
        connections.fetch_add(1, Relaxed);
        tokio::spawn(connect(client, line.clone()));
    }
}

/// Whichever side ends, both do: what is under way then is lost.
async fn connect(client: TcpStream, mut line: watch::Receiver<Line>) {
    let Line { server, cuts, .. } = *line.borrow();
    let Ok(server) = TcpStream::connect(server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = carry(from_client, to_server, line.clone()) => {}
        () = carry(from_server, to_client, line.clone()) => {}
        _ = line.wait_for(|line| line.cuts != cuts) => {}
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut line: watch::Receiver<Line>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(size @ 1..) = from.read(&mut chunk).await {
        if line.wait_for(|line| !line.held).await.is_err() {
            return;
        }
        let delay = line.borrow().delay;
        if !delay.is_zero() {
            sleep(delay).await;
        }
        if to.write_all(&chunk[..size]).await.is_err() {
            return;
        }
    }
}
