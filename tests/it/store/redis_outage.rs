//! Tests a Redis that dies and comes back empty, or cuts its connections: the same clients continue, and listeners
//! learn that they missed something.

use std::{future::Future, time::Duration};

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{ContentId, Entry, Position, UserId},
    rng::SharedRng,
    store::{
        Announcements as _, OutboxCache as _, Queue as _, StoreError,
        announcements::Announcement,
        contents::OutboxHead,
        queue::{Message, Topic},
        redis::{ConnectError, Redis, RedisAnnouncements, RedisOptions, RedisOutboxCache, RedisQueue},
    },
};
use tokio::{
    sync::broadcast::Receiver,
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::servers::{Kind, RedisCluster, Server, connect_redis, redis_cluster, shared};

const PATIENCE: Duration = Duration::from_mins(2);
/// Time limit of a command on a busy machine, in ms.
const PATIENT_MS: u64 = 20_000;
/// The same, where a test waits until the limit is exceeded.
const IMPATIENT_MS: u64 = 1_000;

/// Everything that a node uses Redis for.
struct Node {
    redis: Redis,
    queue: RedisQueue,
    cache: RedisOutboxCache,
    announcements: RedisAnnouncements,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Node {
    async fn start(urls: Vec<String>, cluster: bool) -> Result<Self> {
        Self::start_within(urls, cluster, PATIENT_MS).await
    }

    async fn start_within(urls: Vec<String>, cluster: bool, command_timeout_ms: u64) -> Result<Self> {
        let connect_timeout_ms = command_timeout_ms;
        // A subscription is checked several times within the time-outs of the commands that fail meanwhile.
        let subscription_check_ms = command_timeout_ms.min(IMPATIENT_MS) / 5;
        let timeouts =
            RedisOptions { command_timeout_ms, connect_timeout_ms, subscription_check_ms, ..RedisOptions::default() };
        let options = RedisOptions { urls, cluster, ..timeouts };
        let redis = Redis::connect(options).await?;
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        let announcements = RedisAnnouncements::start(redis.clone(), &tracker, &stop, SharedRng::from_seed(7)).await?;
        for user in 1..=16 {
            announcements.want(UserId::try_new(user)?.into());
        }
        announcements.settled().await;
        let (queue, cache) = (RedisQueue::new(redis.clone()), RedisOutboxCache::new(redis.clone()));
        Ok(Self { redis, queue, cache, announcements, stop, tracker })
    }

    /// Sends a message and receives it.
    async fn queue_works(&self, reader: i64) -> Result<()> {
        let message = Message::ReaderSeen { reader: UserId::try_new(reader)?, reached: None };
        self.queue.send(std::slice::from_ref(&message)).await?;
        let received = self.queue.receive(Topic::Visit, "a", 1, PATIENCE).await?;
        ensure!(received.first().and_then(|one| one.message.as_ref()) == Some(&message), "{received:?}");
        self.queue.acknowledge(Topic::Visit, &[received[0].id.clone()]).await?;
        Ok(())
    }

    /// Fills an outbox and fetches it.
    async fn cache_works(&self, author: i64) -> Result<()> {
        let author = UserId::try_new(author)?;
        let head = OutboxHead { author, version: 3, entries: vec![entry(author, 5)?], whole: true };
        self.cache.fill(std::slice::from_ref(&head)).await?;
        let found = self.cache.fetch(&[author]).await?.remove(0).context("not cached")?;
        ensure!((found.entries, found.complete_from) == (head.entries, Position::OLDEST));
        Ok(())
    }

    async fn works(&self, number: i64) -> Result<()> {
        self.redis.ping().await?;
        self.queue_works(number).await?;
        self.cache_works(number).await
    }

    async fn end(self) -> Result<()> {
        self.stop.cancel();
        self.tracker.close();
        Ok(timeout(PATIENCE, self.tracker.wait()).await?)
    }
}

fn entry(author: UserId, id: i64) -> Result<Entry> {
    Ok(Entry { publish_time: id, content: ContentId::try_new(id)?, author })
}

fn changed(reader: i64) -> Result<Announcement> {
    Ok(Announcement::FollowsChanged { reader: UserId::try_new(reader)?, author: None, change: None })
}

/// Retries until it succeeds.
async fn soon<T, F: Future<Output = Result<T>>>(mut attempt: impl FnMut() -> F) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt().await {
            Err(error) if Instant::now() > deadline => return Err(error.context("still failing")),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            done => return done,
        }
    }
}

async fn next(listener: &mut Receiver<Announcement>) -> Result<Announcement> {
    Ok(timeout(PATIENCE, listener.recv()).await??)
}

/// The next one that is not a gap: the connections to a cluster's nodes may break and recover one after the other.
async fn next_announcement(listener: &mut Receiver<Announcement>) -> Result<Announcement> {
    loop {
        match next(listener).await? {
            Announcement::Gap => {}
            announcement => return Ok(announcement),
        }
    }
}

