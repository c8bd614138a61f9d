//! Read replicas of a MySQL or a MariaDB that read exactly: a statement that runs there sees every commit that was
//! acknowledged before it was asked for, and everything up to some commit of the primary's.
//!
//! Each read first learns where the primary is, by a question that is sent after the read began and that all reads of
//! the moment share (`shared_question`, `primary`). It waits on a replica until that has applied as much
//! (`catching_up`, `replica`), and runs there. A replica that is late, away or unfit (`state`) rests (`health`), and
//! the primary serves.
//!
//! Nothing else can be done with a replica: [`Replicas`] has one method, which reads one statement.

pub mod catching_up;
mod health;
mod position;
mod primary;
mod replica;
pub mod shared_question;
mod state;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sea_orm::{Value, sqlx};
use tokio::time::{Instant, timeout};
use tracing::{info, warn};

use self::{
    primary::PrimaryAsker,
    replica::{CaughtUp, Missed, Replica, Running},
    shared_question::SharedQuestion,
};
use crate::{finish::Finisher, rows::Row, server::connections::ServerConnections};

pub use self::replica::REPLICA_LAG_SECONDS;

/// The counter of statements that may run on a replica, by outcome: served there; or by the primary, because the
/// replica was late, away or unfit, or because none was free.
pub const REPLICA_READS: &str = "tidefeed_replica_reads_total";
/// The histogram of the time until a replica had what was committed before the read.
pub const REPLICA_WAIT_SECONDS: &str = "tidefeed_replica_wait_seconds";
/// The gauge of the replicas that have served the last read that was tried there.
pub const REPLICAS_SERVING: &str = "tidefeed_replicas_serving";

/// How long `doctor` waits for a replica.
const PATIENCE: Duration = Duration::from_secs(5);

/// The replicas of a database, and how they are read.
#[derive(Clone)]
pub struct ReplicaOptions {
    /// Their addresses, as `SqlOptions::url`. Each names the same database as the primary's.
    pub urls: Vec<String>,
    /// How long a read waits for a replica before the primary serves it.
    pub wait: Duration,
}

/// An address may hold a password.
impl std::fmt::Debug for ReplicaOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplicaOptions").field("wait", &self.wait).finish_non_exhaustive()
    }
}

/// How a replica is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaCondition {
    /// Host and port.
    pub name: String,
    /// Why the primary serves in its place, in words; `None` if it serves.
    pub fault: Option<String>,
}

/// Clones share the connections.
#[derive(Clone)]
pub(crate) struct Replicas(Arc<Shared>);

struct Shared {
    all: Vec<Arc<Replica>>,
    primary: SharedQuestion<PrimaryAsker>,
    limits: ReplicaLimits,
    is_closed: AtomicBool,
}

/// What bounds reads on replicas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicaLimits {
    /// Reads that run at once on each replica.
    pub(crate) running: usize,
    /// How long a read waits for a replica.
    pub(crate) wait: Duration,
    /// How long a statement runs.
    pub(crate) operation: Duration,
}

impl std::fmt::Debug for Replicas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replicas").field("all", &self.0.all.len()).finish_non_exhaustive()
    }
}

impl Replicas {
    /// Connects to nobody yet.
    pub(crate) fn of(
        primary: &ServerConnections,
        all: Vec<(String, ServerConnections)>,
        limits: ReplicaLimits,
    ) -> Self {
        let all: Vec<_> = all.into_iter().map(|(name, to)| Arc::new(Replica::of(name, to.of_replica()))).collect();
        let primary = SharedQuestion::of(PrimaryAsker::of(primary.separate(primary.patience())));
        let replicas = Self(Arc::new(Shared { all, primary, limits, is_closed: AtomicBool::new(false) }));
        replicas.show_serving();
        replicas
    }

    /// One statement that reads, on the replica that is cheapest now; `None` if the primary has to serve it.
    pub(crate) async fn read(&self, sql: &Arc<str>, values: &[Value]) -> Option<Vec<Row>> {
        let began = Instant::now();
        let Some(replica) = self.choose(began) else {
            metrics::counter!(REPLICA_READS, "outcome" => "none").increment(1);
            return None;
        };
        let read = self.read_on(&replica, began, sql, values).await;
        let outcome = match &read {
            Ok(_) => "served",
            Err(Missed::Late) => "late",
            Err(Missed::Away(_)) => "away",
            Err(Missed::Unfit(_)) => "unfit",
            Err(Missed::PrimaryAway(_)) => "unasked",
        };
        metrics::counter!(REPLICA_READS, "outcome" => outcome).increment(1);
        self.note(&replica, began, read.as_ref().map(drop));
        read.ok()
    }

