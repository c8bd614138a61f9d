//! Measures subscribers: how long one publish takes to reach the last of many, and the memory of an idle one.

use std::{
    cell::Cell,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, future::try_join_all, stream};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    client::{Client, request},
    figure::{Figure, Target},
    metrics::Metrics,
    node::{Node, set},
    people::{self, Person},
    processes,
    rounds::alternate,
    rows::delivery::{OPEN, PUBLISH},
    site::Site,
    socket::Socket,
};

const SUBSCRIBE: &str = "subscription { newFeed { __typename ... on EntryAdded { timelineEdge { cursor node { id text createdAt \
    author { id handle name } } } } } }";
/// Sockets opened at once.
const OPENING: usize = 32;
/// Sockets of one viewer.
const SHARED: usize = 10;
/// So long the node does nothing to speak of when all subscriptions have begun.
const RESTING: Duration = Duration::from_millis(300);
/// Ping interval (ms), longer than a row takes: the bench does not read all sockets, so they must not be pinged.
pub const SILENCE_MS: u64 = 900_000;

/// Time until the last subscriber has the event, against a bare broadcast of the same bytes over as many sockets.
pub async fn one_publish(site: &mut Site) -> Result<Vec<Figure>> {
    site.restart(&vec![set("websocket.ping_ms", &SILENCE_MS), set("websocket.pong_timeout_ms", &SILENCE_MS)]).await?;
    let count = site.options.size(10_000, 20).min(processes::open_many_sockets() / 2 - 500);
    let viewers = site.people((1, 1_000), count / SHARED).await?;
    let (author, _) = site.author(0).await?;
    follow(site, &viewers, &author).await?;
    let mut ours = subscribed(site, &viewers, count).await?;
    let ask = Ask::once(site.address(), publish(&author));
    let event = broadcast(&ask, &mut ours).await?.event;
    let bare = Node::bare(site.store.folder(), b"{}", &event).await?;
    let mut theirs = opened(bare.address, &viewers, count).await?;
    let bare_ask = Ask::once(bare.address, BARE_PUBLISH.to_vec());
    let rounds = alternate(
        site.options.rounds(),
        async || Ok(broadcast(&ask, &mut ours).await?.last_ms),
        async || Ok(broadcast(&bare_ask, &mut theirs).await?.last_ms),
    )
    .await?;
    drop((ours, theirs));
    site.restart(&Vec::new()).await?;
    let what = format!("one publish, last of {count} subscribers, against a bare broadcast");
    Ok(vec![Figure::multiple(what, &rounds, ("ms", "ms"), Target::AtMost(1.5, 1.2))])
}

/// The same of the bare server.
pub const BARE_PUBLISH: &[u8] = b"POST /publish HTTP/1.1\r\nhost: bench\r\ncontent-length: 0\r\n\r\n";

/// A request that makes a server send an event to each subscription.
pub struct Ask {
    pub address: SocketAddr,
    pub publish: Vec<u8>,
    /// How often it is sent, one after the other.
    pub times: usize,
    /// Events that each socket gets in all.
    pub events: usize,
}

impl Ask {
    /// One request, and one subscription on each socket.
    fn once(address: SocketAddr, publish: Vec<u8>) -> Self {
        Self { address, publish, times: 1, events: 1 }
    }
}

/// Times of one publish.
pub struct Broadcast {
    /// Milliseconds from the request until the first socket has got its events.
    pub first_ms: f64,
    /// Until the last has.
    pub last_ms: f64,
    pub event: String,
}

/// The request.
pub fn publish(author: &Person) -> Vec<u8> {
    request(Some(&author.token), PUBLISH, &json!({ "text": "High water at six, and the boats go out." }))
}

/// Sends the request and waits until every socket has got its events.
pub async fn broadcast(ask: &Ask, sockets: &mut [Socket]) -> Result<Broadcast> {
    let mut client = Client::to(ask.address).await?;
    let began = Instant::now();
    let elapsed_ms = || began.elapsed().as_secs_f64() * 1e3;
    let asking = async {
        for _ in 0..ask.times {
            client.ask(&ask.publish).await?;
            ensure!(client.body().starts_with(b"{\"data\""), "{}", String::from_utf8_lossy(client.body()));
        }
        Ok(())
    };
    let first_ms = Cell::new(f64::MAX);
    let hearing = try_join_all(sockets.iter_mut().map(async |socket| {
        let mut event = socket.text().await?;
        for _ in 1..ask.events {
            event = socket.text().await?;
        }
        first_ms.set(first_ms.get().min(elapsed_ms()));
        anyhow::Ok(event)
    }));
    let ((), events) = tokio::try_join!(asking, hearing)?;
    let event = String::from_utf8(events.into_iter().next().context("there are no sockets")?)?;
    Ok(Broadcast { first_ms: first_ms.get(), last_ms: elapsed_ms(), event })
}