/// While Redis is away, calls fail with the matching error and in time, and none hangs.
async fn failures_are_quick_and_transient(node: &Node) -> Result<()> {
    let message = Message::ReaderSeen { reader: UserId::try_new(1)?, reached: None };
    let author = UserId::try_new(1)?;
    let before = Instant::now();
    let failures: [Option<StoreError>; 5] = [
        node.redis.ping().await.err(),
        node.queue.send(&[message]).await.err(),
        node.queue.receive(Topic::Visit, "a", 1, Duration::from_secs(1)).await.err(),
        node.cache.fetch(&[author]).await.err(),
        node.announcements.announce(&changed(1)?).await.err(),
    ];
    for failure in failures {
        ensure!(failure.as_ref().is_some_and(StoreError::is_transient), "{failure:?}");
    }
    ensure!(before.elapsed() < Duration::from_secs(30), "{:?}", before.elapsed());
    Ok(())
}

/// Only the outboxes of the lost node are missing.
async fn outboxes_elsewhere_are_still_found(node: &Node) -> Result<()> {
    let authors = (1..=8).map(UserId::try_new).collect::<Result<Vec<_>, _>>()?;
    let found = node.cache.fetch(&authors).await?;
    let hits = found.iter().flatten().count();
    ensure!((1..8).contains(&hits), "{hits} of 8");
    Ok(())
}

/// Waits until every channel is subscribed again, and announcements about authors of all channels arrive.
async fn hears_every_author(node: &Node, mut listener: Receiver<Announcement>) -> Result<Receiver<Announcement>> {
    for author in 1..=16 {
        let announcement = changed(author)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            soon(|| async { Ok(node.announcements.announce(&announcement).await?) }).await?;
            let arrived = timeout(Duration::from_secs(5), next_announcement(&mut listener)).await;
            if arrived.is_ok_and(|arrived| arrived.is_ok_and(|arrived| arrived == announcement)) {
                break;
            }
            ensure!(Instant::now() < deadline, "{announcement:?} is not heard");
        }
    }
    Ok(listener)
}

async fn signal(name: &str, server: &Server) -> Result<()> {
    let pid = server.pid().to_string();
    // `kill` of the shell, because the program is not on every machine.
    let kill = format!("kill -s {name} {pid}");
    let status = tokio::process::Command::new("sh").args(["-c", &kill]).status().await?;
    ensure!(status.success(), "the server was not sent {name}");
    Ok(())
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn listeners_learn_that_a_killed_redis_came_back_empty() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let node = Node::start(vec![server.url()], false).await?;
        let mut listener = node.announcements.listen();
        node.works(1).await?;
        // A wait that is in progress when the server dies ends with an error.
        let waiting = node.queue.receive(Topic::Push, "a", 1, PATIENCE);
        let (waited, killed) = tokio::join!(timeout(PATIENCE, waiting), async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            server.kill().await
        });
        killed?;
        ensure!(waited?.is_err_and(|error| error.is_transient()));
        failures_are_quick_and_transient(&node).await?;
        // Nobody waits for what comes with a gap.
        let author = UserId::try_new(500)?;
        node.announcements.want(author.into());
        timeout(PATIENCE, node.announcements.settled()).await?;
        server.restart().await?;
        soon(|| node.works(2)).await?;
        ensure!(node.cache.fetch(&[UserId::try_new(1)?]).await? == [None], "it came back empty");
        assert_eq!(next(&mut listener).await?, Announcement::Gap);
        node.announcements.settled().await;
        let announcement = Announcement::Published { entry: entry(author, 9)?, original: None };
        node.announcements.announce(&announcement).await?;
        // An announcement that could not be sent causes a gap, before or after.
        assert_eq!(next_announcement(&mut listener).await?, announcement);
        node.end().await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_cut_subscription_is_renewed_and_listeners_learn_of_the_gap() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let node = Node::start(vec![server.url()], false).await?;
        let mut listener = node.announcements.listen();
        let mut operator = connect_redis(&server.url()).await?;
        let announcement = changed(3)?;
        for _ in 0..3 {
            let cut: u32 =
                redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub").query_async(&mut operator).await?;
            assert_eq!(cut, 1);
            assert_eq!(next(&mut listener).await?, Announcement::Gap);
            node.announcements.announce(&announcement).await?;
            assert_eq!(next(&mut listener).await?, announcement);
        }
        node.end().await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn listeners_learn_of_a_gap_after_a_failed_announcement() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let speaker = soon(|| Node::start_within(vec![server.url()], false, IMPATIENT_MS)).await?;
        let hearer = Node::start(vec![server.url()], false).await?;
        let mut listener = hearer.announcements.listen();
        let mut operator = connect_redis(&server.url()).await?;
        // No connection breaks. Only publishing waits, longer than the time-out of a command.
        redis::cmd("CLIENT").arg("PAUSE").arg(60_000).arg("WRITE").exec_async(&mut operator).await?;
        let announcement = changed(3)?;
        ensure!(speaker.announcements.announce(&announcement).await.is_err());
        redis::cmd("CLIENT").arg("UNPAUSE").exec_async(&mut operator).await?;
        while next(&mut listener).await? != Announcement::Gap {}
        // The late announcement arrived before the gap. The gap may be announced more than once.
        soon(|| async { Ok(speaker.announcements.announce(&announcement).await?) }).await?;
        assert_eq!(next_announcement(&mut listener).await?, announcement);
        speaker.end().await?;
        hearer.end().await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_hanging_redis_costs_at_most_the_command_timeout() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let node = soon(|| Node::start_within(vec![server.url()], false, IMPATIENT_MS)).await?;
        let mut listener = node.announcements.listen();
        soon(|| node.works(1)).await?;
        signal("STOP", &server).await?;
        // Five time-outs in succession, within which the listener also notices, although no connection was closed.
        failures_are_quick_and_transient(&node).await?;
        signal("CONT", &server).await?;
        soon(|| node.works(2)).await?;
        assert_eq!(next(&mut listener).await?, Announcement::Gap);
        let announcement = changed(3)?;
        soon(|| async { Ok(node.announcements.announce(&announcement).await?) }).await?;
        assert_eq!(next_announcement(&mut listener).await?, announcement);
        node.end().await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn flushing_everything_breaks_nothing() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let node = Node::start(vec![server.url()], false).await?;
        let mut operator = connect_redis(&server.url()).await?;
        for number in 1..=3 {
            node.works(number).await?;
            redis::cmd("FLUSHALL").exec_async(&mut operator).await?;
            redis::cmd("SCRIPT").arg("FLUSH").exec_async(&mut operator).await?;
        }
        node.works(4).await?;
        node.end().await
    }
}

