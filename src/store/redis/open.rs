//! A connection that stands, to a server or to a cluster.

use std::sync::Arc;

use redis::{
    Cmd, Pipeline, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    cluster_async::ClusterConnection,
};

use super::opener::Opened;

/// A connection that stands.
#[derive(Clone)]
pub enum Open {
    /// To one server, and its address.
    Single(MultiplexedConnection, Arc<str>),
    /// To every node of a cluster; the library finds the node of each command's key.
    Cluster(ClusterConnection),
}

impl From<Opened> for Open {
    fn from(opened: Opened) -> Self {
        Self::Single(opened.connection, opened.at)
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
                async move { command.query_async::<Value>(&mut cluster).await }
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
            Self::Cluster(link) => link.req_packed_command(command),
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
            Self::Cluster(link) => link.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Single(link, _) => link.get_db(),
            Self::Cluster(link) => link.get_db(),
        }
    }
}
