//! The connections to a file themselves, for tests that make them fail or look at their statements.

use rusqlite::Connection;

use crate::database::{Database, Readers, Writer};

impl Database {
    /// Runs `work` on the connection that writes a file, outside of a transaction. Blocks. `None` on a server.
    pub fn on_writer<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<rusqlite::Result<T>> {
        if let Writer::File(writer, _) = &self.writer { Some(writer.run(work)) } else { None }
    }

    /// Runs `work` on a connection that reads a file, the one in use last. Blocks. `None` on a server.
    pub fn on_reader<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<rusqlite::Result<T>> {
        if let Readers::File(readers) = &self.readers { Some(readers.run(work)) } else { None }
    }
}
