//! Where a database is, and its limits.

use std::time::Duration;

/// The address of a database and its limits.
#[derive(Clone)]
pub struct SqlOptions {
    /// `sqlite://path/to/file` or `mysql://user:password@host:port/database`.
    pub url: String,
    /// Most connections. For SQLite these read, and the one that writes comes on top.
    pub max_connections: u32,
    /// How long to wait for a free connection.
    pub acquire_timeout: Duration,
    /// Limit of a statement or a whole transaction; on SQLite, of a write with all its waits. Waiting for a lock ends
    /// after a third of it and is retried.
    pub statement_timeout: Duration,
}

impl std::fmt::Debug for SqlOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlOptions").field("max_connections", &self.max_connections).finish_non_exhaustive()
    }
}

impl SqlOptions {
    pub(crate) fn lock_wait(&self) -> Duration {
        (self.statement_timeout / 3).max(Duration::from_secs(1))
    }

    /// Most connections; at least one.
    pub(crate) fn connections(&self) -> u32 {
        self.max_connections.max(1)
    }
}
