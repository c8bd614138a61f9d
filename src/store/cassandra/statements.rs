//! The prepared statements. Those marked idempotent may run on a second node as well.

use scylla::{client::session::Session, statement::prepared::PreparedStatement};

use super::error::not_prepared;
use crate::store::StoreError;

/// The columns that make a partition of rows: a fence of a reader.
const PARTITION: &str = "user_id = ? AND generation = ? AND node = ? AND epoch = ?";

/// Every statement of the adapter.
pub struct Statements {
    /// Names the keyspace, unless it has a name.
    pub name: PreparedStatement,
    /// The keyspace's name.
    pub identity: PreparedStatement,
    /// A plain write, to see that writes succeed.
    pub probe: PreparedStatement,
    /// A reader's header.
    pub header: PreparedStatement,
    /// Replaces the header if it has this revision; null: if there is none.
    pub set_header: PreparedStatement,
    /// Adds a row.
    pub insert: PreparedStatement,
    /// Rows before a position, newest first.
    pub older: PreparedStatement,
    /// Rows after a position, oldest first.
    pub newer: PreparedStatement,
    /// Removes all rows of a fence.
    pub drop: PreparedStatement,
}

impl Statements {
    /// On the tables of this keyspace.
    pub async fn prepare(session: &Session, keyspace: &str) -> Result<Self, StoreError> {
        let prepare = async |text: String, is_idempotent: bool| {
            let mut statement = session.prepare(text).await.map_err(not_prepared)?;
            statement.set_is_idempotent(is_idempotent);
            Ok::<_, StoreError>(statement)
        };
        let rows = format!("SELECT publish_time, content_id FROM {keyspace}.inbox_rows WHERE {PARTITION}");
        Ok(Self {
            name: prepare(
                format!("INSERT INTO {keyspace}.inbox_identity (id, node) VALUES (0, ?) IF NOT EXISTS"),
                false,
            )
            .await?,
            identity: prepare(format!("SELECT node FROM {keyspace}.inbox_identity WHERE id = 0"), true).await?,
            probe: prepare(format!("INSERT INTO {keyspace}.inbox_identity (id) VALUES (1)"), true).await?,
            header: prepare(
                format!(
                    "SELECT generation, node, epoch, revision, basis, floor_time, floor_id, dropped \
                     FROM {keyspace}.inbox_headers WHERE user_id = ?"
                ),
                true,
            )
            .await?,
            set_header: prepare(
                format!(
                    "UPDATE {keyspace}.inbox_headers SET generation = ?, node = ?, epoch = ?, revision = ?, basis = ?, \
                     floor_time = ?, floor_id = ?, dropped = ? WHERE user_id = ? IF revision = ?"
                ),
                false,
            )
            .await?,
            insert: prepare(
                format!(
                    "INSERT INTO {keyspace}.inbox_rows (user_id, generation, node, epoch, publish_time, content_id) \
                     VALUES (?, ?, ?, ?, ?, ?)"
                ),
                true,
            )
            .await?,
            older: prepare(format!("{rows} AND (publish_time, content_id) < (?, ?) LIMIT ?"), true).await?,
            newer: prepare(
                format!(
                    "{rows} AND (publish_time, content_id) > (?, ?) \
                     ORDER BY publish_time ASC, content_id ASC LIMIT ?"
                ),
                true,
            )
            .await?,
            drop: prepare(format!("DELETE FROM {keyspace}.inbox_rows WHERE {PARTITION}"), true).await?,
        })
    }
}
