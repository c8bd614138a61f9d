//! Measures how soon a node is ready, its memory at rest, and the size of the binary.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::{
    figure::{Figure, Target},
    node::Node,
    processes,
    rounds::median,
    site::Site,
};

const MIB: f64 = 1024.0 * 1024.0;

/// Starts nodes on the world, one after the other.
pub async fn measure(site: &mut Site) -> Result<Vec<Figure>> {
    let (mut ready, mut resident) = (Vec::new(), Vec::new());
    let log = site.store.folder().join("start.log");
    for _ in 0..site.options.rounds() {
        let node = Node::serve(&site.options.tidefeed, &site.store.settings(), &log).await?;
        ready.push(node.ready_after.as_secs_f64() * 1e3);
        sleep(Duration::from_millis(500)).await;
        resident.push(processes::resident_bytes(node.server.pid)? / MIB);
        node.server.stop().await?;
    }
    let bytes = std::fs::metadata(&site.options.tidefeed)?.len();
    let binary = f64::from(u32::try_from(bytes / 1024).unwrap_or(u32::MAX)) / 1024.0;
    Ok(vec![
        Figure::alone("from start to ready", median(&ready), "ms", Target::AtMost(100.0, 50.0)),
        Figure::alone("memory at rest", median(&resident), "MiB", Target::AtMost(30.0, 20.0)),
        Figure::alone("size of the binary", binary, "MiB", Target::AtMost(20.0, 15.0)),
    ])
}
