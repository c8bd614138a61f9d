//! One replica: its connections, and how one of them is brought to where the primary was.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use sea_orm::{Value, sqlx};
use tokio::time::Instant;

use super::{
    catching_up::{FollowsPrimary, PrimaryAway, Vouched, catch_up},
    health::Health,
    primary::{PrimaryAsker, Whereabouts},
    shared_question::SharedQuestion,
    state::{ReplicaState, Unfit},
};
use crate::{
    rows::Row,
    server::connections::{ServerConnection, ServerConnections},
};

/// The gauge of the time that the last read on a replica waited there for what was committed before it, by replica.
pub const REPLICA_LAG_SECONDS: &str = "tidefeed_replica_lag_seconds";

/// Waits until a replica has applied a position, at most for some seconds: 0 if it has.
const WAIT: &str = "SELECT /*M! MASTER_GTID_WAIT(?, ?) */ /*!80000 WAIT_FOR_EXECUTED_GTID_SET(?, ?) */";
/// Whether the first of two sets is in the second one, on MySQL.
const IS_SUBSET: &str = "SELECT GTID_SUBSET(?, ?)";

/// Why a replica does not serve a read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Missed {
    /// It has not applied in time what was committed.
    #[error("it is behind the primary")]
    Late,
    /// It does not answer, or not as it should.
    #[error(transparent)]
    Away(#[from] sqlx::Error),
    /// Nothing is read there.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    #[error(transparent)]
    PrimaryAway(#[from] PrimaryAway),
}

/// A replica, with its idle connections.
pub(super) struct Replica {
    /// Host and port.
    pub(super) name: String,
    connections: ServerConnections,
    /// The last one was in use last.
    idle: Mutex<Vec<Connected>>,
    running: AtomicUsize,
    health: Mutex<Health>,
    /// See [`REPLICA_LAG_SECONDS`].
    lag: metrics::Gauge,
}

/// A connection to a replica, and what is known of its server.
struct Connected {
    connection: ServerConnection,
    is_new: bool,
    vouched: Vouched,
    /// A position that it has applied.
    applied: String,
}

impl Replica {
    pub(super) fn of(name: String, connections: ServerConnections) -> Self {
        let (idle, health) = (Mutex::default(), Mutex::default());
        let lag = metrics::gauge!(REPLICA_LAG_SECONDS, "replica" => name.clone());
        Self { name, connections, idle, running: AtomicUsize::new(0), health, lag }
    }

    /// Reads that run here.
    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the idle connections.
    pub(super) fn close(&self) {
        self.idle().clear();
    }

    /// A connection that holds what was committed before this call. It waits for that on the server for `patience`.
    pub(super) async fn catch_up(
        self: Arc<Self>,
        primary: SharedQuestion<PrimaryAsker>,
        patience: Duration,
    ) -> Result<CaughtUp, Missed> {
        let idle = self.idle().pop().filter(|it| it.connection.is_young());
        let mut connected = match idle {
            Some(idle) => idle,
            None => self.connect().await?,
        };
        let mut done = connected.catch_up(&self.lag, &primary, patience).await;
        if matches!(done, Err(Missed::Away(_))) && !connected.is_new {
            // It may have ended while it was idle.
            connected = self.connect().await?;
            done = connected.catch_up(&self.lag, &primary, patience).await;
        }
        match done {
            Ok(()) => Ok(CaughtUp { connected: Some(connected), replica: self }),
            Err(Missed::Late) => {
                self.keep(connected);
                Err(Missed::Late)
            }
            Err(missed) => Err(missed),
        }
    }

    async fn connect(&self) -> Result<Connected, sqlx::Error> {
        let connection = self.connections.fresh().await?;
        Ok(Connected { connection, is_new: true, vouched: Vouched::default(), applied: String::new() })
    }

    fn keep(&self, connected: Connected) {
        self.idle().push(Connected { is_new: false, ..connected });
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connected>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connected {
    async fn catch_up(
        &mut self,
        lag: &metrics::Gauge,
        primary: &SharedQuestion<PrimaryAsker>,
        patience: Duration,
    ) -> Result<(), Missed> {
        let Self { connection, vouched, applied, .. } = self;
        catch_up(&mut AskedReplica { lag, connection, applied, patience }, vouched, primary).await
    }
}

/// A replica that is being asked, for a read that waits so long.
struct AskedReplica<'a> {
    /// See [`Replica`].
    lag: &'a metrics::Gauge,
    connection: &'a mut ServerConnection,
    /// See [`Connected`].
    applied: &'a mut String,
    patience: Duration,
}

impl FollowsPrimary for AskedReplica<'_> {
    type There = Arc<Whereabouts>;
    type State = ReplicaState;
    type Missed = Missed;

    fn connection(there: &Arc<Whereabouts>) -> u64 {
        there.connection
    }

    async fn state(&mut self) -> Result<ReplicaState, Missed> {
        Ok(ReplicaState::of(self.connection).await?)
    }

    async fn judge(&mut self, state: &ReplicaState, there: &Arc<Whereabouts>) -> Result<(), Missed> {
        if let Some(fault) = state.fault(there) {
            return Err(fault.into());
        }
        let held = state.position(there).ok_or(Unfit::Empty)?;
        let is_within = match there.position.reaches(&held) {
            Some(reaches) => reaches,
            None => self.number(IS_SUBSET, [held.text().into(), there.text.as_str().into()]).await? == Some(1),
        };
        if !is_within {
            return Err(Unfit::Ahead.into());
        }
        if state.is_connected() { Ok(()) } else { Err(Unfit::Disconnected.into()) }
    }

    async fn wait(&mut self, there: &Arc<Whereabouts>) -> Result<(), Missed> {
        let (began, seconds) = (Instant::now(), self.patience.as_secs_f64());
        let is_late = *self.applied != there.text
            && self.number(WAIT, [there.text.as_str().into(), seconds.into()]).await? != Some(0);
        self.lag.set(began.elapsed().as_secs_f64());
        if is_late {
            return Err(Missed::Late);
        }
        self.applied.clone_from(&there.text);
        Ok(())
    }
}

impl AskedReplica<'_> {
    async fn number(&mut self, sql: &'static str, values: [Value; 2]) -> Result<Option<i64>, sqlx::Error> {
        let rows = self.connection.query(sql.into(), &values).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        row.get(0).map_err(|error| sqlx::Error::Decode(Box::new(error)))
    }
}

/// A connection that holds what was committed before it was asked for. There is no other way to read on a replica.
pub(super) struct CaughtUp {
    connected: Option<Connected>,
    replica: Arc<Replica>,
}

impl CaughtUp {
    /// The rows of one statement: one snapshot.
    pub(super) async fn read(mut self, sql: Arc<str>, values: &[Value]) -> Result<Vec<Row>, sqlx::Error> {
        let mut connected = self.connected.take().ok_or(sqlx::Error::PoolClosed)?;
        let rows = connected.connection.query(sql, values).await?;
        self.replica.keep(connected);
        Ok(rows)
    }
}

/// Nobody has waited for it any longer.
impl Drop for CaughtUp {
    fn drop(&mut self) {
        if let Some(connected) = self.connected.take() {
            self.replica.keep(connected);
        }
    }
}

/// Counts a read that runs on a replica, until it is dropped.
pub(super) struct Running(Arc<Replica>);

impl Running {
    pub(super) fn on(replica: Arc<Replica>) -> Self {
        replica.running.fetch_add(1, Ordering::Relaxed);
        Self(replica)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
