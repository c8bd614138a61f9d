//! Reads values of the domain from the columns of a row.

use sql_driver::StoreError;
pub(super) use sql_driver::{MAX_LIST, Row, id_list, value_list};

use crate::domain::{ContentId, Entry, Floor, Kinds, Position, UserId, ids::InvalidId};

/// Columns by place, from 0, that hold values of the domain.
pub(super) trait DomainColumns {
    /// A user's id.
    fn user(&self, column: usize) -> Result<UserId, StoreError>;

    /// A content's id.
    fn content(&self, column: usize) -> Result<ContentId, StoreError>;

    /// A floor, in two columns from `column`: off if they are null.
    fn floor(&self, column: usize) -> Result<Floor, StoreError>;

    /// Publish time, content id and author id, in three columns from `column`.
    fn entry(&self, column: usize) -> Result<Entry, StoreError>;
}

impl DomainColumns for Row {
    fn user(&self, column: usize) -> Result<UserId, StoreError> {
        UserId::try_new(self.get(column)?).map_err(unreadable)
    }

    fn content(&self, column: usize) -> Result<ContentId, StoreError> {
        ContentId::try_new(self.get(column)?).map_err(unreadable)
    }

    fn floor(&self, column: usize) -> Result<Floor, StoreError> {
        let floor: (Option<i64>, Option<i64>) = (self.get(column)?, self.get(column + 1)?);
        Ok(match floor {
            (Some(time), Some(content)) => Floor::At(Position::bound(time, content)),
            _ => Floor::Off,
        })
    }

    fn entry(&self, column: usize) -> Result<Entry, StoreError> {
        Ok(Entry {
            publish_time: self.get(column)?,
            content: self.content(column + 1)?,
            author: self.user(column + 2)?,
        })
    }
}

fn unreadable(invalid: InvalidId) -> StoreError {
    StoreError::Unreadable(invalid.to_string())
}

/// ` AND {column} IN (..)`; empty if no kind is left out.
pub(super) fn of_kinds(kinds: Kinds, column: &str) -> String {
    if kinds.is_all() {
        return String::new();
    }
    let codes: Vec<String> = kinds.iter().map(|kind| kind.code().to_string()).collect();
    format!(" AND {column} IN ({})", codes.join(", "))
}
