//! `tidefeed inbox`: shows, moves and renews the inboxes that lie outside SQL.

use std::collections::BTreeMap;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use super::{completion::Completion, print};
use crate::{
    app::open_store,
    config::Config,
    domain::limits::INBOX_BUCKETS,
    rng::SharedRng,
    store::{OutsideStates, Schema as _},
    tier::{move_all, renew_tokens},
};

#[derive(Debug, Args)]
pub struct InboxArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show how many readers have their inboxes in Redis or Cassandra, and on which servers.
    Status,
    /// Move all inboxes to SQL. First stop the nodes that have inbox.store = "redis" or "cassandra".
    Move,
    /// Rebuild each inbox outside SQL when its reader next comes. Run this after SQL or Redis was restored from a
    /// backup, or after Cassandra may have lost what it acknowledged.
    Renew,
}

/// Needs SQL alone: the store of the inboxes may be gone.
pub async fn run(arguments: &InboxArguments, config: &Config) -> anyhow::Result<Completion> {
    let store = open_store(config).await?;
    if !store.pending().await?.is_empty() {
        anyhow::bail!("tables are missing or old: run `tidefeed migrate`");
    }
    match arguments.action {
        Action::Status => status(&store).await?,
        Action::Move => {
            let moved = move_all(&store, &store, config.inbox.extend_step).await.context("inboxes cannot be moved")?;
            print::line(format!(
                "Moved {moved} inboxes to SQL; none is left outside. Start the nodes with inbox.store = \"sql\"."
            ))?;
        }
        Action::Renew => {
            let renewed = renew_tokens(&store, &SharedRng::from_system()).await.context("tokens cannot be renewed")?;
            print::line(format!("Renewed {renewed} inbox buckets. Each inbox is rebuilt when its reader next comes."))?;
        }
    }
    Ok(Completion::Done)
}

async fn status(store: &dyn OutsideStates) -> anyhow::Result<()> {
    let occupancy = store.occupancy().await?;
    print::line(format!(
        "Inboxes outside SQL: {}, {} of them built. Inboxes in SQL: {}. Readers without an inbox, whose pages are pulled: {}.",
        occupancy.readers, occupancy.claimed, occupancy.in_sql, occupancy.without
    ))?;
    print::line(format!(
        "Inbox buckets with a server outside SQL: {} of {INBOX_BUCKETS}. A bucket is a group of readers.",
        occupancy.admitted
    ))?;
    let mut nodes: BTreeMap<String, usize> = BTreeMap::new();
    for (_, token) in store.tokens().await? {
        *nodes.entry(token.node.to_string()).or_default() += 1;
    }
    for (node, buckets) in nodes {
        print::line(format!("Server {node}: {buckets} inbox buckets."))?;
    }
    Ok(())
}