    /// Tries each of them over a new connection, with more patience than a read has.
    pub(crate) async fn conditions(&self) -> Vec<ReplicaCondition> {
        let mut conditions = Vec::with_capacity(self.0.all.len());
        for replica in &self.0.all {
            replica.close();
            let tried = timeout(2 * PATIENCE, self.catch_up(replica, PATIENCE)).await.unwrap_or(Err(Missed::Late));
            conditions.push(ReplicaCondition { name: replica.name.clone(), fault: tried.err().as_ref().map(in_words) });
        }
        conditions
    }

    /// How many there are, and how many have served the last read that was tried there.
    pub(crate) fn serving(&self) -> (usize, usize) {
        let all = &self.0.all;
        (all.len(), all.iter().filter(|replica| replica.health().is_serving()).count())
    }

    /// Closes their idle connections; nothing is read there from now on.
    pub(crate) fn close(&self) {
        self.0.is_closed.store(true, Ordering::Relaxed);
        for replica in &self.0.all {
            replica.close();
        }
    }

    fn choose(&self, now: Instant) -> Option<Arc<Replica>> {
        if self.0.is_closed.load(Ordering::Relaxed) {
            return None;
        }
        let free = self.0.all.iter().filter(|replica| {
            let running = replica.running();
            running < self.0.limits.running && replica.health().may_try(running, now)
        });
        free.min_by_key(|replica| replica.health().price(replica.running(), now)).cloned()
    }

    async fn read_on(
        &self,
        replica: &Arc<Replica>,
        began: Instant,
        sql: &Arc<str>,
        values: &[Value],
    ) -> Result<Vec<Row>, Missed> {
        let ReplicaLimits { wait, operation, .. } = self.0.limits;
        let caught_up = timeout(wait, self.catch_up(replica, wait)).await;
        let (caught_up, running) = caught_up.unwrap_or(Err(Missed::Late))?;
        metrics::histogram!(REPLICA_WAIT_SECONDS).record(began.elapsed());
        let (sql, values) = (Arc::clone(sql), values.to_vec());
        let read = Finisher::new(operation).finish(async move {
            let _running = running;
            caught_up.read(sql, &values).await
        });
        Ok(timeout(operation, read).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))?)
    }

    /// Goes on if this is dropped, so that a connection that takes long to make is there for the next read.
    async fn catch_up(&self, replica: &Arc<Replica>, patience: Duration) -> Result<(CaughtUp, Running), Missed> {
        let (replica, primary) = (Arc::clone(replica), self.0.primary.clone());
        let running = Running::on(Arc::clone(&replica));
        let limit = self.0.limits.operation;
        Finisher::new(limit).finish(async move { Ok((replica.catch_up(primary, patience).await?, running)) }).await
    }

    fn note(&self, replica: &Replica, began: Instant, read: Result<(), &Missed>) {
        let (now, mut health) = (Instant::now(), replica.health());
        let was_serving = health.is_serving();
        match &read {
            Ok(()) => health.served(began, now),
            // The replica has nothing to do with it.
            Err(Missed::PrimaryAway(_)) => {}
            Err(_) => health.missed(began, now),
        }
        let is_serving = health.is_serving();
        drop(health);
        if was_serving == is_serving {
            return;
        }
        self.show_serving();
        let name = replica.name.as_str();
        if let Err(missed) = read {
            let reason = missed.to_string();
            warn!(replica = name, reason, "A replica serves no reads: the primary does, until it can again.");
        } else {
            info!(replica = name, "A replica serves reads again.");
        }
    }

    fn show_serving(&self) {
        let serving = u32::try_from(self.serving().1).unwrap_or(u32::MAX);
        metrics::gauge!(REPLICAS_SERVING).set(f64::from(serving));
    }
}

fn in_words(missed: &Missed) -> String {
    store_error::causes::with_causes(missed)
}