mod redis_cluster {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn listeners_learn_that_a_killed_cluster_node_came_back_empty() -> Result<()> {
        let cluster = RedisCluster::start().await?;
        let node = Node::start_within(cluster.urls(), true, PATIENT_MS / 4).await?;
        let mut listener = node.announcements.listen();
        for author in 1..=8 {
            node.works(author).await?;
        }
        for server in cluster.nodes() {
            server.kill().await?;
            outboxes_elsewhere_are_still_found(&node).await?;
            server.restart().await?;
            soon(|| async {
                // Authors of every node.
                for author in 1..=8 {
                    node.works(author).await?;
                }
                Ok(())
            })
            .await?;
            assert_eq!(next(&mut listener).await?, Announcement::Gap);
            listener = hears_every_author(&node, listener).await?;
        }
        move_slot(&cluster, "tidefeed:announcements:3").await?;
        assert_eq!(next(&mut listener).await?, Announcement::Gap);
        hears_every_author(&node, listener).await?;
        node.end().await
    }

    /// Gives the channel's slot, which holds no key, to the next node.
    async fn move_slot(cluster: &RedisCluster, channel: &str) -> Result<()> {
        let mut nodes = Vec::new();
        for server in cluster.nodes() {
            nodes.push(connect_redis(&server.url()).await?);
        }
        let slot: u16 = redis::cmd("CLUSTER").arg("KEYSLOT").arg(channel).query_async(&mut nodes[0]).await?;
        // Three masters in the order of their slots.
        nodes.rotate_left(usize::from(slot) * 3 / 16_384);
        let mut ids = Vec::new();
        for node in &mut nodes {
            ids.push(redis::cmd("CLUSTER").arg("MYID").query_async::<String>(node).await?);
        }
        for (node, how, whose) in
            [(1, "IMPORTING", 0), (0, "MIGRATING", 1), (1, "NODE", 1), (0, "NODE", 1), (2, "NODE", 1)]
        {
            let mut set = redis::cmd("CLUSTER");
            set.arg("SETSLOT").arg(slot).arg(how).arg(&ids[whose]).exec_async(&mut nodes[node]).await?;
        }
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn faulty_options_are_reported() -> Result<()> {
        let refusal = |urls: Vec<String>, cluster: bool| async move {
            let (command_timeout_ms, connect_timeout_ms) = (PATIENT_MS, PATIENT_MS);
            // A subscription is checked several times within the time-outs of the commands that fail meanwhile.
            let subscription_check_ms = command_timeout_ms.min(IMPATIENT_MS) / 5;
            let timeouts = RedisOptions {
                command_timeout_ms,
                connect_timeout_ms,
                subscription_check_ms,
                ..RedisOptions::default()
            };
            let options = RedisOptions { urls, cluster, ..timeouts };
            let error: ConnectError = Redis::connect(options).await.err().context("connected")?;
            anyhow::Ok(error.to_string())
        };
        let single = vec![shared(Kind::Redis).await?.url()];
        let nodes = redis_cluster().await?.urls();
        assert!(refusal(single, true).await?.ends_with("is no cluster: set `cluster` to false"));
        assert!(refusal(nodes[..1].to_vec(), false).await?.ends_with("is part of a cluster: set `cluster` to true"));
        let nobody = refusal(vec!["redis://:secret@127.0.0.1:1/".to_owned()], false).await?;
        assert!(nobody.starts_with("the Redis at 127.0.0.1:1 cannot be connected to: check"), "{nobody}");
        Ok(())
    }
}
