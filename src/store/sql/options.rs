//! Where the store is, and its limits.

use std::time::Duration;

/// Where the store is and how long it may take.
#[derive(Clone)]
pub struct SqlOptions {
    /// `sqlite://path/to/file` or `mysql://user:password@host:port/database`.
    pub url: String,
    /// Connections at most; for SQLite those that read, the one that writes comes on top.
    pub max_connections: u32,
    /// The wait for a free connection.
    pub acquire_timeout: Duration,
    /// A statement, or a whole transaction, may take this long; on SQLite a write with all its waits. Waits for locks
    /// end after a third of it, so that they can be tried again.
    pub statement_timeout: Duration,
}

impl std::fmt::Debug for SqlOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlOptions").field("max_connections", &self.max_connections).finish_non_exhaustive()
    }
}

impl SqlOptions {
    pub(super) fn lock_wait(&self) -> Duration {
        (self.statement_timeout / 3).max(Duration::from_secs(1))
    }

    /// Connections at most; at least one.
    pub(super) fn connections(&self) -> u32 {
        self.max_connections.max(1)
    }
}
