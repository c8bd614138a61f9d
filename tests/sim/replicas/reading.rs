//! How a node reads on replicas: the driver's order, over the models of the servers.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use sql_driver::replicas::{
    catching_up::{FollowsPrimary, KnowsPrimary, PrimaryAway, Vouched, catch_up},
    shared_question::{Asker, Asking, SharedQuestion},
};
use tokio::sync::Notify;

use super::servers::Position;
use crate::{
    primary_store::{StoreState, tables::Tables},
    rules::Rule,
};

/// How often a read stands still between its wait and its statement where that must not matter, in a million.
const STALLED: u32 = 500_000;

/// Where the primary was.
#[derive(Debug, Clone)]
pub struct There {
    server: u32,
    /// The connection over which it has answered.
    connection: u64,
    position: Position,
}

/// What a node has of replicas. Clones share it.
#[derive(Clone)]
pub struct Reading(Arc<Inner>);

struct Inner {
    store: StoreState,
    question: SharedQuestion<PrimaryAsker>,
    /// The answer to the question that is under way.
    under_way: Arc<Mutex<Option<There>>>,
    /// What asks for all, to be run by [`Reading::run`].
    asking: Mutex<VecDeque<Asking>>,
    begins: Notify,
    idle: Mutex<Vec<Link>>,
}

/// A connection to a replica.
struct Link {
    replica: usize,
    generation: u64,
    vouched: Vouched,
}

/// A read that is under way on a replica.
struct ReadUnderWay<'a> {
    store: &'a StoreState,
    replica: usize,
    number: u64,
}

impl<'a> ReadUnderWay<'a> {
    fn on(store: &'a StoreState, replica: usize) -> Self {
        Self { store, replica, number: store.base().replication.begin_read(replica) }
    }
}

impl Drop for ReadUnderWay<'_> {
    fn drop(&mut self) {
        self.store.base().replication.end_read(self.replica, self.number);
    }
}

/// Why a replica does not serve.
#[derive(Debug)]
enum Missed {
    Late,
    Away,
    Unfit,
    PrimaryAway,
}

impl From<PrimaryAway> for Missed {
    fn from(_: PrimaryAway) -> Self {
        Self::PrimaryAway
    }
}

impl Reading {
    pub fn of(store: StoreState) -> Self {
        let under_way = Arc::new(Mutex::new(None));
        let asker = PrimaryAsker {
            store: store.clone(),
            connected_after: None,
            made: 0,
            earlier: None,
            under_way: Arc::clone(&under_way),
        };
        Self(Arc::new(Inner {
            store,
            question: SharedQuestion::of(asker),
            under_way,
            asking: Mutex::default(),
            begins: Notify::new(),
            idle: Mutex::default(),
        }))
    }

    /// Asks the primary whenever somebody wants to know, for ever.
    pub async fn run(self) {
        loop {
            self.0.begins.notified().await;
            loop {
                let Some(asking) = locked(&self.0.asking).pop_front() else { break };
                asking.await;
            }
        }
    }

    /// Runs the statement on a replica, if there is one that has caught up; otherwise gives it back.
    pub async fn read<T, S: FnOnce(&Tables) -> T>(&self, statement: S) -> Result<T, S> {
        let store = &self.0.store;
        let count = store.base().replication.replicas.len();
        if count == 0 {
            return Err(statement);
        }
        let link = self.link(store.injector.index(count));
        let _under_way = ReadUnderWay::on(store, link.replica);
        let caught_up = self.caught_up(link).await;
        if store.breaks(Rule::PrimaryChangesUnderReads) {
            store.injector.hold(STALLED).await;
        }
        let sent = if caught_up.is_ok() { store.injector.statement().await } else { Ok(()) };
        let mut base = store.base();
        let replication = &mut base.replication;
        match caught_up {
            Ok(link) if sent.is_ok() && replication.replicas[link.replica].generation == link.generation => {
                replication.served += 1;
                let answer = statement(&replication.replicas[link.replica].tables);
                drop(base);
                store.injector.note(|| format!("    read on replica {}", link.replica));
                locked(&self.0.idle).push(link);
                Ok(answer)
            }
            missed => {
                replication.missed += 1;
                drop(base);
                store.injector.note(|| format!("    no replica serves: {:?}", missed.err()));
                Err(statement)
            }
        }
    }

    /// A connection that was idle, or a new one.
    fn link(&self, replica: usize) -> Link {
        let generation = self.0.store.base().replication.replicas[replica].generation;
        let mut idle = locked(&self.0.idle);
        idle.retain(|link| link.replica != replica || link.generation == generation);
        let found = idle.iter().position(|link| link.replica == replica);
        let new = Link { replica, generation, vouched: Vouched::default() };
        found.map_or(new, |found| idle.swap_remove(found))
    }

