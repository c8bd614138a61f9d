//! The servers: the primary's log, and replicas that receive it and apply it one commit after the other, as late as
//! the scheduler likes. A fail-over leaves replicas that hold commits which the new primary lacks.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use tokio::sync::Notify;

use crate::{
    primary_store::{
        StoreState,
        tables::{Change, Tables},
    },
    rules::Rule,
};

/// How often what is being committed is executed although nobody waits for it any longer, in a million steps.
const EXECUTED: u32 = 50_000;

/// A commit's id: its place in the history of the server that has made it, and that server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitId {
    number: u64,
    server: u32,
}

/// A commit in a log.
#[derive(Debug, Clone)]
struct Commit {
    id: CommitId,
    changes: Arc<Vec<Change>>,
}

/// How servers say where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// As MySQL: all commits. Whoever follows a server may hold others of another server.
    #[default]
    Sets,
    /// As MariaDB: the number of the last commit. A server refuses followers whose last commit is not in its log.
    Numbers,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    Set(BTreeSet<CommitId>),
    Number(u64),
}

impl Position {
    pub fn reaches(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Set(own), Self::Set(other)) => other.is_subset(own),
            (Self::Number(own), Self::Number(other)) => own >= other,
            _ => false,
        }
    }
}

/// How replicas are; drawn for each seed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplicaOptions {
    pub count: usize,
    pub naming: Naming,
    /// Looks of a read that waits for a replica.
    pub patience: u32,
}

/// A replica.
#[derive(Debug, Default)]
pub struct Replica {
    pub tables: Tables,
    applied: BTreeSet<CommitId>,
    received: VecDeque<Commit>,
    /// The server that it was last told to follow.
    pub source: u32,
    /// Whether that sends it what it commits.
    pub is_connected: bool,
    /// How often it was built. Connections to a former one have ended.
    pub generation: u64,
    /// Reads under way there, each with the fail-overs before it began.
    reads: BTreeMap<u64, u64>,
    news: Arc<Notify>,
}

/// All servers.
#[derive(Debug, Default)]
pub struct Replication {
    pub options: ReplicaOptions,
    /// The primary.
    pub server: u32,
    log: Vec<Commit>,
    /// Commits that everybody sees and that are not yet among those that the primary has executed.
    owned: BTreeSet<CommitId>,
    pub fail_overs: u64,
    /// The primary before this one, and where it was in the end.
    pub former: Option<(u32, Position)>,
    pub replicas: Vec<Replica>,
    /// Statements that were read on replicas.
    pub served: u64,
    /// Statements that the primary had to serve, although there are replicas.
    pub missed: u64,
    /// Reads that were begun on replicas.
    reads: u64,
}

impl Replication {
    /// From now on there are replicas of what is committed.
    pub fn begin(&mut self, options: ReplicaOptions, tables: &Tables) {
        self.options = options;
        self.replicas = (0..options.count).map(|_| Replica::default()).collect();
        (0..options.count).for_each(|replica| self.build(replica, tables));
    }

    /// Builds the replica anew from the primary.
    pub fn build(&mut self, replica: usize, tables: &Tables) {
        let before = &self.replicas[replica];
        self.replicas[replica] = Replica {
            tables: tables.clone(),
            applied: self.log.iter().map(|commit| commit.id).collect(),
            source: self.server,
            is_connected: true,
            generation: before.generation + 1,
            news: Arc::clone(&before.news),
            ..Replica::default()
        };
    }

    /// The primary commits: everybody sees that at once.
    pub fn log(&mut self, changes: &[Change]) -> Option<CommitId> {
        if self.replicas.is_empty() {
            return None;
        }
        let number = self.log.last().map_or(0, |last| last.id.number) + 1;
        let id = CommitId { number, server: self.server };
        self.log.push(Commit { id, changes: Arc::new(changes.to_vec()) });
        self.owned.insert(id);
        self.notify();
        Some(id)
    }

    /// The commit is among those that the primary has executed.
    pub fn execute(&mut self, id: CommitId) {
        self.owned.remove(&id);
    }

    /// A server becomes the primary that lacks the last commits. Nobody is connected to it.
    pub fn fail_over(&mut self, lost: usize) {
        if self.replicas.is_empty() {
            return;
        }
        self.former = Some((self.server, self.position(true)));
        self.log.truncate(self.log.len().saturating_sub(lost));
        self.owned.clear();
        self.server += 1;
        self.fail_overs += 1;
        self.replicas.iter_mut().for_each(|replica| replica.is_connected = false);
        self.notify();
    }

