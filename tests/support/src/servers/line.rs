//! A proxy to a SQL server that stops at one chosen command: before the server gets it, or after the server has
//! answered it. It may be as slow as a server that is far away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
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

use super::Server;

/// The point at which the line stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The server does not get the command.
    Command,
    /// The server has answered, and `bytes` bytes of its answer have arrived.
    Answer {
        /// Bytes of the answer that pass before the line stops.
        bytes: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Everything passes.
    Open,
    /// Everything passes until the command after this many others.
    Armed { commands: usize, stop: Stop },
    /// The chosen command has passed.
    Chosen { bytes: usize },
    /// The line has stopped.
    Held,
    /// Every connection ends.
    Cut,
}

/// A proxy on its own port, until it is dropped. Stops one connection at a time.
pub struct Line {
    port: u16,
    state: Arc<watch::Sender<State>>,
    traffic: Arc<Traffic>,
    listening: JoinHandle<()>,
}

/// What passes.
#[derive(Debug, Default)]
struct Traffic {
    commands: AtomicUsize,
    /// Microseconds that each command takes longer.
    delay_us: AtomicU64,
}

impl Line {
    /// Forwards to this MySQL or MariaDB.
    pub async fn before(server: &Server) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (port, server) = (listener.local_addr()?.port(), server.port());
        let state = Arc::new(watch::Sender::new(State::Open));
        let traffic = Arc::new(Traffic::default());
        let shared = (Arc::clone(&state), Arc::clone(&traffic));
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (state, traffic) = shared.clone();
                tokio::spawn(async move { connect(client, server, (&state, &traffic)).await });
            }
        });
        Ok(Self { port, state, traffic, listening })
    }

    /// The URL of this database through the line, without encryption, which the line cannot read.
    pub fn url(&self, database: &str) -> Result<String> {
        let (server, name) = database.rsplit_once('/').context("The address names no database.")?;
        let (account, _) = server.rsplit_once('@').context("The address names no account.")?;
        Ok(format!("{account}@127.0.0.1:{}/{name}?ssl-mode=DISABLED", self.port))
    }

    /// Stops at the command after the next `commands`. Pings do not count.
    pub fn stop_after(&self, commands: usize, stop: Stop) {
        self.state.send_replace(State::Armed { commands, stop });
    }

    /// The commands so far. The client waits for the answer to each, so that each is a round trip. Pings do not count.
    pub fn commands(&self) -> usize {
        self.traffic.commands.load(Ordering::SeqCst)
    }

    /// Makes each command that is counted take so much longer from now on.
    pub fn delay(&self, by: Duration) {
        self.traffic.delay_us.store(u64::try_from(by.as_micros()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Waits until the line has stopped.
    pub async fn stopped(&self) -> Result<()> {
        self.state.subscribe().wait_for(|state| *state == State::Held).await?;
        Ok(())
    }

    /// Lets everything pass.
    pub fn open(&self) {
        self.state.send_replace(State::Open);
    }

    /// Ends the connection; new ones are taken after [`Line::open`].
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.cut();
        self.listening.abort();
    }
}

/// Ends both sides when one ends.
async fn connect(client: TcpStream, server: u16, (state, traffic): (&watch::Sender<State>, &Traffic)) -> Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let mut seen = state.subscribe();
    tokio::select! {
        ended = carry_commands(from_client, to_server, (state, traffic)) => ended,
        ended = carry_answers(from_server, to_client, state) => ended,
        _ = seen.wait_for(|state| *state == State::Cut) => Ok(()),
    }
}

/// A packet consists of its length in three bytes, a number that is 0 for a command, and a text that begins with the
/// command's code.
async fn carry_commands(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    (state, traffic): (&watch::Sender<State>, &Traffic),
) -> Result<()> {
    const QUERY: u8 = 3;
    const PREPARE: u8 = 22;
    const EXECUTE: u8 = 23;
    loop {
        let mut packet = vec![0; 4];
        from.read_exact(&mut packet).await?;
        let size = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
        packet.resize(4 + usize::try_from(size)?, 0);
        from.read_exact(&mut packet[4..]).await?;
        if packet[3] == 0 && [QUERY, PREPARE, EXECUTE].contains(&packet[4]) {
            traffic.commands.fetch_add(1, Ordering::SeqCst);
            let delay_us = traffic.delay_us.load(Ordering::SeqCst);
            if delay_us > 0 {
                sleep(Duration::from_micros(delay_us)).await;
            }
            let mut swallowed = false;
            state.send_if_modified(|state| {
                let changed = pass(state);
                swallowed = changed && *state == State::Held;
                changed
            });
            if swallowed {
                state.subscribe().wait_for(|state| *state == State::Open).await?;
            }
        }
        to.write_all(&packet).await?;
    }
}

/// Counts a command; returns whether the line's state changes.
fn pass(state: &mut State) -> bool {
    let State::Armed { commands, stop } = *state else { return false };
    *state = match (commands.checked_sub(1), stop) {
        (Some(commands), stop) => State::Armed { commands, stop },
        (None, Stop::Command) => State::Held,
        (None, Stop::Answer { bytes }) => State::Chosen { bytes },
    };
    true
}

async fn carry_answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: &watch::Sender<State>) -> Result<()> {
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let size = from.read(&mut chunk).await?;
        ensure!(size > 0, "The server has ended.");
        let mut passed = 0;
        let now = *state.borrow();
        if let State::Chosen { bytes } = now {
            passed = bytes.min(size);
            to.write_all(&chunk[..passed]).await?;
            state.send_replace(State::Held);
            state.subscribe().wait_for(|state| *state == State::Open).await?;
        }
        to.write_all(&chunk[passed..size]).await?;
    }
}
