//! Many rows in few statements: inserts of many rows, and lookups of many keys.

use std::collections::{BTreeSet, HashSet};

use sql_driver::{Dialect, Fragment, Tx, Value};

use super::rows::Row;
use crate::store::StoreError;

/// Most rows of one insert; a power of two. The widest row has 20 values, and SQLite takes 32 766 a statement.
pub(super) const ROWS: usize = 512;
/// Most keys of one lookup.
const KEYS: usize = 1_024;

/// Inserts `rows` in statements of at most [`ROWS`], cut at powers of two, because each connection prepares each
/// distinct text once. Begins with the last rows. `conflict` follows the values.
pub(super) async fn insert<const COLUMNS: usize>(
    tx: &Tx,
    into: &str,
    conflict: &str,
    mut rows: Vec<[Value; COLUMNS]>,
) -> Result<(), StoreError> {
    while let Some((text, values)) = next_insert(into, conflict, &mut rows) {
        tx.execute(&text, values).await?;
    }
    Ok(())
}

/// As [`insert`]; a unique value that is there already is a contended transaction, because the rows were looked for
/// before.
pub(super) async fn insert_new<const COLUMNS: usize>(
    tx: &Tx,
    into: &str,
    mut rows: Vec<[Value; COLUMNS]>,
) -> Result<(), StoreError> {
    while let Some((text, values)) = next_insert(into, "", &mut rows) {
        if !tx.insert(&text, values).await? {
            return Err(StoreError::Contended(format!("a row came meanwhile: {into}").into()));
        }
    }
    Ok(())
}

fn next_insert<const COLUMNS: usize>(
    into: &str,
    conflict: &str,
    rows: &mut Vec<[Value; COLUMNS]>,
) -> Option<(String, Vec<Value>)> {
    let count = 1 << rows.len().min(ROWS).checked_ilog2()?;
    let values = rows.split_off(rows.len() - count).into_iter().flatten().collect();
    let row = format!("({})", ["?"; COLUMNS].join(", "));
    let placeholders = vec![row.as_str(); count].join(", ");
    Some((format!("INSERT INTO {into} VALUES {placeholders} {conflict}"), values))
}

/// Those of the keys that a table has rows of. `columns`: its primary key, all integers.
pub(super) async fn existing<const N: usize>(
    tx: &Tx,
    table: &str,
    columns: [&str; N],
    keys: &[[i64; N]],
) -> Result<HashSet<[i64; N]>, StoreError> {
    let select = columns.map(|column| format!("CAST(t.{column} AS SIGNED)")).join(", ");
    let lookup = Lookup { select: &select, table, index: "PRIMARY", key: &columns, condition: "" };
    let read = |row: &Row| {
        let mut key = [0; N];
        for (place, value) in key.iter_mut().enumerate() {
            *value = row.get(place)?;
        }
        Ok(key)
    };
    lookup.rows(tx, keys).await?.iter().map(read).collect()
}

/// A table whose rows are looked for by the first columns of an index.
pub(super) struct Lookup<'a> {
    /// What is selected of the row `t`.
    pub(super) select: &'a str,
    pub(super) table: &'a str,
    /// Which leads to the keys; `PRIMARY` is the key of the table.
    pub(super) index: &'a str,
    pub(super) key: &'a [&'a str],
    /// ` AND ..`, without values.
    pub(super) condition: &'a str,
}

impl Lookup<'_> {
    /// The rows with these keys, found one by one.
    pub(super) async fn rows<const N: usize>(&self, tx: &Tx, keys: &[[i64; N]]) -> Result<Vec<Row>, StoreError> {
        let keys: Vec<[i64; N]> = keys.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let mut found = Vec::new();
        for keys in keys.chunks(KEYS) {
            let Fragment { text, values } = self.statement(tx.dialect(), keys);
            found.extend(tx.query(&text, values).await?);
        }
        Ok(found)
    }

    fn statement<const N: usize>(&self, dialect: Dialect, keys: &[[i64; N]]) -> Fragment {
        let Self { select, table, index, key, condition } = self;
        let by_key = dialect.force_index(index);
        let Some(listed) = dialect.listed_keys(N) else {
            let row = format!("({})", ["?"; N].join(", "));
            let text = format!(
                "SELECT {select} FROM {table} t{by_key} WHERE ({columns}) IN ({rows}){condition}",
                columns = key.iter().map(|column| format!("t.{column}")).collect::<Vec<_>>().join(", "),
                rows = vec![row; keys.len()].join(", "),
            );
            return Fragment::with(text, keys.iter().flatten().map(|number| Value::from(*number)));
        };
        let on: Vec<String> =
            key.iter().enumerate().map(|(place, column)| format!("t.{column} = x.k{place}")).collect();
        let text = format!(
            "SELECT {select} FROM {listed} x {then} {table} t{by_key} ON {on}{condition}",
            then = dialect.join_in_order(),
            on = on.join(" AND "),
        );
        let keys: Vec<&[i64]> = keys.iter().map(<[i64; N]>::as_slice).collect();
        Fragment::with(text, [serde_json::json!(keys).to_string().into()])
    }
}