/// Lets all of them follow the author.
pub async fn follow(site: &Site, viewers: &[Person], author: &Person) -> Result<()> {
    let query = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { code } } }";
    let mut client = Client::to(site.address()).await?;
    for viewer in viewers.iter().filter(|viewer| viewer.number != author.number) {
        client.data(Some(&viewer.token), query, json!({ "id": author.id })).await?;
    }
    people::wait_for_none(&mut site.database().await?, "SELECT COUNT(*) FROM relations", "changed relations").await
}

/// Sockets of these viewers in turn.
pub async fn opened(address: SocketAddr, viewers: &[Person], count: usize) -> Result<Vec<Socket>> {
    let tokens = viewers.iter().cycle().take(count).enumerate();
    let tokens = tokens.map(|(at, viewer)| Socket::open(source(at), address, &viewer.token));
    stream::iter(tokens).buffered(OPENING).try_collect().await
}

/// Source address of a socket. Each has only about 28,000 ports, and a closed socket keeps its port for a minute.
fn source(at: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, u8::try_from(1 + at / 10_000).unwrap_or(u8::MAX))
}

/// Sockets whose subscriptions have begun.
pub async fn subscribed(site: &Site, viewers: &[Person], count: usize) -> Result<Vec<Socket>> {
    let mut sockets = opened(site.address(), viewers, count).await?;
    subscribe(site, &mut sockets, 1).await?;
    Ok(sockets)
}

/// Begins as many subscriptions on each socket.
pub async fn subscribe(site: &Site, sockets: &mut [Socket], on_each: usize) -> Result<()> {
    for socket in sockets.iter_mut() {
        for number in 0..on_each {
            socket.subscribe(number, SUBSCRIBE).await?;
        }
    }
    let (wanted, deadline) = (sockets.len() * on_each, Instant::now() + Duration::from_mins(5));
    while subscriptions(site).await? < wanted {
        ensure!(Instant::now() < deadline, "{} subscriptions of {wanted}", subscriptions(site).await?);
        sleep(Duration::from_millis(50)).await;
    }
    at_rest(site, deadline).await
}

/// Waits until the node has hardly anything to do: a subscription is counted before it gets events.
async fn at_rest(site: &Site, deadline: Instant) -> Result<()> {
    loop {
        let before = processes::cpu_us(site.node_pid())?;
        sleep(RESTING).await;
        let busy = processes::cpu_us(site.node_pid())? - before;
        if busy < RESTING.as_secs_f64() * 1e6 / 10.0 {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "the node does not come to rest");
    }
}

/// Lets everybody subscribe once, and waits until the node has closed their sockets.
pub async fn warm_up(site: &Site, viewers: &[Person]) -> Result<()> {
    drop(subscribed(site, viewers, viewers.len()).await?);
    let deadline = Instant::now() + Duration::from_mins(1);
    while subscriptions(site).await? > 0 {
        ensure!(Instant::now() < deadline, "{} subscriptions go on", subscriptions(site).await?);
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn subscriptions(site: &Site) -> Result<usize> {
    let metrics = Metrics::of(site.address()).await?;
    let line = metrics.lines().find_map(|line| line.strip_prefix("tidefeed_subscriptions "));
    Ok(line.map_or(Ok(0), str::parse)?)
}

/// Bytes of the node's memory that a socket, and a subscription on it, keep.
pub async fn idle(site: &mut Site) -> Result<Vec<Figure>> {
    site.restart(&vec![set("websocket.ping_ms", &SILENCE_MS), set("websocket.pong_timeout_ms", &SILENCE_MS)]).await?;
    let (count, followees) = (site.options.size(2_000, 20), site.options.size(50, 20));
    let viewers = site.people((1, 45), count / SHARED).await?;
    for viewer in &viewers {
        people::follow_many(site, viewer, followees).await?;
    }
    // Memory that the node allocates for writes and first uses does not count for the subscribers.
    warm_up(site, &viewers).await?;
    people::wait_for_none(&mut site.database().await?, OPEN, "deliveries").await?;
    let before = processes::resident_bytes(site.node_pid())?;
    let mut sockets = opened(site.address(), &viewers, count).await?;
    let open = processes::resident_bytes(site.node_pid())?;
    subscribe(site, &mut sockets, 1).await?;
    let subscribed = processes::resident_bytes(site.node_pid())?;
    let each = |from: f64, to: f64| (to - from) / f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / 1024.0;
    drop(sockets);
    site.restart(&Vec::new()).await?;
    let what = format!("idle subscriber with {followees} followees, of {count} ({SHARED} a viewer)");
    Ok(vec![
        Figure::alone(what, each(before, subscribed), "KiB", Target::AtMost(20.0, 12.0)),
        Figure::alone("of it the socket", each(before, open), "KiB", Target::Free),
    ])
}
