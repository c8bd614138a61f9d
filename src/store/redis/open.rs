//! A connection that stands, to a server or to a cluster.

use std::sync::Arc;

use fair_queue::counted;
use futures_util::FutureExt as _;
use redis::{
    Cmd, Pipeline, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    cluster_async::ClusterConnection,
};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::telemetry::metrics::REDIS_WAITS;

/// A connection that stands.
#[derive(Clone)]
pub enum Open {
    /// To one server, and its address.
    Single(MultiplexedConnection, Arc<str>),
    /// To every node of a cluster.
    Cluster(Cluster),
}

/// A connection to a cluster; the library finds the node of each command's key. Clones share it.
///
/// The library queues whatever it is given. So requests wait here, in order, while as many as may be are under way.
#[derive(Clone)]
pub struct Cluster {
    connection: ClusterConnection,
    permits: Arc<Semaphore>,
}

impl Cluster {
    /// Lets `most` requests be under way at once.
    pub fn new(connection: ClusterConnection, most: usize) -> Self {
        Self { connection, permits: Arc::new(Semaphore::new(most)) }
    }

    async fn run(&mut self, command: &Cmd) -> RedisResult<Value> {
        let _permit = permit(&self.permits).await;
        self.connection.req_packed_command(command).await
    }
}

/// `None` never comes: nobody closes the semaphore.
async fn permit(permits: &Semaphore) -> Option<SemaphorePermit<'_>> {
    match permits.try_acquire() {
        Ok(permit) => Some(permit),
        Err(_) => counted(REDIS_WAITS, permits.acquire()).await.ok(),
    }
}

impl Open {
    /// Runs commands on one key each, without waiting for one's answer before sending the next: one pipeline on a
    /// server of its own; on a cluster the library gathers what goes to the same node. Answers in the order of the
    /// commands, each with its own result: an unreachable node fails only its own commands. The call fails only if a
    /// single server is unreachable.
    pub async fn run_each(&mut self, commands: Vec<Cmd>) -> RedisResult<Vec<RedisResult<Value>>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        if let Self::Cluster(cluster) = self {
            let run = |command: Cmd| {
                let mut cluster = cluster.clone();
                async move { cluster.run(&command).await.and_then(Value::extract_error) }
            };
            return Ok(futures_util::future::join_all(commands.into_iter().map(run)).await);
        }
        let mut pipeline = Pipeline::with_capacity(commands.len());
        for command in commands {
            pipeline.add_command(command);
        }
        pipeline.ignore_errors().query_async(self).await
    }

    /// Where it leads, unless that is a cluster.
    pub fn at(&self) -> Option<&str> {
        match self {
            Self::Single(_, at) => Some(at),
            Self::Cluster(_) => None,
        }
    }
}

impl ConnectionLike for Open {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Single(link, _) => link.req_packed_command(command),
            Self::Cluster(link) => link.run(command).boxed(),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Single(link, _) => link.req_packed_commands(pipeline, offset, count),
            Self::Cluster(link) => async move {
                let _permit = permit(&link.permits).await;
                link.connection.req_packed_commands(pipeline, offset, count).await
            }
            .boxed(),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Single(link, _) => link.get_db(),
            Self::Cluster(link) => link.connection.get_db(),
        }
    }
}
