//! Nodes to flood: one on SQLite, or some on MariaDB with Redis. Each has little memory, and a flood has to leave it
//! alive and give back what it took.

use std::time::Duration;

use super::*;
use crate::servers::{self, Backend, EmptyDatabase};

/// How long after a flood a node may still hold more than half as much again as before it.
const BACK_TIME: Duration = Duration::from_mins(2);

/// Where the nodes keep their rows, and how many there are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nodes {
    OnSqlite,
    OnMariaDb(usize),
}

pub(super) struct Fleet {
    pub(super) served: Served,
    /// Those besides `served`.
    others: Vec<(Node, Peer)>,
    _database: Option<EmptyDatabase>,
}

/// Bytes of memory of each node.
pub(super) type Memory = Vec<u64>;

impl Fleet {
    /// `settings` has lines of the configuration's section `server`.
    pub(super) async fn start(nodes: Nodes, settings: &str) -> Result<Self> {
        let (command, database, others) = match nodes {
            Nodes::OnSqlite => (CommandLine::embedded()?, None, 0),
            Nodes::OnMariaDb(nodes) => {
                let (database, keys) = (Backend::MariaDb.empty_database().await?, servers::fresh_keys().await?);
                let command = CommandLine::on(&database.url)?
                    .with("TIDEFEED__REDIS__URL", &keys.url)
                    .with("TIDEFEED__REDIS__PREFIX", &keys.prefix);
                (command, Some(database), nodes - 1)
            }
        };
        let served = Served::start_as(command.within(LITTLE_MEMORY), PROXIES, settings).await?;
        let mut fleet = Self { served, others: Vec::new(), _database: database };
        for _ in 0..others {
            fleet.others.push(Node::listening(&fleet.served.command, &["serve"], "Serving the API.").await?);
        }
        Ok(fleet)
    }

    /// The node that the client with this number asks.
    pub(super) fn peer(&self, place: usize) -> &Peer {
        match place % (1 + self.others.len()) {
            0 => &self.served.peer,
            other => &self.others[other - 1].1,
        }
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        [&self.served.node].into_iter().chain(self.others.iter().map(|(node, _)| node))
    }

    /// Reads pages of every node.
    pub(super) async fn serves_pages(&self) -> Result<()> {
        for place in 0..=self.others.len() {
            self.served.serves_pages_at(self.peer(place)).await?;
        }
        Ok(())
    }

    /// What each node holds now. Fails if one has died.
    pub(super) fn memory(&self) -> Result<Memory> {
        self.nodes().map(Node::resident_bytes).collect()
    }

    /// What each node holds, from where its peak is measured.
    pub(super) fn begin_flood(&self) -> Result<Memory> {
        self.nodes().try_for_each(Node::forget_most_resident)?;
        self.memory()
    }

    /// The most that each node has held since the flood began.
    pub(super) fn peak(&self) -> Result<Memory> {
        self.nodes().map(Node::most_resident_bytes).collect()
    }

    /// Waits until each node holds at most half as much again as before, while nobody asks for anything.
    pub(super) async fn is_back_within(&self, before: &Memory) -> Result<()> {
        let is_back = || -> Result<bool> { Ok(self.memory()?.iter().zip(before).all(|(now, it)| *now <= it * 3 / 2)) };
        let back = timeout(BACK_TIME, until("the memory is given back", async || is_back())).await;
        back.context("not within two minutes").flatten().with_context(|| format!("{before:?}, now {:?}", self.memory()))
    }
}

/// In MiB.
pub(super) fn in_words(memory: &Memory) -> String {
    memory.iter().map(|bytes| (bytes >> 20).to_string()).collect::<Vec<_>>().join(", ")
}