    async fn caught_up(&self, mut link: Link) -> Result<Link, Missed> {
        let mut asked = AskedReplica { store: &self.0.store, replica: link.replica, generation: link.generation };
        match catch_up(&mut asked, &mut link.vouched, self).await {
            Ok(()) => Ok(link),
            Err(missed) => {
                if matches!(missed, Missed::Late) {
                    locked(&self.0.idle).push(link);
                }
                Err(missed)
            }
        }
    }
}

impl KnowsPrimary for Reading {
    type There = There;

    async fn ask(&self) -> Option<There> {
        let under_way = locked(&self.0.under_way).clone();
        if self.0.store.breaks(Rule::QuestionUnderWayIsJoined) && under_way.is_some() {
            self.0.store.injector.pause().await;
            return under_way;
        }
        let spawn = |asking| {
            locked(&self.0.asking).push_back(asking);
            self.0.begins.notify_one();
        };
        self.0.question.ask_by(spawn).await
    }
}

/// Asks the primary over a connection of its own.
struct PrimaryAsker {
    store: StoreState,
    /// Fail-overs before the connection was made, if there is one.
    connected_after: Option<u64>,
    made: u64,
    /// The answer to the question before.
    earlier: Option<There>,
    under_way: Arc<Mutex<Option<There>>>,
}

impl PrimaryAsker {
    fn there(&mut self) -> Option<There> {
        let base = self.store.base();
        let replication = &base.replication;
        let connected_after = *self.connected_after.get_or_insert_with(|| {
            self.made += 1;
            replication.fail_overs
        });
        let with_owned = !self.store.breaks(Rule::CommitUnderWayIsLeftOut);
        let (mut server, mut position) = (replication.server, replication.position(with_owned));
        if connected_after != replication.fail_overs {
            // The former primary takes no writes any longer, or is gone.
            if !self.store.breaks(Rule::ReadOnlyServerAnswers) {
                self.connected_after = None;
                return None;
            }
            (server, position) = replication.former.clone()?;
        }
        let connection = if self.store.breaks(Rule::ReplicaIsProvenOnce) { 0 } else { self.made };
        Some(There { server, connection, position })
    }
}

impl Asker for PrimaryAsker {
    type Answer = There;

    async fn ask(&mut self) -> Option<There> {
        let injector = self.store.injector.clone();
        if injector.statement().await.is_err() {
            self.connected_after = None;
            return None;
        }
        let there = self.there()?;
        *locked(&self.under_way) = Some(there.clone());
        injector.pause().await;
        *locked(&self.under_way) = None;
        match self.store.breaks(Rule::PositionAskedBeforeTheRead) {
            true => self.earlier.replace(there.clone()).or(Some(there)),
            false => Some(there),
        }
    }
}

/// A replica that is being asked.
struct AskedReplica<'a> {
    store: &'a StoreState,
    replica: usize,
    generation: u64,
}

/// What a replica says of itself.
struct ReplicaState {
    source: u32,
    is_connected: bool,
    held: Position,
}

impl AskedReplica<'_> {
    async fn statement(&self) -> Result<(), Missed> {
        self.store.injector.statement().await.map_err(|_| Missed::Away)?;
        let generation = self.store.base().replication.replicas[self.replica].generation;
        if generation == self.generation { Ok(()) } else { Err(Missed::Away) }
    }
}

impl FollowsPrimary for AskedReplica<'_> {
    type There = There;
    type State = ReplicaState;
    type Missed = Missed;

    fn connection(there: &There) -> u64 {
        there.connection
    }

    async fn state(&mut self) -> Result<ReplicaState, Missed> {
        self.statement().await?;
        let base = self.store.base();
        let replica = &base.replication.replicas[self.replica];
        let held = base.replication.held(self.replica);
        Ok(ReplicaState { source: replica.source, is_connected: replica.is_connected, held })
    }

    async fn judge(&mut self, state: &ReplicaState, there: &There) -> Result<(), Missed> {
        let is_within = there.position.reaches(&state.held) || self.store.breaks(Rule::ReplicaAheadIsRead);
        let is_connected = state.is_connected || self.store.breaks(Rule::DisconnectedReplicaIsRead);
        if state.source == there.server && is_within && is_connected { Ok(()) } else { Err(Missed::Unfit) }
    }

    async fn wait(&mut self, there: &There) -> Result<(), Missed> {
        self.statement().await?;
        let patience = self.store.base().replication.options.patience;
        for _ in 0..patience {
            if self.store.base().replication.applied(self.replica).reaches(&there.position) {
                return Ok(());
            }
            self.store.injector.pause().await;
        }
        if self.store.breaks(Rule::LateReplicaIsRead) { Ok(()) } else { Err(Missed::Late) }
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
