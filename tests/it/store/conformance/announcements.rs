//! Tests what [`Announcements`] promises, over memory, Redis and Redis Cluster.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail};
use tidefeed::{
    domain::{ContentId, Entry, Position, UserId},
    rng::SharedRng,
    store::{
        Announcements,
        announcements::Announcement,
        memory::MemoryAnnouncements,
        redis::{Redis, RedisAnnouncements, RedisOptions},
    },
};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::adapters::{Adapter, RawConnection, on_each_adapter};

const PATIENCE: Duration = Duration::from_mins(2);

on_each_adapter!(
    every_listener_on_every_node_hears_everything,
    announcements_about_one_author_keep_their_order,
    nobody_hears_what_was_announced_before,
    a_listener_that_lags_receives_an_error,
    a_gap_is_not_for_callers_to_announce,
);

/// Two nodes that share a place, and their tasks.
struct Nodes {
    both: [Arc<dyn Announcements>; 2],
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Nodes {
    async fn start(adapter: Adapter, buffer: usize) -> Result<Self> {
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        let Some(mut options) = adapter.options().await? else {
            let alone: Arc<dyn Announcements> = Arc::new(MemoryAnnouncements::new(buffer));
            return Ok(Self { both: [Arc::clone(&alone), alone], stop, tracker });
        };
        options.announcement_buffer = buffer;
        let one = Arc::new(start(&options, &tracker, &stop).await?);
        let other = Arc::new(start(&options, &tracker, &stop).await?);
        Ok(Self { both: [one, other], stop, tracker })
    }

    /// Both hear of these users.
    async fn want(&self, users: impl IntoIterator<Item = i64>) -> Result<()> {
        for user in users {
            let user = UserId::try_new(user)?;
            self.both.iter().for_each(|node| node.want(user.into()));
        }
        for node in &self.both {
            timeout(PATIENCE, node.settled()).await?;
        }
        Ok(())
    }

    /// Stops the tasks and waits for them.
    async fn end(self) -> Result<()> {
        self.stop.cancel();
        self.tracker.close();
        Ok(timeout(PATIENCE, self.tracker.wait()).await?)
    }
}

async fn start(options: &RedisOptions, tracker: &TaskTracker, stop: &CancellationToken) -> Result<RedisAnnouncements> {
    let redis = Redis::connect(options.clone()).await?;
    Ok(RedisAnnouncements::start(redis, tracker, stop, SharedRng::from_seed(1)).await?)
}

fn published(author: i64, content: i64) -> Announcement {
    let (author, content) = (UserId::try_new(author).unwrap(), ContentId::try_new(content).unwrap());
    Announcement::Published { entry: Entry { publish_time: content.get(), content, author }, original: None }
}

async fn next(listener: &mut Receiver<Announcement>) -> Result<Announcement> {
    Ok(timeout(PATIENCE, listener.recv()).await??)
}

async fn every_listener_on_every_node_hears_everything(adapter: Adapter) -> Result<()> {
    let nodes = Nodes::start(adapter, 100).await?;
    nodes.want((1..=32).chain([i64::MAX])).await?;
    let [one, other] = &nodes.both;
    let mut listeners = [one.listen(), one.listen(), other.listen()];
    let reader = UserId::try_new(i64::MAX)?;
    let entry = Entry { publish_time: 5, content: ContentId::try_new(i64::MAX)?, author: reader };
    let mut sent =
        vec![Announcement::Removed { entry }, Announcement::FollowsChanged { reader, author: None, change: None }];
    sent.push(Announcement::Changed { shown: entry.content.into() });
    sent.push(Announcement::ReadMarkerMoved { reader, marker: Position::bound(5, i64::MAX) });
    // Authors of every channel, and so of every node of a cluster.
    sent.extend((1..=32).map(|author| published(author, author)));
    for announcement in &sent {
        one.announce(announcement).await?;
    }
    for listener in &mut listeners {
        let mut received = Vec::new();
        for _ in &sent {
            received.push(next(listener).await?);
        }
        let order = |announcement: &Announcement| format!("{announcement:?}");
        received.sort_by_key(order);
        let mut expected = sent.clone();
        expected.sort_by_key(order);
        assert_eq!(received, expected);
    }
    nodes.end().await
}

async fn announcements_about_one_author_keep_their_order(adapter: Adapter) -> Result<()> {
    let nodes = Nodes::start(adapter, 1_000).await?;
    nodes.want([7]).await?;
    let [one, other] = &nodes.both;
    let mut listener = other.listen();
    for content in 1..=200 {
        one.announce(&published(7, content)).await?;
    }
    for content in 1..=200 {
        assert_eq!(next(&mut listener).await?, published(7, content));
    }
    nodes.end().await
}

async fn nobody_hears_what_was_announced_before(adapter: Adapter) -> Result<()> {
    let nodes = Nodes::start(adapter, 100).await?;
    nodes.want([1]).await?;
    let [one, other] = &nodes.both;
    let mut early = other.listen();
    one.announce(&published(1, 1)).await?;
    assert_eq!(next(&mut early).await?, published(1, 1));
    let mut late = other.listen();
    one.announce(&published(1, 2)).await?;
    assert_eq!(next(&mut late).await?, published(1, 2));
    nodes.end().await
}

async fn a_listener_that_lags_receives_an_error(adapter: Adapter) -> Result<()> {
    let nodes = Nodes::start(adapter, 4).await?;
    nodes.want([7]).await?;
    let [one, other] = &nodes.both;
    let (mut slow, mut quick) = (other.listen(), other.listen());
    for content in 1..=20 {
        one.announce(&published(7, content)).await?;
        assert_eq!(next(&mut quick).await?, published(7, content));
    }
    let Err(RecvError::Lagged(missed)) = slow.recv().await else { bail!("the slow one got no error") };
    assert_eq!(next(&mut slow).await?, published(7, i64::try_from(missed)? + 1));
    nodes.end().await
}

async fn a_gap_is_not_for_callers_to_announce(adapter: Adapter) -> Result<()> {
    let nodes = Nodes::start(adapter, 100).await?;
    nodes.want([1]).await?;
    let [one, other] = &nodes.both;
    let mut listener = other.listen();
    one.announce(&Announcement::Gap).await?;
    one.announce(&published(1, 1)).await?;
    assert_eq!(next(&mut listener).await?, published(1, 1));
    nodes.end().await
}

/// Tests that only Redis allows: others publish, too.
mod on_servers {
    use super::*;

