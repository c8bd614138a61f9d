//! Rows by which users are found: written with the user, and rewritten whenever handle or name change.

use std::collections::BTreeSet;

use migration::{
    Migrate, Schema,
    sea_orm::{ConnectionTrait as _, DbBackend, DbErr, Statement},
};
use sql_driver::{Dialect, Ended, Tx, Value};

use super::super::{
    SqlStore,
    existing_accounts::account_exists,
    rows::{DomainColumns as _, Row, id_list},
};
use crate::{
    domain::{
        Handle, UserId,
        limits::MAX_INDEXED_CONTENTS,
        search::people::{KEYS_FORM, keys_of},
    },
    store::StoreError,
};

/// The table with its columns, in the order of an insert.
pub(in super::super) const COLUMNS: &str = "user_names (folded, user_id)";
/// Users whose rows the migration writes in one statement: at most ten each.
const USERS_PER_STATEMENT: i64 = 500;

/// The rows of a user.
pub(in super::super) fn rows(user: UserId, handle: &Handle, name: &str) -> impl Iterator<Item = [Value; 2]> {
    keys_of(handle, name).into_iter().map(move |key| [key.into(), user.get().into()])
}

/// Inserts the rows of a user who has none, in one statement. Each number of rows has one text.
pub(in super::super) async fn insert(tx: &Tx, user: UserId, handle: &Handle, name: &str) -> Result<(), StoreError> {
    let values: Vec<Value> = rows(user, handle, name).flatten().collect();
    let placeholders = vec!["(?, ?)"; values.len() / 2].join(", ");
    tx.execute(&format!("INSERT INTO {COLUMNS} VALUES {placeholders}"), values).await.map(|_| ())
}

/// Deletes all rows of a user. The caller has locked the user's row.
pub(in super::super) async fn delete(tx: &Tx, user: UserId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM user_names WHERE user_id = ?", [user.get().into()]).await.map(|_| ())
}

impl SqlStore {
    /// See [`crate::store::People::is_current`].
    pub(super) async fn names_are_current(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM name_progress WHERE form = ? AND is_done = 1";
        Ok(!self.read_few(sql, [KEYS_FORM.into()]).await?.is_empty())
    }

    /// See [`crate::store::People::index_next`].
    pub(super) async fn index_names(&self) -> Result<bool, StoreError> {
        if self.names_are_current().await? {
            return Ok(true);
        }
        self.transaction(move |tx| async move {
            let sql = format!("SELECT through_id FROM name_progress WHERE form = ? {}", tx.dialect().for_update());
            let Some(row) = tx.query_one(&sql, [KEYS_FORM.into()]).await? else {
                let begin = "INSERT INTO name_progress (form, through_id) VALUES (?, 0)";
                if !tx.insert(begin, [KEYS_FORM.into()]).await? {
                    return Err(StoreError::Contended("two nodes begin to index names at once".into()));
                }
                return index_after(tx, 0).await;
            };
            let through = row.get(0)?;
            index_after(tx, through).await
        })
        .await
    }
}

/// The users are locked, so a change of their names waits. A user without keys has no account any more.
async fn index_after(tx: Tx, after: i64) -> Result<Ended<bool>, StoreError> {
    let sql = format!(
        "SELECT id, handle, name FROM users WHERE id > ? ORDER BY id LIMIT {MAX_INDEXED_CONTENTS} {}",
        tx.dialect().for_update()
    );
    let users = tx.query(&sql, [after.into()]).await?;
    let ids = users.iter().map(|row| row.user(0)).collect::<Result<Vec<UserId>, StoreError>>()?;
    let kept = if ids.is_empty() { Vec::new() } else { keys_in_use(&tx, &ids).await? };
    for row in &users {
        let (user, name) = (row.user(0)?, row.get::<String>(2)?);
        let handle = Handle::try_new(&row.get::<String>(1)?);
        let handle = handle.map_err(|invalid| StoreError::Unreadable(format!("handle: {invalid}")))?;
        let kept: BTreeSet<&str> = kept.iter().filter(|(of, _)| *of == user).map(|(_, key)| key.as_str()).collect();
        let keys = keys_of(&handle, &name);
        if !kept.is_empty() && !kept.iter().copied().eq(keys.iter().map(String::as_str)) {
            delete(&tx, user).await?;
            insert(&tx, user, &handle, &name).await?;
        }
    }
    let is_done = users.len() < MAX_INDEXED_CONTENTS;
    let through = ids.last().map_or(after, |user| user.get());
    let sql = "UPDATE name_progress SET through_id = ?, is_done = ? WHERE form = ?";
    tx.execute(sql, [through.into(), i32::from(is_done).into(), KEYS_FORM.into()]).await?;
    tx.commit(is_done).await
}

async fn keys_in_use(tx: &Tx, users: &[UserId]) -> Result<Vec<(UserId, String)>, StoreError> {
    let (list, values) = id_list(users);
    let sql = format!("SELECT user_id, CAST(folded AS CHAR) FROM user_names WHERE user_id IN {list}");
    let key = |row: &Row| Ok((row.user(0)?, row.get(1)?));
    tx.query(&sql, values).await?.iter().map(key).collect()
}

/// Fills the table from the existing users. It is here because it needs the form of the keys, which no migration of
/// tables knows. May be repeated.
#[derive(Debug)]
pub(in super::super) struct FillUserNames;

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
