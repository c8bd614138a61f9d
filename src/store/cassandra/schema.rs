//! The tables, created if they are missing. Their ids follow from their names, so that several nodes may create them
//! at the same time.

use std::collections::HashMap;

use scylla::{client::session::Session, statement::Statement};
use sha2::{Digest as _, Sha256};

use super::{
    error::{store_error, unreadable},
    options::CassandraOptions,
};
use crate::store::StoreError;

/// Name and columns.
const TABLES: [(&str, &str); 3] = [
    ("inbox_identity", "id int PRIMARY KEY, node blob"),
    (
        "inbox_headers",
        "user_id bigint PRIMARY KEY, generation bigint, node blob, epoch bigint, revision bigint, basis bigint, \
         floor_time bigint, floor_id bigint, dropped frozen<list<bigint>>",
    ),
    (
        "inbox_rows",
        "user_id bigint, generation bigint, node blob, epoch bigint, publish_time bigint, content_id bigint, \
         PRIMARY KEY ((user_id, generation, node, epoch), publish_time, content_id)",
    ),
];
/// The order in which pages are read most.
const ROWS_ORDER: &str = " AND CLUSTERING ORDER BY (publish_time DESC, content_id DESC)";

/// The tables that the keyspace lacks.
pub async fn missing(session: &Session, keyspace: &str) -> Result<Vec<&'static str>, StoreError> {
    let asked = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?";
    let found = session.query_unpaged(asked, (keyspace,)).await.map_err(store_error)?;
    let found = found.into_rows_result().map_err(unreadable)?;
    let mut there = Vec::new();
    for row in found.rows::<(String,)>().map_err(unreadable)? {
        there.push(row.map_err(unreadable)?.0);
    }
    Ok(TABLES.iter().map(|table| table.0).filter(|name| !there.iter().any(|it| it == name)).collect())
}

/// The copies that a keyspace keeps, as Cassandra describes them; `None`: there is no such keyspace.
pub async fn replication(session: &Session, keyspace: &str) -> Result<Option<HashMap<String, String>>, StoreError> {
    let asked = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let found = session.query_unpaged(asked, (keyspace,)).await.map_err(store_error)?;
    let found = found.into_rows_result().map_err(unreadable)?;
    let row = found.maybe_first_row::<(HashMap<String, String>,)>().map_err(unreadable)?;
    Ok(row.map(|(replication,)| replication))
}

/// Creates the keyspace and the tables that are missing. Asks for no right that this does not need.
pub async fn create_missing(session: &Session, options: &CassandraOptions) -> Result<(), StoreError> {
    let missing = missing(session, &options.keyspace).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let has_keyspace = replication(session, &options.keyspace).await?.is_some();
    for text in statements(options, has_keyspace, &missing) {
        let mut statement = Statement::new(text);
        statement.set_request_timeout(None); // connecting as a whole has a limit
        session.query_unpaged(statement, ()).await.map_err(store_error)?;
    }
    Ok(())
}

fn statements(options: &CassandraOptions, has_keyspace: bool, missing: &[&str]) -> Vec<String> {
    let CassandraOptions { keyspace, replication, .. } = options;
    let mut statements = Vec::new();
    if !has_keyspace {
        statements.push(format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'replication_factor': {replication}}}"
        ));
    }
    for (name, columns) in TABLES.into_iter().filter(|(name, _)| missing.contains(name)) {
        let order = if name == "inbox_rows" { ROWS_ORDER } else { "" };
        let id = id(keyspace, name);
        statements.push(format!("CREATE TABLE IF NOT EXISTS {keyspace}.{name} ({columns}) WITH ID = {id}{order}"));
    }
    statements
}

/// A UUID made of both names.
fn id(keyspace: &str, table: &str) -> String {
    let digest = Sha256::digest(format!("{keyspace}.{table}"));
    let digits = digest.iter().take(16).fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"));
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    // Version 4 and the common variant, as Cassandra expects of a table's id.
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(statements: &[String]) -> Vec<String> {
        statements.iter().map(|it| it.split([' ', '(']).take(6).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn only_what_is_missing_is_created() {
        let options = CassandraOptions {
            contact_points: Vec::new(),
            keyspace: "inboxes".to_owned(),
            replication: 3,
            datacenter: String::new(),
            user: String::new(),
            password: String::new(),
            certificates: None,
            timeout: std::time::Duration::ZERO,
        };
        let tables = statements(&options, true, &["inbox_rows"]);
        assert_eq!(begins(&tables), ["CREATE TABLE IF NOT EXISTS inboxes.inbox_rows"]);
        let all = statements(&options, false, &TABLES.map(|table| table.0));
        assert_eq!((begins(&all)[0].as_str(), all.len()), ("CREATE KEYSPACE IF NOT EXISTS inboxes", 4));
    }

    #[test]
    fn a_tables_id_follows_from_its_name() {
        let one = id("tidefeed", "inbox_rows");
        assert_eq!(one, id("tidefeed", "inbox_rows"));
        assert_ne!(one, id("tidefeed", "inbox_headers"));
        assert_ne!(one, id("other", "inbox_rows"));
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{one}");
    }
}
