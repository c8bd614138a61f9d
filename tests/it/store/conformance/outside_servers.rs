//! Tests outside inboxes where only Redis allows it: restarts, replicas, wiped and foreign keys, and their stored
//! form.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use anyhow::{Context as _, Result, ensure};
use redis::cmd;
use tidefeed::{
    domain::{
        Position,
        timeline::outside::{Basis, Bucket, BucketToken, Claim, Delivered, Fence, NodeId, Nonce, Revision},
    },
    store::{
        InboxStore as _, StoreError,
        inbox_store::{InboxStoreError, Push},
        redis::{Redis, RedisInboxes, RedisOptions},
    },
};

use super::{
    adapters::{Adapter, RawConnection, on_each_adapter},
    outside_inboxes::{KEEP, all, at, fence, is_refused_everywhere, push, reader},
};
use crate::{
    binary::process::until,
    servers::{Kind, Server, connect_redis},
};

/// The opened inbox of reader 1 (the id 129), and direct access to the server.
struct World {
    store: RedisInboxes,
    raw: RawConnection,
    key: String,
    fence: Fence,
    opened: Revision,
}

impl World {
    async fn at(adapter: Adapter) -> Result<Self> {
        Self::with(adapter.options().await?.context("a server")?).await
    }

    async fn on(server: &Server) -> Result<Self> {
        let (command_timeout_ms, connect_timeout_ms) = (20_000, 20_000);
        let urls = vec![server.url()];
        Self::with(RedisOptions { urls, command_timeout_ms, connect_timeout_ms, ..RedisOptions::default() }).await
    }

    async fn with(options: RedisOptions) -> Result<Self> {
        let raw = RawConnection::open(&options).await?;
        let key = format!("{}inbox1:{{1}}:129", options.prefix);
        let store = RedisInboxes::new(Redis::connect(options).await?);
        let fence = fence(&store).await?;
        let opened = store.open(reader(1), fence, Nonce(1)).await?;
        Ok(Self { store, raw, key, fence, opened })
    }
}

async fn an_inbox_lies_there_as_documented_and_not_for_ever(adapter: Adapter) -> Result<()> {
    let world = World::at(adapter).await?;
    let node = world.fence.token.node;
    for (time, content) in [(1_700_000_000_000, 3), (9, 7_412_345_678_901_234_567)] {
        world.store.deliver(&push(world.fence, Position::bound(time, content), 2)).await?;
    }
    let range = cmd("ZRANGE").arg(&world.key).arg(0).arg(-1).arg("WITHSCORES").to_owned();
    let members: Vec<(String, String)> = world.raw.run(&range).await?;
    let newest = format!("{0:020}:{0:020}", i64::MAX);
    let (token, numbers) = (format!("{node}:-3"), format!("{}:{}:", i64::MAX, world.opened));
    let expected = [
        (&*token, "-3"),
        (&*numbers, "-2"),
        (&*newest, "-1"),
        ("07412345678901234567", "9"),
        ("00000000000000000003", "1700000000000"),
    ];
    assert_eq!(members, expected.map(|(member, score)| (member.to_owned(), score.to_owned())));
    let floor = Position::bound(8, 7);
    let claim = Claim { rows: Vec::new(), floor, basis: Basis(-4), nonce: Nonce(-2) };
    assert!(world.store.claim(reader(1), (world.fence.token, world.opened), &claim, KEEP).await?);
    let members: Vec<String> = world.raw.run(cmd("ZRANGE").arg(&world.key).arg(0).arg(2)).await?;
    let claimed = all(&world.store).await?.unwrap().header.revision;
    assert_ne!(claimed, world.opened);
    assert_eq!(members, [token, format!("{}:{claimed}:-4", i64::MAX), format!("{:020}:{:020}", 8, 7)]);
    let left: i64 = world.raw.run(cmd("PTTL").arg(&world.key)).await?;
    assert!((1..=30 * 24 * 60 * 60 * 1_000).contains(&left), "{left}");
    Ok(())
}

async fn a_key_of_another_kind_is_refused_until_it_is_replaced(adapter: Adapter) -> Result<()> {
    let world = World::at(adapter).await?;
    world.raw.run::<()>(cmd("SET").arg(&world.key).arg("no inbox")).await?;
    let read = all(&world.store).await.err().context("read")?;
    ensure!(read.to_string() == "Redis refused a request", "{read:#}");
    let delivered = world.store.deliver(&push(world.fence, at(3), 2)).await;
    assert!(matches!(delivered, Err(InboxStoreError::Store(StoreError::Refused(_)))), "{delivered:?}");
    world.store.open(reader(1), world.fence, Nonce(2)).await?;
    assert!(all(&world.store).await?.is_some());
    Ok(())
}

