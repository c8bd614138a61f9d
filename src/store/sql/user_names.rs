//! Rows by which users are found: written with the user, and rewritten whenever handle or name change.

use migration::{Migrate, Schema};
use sea_orm::{ConnectionTrait as _, DbBackend, DbErr, Statement, Value};

use super::{dialect::Dialect, existing_accounts::account_exists, open_transaction::Tx};
use crate::{
    domain::{Handle, UserId, search::people::keys_of},
    store::StoreError,
};

/// The table with its columns, in the order of an insert.
pub(super) const COLUMNS: &str = "user_names (folded, user_id)";
/// Users whose rows the migration writes in one statement: at most ten each.
const USERS_PER_STATEMENT: i64 = 500;

/// The rows of a user.
pub(super) fn rows(user: UserId, handle: &Handle, name: &str) -> impl Iterator<Item = [Value; 2]> {
    keys_of(handle, name).into_iter().map(move |key| [key.into(), user.get().into()])
}

/// Inserts the rows of a user who has none, in one statement. Each number of rows has one text.
pub(super) async fn insert(tx: &Tx, user: UserId, handle: &Handle, name: &str) -> Result<(), StoreError> {
    let values: Vec<Value> = rows(user, handle, name).flatten().collect();
    let placeholders = vec!["(?, ?)"; values.len() / 2].join(", ");
    tx.execute(&format!("INSERT INTO {COLUMNS} VALUES {placeholders}"), values).await.map(|_| ())
}

/// Deletes all rows of a user. The caller has locked the user's row.
pub(super) async fn delete(tx: &Tx, user: UserId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM user_names WHERE user_id = ?", [user.get().into()]).await.map(|_| ())
}

/// Fills the table from the existing users. It is here because it needs the form of the keys, which no migration of
/// tables knows. May be repeated.
#[derive(Debug)]
pub(super) struct FillUserNames;

#[async_trait::async_trait]
impl Migrate for FillUserNames {
    fn name(&self) -> &'static str {
        "m20261123_000009_fill_user_names"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        let (connection, backend) = (schema.transaction(), schema.backend());
        let dialect = if backend == DbBackend::Sqlite { Dialect::Sqlite } else { Dialect::Mysql };
        let keep = format!("{} user_id = user_names.user_id", dialect.on_conflict_update("folded, user_id"));
        let select = format!(
            "SELECT id, handle, name FROM users WHERE id > ?{} ORDER BY id LIMIT {USERS_PER_STATEMENT}",
            account_exists("users.id")
        );
        let mut after = 0_i64;
        loop {
            let statement = Statement::from_sql_and_values(backend, &select, [after.into()]);
            let mut values: Vec<Value> = Vec::new();
            for row in connection.query_all_raw(statement).await? {
                let (handle, name): (String, String) = (row.try_get_by_index(1)?, row.try_get_by_index(2)?);
                after = row.try_get_by_index(0)?;
                let user = UserId::try_new(after).map_err(|invalid| DbErr::Custom(invalid.to_string()))?;
                let handle = Handle::try_new(&handle).map_err(|invalid| DbErr::Custom(invalid.to_string()))?;
                values.extend(rows(user, &handle, &name).flatten());
            }
            if values.is_empty() {
                return Ok(());
            }
            let placeholders = vec!["(?, ?)"; values.len() / 2].join(", ");
            let insert = format!("INSERT INTO {COLUMNS} VALUES {placeholders} {keep}");
            connection.execute_raw(Statement::from_sql_and_values(backend, insert, values)).await?;
        }
    }
}
