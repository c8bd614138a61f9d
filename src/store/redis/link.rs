//! A connection to Redis, whichever form Redis has: commands are written once for all of them.

use redis::{Cmd, Pipeline, RedisFuture, RedisResult, Value, aio::ConnectionLike};

use super::{lasting::Lasting, open::Open};

/// A connection. Clones share it.
#[derive(Clone)]
pub enum Link {
    /// Made anew by itself.
    Lasting(Lasting),
    /// Until it breaks.
    Own(Open),
}

impl Link {
    /// As [`Open::run_each`].
    pub async fn run_each(&mut self, commands: Vec<Cmd>) -> RedisResult<Vec<RedisResult<Value>>> {
        match self {
            Self::Lasting(link) => link.run_each(commands).await,
            Self::Own(link) => link.run_each(commands).await,
        }
    }

    /// Where it leads, unless that is a cluster.
    pub fn at(&self) -> Option<&str> {
        match self {
            Self::Lasting(_) => None,
            Self::Own(link) => link.at(),
        }
    }
}

impl ConnectionLike for Link {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Lasting(link) => link.req_packed_command(command),
            Self::Own(link) => link.req_packed_command(command),
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
            Self::Own(link) => link.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Lasting(link) => link.get_db(),
            Self::Own(link) => link.get_db(),
        }
    }
}