async fn an_inbox_without_its_header_is_none(adapter: Adapter) -> Result<()> {
    let world = World::at(adapter).await?;
    world.store.deliver(&push(world.fence, at(3), 2)).await?;
    world.raw.run::<()>(cmd("ZREMRANGEBYSCORE").arg(&world.key).arg(-1).arg(-1)).await?;
    assert_eq!(all(&world.store).await?, None);
    assert_eq!(world.store.deliver(&push(world.fence, at(4), 2)).await?, [Delivered::Skipped]);
    world.store.open(reader(1), world.fence, Nonce(1)).await?;
    assert_eq!(all(&world.store).await?.unwrap().rows, []);
    Ok(())
}

async fn a_time_without_an_exact_score_is_refused(adapter: Adapter) -> Result<()> {
    let world = World::at(adapter).await?;
    let refused = world.store.deliver(&push(world.fence, Position::bound(i64::MAX, 5), 2)).await;
    assert!(matches!(refused, Err(InboxStoreError::Store(StoreError::Refused(_)))), "{refused:?}");
    assert_eq!(all(&world.store).await?.unwrap().rows, []);
    Ok(())
}

/// The stored form, on a single server and in a cluster.
mod form {
    use super::*;

    on_each_adapter!(@in redis_server Redis an_inbox_lies_there_as_documented_and_not_for_ever,
        a_key_of_another_kind_is_refused_until_it_is_replaced, an_inbox_without_its_header_is_none,
        a_time_without_an_exact_score_is_refused);
    on_each_adapter!(@in redis_cluster Cluster an_inbox_lies_there_as_documented_and_not_for_ever,
        a_key_of_another_kind_is_refused_until_it_is_replaced, an_inbox_without_its_header_is_none,
        a_time_without_an_exact_score_is_refused);
}

/// The identity, as soon as the server answers.
async fn identified(store: &RedisInboxes) -> Result<NodeId> {
    let identify = || store.identify(Bucket::of(reader(1)));
    until("the server answers", async || Ok(identify().await.is_ok())).await?;
    Ok(identify().await?)
}

