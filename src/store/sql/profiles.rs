//! Changes of profiles in SQL. Attributes are a JSON object as text; null stands for none.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sea_orm::Value;

use super::{
    SqlStore,
    rows::{MAX_LIST, id_list},
};
use crate::{
    domain::{Handle, UserId, attributes::Attributes},
    store::{
        Profiles, StoreError,
        profiles::{ProfileEdit, Renamed},
    },
};

#[async_trait]
impl Profiles for SqlStore {
    async fn edit(&self, user: UserId, edit: &ProfileEdit) -> Result<bool, StoreError> {
        // Naming the id keeps the statement whole when nothing else changes, and MySQL counts found rows.
        let mut sets = vec!["id = id"];
        let mut values: Vec<Value> = Vec::new();
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
        values.push(user.get().into());
        Ok(self.write(&format!("UPDATE users SET {} WHERE id = ?", sets.join(", ")), values).await? > 0)
    }

    async fn rename(&self, user: UserId, handle: &Handle) -> Result<Renamed, StoreError> {
        let values = || [Value::from(handle.as_str()), user.get().into()];
        self.transaction(move |tx| async move {
            if !tx.insert("UPDATE users SET handle = ? WHERE id = ?", values()).await? {
                return tx.roll_back(Renamed::Taken).await;
            }
            let found = tx.query("SELECT 1 FROM users WHERE handle = ? AND id = ?", values()).await?;
            tx.commit(if found.is_empty() { Renamed::NoUser } else { Renamed::Done }).await
        })
        .await
    }

    async fn attributes(&self, users: &[UserId]) -> Result<Vec<(UserId, Attributes)>, StoreError> {
        let mut all = Vec::with_capacity(users.len());
        for users in users.chunks(MAX_LIST) {
            let (list, values) = id_list(users);
            for row in self.read(&format!("SELECT id, attributes FROM users WHERE id IN {list}"), values).await? {
                let text: Option<String> = row.get(1)?;
                all.push((row.user(0)?, text.as_deref().map(read).transpose()?.unwrap_or_default()));
            }
        }
        Ok(all)
    }
}

fn written(attributes: &Attributes) -> Result<Option<String>, StoreError> {
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
