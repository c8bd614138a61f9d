//! Tests `tidefeed health` beside a node that is ready, one that leaves, and none.

use anyhow::{Context as _, Result, ensure};

use super::{
    CommandLine,
    process::{Node, until},
};

/// `tidefeed health` as in a container: with the node's address alone.
fn health_of(address: &str) -> Result<CommandLine> {
    let it = CommandLine::embedded()?.with("TIDEFEED__SERVER__LISTEN", address);
    // A proxy that answers nobody: what is on this machine is asked directly.
    Ok(it.with("http_proxy", "http://127.0.0.1:1").with("HTTP_PROXY", "http://127.0.0.1:1"))
}

#[tokio::test]
async fn health_follows_a_node_from_ready_to_gone() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    let it = it.with("TIDEFEED__SERVER__LISTEN", "0.0.0.0:0").with("TIDEFEED__SERVER__UNREADY_MS", "600000");
    let mut node = Node::start(&it, &["serve"])?;
    let address = node.said("Serving the API.").await?["address"].as_str().context("no address")?.to_owned();
    let health = health_of(&address)?;
    let ready = health.run(&["health"]).await?;
    ensure!(ready.code == Some(0) && ready.out.contains(r#""ready":true"#), "{ready:?}");

    node.signal("TERM").await?;
    until("it says that it leaves", async || Ok(health.run(&["health"]).await?.code != Some(0))).await?;
    let leaving = health.run(&["health"]).await?;
    ensure!(leaving.code == Some(1) && leaving.out.contains(r#""leaving":true"#), "{leaving:?}");

    node.crash().await?;
    let gone = health.run(&["health"]).await?;
    ensure!(gone.code == Some(1) && gone.err.contains("node answers on 127.0.0.1:"), "{gone:?}");
    Ok(())
}

#[tokio::test]
async fn health_needs_the_port_that_the_node_has_taken() -> Result<()> {
    let ended = health_of("127.0.0.1:0")?.run(&["health"]).await?;
    ensure!(ended.code == Some(1) && ended.err.contains("set server.listen"), "{ended:?}");
    Ok(())
}
