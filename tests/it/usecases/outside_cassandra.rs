//! Tests inboxes in Cassandra: one that grows too long, a node that comes back, and what `tidefeed doctor` reports
//! about each. `tests/chaos/cassandra_nodes.rs` loses nodes of three.

use anyhow::{Context as _, Result, ensure};
use metrics_exporter_prometheus::PrometheusBuilder;
use tidefeed::{
    store::{cassandra::CassandraOptions, cassandra::inspect, inspection::Verdict},
    telemetry::tiers::InboxTier,
};

use crate::{
    harness::Inboxes,
    outside_world::OutsideWorld,
    servers::{CassandraCluster, cassandra},
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
    let keeper = world.app.outside_keeper()?;
    keeper.settle(world.reader, InboxTier::Outside).await?;
    let fence = outside.states.fence(world.reader).await?.context("a fence")?.0;
    ensure!(fence.generation != former.generation && !outside.inboxes.is_too_long(world.reader, keep).await?);
    world.until_believed("it was built at once").await
}

/// The finding of `tidefeed doctor` about the `commitlog_sync` of the only node.
async fn sync_found(options: &CassandraOptions) -> Result<(String, Verdict)> {
    let findings = inspect(options).await;
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
    ensure!(copies.verdict == Verdict::Doubtful && copies.seen.starts_with('1'), "{copies:?}");
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
