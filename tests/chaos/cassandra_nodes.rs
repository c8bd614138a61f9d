//! A cluster of three Cassandra nodes that loses each of them in some way, while one reader looks.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use metrics_exporter_prometheus::PrometheusBuilder;
use tidefeed::{
    store::cassandra::{CassandraOptions, inspect},
    store::inspection::Verdict,
    tier::renew_tokens,
};

use crate::binary::process::until;
use crate::cassandra::Cassandras;
use crate::harness::Inboxes;
use crate::outside_world::OutsideWorld;
use crate::servers::CassandraNode;

struct Lost {
    nodes: Cassandras,
    keyspace: String,
    world: OutsideWorld,
}

impl Lost {
    /// Publishes, delivers, and has the page read from Cassandra.
    async fn goes_on(&mut self, why: &str) -> Result<()> {
        self.world.publish().await?;
        self.world.deliver(why).await?;
        self.world.until_believed(why).await
    }

    /// A node that was away has missed a row, and nobody reads it. The others send it what they have kept for it.
    async fn hints_bring_a_late_node_what_nobody_reads(&mut self) -> Result<()> {
        self.nodes.nodes()[2].kill().await?;
        self.goes_on("two nodes are a majority").await?;
        let newest = self.world.newest().unwrap_or_default();
        let others = &self.nodes.nodes()[..2];
        let hints = || others.iter().map(CassandraNode::files_of_hints).sum::<Result<usize>>();
        until("the others keep hints", async || Ok(hints()? > 0)).await?;
        self.nodes.nodes()[2].restart().await?;
        until("the late node has taken the hints", async || Ok(hints()? == 0)).await?;
        for other in others {
            other.kill().await?;
        }
        // It has to notice first that it is alone. Whatever it answers then is its own.
        let found = until_answered(async || self.nodes.survivor_has(&self.keyspace, newest).await).await?;
        ensure!(found, "the hints did not bring the row");
        for other in others {
            other.restart().await?;
        }
        self.world.until_reachable("all nodes are back").await?;
        self.goes_on("all nodes are back").await
    }

    /// A node that was away has missed a row. A majority with it shows the row, and then it has a copy of its own.
    async fn a_late_node_gets_what_it_missed(&mut self) -> Result<()> {
        self.nodes.nodes()[2].kill().await?;
        self.goes_on("two nodes are a majority").await?;
        self.nodes.nodes()[2].restart().await?;
        self.nodes.nodes()[1].kill().await?;
        self.world.until_reachable("the late node makes a majority").await?;
        self.world.until_believed("one of the majority was away").await?;
        self.nodes.nodes()[0].kill().await?;
        ensure!(!self.world.page().await?, "one of three is believed");
        let newest = self.world.newest().unwrap_or_default();
        // It has to notice first that it is alone.
        until("the late node has a copy of its own", async || {
            Ok(matches!(self.nodes.survivor_has(&self.keyspace, newest).await, Ok(true)))
        })
        .await?;
        self.world.publish().await?;
        self.world.app.settle().await?;
        let unfinished = self.world.unfinished().await?;
        ensure!(unfinished == 1, "{unfinished} deliveries wait for a majority");
        ensure!(!self.world.page().await?, "one of three is believed");
        self.nodes.nodes()[0].restart().await?;
        self.nodes.nodes()[1].restart().await?;
        self.world.until_reachable("all nodes are back").await?;
        self.world.deliver("what has waited").await?;
        self.world.until_believed("all nodes are back").await
    }

    /// A node that stops answering, and one that neither clients nor other nodes reach.
    async fn a_silent_node_delays_only(&mut self) -> Result<()> {
        self.nodes.nodes()[0].freeze()?;
        let went_on = self.goes_on("a silent node").await;
        self.nodes.nodes()[0].thaw()?;
        went_on?;
        self.goes_on("it answers again").await?;
        self.nodes.hold(1, true);
        self.nodes.cut(1);
        let went_on = self.goes_on("a node that is cut off").await;
        self.nodes.hold(1, false);
        went_on?;
        self.goes_on("it is reached again").await
    }

    /// A node that lost its disk is replaced; then all inboxes are built anew.
    async fn an_empty_node_takes_the_place_of_another(&mut self) -> Result<()> {
        self.nodes.replace_by_empty(2).await?;
        self.world.until_reachable("the empty node is there").await?;
        self.world.until_believed("two nodes have kept everything").await?;
        ensure!(renew_tokens(&*self.world.stores()?.states, &self.world.app.rng).await? > 0);
        ensure!(!self.world.page().await?, "an inbox of the former epoch is believed");
        self.world.come().await?;
        self.goes_on("under the new epoch").await?;
        self.nodes.nodes()[0].kill().await?;
        self.world.until_reachable("a majority with the new node").await?;
        self.goes_on("the new node counts").await
    }
}

/// The first answer that is no error.
async fn until_answered(ask: impl AsyncFn() -> Result<bool>) -> Result<bool> {
    let mut answer = None;
    until("an answer", async || {
        answer = ask().await.ok();
        Ok(answer.is_some())
    })
    .await?;
    answer.context("an answer")
}

mod cassandra {
    use super::*;

    /// One node killed, two killed, one silent, one cut off, one replaced by an empty one: every page is right, and
    /// with two of three nodes it comes from Cassandra.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "minutes, with three Java processes: `make chaos` runs it"]
    async fn a_cassandra_of_three_nodes_at_quorum_may_lose_any_of_them() -> Result<()> {
        let recorder = PrometheusBuilder::new().build_recorder();
        let _measuring = metrics::set_default_local_recorder(&recorder);
        let nodes = Cassandras::start().await?;
        let options = CassandraOptions { timeout: Duration::from_secs(8), ..nodes.cluster().fresh_keyspace(3) };
        let keyspace = options.keyspace.clone();
        let world = OutsideWorld::start(Inboxes::Cassandra(options.clone()), recorder.handle()).await?;
        let mut lost = Lost { nodes, keyspace, world };
        lost.goes_on("all nodes are there").await?;
        let findings = inspect(&options).await;
        ensure!(findings.len() == 8 && findings.iter().all(|it| it.verdict == Verdict::Fine), "{findings:?}");
        lost.hints_bring_a_late_node_what_nobody_reads().await?;
        lost.a_late_node_gets_what_it_missed().await?;
        lost.a_silent_node_delays_only().await?;
        lost.an_empty_node_takes_the_place_of_another().await?;
        lost.nodes.lines_are_used()
    }
}
