//! Reads columns of a row by their place, and writes lists of ids into a statement.

use rusqlite::types::Value as Cell;
use sea_orm::{
    Value,
    sqlx::{self, Row as _, ValueRef as _, mysql::MySqlRow},
};
use store_error::StoreError;

/// Most ids in one statement: SQLite takes 32 766 values.
pub const MAX_LIST: usize = 16_384;

/// A row of an answer; columns by place, from 0.
#[derive(Debug)]
pub struct Row(Values);

#[derive(Debug)]
enum Values {
    /// From a server.
    Server(MySqlRow),
    /// From a SQLite file.
    Cells(Vec<Cell>),
}

impl From<MySqlRow> for Row {
    fn from(row: MySqlRow) -> Self {
        Self(Values::Server(row))
    }
}

impl From<Vec<Cell>> for Row {
    fn from(cells: Vec<Cell>) -> Self {
        Self(Values::Cells(cells))
    }
}

impl Row {
    /// A number (`i64`, `i32`), a text (`String`), or an `Option` of either.
    pub fn get<T: Readable>(&self, column: usize) -> Result<T, StoreError> {
        match &self.0 {
            Values::Server(row) => T::of_server(row, column).map_err(|error| StoreError::Unreadable(error.to_string())),
            Values::Cells(cells) => cells
                .get(column)
                .and_then(T::of_cell)
                .ok_or_else(|| StoreError::Unreadable(format!("column {column} has a value of another type"))),
        }
    }

    /// The text of the column with this name, of a server that was sent text and answers by text; `None` if there is no
    /// such column, or if it is null.
    pub(crate) fn named(&self, name: &str) -> Option<String> {
        let Values::Server(row) = &self.0 else { return None };
        let bytes: Option<Vec<u8>> = row.try_get_unchecked(name).ok()?;
        String::from_utf8(bytes?).ok()
    }

    /// A count; a negative one is an error.
    pub fn count(&self, column: usize) -> Result<u64, StoreError> {
        let number: i64 = self.get(column)?;
        u64::try_from(number).map_err(|_| StoreError::Unreadable(format!("{number} is not a count")))
    }
}

/// A type that a column can be read as: `i64`, `i32`, `String`, and an `Option` of each.
pub trait Readable: Sized {
    /// Fails if the column has another type.
    fn of_server(row: &MySqlRow, column: usize) -> Result<Self, sqlx::Error>;

    /// `None` if the cell has another type. A text was validated when its row was read, and is not validated again, as
    /// rusqlite's `FromSql` would.
    fn of_cell(cell: &Cell) -> Option<Self>;
}

impl Readable for i64 {
    fn of_server(row: &MySqlRow, column: usize) -> Result<Self, sqlx::Error> {
        row.try_get(column)
    }

    fn of_cell(cell: &Cell) -> Option<Self> {
        if let Cell::Integer(number) = cell { Some(*number) } else { None }
    }
}

impl Readable for i32 {
    fn of_server(row: &MySqlRow, column: usize) -> Result<Self, sqlx::Error> {
        row.try_get(column)
    }

    fn of_cell(cell: &Cell) -> Option<Self> {
        i64::of_cell(cell).and_then(|number| number.try_into().ok())
    }
}

impl Readable for String {
    /// Also of a binary column, which the driver does not take for a text.
    fn of_server(row: &MySqlRow, column: usize) -> Result<Self, sqlx::Error> {
        let bytes: Vec<u8> = row.try_get(column)?;
        Self::from_utf8(bytes).map_err(|error| sqlx::Error::Decode(Box::new(error)))
    }

    fn of_cell(cell: &Cell) -> Option<Self> {
        if let Cell::Text(text) = cell { Some(text.clone()) } else { None }
    }
}

impl<T: Readable> Readable for Option<T> {
    fn of_server(row: &MySqlRow, column: usize) -> Result<Self, sqlx::Error> {
        if row.try_get_raw(column)?.is_null() { Ok(None) } else { T::of_server(row, column).map(Some) }
    }

    fn of_cell(cell: &Cell) -> Option<Self> {
        if matches!(cell, Cell::Null) { Some(None) } else { T::of_cell(cell).map(Some) }
    }
}

/// What statements that were sent at once have answered, by their places, from 0. The last ones have not run if one
/// before them has found its row there.
#[derive(Debug, Default)]
pub struct Answers {
    pub(crate) given: Vec<(Vec<Row>, u64)>,
    pub(crate) stopped_at: Option<usize>,
}

impl Answers {
    /// The rows of a statement.
    pub fn rows(&self, statement: usize) -> &[Row] {
        self.given.get(statement).map_or(&[], |(rows, _)| rows)
    }

    /// The first row of a statement that gives one or none.
    pub fn row(&self, statement: usize) -> Option<&Row> {
        self.rows(statement).first()
    }

    /// The rows that a statement has affected.
    pub fn affected(&self, statement: usize) -> u64 {
        self.given.get(statement).map_or(0, |(_, affected)| *affected)
    }

    /// The statement that has found a unique value of its row there.
    pub fn stopped_at(&self) -> Option<usize> {
        self.stopped_at
    }
}

/// `(?, ?, ..)` for `IN` and its values. The list is filled up with its last id to a power of two, so that lists of all
/// lengths need few distinct texts, because each connection prepares each text once. `ids` is neither empty nor longer
/// than [`MAX_LIST`].
pub fn id_list<I: Copy + Into<i64>>(ids: &[I]) -> (String, Vec<Value>) {
    value_list(ids.iter().map(|id| Value::from((*id).into())))
}

/// As [`id_list`], of any values.
pub fn value_list(values: impl Iterator<Item = Value>) -> (String, Vec<Value>) {
    let mut values: Vec<Value> = values.collect();
    if let Some(last) = values.last().cloned() {
        values.resize(values.len().next_power_of_two(), last);
    }
    (format!("({})", vec!["?"; values.len()].join(", ")), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_padded_to_a_power_of_two() {
        let (text, values) = id_list(&[7_i64, 8, 9]);
        assert_eq!(text, "(?, ?, ?, ?)");
        assert_eq!(values, [7_i64, 8, 9, 9].map(Value::from));
        assert_eq!(id_list(&[1_i64]).0, "(?)");
        assert!(id_list(&vec![1_i64; MAX_LIST]).1.len() < 32_766);
    }
}