    /// A read begins on the replica; returns its number.
    pub fn begin_read(&mut self, replica: usize) -> u64 {
        self.reads += 1;
        self.replicas[replica].reads.insert(self.reads, self.fail_overs);
        self.reads
    }

    pub fn end_read(&mut self, replica: usize, read: u64) {
        let replica = &mut self.replicas[replica];
        replica.reads.remove(&read);
        if replica.source != self.server {
            replica.news.notify_one();
        }
    }

    fn notify(&self) {
        self.replicas.iter().for_each(|replica| replica.news.notify_one());
    }

    /// Where the primary is; perhaps without what is being committed.
    pub fn position(&self, with_owned: bool) -> Position {
        let ids = self.log.iter().map(|commit| commit.id).filter(|id| with_owned || !self.owned.contains(id));
        self.named(ids)
    }

    /// What the replica has applied.
    pub fn applied(&self, replica: usize) -> Position {
        self.named(self.replicas[replica].applied.iter().copied())
    }

    /// What it has applied or will apply.
    pub fn held(&self, replica: usize) -> Position {
        let replica = &self.replicas[replica];
        self.named(replica.applied.iter().copied().chain(replica.received.iter().map(|commit| commit.id)))
    }

    fn named(&self, ids: impl Iterator<Item = CommitId>) -> Position {
        match self.options.naming {
            Naming::Sets => Position::Set(ids.collect()),
            Naming::Numbers => Position::Number(ids.map(|id| id.number).max().unwrap_or(0)),
        }
    }

    /// The replica follows a new primary once the reads have ended that began before the fail-over, or it receives
    /// something; `false` if there is nothing.
    fn receive(&mut self, replica: usize, under_reads: bool) -> bool {
        let Self { options, server, log, replicas, fail_overs, .. } = self;
        let replica = &mut replicas[replica];
        let has = |id: CommitId| replica.applied.contains(&id) || replica.received.iter().any(|it| it.id == id);
        if replica.source != *server {
            if !under_reads && replica.reads.values().any(|began_after| began_after < fail_overs) {
                return false;
            }
            let is_in_log = |id: &CommitId| log.iter().any(|commit| commit.id == *id);
            let last = replica.received.back().map(|commit| commit.id).or(replica.applied.last().copied());
            let is_accepted = options.naming == Naming::Sets || last.is_none_or(|last| is_in_log(&last));
            (replica.source, replica.is_connected) = (*server, is_accepted);
            return true;
        }
        let next = log.iter().rev().take_while(|commit| !has(commit.id)).last().filter(|_| replica.is_connected);
        let next = next.cloned();
        replica.received.extend(next.clone());
        next.is_some()
    }

    /// The replica applies the first of what it has received, or another one; `false` if there is nothing.
    fn apply(&mut self, replica: usize, in_order: bool) -> bool {
        let replica = &mut self.replicas[replica];
        let next = usize::from(!in_order && replica.received.len() > 1);
        let Some(Commit { id, changes }) = replica.received.remove(next) else { return false };
        for change in changes.iter() {
            replica.tables.make(&mut change.clone());
        }
        replica.applied.insert(id);
        true
    }
}

/// Replicates for one replica, for ever.
pub async fn replicate(store: StoreState, replica: usize) {
    let injector = store.injector.clone();
    let news = Arc::clone(&store.base().replication.replicas[replica].news);
    loop {
        news.notified().await;
        loop {
            injector.hold(injector.rates().replication_held).await;
            let receives = injector.chance(500_000);
            let in_order = !store.breaks(Rule::ReplicaAppliesOutOfOrder) || injector.chance(500_000);
            let executes = injector.chance(EXECUTED);
            let under_reads = store.breaks(Rule::PrimaryChangesUnderReads);
            let mut base = store.base();
            let replication = &mut base.replication;
            let has_received = receives && replication.receive(replica, under_reads);
            let has_applied = has_received || replication.apply(replica, in_order);
            let is_done = !has_applied && !replication.receive(replica, under_reads);
            if executes {
                replication.owned.clear();
            }
            if is_done {
                break;
            }
        }
    }
}