mod redis_server {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_restarted_server_is_another_node_even_with_its_old_dump() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let world = World::on(&server).await?;
        world.raw.run::<()>(&cmd("SAVE")).await?;
        server.restart().await?;
        let node = identified(&world.store).await?;
        assert_ne!(node, world.fence.token.node);
        let mut link = connect_redis(&server.url()).await?;
        let kept: bool = cmd("EXISTS").arg(&world.key).query_async(&mut link).await?;
        assert!(kept, "the dump was read");
        assert_eq!(all(&world.store).await?, None);
        is_refused_everywhere(&world.store, world.fence).await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn another_prefix_or_database_of_the_same_server_is_another_node() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let world = World::on(&server).await?;
        let there = RedisOptions { urls: vec![server.url()], ..RedisOptions::default() };
        let elsewhere = [
            RedisOptions { prefix: format!("{}x", there.prefix), ..there.clone() },
            RedisOptions { urls: vec![format!("{}/1", server.url().trim_end_matches('/'))], ..there.clone() },
        ];
        for options in elsewhere {
            let store = RedisInboxes::new(Redis::connect(options).await?);
            assert_ne!(identified(&store).await?, world.fence.token.node);
            is_refused_everywhere(&store, world.fence).await?;
        }
        let same = RedisInboxes::new(Redis::connect(there).await?);
        assert_eq!(identified(&same).await?, world.fence.token.node);
        Ok(())
    }

    /// Otherwise every delivery to its buckets would fail while it is full, and nobody would give them up.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_full_server_names_no_identity_and_still_reads() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let world = World::on(&server).await?;
        world.store.deliver(&push(world.fence, at(3), 2)).await?;
        let set = |key: &str, value: &str| cmd("CONFIG").arg("SET").arg(key).arg(value).to_owned();
        world.raw.run::<()>(&set("maxmemory-policy", "noeviction")).await?;
        world.raw.run::<()>(&set("maxmemory", "1")).await?;
        let refused = world.store.identify(Bucket::of(reader(1))).await;
        assert!(refused.is_err(), "{refused:?}");
        assert!(world.store.deliver(&push(world.fence, at(4), 2)).await.is_err());
        assert_eq!(all(&world.store).await?.unwrap().rows, [at(3)]);
        world.raw.run::<()>(&set("maxmemory", "0")).await?;
        assert_eq!(identified(&world.store).await?, world.fence.token.node);
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_inbox_lives_as_long_as_is_configured() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let options = RedisOptions { urls: vec![server.url()], inbox_ttl_ms: 3_600_000, ..RedisOptions::default() };
        let world = World::with(options).await?;
        let left: i64 = world.raw.run(cmd("PTTL").arg(&world.key)).await?;
        assert!((1..=3_600_000).contains(&left), "{left}");
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_flushed_server_is_the_same_node_without_inboxes() -> Result<()> {
        let server = Server::start(Kind::Redis).await?;
        let world = World::on(&server).await?;
        world.raw.run::<()>(&cmd("FLUSHALL")).await?;
        world.raw.run::<()>(cmd("SCRIPT").arg("FLUSH")).await?;
        assert_eq!(identified(&world.store).await?, world.fence.token.node);
        assert_eq!(all(&world.store).await?, None);
        assert_eq!(world.store.deliver(&push(world.fence, at(3), 2)).await?, [Delivered::Skipped]);
        Ok(())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_replica_refuses_and_is_another_node_once_promoted() -> Result<()> {
        let (master, replica) = (Server::start(Kind::Redis).await?, Server::start(Kind::Redis).await?);
        let world = World::on(&master).await?;
        let mut link = connect_redis(&replica.url()).await?;
        cmd("REPLICAOF").arg("127.0.0.1").arg(master.port()).exec_async(&mut link).await?;
        until("the inbox is on the replica", async || {
            Ok(cmd("EXISTS").arg(&world.key).query_async::<bool>(&mut link).await.unwrap_or_default())
        })
        .await?;
        let (command_timeout_ms, urls) = (20_000, vec![replica.url()]);
        let options = RedisOptions { urls, command_timeout_ms, ..RedisOptions::default() };
        let store = RedisInboxes::new(Redis::connect(options).await?);
        assert!(store.identify(Bucket::of(reader(1))).await.is_err_and(|error| error.is_transient()));
        assert_eq!(all(&store).await?, None);
        let node = world.store.identify(Bucket::of(reader(1))).await?;
        let fence = Fence { token: BucketToken { node, ..world.fence.token }, ..world.fence };
        is_refused_everywhere(&store, fence).await?;
        cmd("REPLICAOF").arg("NO").arg("ONE").exec_async(&mut link).await?;
        assert_ne!(identified(&store).await?, node);
        assert_eq!(all(&store).await?, None, "it was opened under the master's identity");
        is_refused_everywhere(&store, fence).await
    }

    /// Run by hand: `cargo test --release --test it figures_of_outside_inboxes -- --ignored --nocapture`.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "measures"]
    #[expect(clippy::print_stderr, reason = "the figures are its result")]
    async fn figures_of_outside_inboxes() -> Result<()> {
        for listpack in [128, 512] {
            let server = Server::start(Kind::Redis).await?;
            let world = World::on(&server).await?;
            let setting = ["SET", "zset-max-listpack-entries"];
            world.raw.run::<()>(cmd("CONFIG").arg(&setting).arg(listpack)).await?;
            for number in 1..=1_000 {
                world.store.open(reader(number), world.fence, Nonce(1)).await?;
            }
            let recipients = (1..=1_000).map(|number| (reader(number), world.fence.generation)).collect();
            let mut push = Push { recipients, keep: 1_000, ..push(world.fence, at(1), 2) };
            let begun = std::time::Instant::now();
            for number in 0..300 {
                push.row = Position::bound(1_767_225_600_000 + number, 7_412_345_678_901_234_567 + number);
                world.store.deliver(&push).await?;
            }
            let rows_per_second = 300_000_000 / begun.elapsed().as_millis();
            let bytes: u64 = world.raw.run(cmd("MEMORY").arg("USAGE").arg(&world.key)).await?;
            eprintln!("listpack {listpack}: {bytes} bytes for 300 rows, {rows_per_second} rows/s");
        }
        Ok(())
    }
}
