//! Runs a statement on a connection of `rusqlite`: values in, rows or their number out. The statement stays prepared on
//! the connection.

use rusqlite::{Connection, params_from_iter, types::Value as Cell};
use sea_orm::Value;

use crate::rows::Row;

/// The rows of `sql`.
pub(crate) fn rows(
    connection: &Connection,
    sql: &str,
    values: impl IntoIterator<Item = Value>,
) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut cursor = statement.query(params_from_iter(values.into_iter().map(cell)))?;
    let mut rows = Vec::new();
    while let Some(row) = cursor.next()? {
        let mut cells: Vec<Cell> = Vec::with_capacity(columns);
        for column in 0..columns {
            cells.push(row.get(column)?);
        }
        rows.push(cells.into());
    }
    Ok(rows)
}

/// Runs `sql` and returns how many rows it has changed.
pub(crate) fn change(
    connection: &Connection,
    sql: &str,
    values: impl IntoIterator<Item = Value>,
) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    let values = params_from_iter(values.into_iter().map(cell));
    if statement.column_count() == 0 {
        return statement.execute(values).map(|changed| changed as u64);
    }
    let mut cursor = statement.query(values)?;
    while cursor.next()?.is_some() {}
    Ok(connection.changes())
}

fn cell(value: Value) -> Cell {
    let cell = match value {
        Value::Bool(it) => it.map(|it| Cell::Integer(it.into())),
        Value::TinyInt(it) => it.map(|it| Cell::Integer(it.into())),
        Value::SmallInt(it) => it.map(|it| Cell::Integer(it.into())),
        Value::Int(it) => it.map(|it| Cell::Integer(it.into())),
        Value::BigInt(it) => it.map(Cell::Integer),
        Value::Double(it) => it.map(Cell::Real),
        Value::String(it) => it.map(Cell::Text),
        Value::Bytes(it) => it.map(Cell::Blob),
        other => Some(Cell::Text(other.to_string())),
    };
    cell.unwrap_or(Cell::Null)
}
