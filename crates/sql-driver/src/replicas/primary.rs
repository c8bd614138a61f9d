//! Asks the primary where it is, on a connection of its own.

use std::{io, sync::Arc, time::Duration};

use sea_orm::sqlx;
use tokio::time::timeout;
use tracing::warn;

use super::{
    position::{Position, QUESTION},
    shared_question::Asker,
};
use crate::server::connections::{ServerConnection, ServerConnections};

/// A primary that does not answer for longer is asked again on a new connection.
const LONGEST_ANSWER: Duration = Duration::from_secs(1);

/// Where the primary was at a moment.
#[derive(Debug)]
pub(super) struct Whereabouts {
    /// Holds every commit that was acknowledged, or seen by anybody, before the question was sent.
    pub(super) position: Position,
    /// The same, as a server takes it.
    pub(super) text: String,
    /// The server that has answered: the number of a MariaDB, or the UUID of a MySQL.
    pub(super) server: String,
    /// Counts the connections over which it was asked. A primary that has changed, or has lost commits in a crash, has
    /// ended the former one.
    pub(super) connection: u64,
}

/// Asks the primary.
pub(super) struct PrimaryAsker {
    primary: ServerConnections,
    connection: Option<ServerConnection>,
    made: u64,
    /// Whether the last question was answered.
    is_answering: bool,
}

impl PrimaryAsker {
    pub(super) fn of(primary: ServerConnections) -> Self {
        Self { primary, connection: None, made: 0, is_answering: true }
    }

    async fn whereabouts(&mut self) -> Result<Whereabouts, sqlx::Error> {
        let mut connection = if let Some(young) = self.connection.take().filter(ServerConnection::is_young) {
            young
        } else {
            self.made += 1;
            self.primary.fresh().await?
        };
        let asked = timeout(LONGEST_ANSWER, connection.query(QUESTION.into(), &[])).await;
        let rows = asked.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        let text = |column| row.get::<String>(column).map_err(|error| sqlx::Error::Decode(Box::new(error)));
        let (server, logs, read_only) = (text(2)?, text(3)?, text(4)?);
        if logs != "ON" {
            return Err(unusable("it logs no commits under global ids: set log_bin, and on MySQL gtid_mode = ON"));
        }
        // Also while it becomes a replica of another server: what it has applied says nothing of that one.
        if !is_off(&read_only) {
            return Err(unusable("it is read-only, so that it is no primary"));
        }
        let position = Position::joined(&server, &text(0)?, &text(1)?);
        let position = position.ok_or_else(|| unusable("its position cannot be read"))?;
        self.connection = Some(connection);
        Ok(Whereabouts { text: position.text(), position, server, connection: self.made })
    }
}

impl Asker for PrimaryAsker {
    type Answer = Arc<Whereabouts>;

    async fn ask(&mut self) -> Option<Arc<Whereabouts>> {
        let asked = self.whereabouts().await;
        if let (Err(error), true) = (&asked, self.is_answering) {
            let reason = error.to_string();
            warn!(reason, "The primary does not say where it is, so that no replica is read.");
        }
        self.is_answering = asked.is_ok();
        asked.ok().map(Arc::new)
    }
}

/// Whether a variable is off, in the words of all versions.
pub(super) fn is_off(value: &str) -> bool {
    value == "0" || value.eq_ignore_ascii_case("OFF")
}

fn unusable(reason: &'static str) -> sqlx::Error {
    sqlx::Error::Io(io::Error::other(reason))
}
