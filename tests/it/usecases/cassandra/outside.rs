//! Tests inboxes in Cassandra: one that grows too long, a node that comes back, and what `tidefeed doctor` reports
//! about each. `tests/chaos/cassandra_nodes.rs` loses nodes of three.

use anyhow::{Context as _, Result, ensure};
use metrics_exporter_prometheus::PrometheusBuilder;
use scylla::client::session_builder::SessionBuilder;
use tidefeed::{
    store::{cassandra::CassandraOptions, cassandra::inspect, inspection::Verdict},
    telemetry::tiers::ReaderTier,
};

use crate::{
    harness::Inboxes,
    outside_world::OutsideWorld,
    servers::{CassandraCluster, cassandra, connect_sql, execute},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inbox_in_cassandra_that_is_too_long_is_built_anew() -> Result<()> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _measuring = metrics::set_default_local_recorder(&recorder);
    let inboxes = Inboxes::Cassandra(cassandra().await?.fresh_keyspace(1));
    let mut world = OutsideWorld::start(inboxes, recorder.handle()).await?;
    let outside = world.stores()?.clone();
    let keep = outside.rows_kept();
    for _ in 0..=4 * keep {
        world.publish().await?;
    }
    world.app.settle().await?;
    ensure!(outside.inboxes.is_too_long(world.reader, keep).await?);
    let former = outside.states.fence(world.reader).await?.context("a fence")?.0;
    let keeper = world.app.ports.tier.clone();
    keeper.settle(&[(world.reader, ReaderTier::Outside)]).await?;
    let fence = outside.states.fence(world.reader).await?.context("a fence")?.0;
    ensure!(fence.generation != former.generation && !outside.inboxes.is_too_long(world.reader, keep).await?);
    world.until_believed("it was built at once").await
}

/// The bucket is given up in the transaction in which the reader leaves the former inbox.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_whose_inbox_cannot_begin_anew_has_it_in_sql() -> Result<()> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _measuring = metrics::set_default_local_recorder(&recorder);
    let inboxes = Inboxes::Cassandra(cassandra().await?.fresh_keyspace(1));
    let mut world = OutsideWorld::start(inboxes, recorder.handle()).await?;
    let outside = world.stores()?.clone();
    for _ in 0..=4 * outside.rows_kept() {
        world.publish().await?;
    }
    world.app.settle().await?;
    let sql = connect_sql(world.app.database_url()).await?;
    let given_up = "CREATE TRIGGER given_up AFTER UPDATE OF tier ON inbox_states WHEN OLD.tier = 1 AND NEW.tier = 0 \
                    BEGIN UPDATE inbox_buckets SET node = NULL; END";
    execute(&sql, given_up).await?;
    world.app.ports.tier.settle(&[(world.reader, ReaderTier::Outside)]).await?;
    ensure!(outside.states.tokens().await?.is_empty() && outside.states.fence(world.reader).await?.is_none());
    ensure!(!world.app.ports.inboxes.floor(world.reader).await?.trusts_nothing(), "the inbox in SQL is not filled");
    ensure!(!world.page().await?, "the inbox outside is left");
    let metrics = recorder.handle().render();
    let mut moves = metrics.lines().filter(|line| line.starts_with("tidefeed_inbox_tier_changes_total"));
    let is_move = |line: &str| [r#"from="outside""#, r#"to="sql""#].iter().all(|label| line.contains(label));
    ensure!(moves.any(|line| is_move(line) && line.ends_with(" 1")), "{metrics}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_is_not_whole_is_replaced_at_the_next_visit() -> Result<()> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _measuring = metrics::set_default_local_recorder(&recorder);
    let options = cassandra().await?.fresh_keyspace(1);
    let mut world = OutsideWorld::start(Inboxes::Cassandra(options.clone()), recorder.handle()).await?;
    world.publish().await?;
    world.app.settle().await?;
    world.until_believed("an inbox in Cassandra").await?;
    let session = SessionBuilder::new().known_nodes(&options.contact_points).build().await?;
    let broken = format!("DELETE floor_time FROM {}.inbox_headers WHERE user_id = ?", options.keyspace);
    session.query_unpaged(broken, (world.reader.get(),)).await?;
    ensure!(!world.page().await?, "half a header claims nothing");
    world.come().await?;
    world.until_believed("it was built again").await
}

/// What `tidefeed doctor` finds about the acknowledgements of the only node.
async fn sync_found(options: &CassandraOptions) -> Result<(String, Verdict)> {
    let findings = inspect(options).await;
    let paxos = findings.iter().find(|it| it.seen.starts_with("paxos_variant")).context("a node's other answer")?;
    ensure!((paxos.seen.as_str(), paxos.verdict) == ("paxos_variant: v2", Verdict::Fine), "{paxos:?}");
    let found = findings.into_iter().find(|it| it.seen.starts_with("commitlog_sync")).context("a node's answer")?;
    Ok((found.seen, found.verdict))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_doubts_a_cassandra_with_periodic_commitlog_sync() -> Result<()> {
    let options = cassandra().await?.fresh_keyspace(1);
    ensure!(sync_found(&options).await? == ("commitlog_sync: periodic".to_owned(), Verdict::Doubtful));
    let findings = inspect(&options).await;
    let tables = findings.iter().find(|it| it.subject == "cassandra tables").context("tables")?;
    ensure!(tables.verdict == Verdict::Doubtful && tables.seen.contains("inbox_headers"), "{tables:?}");
    let nobody = CassandraOptions { contact_points: vec!["127.0.0.1:9".to_owned()], ..options };
    ensure!(inspect(&nobody).await[0].verdict == Verdict::Broken);
    Ok(())
}

/// A separate node, killed as by `kill -9`: pages are read from SQL meanwhile, and everything acknowledged exists
/// afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cassandra_of_one_node_comes_back_with_what_it_acknowledged() -> Result<()> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _measuring = metrics::set_default_local_recorder(&recorder);
    let cluster = CassandraCluster::start(1, "group").await?;
    let options = cluster.fresh_keyspace(1);
    let mut world = OutsideWorld::start(Inboxes::Cassandra(options.clone()), recorder.handle()).await?;
    ensure!(sync_found(&options).await? == ("commitlog_sync: group".to_owned(), Verdict::Fine));
    let findings = inspect(&options).await;
    ensure!(findings.iter().any(|it| it.subject == "cassandra tables" && it.verdict == Verdict::Fine), "{findings:?}");
    let copies = findings.iter().find(|it| it.subject == "cassandra copies").context("copies")?;
    ensure!(copies.verdict == Verdict::Doubtful && copies.seen.contains("each inbox has 1 copy in "), "{copies:?}");
    for _ in 0..3 {
        world.publish().await?;
    }
    world.deliver("the node is there").await?;
    world.until_believed("an inbox in Cassandra").await?;
    let fence = world.stores()?.states.fence(world.reader).await?;
    cluster.nodes()[0].kill().await?;
    ensure!(!world.page().await?, "nobody can have answered");
    world.publish().await?;
    world.app.settle().await?;
    ensure!(!world.page().await? && world.unfinished().await? == 1, "the delivery waits");
    cluster.nodes()[0].restart().await?;
    world.until_reachable("the node is back").await?;
    world.deliver("what has waited").await?;
    world.until_believed("the node is back").await?;
    ensure!(world.stores()?.states.fence(world.reader).await? == fence, "the inbox was not built again");
    Ok(())
}
