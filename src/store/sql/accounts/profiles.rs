//! Changes of profiles in SQL. Attributes are a JSON object as text; null stands for none.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sql_driver::{Tx, Value};

use super::{
    super::{
        SqlStore,
        existing_accounts::{account_exists, not_deactivated},
        people,
        rows::{DomainColumns as _, MAX_LIST, id_list},
    },
    read_handle,
};
use crate::{
    domain::{Handle, UserId, account::attributes::Attributes},
    store::{
        Profiles, StoreError,
        profiles::{ProfileEdit, Renamed},
    },
};

#[async_trait]
impl Profiles for SqlStore {
    async fn edit(&self, user: UserId, edit: &ProfileEdit, version: i64) -> Result<bool, StoreError> {
        let (sets, mut values) = assignments(edit, version)?;
        values.push(user.get().into());
        let sql = &format!("UPDATE users SET {} WHERE id = ?{}", sets.join(", "), account_exists("users.id"));
        if edit.name.is_none() {
            return Ok(self.write(sql, values).await? > 0);
        }
        let values = &values;
        self.transaction(move |tx| async move {
            if tx.execute(sql, values.iter().cloned()).await? == 0 {
                return tx.roll_back(false).await;
            }
            rewrite_names(&tx, user).await?;
            tx.commit(true).await
        })
        .await
    }

    async fn rename(&self, user: UserId, handle: &Handle, version: i64) -> Result<Renamed, StoreError> {
        let values = || [Value::from(handle.as_str()), user.get().into()];
        self.transaction(move |tx| async move {
            let sql =
                format!("UPDATE users SET handle = ?, profile_version = ? WHERE id = ?{}", account_exists("users.id"));
            let changed = [Value::from(handle.as_str()), version.into(), user.get().into()];
            if !tx.insert(&sql, changed).await? {
                return tx.roll_back(Renamed::Taken).await;
            }
            if tx.query("SELECT 1 FROM users WHERE handle = ? AND id = ?", values()).await?.is_empty() {
                return tx.roll_back(Renamed::NoUser).await;
            }
            rewrite_names(&tx, user).await?;
            tx.commit(Renamed::Done).await
        })
        .await
    }

    async fn attributes(&self, users: &[UserId]) -> Result<Vec<(UserId, Attributes)>, StoreError> {
        let mut all = Vec::with_capacity(users.len());
        for users in users.chunks(MAX_LIST) {
            let (list, values) = id_list(users);
            for row in self
                .read(
                    &format!("SELECT id, attributes FROM users WHERE id IN {list}{}", account_exists("users.id")),
                    values,
                )
                .await?
            {
                let text: Option<String> = row.get(1)?;
                all.push((row.user(0)?, text.as_deref().map(read).transpose()?.unwrap_or_default()));
            }
        }
        Ok(all)
    }
}

/// The columns that an edit sets, and their values.
pub(super) fn assignments(edit: &ProfileEdit, version: i64) -> Result<(Vec<&'static str>, Vec<Value>), StoreError> {
    let (mut sets, mut values) = (vec!["profile_version = ?"], vec![Value::from(version)]);
    if let Some(name) = &edit.name {
        sets.push("name = ?");
        values.push(name.as_str().into());
    }
    if let Some(bio) = &edit.bio {
        sets.push("bio = ?");
        values.push(bio.as_str().into());
    }
    if let Some(avatar) = &edit.avatar_url {
        sets.push("avatar_url = ?");
        values.push(avatar.clone().into());
    }
    if let Some(attributes) = &edit.attributes {
        sets.push("attributes = ?");
        values.push(written(attributes)?.into());
    }
    Ok((sets, values))
}

/// Replaces the user's search keys by those of the current row, which is locked. A deactivated user has none.
pub(super) async fn rewrite_names(tx: &Tx, user: UserId) -> Result<(), StoreError> {
    people::names::delete(tx, user).await?;
    let sql = format!("SELECT handle, name FROM users WHERE id = ?{}", not_deactivated(tx.dialect(), "users.id"));
    let Some(row) = tx.query_one(&sql, [user.get().into()]).await? else {
        return Ok(());
    };
    people::names::insert(tx, user, &read_handle(&row, 0)?, &row.get::<String>(1)?).await
}

pub(in super::super) fn written(attributes: &Attributes) -> Result<Option<String>, StoreError> {
    if attributes.is_empty() {
        return Ok(None);
    }
    let pairs: BTreeMap<&str, &str> = attributes.iter().collect();
    serde_json::to_string(&pairs).map(Some).map_err(|error| StoreError::Refused(Box::new(error)))
}

fn read(text: &str) -> Result<Attributes, StoreError> {
    let pairs: BTreeMap<String, String> =
        serde_json::from_str(text).map_err(|error| StoreError::Unreadable(format!("attributes: {error}")))?;
    Attributes::try_new(pairs).map_err(|invalid| StoreError::Unreadable(format!("attributes: {invalid}")))
}
