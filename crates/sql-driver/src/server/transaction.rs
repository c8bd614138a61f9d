//! A transaction on a server, over one connection.

use sea_orm::{Value, sqlx};
use tokio::sync::Mutex;

use crate::{
    rows::Row,
    server::connections::{ServerConnection, ServerConnections, is_usable_after},
};

/// An open transaction. Dropping it closes its connection, whereupon the server rolls back.
///
/// The connection is absent while a statement uses it, and after one that has ended it or was given up half way.
pub(crate) struct ServerTransaction(Mutex<Option<ServerConnection>>);

impl ServerTransaction {
    /// Begins.
    pub(crate) async fn begin(connections: &ServerConnections) -> Result<Self, sqlx::Error> {
        Ok(Self(Mutex::new(Some(connections.begin().await?))))
    }

    /// The rows of a statement.
    pub(crate) async fn query(&self, sql: String, values: Vec<Value>) -> Result<Vec<Row>, sqlx::Error> {
        let mut place = self.0.lock().await;
        let mut connection = place.take().ok_or_else(ended)?;
        let rows = connection.query(sql.into(), &values).await;
        *place = Some(connection).filter(|_| is_usable_after(&rows));
        rows
    }

    /// The rows affected by a statement.
    pub(crate) async fn execute(&self, sql: String, values: Vec<Value>) -> Result<u64, sqlx::Error> {
        let mut place = self.0.lock().await;
        let mut connection = place.take().ok_or_else(ended)?;
        let changed = connection.execute(sql, &values).await;
        *place = Some(connection).filter(|_| is_usable_after(&changed));
        changed
    }

    /// Commits. After an error except contention it is unknown whether the transaction was committed.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        self.0.into_inner().ok_or_else(ended)?.commit().await
    }

    /// Rolls back. The server has done so already if the connection has ended.
    pub(crate) async fn roll_back(self) -> Result<(), sqlx::Error> {
        match self.0.into_inner() {
            Some(connection) => connection.roll_back().await,
            None => Ok(()),
        }
    }
}

fn ended() -> sqlx::Error {
    sqlx::Error::Protocol("the connection of this transaction has ended".to_owned())
}
