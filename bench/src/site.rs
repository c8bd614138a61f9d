//! Sets up what a row measures: a store, a node in front of it, and its users.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use crate::{
    database::Database,
    node::{self, Node, Settings},
    options::Options,
    people::{self, Person},
    world::{Engine, Kept, Store},
};

/// Number of active readers whose pages are read.
const READERS: (usize, usize) = (5_000, 3);

/// Keeps their tokens beside the world.
const READERS_FILE: &str = "readers";

/// A store with a node.
pub struct Site {
    pub store: Store,
    pub options: Options,
    node: Option<Node>,
    log: PathBuf,
}

impl Site {
    /// A copy of the world, and a node on it. Without a world it is seeded, and its readers sign in and get inboxes.
    pub async fn open(engine: Engine, options: &Options, folder: &Path) -> Result<Self> {
        let kept = Kept::of(engine, options);
        if !kept.is_fresh() {
            let seeded = Self::on(kept.seed().await?, options).await?;
            let readers = seeded.signed_in_readers().await?;
            fs::write(seeded.store.folder().join(READERS_FILE), people::written(&readers))?;
            seeded.close().await?;
            kept.complete()?;
        }
        Self::on(kept.copy(&folder.join(engine.name())).await?, options).await
    }

    async fn on(store: Store, options: &Options) -> Result<Self> {
        let log = store.folder().join("node.log");
        let mut site = Self { store, options: options.clone(), node: None, log };
        site.restart(&Vec::new()).await?;
        Ok(site)
    }

    /// Another node on the same store, with these settings beside the usual ones.
    pub async fn restart(&mut self, settings: &Settings) -> Result<()> {
        if let Some(node) = self.node.take() {
            node.server.stop().await?;
        }
        let settings = [self.store.settings(), settings.clone()].concat();
        self.node = Some(Node::serve(&self.options.tidefeed, &settings, &self.log).await?);
        Ok(())
    }

    /// Restarts MariaDB with as many replicas, and a node that reads on none of them.
    pub async fn replicate(&mut self, replicas: u32) -> Result<()> {
        if let Some(node) = self.node.take() {
            node.server.stop().await?;
        }
        self.store.replicate(replicas).await?;
        self.restart(&Vec::new()).await
    }

    /// Runs a command of the binary on the store.
    pub fn command(&self, arguments: &[&str]) -> Result<()> {
        node::run(&self.options.tidefeed, arguments, &self.store.settings(), &self.log)
    }

    /// The node's address.
    pub fn address(&self) -> SocketAddr {
        self.node.as_ref().map_or(SocketAddr::from(([127, 0, 0, 1], 9)), |node| node.address)
    }

    /// The node's process.
    pub fn node_pid(&self) -> u32 {
        self.node.as_ref().map_or(0, |node| node.server.pid)
    }

    /// The processes that work for a request: the node, then MariaDB and Redis.
    pub fn pids(&self) -> Vec<u32> {
        [self.node_pid()].into_iter().chain(self.store.pids()).collect()
    }

    /// A connection of the bench's own.
    pub async fn database(&self) -> Result<Database> {
        self.store.database().await
    }

    /// Signed-in people with 10 to 60 followees and filled inboxes.
    pub fn readers(&self) -> Result<Vec<Person>> {
        people::read(&fs::read_to_string(self.store.folder().join(READERS_FILE))?)
    }

    async fn signed_in_readers(&self) -> Result<Vec<Person>> {
        let readers = self.people((10, 60), self.options.size(READERS.0, READERS.1)).await?;
        people::make_active(self, &readers).await?;
        Ok(readers)
    }

    /// Signs in seeded people whose number of followees is in the given range.
    pub async fn people(&self, following: (i64, i64), count: usize) -> Result<Vec<Person>> {
        let handles = people::handles(&mut self.database().await?, following, count).await?;
        people::sign_in(self, &handles).await
    }

    /// Signs in the author whose number of followers is nearest to `followers`, and returns that number too.
    pub async fn author(&self, followers: i64) -> Result<(Person, i64)> {
        let (handle, count) = people::author(&mut self.database().await?, followers).await?;
        let author =
            people::sign_in(self, &[handle]).await?.into_iter().next().context("The sign-in returned no user.")?;
        Ok((author, count))
    }

    /// Ends the node and the servers.
    pub async fn close(mut self) -> Result<()> {
        if let Some(node) = self.node.take() {
            node.server.stop().await?;
        }
        self.store.close().await
    }
}
