//! Counts what fifty nodes hear of each publish.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{ContentId, Entry, UserId},
    rng::SharedRng,
    store::{
        Announcements as _,
        announcements::Announcement,
        redis::{Redis, RedisAnnouncements, RedisOptions},
    },
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::servers::{FreshKeys, Kind, shared};

const NODES: u32 = 50;
const AUTHORS: usize = 20_000;
const PUBLISHES: u32 = 400;
/// Groups of users that share a channel, as nodes agree on it.
const GROUPS: u64 = 16_384;

struct Node {
    announcements: RedisAnnouncements,
    authors: HashSet<u64>,
    groups: HashSet<u64>,
}

impl Node {
    /// Watches these authors.
    async fn start(redis: Redis, authors: HashSet<u64>, rng: &SharedRng, stop: &CancellationToken) -> Result<Self> {
        let announcements = RedisAnnouncements::start(redis, &TaskTracker::new(), stop, rng.clone()).await?;
        for author in &authors {
            announcements.want(user(*author)?.into());
        }
        announcements.settled().await;
        let groups = authors.iter().map(|author| author % GROUPS).collect();
        Ok(Self { announcements, authors, groups })
    }
}

fn user(id: u64) -> Result<UserId> {
    Ok(UserId::try_new(i64::try_from(id)?)?)
}

/// Nodes that hear of a publish, and that watch its author; each as a mean.
async fn received_and_watching(watched: usize) -> Result<(f64, f64)> {
    let FreshKeys { url, prefix } = FreshKeys::on(shared(Kind::Redis).await?);
    let timeouts = RedisOptions { connect_timeout_ms: 60_000, command_timeout_ms: 60_000, ..RedisOptions::default() };
    let redis = Redis::connect(RedisOptions { urls: vec![url], prefix, ..timeouts }).await?;
    let (rng, stop) = (SharedRng::from_seed(50), CancellationToken::new());
    let authors: Vec<u64> = (0..AUTHORS).map(|_| 1 + (rng.u64() >> 2)).collect();
    let drawn = || authors[usize::try_from(rng.u64()).unwrap_or(0) % AUTHORS];
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        let mut of_node = HashSet::new();
        while of_node.len() < watched {
            of_node.insert(drawn());
        }
        nodes.push(Node::start(redis.clone(), of_node, &rng, &stop).await?);
    }
    let mut listeners: Vec<_> = nodes.iter().map(|node| node.announcements.listen()).collect();
    let last = Announcement::AccountDeleted { user: user(1)? };
    let (mut due, mut watching) = (vec![0_u32; nodes.len()], 0_u32);
    for content in 1..=PUBLISHES {
        let author = drawn();
        let entry = Entry { publish_time: 1, content: ContentId::try_new(content.into())?, author: user(author)? };
        nodes[0].announcements.announce(&Announcement::Published { entry, original: None }).await?;
        for (node, due) in nodes.iter().zip(&mut due) {
            *due += u32::from(node.groups.contains(&(author % GROUPS)));
            watching += u32::from(node.authors.contains(&author));
        }
    }
    nodes[0].announcements.announce(&last).await?;
    let mut received = 0;
    for (listener, due) in listeners.iter_mut().zip(due) {
        let mut here = 0;
        while listener.recv().await? != last {
            here += 1;
        }
        ensure!(here == due, "a node received {here} publishes: {due} were of groups that it watches");
        received += here;
    }
    stop.cancel();
    Ok((f64::from(received) / f64::from(PUBLISHES), f64::from(watching) / f64::from(PUBLISHES)))
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_fifty_nodes_those_that_watch_the_group_hear_of_a_publish() -> Result<()> {
        let page = include_str!("../../../docs/benchmarks/2026-11-27-live-by-interest.md");
        for watched in [10, 100, 1_000] {
            let (received, watching) = received_and_watching(watched).await?;
            let row = format!("| {watched} | {watching:.2} | {received:.2} | {NODES} |");
            ensure!(page.contains(&row), "the page lacks {row}");
        }
        Ok(())
    }
}
