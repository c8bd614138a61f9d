//! A connection to Redis, whichever form Redis has: commands are written once for all of them.

use redis::{
    Cmd, Pipeline, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, ConnectionManager, MultiplexedConnection},
    cluster_async::ClusterConnection,
};

/// A connection. Clones share it.
#[derive(Clone)]
pub enum Link {
    /// To one server, made anew by itself.
    Lasting(ConnectionManager),
    /// To one server, until it breaks.
    Single(MultiplexedConnection),
    /// To every node of a cluster; the library finds the node of each command's key.
    Cluster(ClusterConnection),
}

impl Link {
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
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Lasting(link) => link.req_packed_command(command),
            Self::Single(link) => link.req_packed_command(command),
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
            Self::Lasting(link) => link.req_packed_commands(pipeline, offset, count),
            Self::Single(link) => link.req_packed_commands(pipeline, offset, count),
            Self::Cluster(link) => link.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Lasting(link) => link.get_db(),
            Self::Single(link) => link.get_db(),
            Self::Cluster(link) => link.get_db(),
        }
    }
}