    async fn an_undecodable_announcement_is_skipped(adapter: Adapter) -> Result<()> {
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        let options = adapter.options().await?.context("a server")?;
        let node = start(&options, &tracker, &stop).await?;
        node.want(UserId::try_new(1)?.into());
        node.settled().await;
        let mut listener = node.listen();
        let raw = RawConnection::open(&options).await?;
        for payload in ["", "{", r#"{"v":2,"type":"followsChanged","reader":7}"#, r#"{"v":1,"type":"telegram"}"#] {
            let channel = format!("{}announcements:1", options.prefix);
            raw.run::<u64>(redis::cmd("SPUBLISH").arg(channel).arg(payload)).await?;
        }
        node.announce(&published(1, 1)).await?;
        assert_eq!(next(&mut listener).await?, published(1, 1));
        stop.cancel();
        Ok(())
    }

    /// How many nodes get what is announced about the author. What is sent to find out cannot be read.
    async fn receivers(raw: &RawConnection, prefix: &str, author: i64) -> Result<u64> {
        let channel = format!("{prefix}announcements:{{{prefix}announcements:{}}}:{}", author % 16, author % 16_384);
        raw.run(redis::cmd("SPUBLISH").arg(channel).arg("")).await
    }

    async fn a_node_hears_only_of_users_whom_it_wants(adapter: Adapter) -> Result<()> {
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        let options = RedisOptions { subscription_check_ms: 20, ..adapter.options().await?.context("a server")? };
        let (one, other) = (start(&options, &tracker, &stop).await?, start(&options, &tracker, &stop).await?);
        let (raw, prefix) = (RawConnection::open(&options).await?, &options.prefix);
        let (seven, eight) = (UserId::try_new(7)?.into(), ContentId::try_new(8)?.into());
        one.want(seven);
        other.want(eight);
        other.want(eight);
        one.settled().await;
        other.settled().await;
        let receivers = async |author| receivers(&raw, prefix, author).await;
        assert_eq!((receivers(7).await?, receivers(8).await?, receivers(9).await?), (1, 1, 0));
        let mut listeners = [one.listen(), other.listen()];
        let deleted = Announcement::AccountDeleted { user: UserId::try_new(9)? };
        one.announce(&deleted).await?;
        for listener in &mut listeners {
            assert_eq!(next(listener).await?, deleted, "every node hears of a deleted account");
        }
        let received_by_nobody = async |author| {
            let gone = async {
                while receivers(author).await? > 0 {}
                anyhow::Ok(())
            };
            timeout(PATIENCE, gone).await?
        };
        one.unwant(seven);
        other.unwant(eight);
        received_by_nobody(7).await?;
        assert_eq!(receivers(8).await?, 1, "it is wanted once more than not");
        other.unwant(eight);
        received_by_nobody(8).await?;
        one.want(seven);
        one.settled().await;
        other.announce(&published(7, 1)).await?;
        assert_eq!(next(&mut listeners[0]).await?, published(7, 1), "no gap: nothing has broken");
        stop.cancel();
        Ok(())
    }

    on_each_adapter!(@in redis_cluster Cluster
        an_undecodable_announcement_is_skipped, a_node_hears_only_of_users_whom_it_wants);
    on_each_adapter!(@in redis_server Redis
        an_undecodable_announcement_is_skipped, a_node_hears_only_of_users_whom_it_wants);
}

mod databases {
    use super::*;

    mod redis_server {
        use super::*;

        #[tokio::test]
        async fn another_database_of_the_same_server_hears_nothing() -> Result<()> {
            let options = Adapter::Redis.options().await?.context("Redis has options")?;
            let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
            let with = |database: u8| {
                let urls = options.urls.iter().map(|url| format!("{url}{database}")).collect();
                RedisOptions { urls, ..options.clone() }
            };
            let zero = super::super::start(&with(0), &tracker, &stop).await?;
            let one = super::super::start(&with(1), &tracker, &stop).await?;
            for node in [&zero, &one] {
                node.want(UserId::try_new(7)?.into());
                node.settled().await;
            }
            let (mut of_zero, mut of_one) = (zero.listen(), one.listen());
            zero.announce(&published(7, 1)).await?;
            assert_eq!(next(&mut of_zero).await?, published(7, 1));
            one.announce(&published(7, 2)).await?;
            assert_eq!(next(&mut of_one).await?, published(7, 2), "and not the first");
            stop.cancel();
            tracker.close();
            Ok(timeout(PATIENCE, tracker.wait()).await?)
        }
    }
}
