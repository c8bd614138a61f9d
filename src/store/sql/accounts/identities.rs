//! Users of an external issuer in SQL: one row for each identity, written with its user.

use async_trait::async_trait;
use sql_driver::{Tx, Value};

use super::{
    super::{
        SqlStore,
        existing_accounts::account_exists,
        rows::{DomainColumns as _, Row},
    },
    conflicting_account, insert_beginnings, insert_user,
    profiles::{assignments, rewrite_names, written},
};
use crate::{
    domain::UserId,
    store::{
        Identities, StoreError,
        accounts::NewAccount,
        identities::{Adopted, Identity, Revised, Revision},
        profiles::ProfileEdit,
    },
};

/// As wide as the columns.
const ISSUER_CHARS: usize = 500;
const SUBJECT_CHARS: usize = 255;

#[async_trait]
impl Identities for SqlStore {
    async fn user_of(&self, digest: &str) -> Result<Option<UserId>, StoreError> {
        let rows = self.read("SELECT user_id FROM external_identities WHERE identity = ?", [digest.into()]).await?;
        rows.first().map(|row| row.user(0)).transpose()
    }

    async fn adopt(&self, account: &NewAccount, identity: &Identity) -> Result<Adopted, StoreError> {
        let cut = |text: &str, chars| text.chars().take(chars).collect::<String>();
        let made = self.transaction(move |tx| async move {
            let sql = "INSERT INTO external_identities (identity, user_id, issuer, subject) VALUES (?, ?, ?, ?)";
            let values: [Value; 4] = [
                identity.digest.as_str().into(),
                account.id.get().into(),
                cut(&identity.issuer, ISSUER_CHARS).into(),
                cut(&identity.subject, SUBJECT_CHARS).into(),
            ];
            if !tx.insert(sql, values).await? {
                return tx.roll_back(None).await;
            }
            if insert_user(&tx, account).await? {
                insert_beginnings(&tx, account).await?;
                return tx.commit(Some(Adopted::Created)).await;
            }
            let taken = conflicting_account(&tx, account).await?;
            tx.roll_back(Some(Adopted::Not(taken))).await
        });
        if let Some(adopted) = made.await? {
            return Ok(adopted);
        }
        let known = self.user_of(&identity.digest).await?;
        known.map(Adopted::Known).ok_or_else(|| StoreError::Contended("an identity was undone meanwhile".into()))
    }

    async fn revise(&self, digest: &str, revision: &Revision) -> Result<Revised, StoreError> {
        self.transaction(move |tx| async move {
            let lock = tx.dialect().for_update();
            let sql = format!("SELECT user_id, as_of FROM external_identities WHERE identity = ? {lock}");
            let Some(row) = tx.query_one(&sql, [digest.into()]).await? else {
                return tx.roll_back(Revised::Unknown).await;
            };
            let (user, known_as_of): (UserId, i64) = (row.user(0)?, row.get(1)?);
            let sql = format!(
                "SELECT handle, name, bio, avatar_url, attributes FROM users WHERE id = ?{} {lock}",
                account_exists("users.id")
            );
            let Some(present) = tx.query_one(&sql, [user.get().into()]).await? else {
                return tx.roll_back(Revised::Deleted).await;
            };
            if revision.as_of.is_some_and(|as_of| as_of < known_as_of) {
                return tx.roll_back(Revised::Unchanged(user)).await;
            }
            if let Some(as_of) = revision.as_of.filter(|as_of| *as_of > known_as_of) {
                let sql = "UPDATE external_identities SET as_of = ? WHERE identity = ?";
                tx.execute(sql, [as_of.into(), digest.into()]).await?;
            }
            match change(&tx, user, &present, revision).await? {
                Some(true) => tx.commit(Revised::Changed(user)).await,
                Some(false) => tx.commit(Revised::Unchanged(user)).await,
                None => tx.roll_back(Revised::HandleTaken).await,
            }
        })
        .await
    }
}

/// Changes what is different in the locked row. Returns whether anything was; `None` if the handle is taken.
async fn change(tx: &Tx, user: UserId, present: &Row, revision: &Revision) -> Result<Option<bool>, StoreError> {
    let (handle, name, bio): (String, String, String) = (present.get(0)?, present.get(1)?, present.get(2)?);
    let (avatar, attributes): (Option<String>, Option<String>) = (present.get(3)?, present.get(4)?);
    let Revision { handle: new_handle, edit, version, .. } = revision;
    let new_attributes = edit.attributes.as_ref().map(written).transpose()?;
    let edit = ProfileEdit {
        name: edit.name.clone().filter(|new| *new != name),
        bio: edit.bio.clone().filter(|new| *new != bio),
        avatar_url: edit.avatar_url.clone().filter(|new| *new != avatar),
        attributes: edit.attributes.clone().filter(|_| new_attributes != Some(attributes)),
    };
    let new_handle = new_handle.as_ref().filter(|new| new.as_str() != handle);
    if edit == ProfileEdit::default() && new_handle.is_none() {
        return Ok(Some(false));
    }
    let (mut sets, mut values) = assignments(&edit, *version)?;
    if let Some(handle) = new_handle {
        sets.push("handle = ?");
        values.push(handle.as_str().into());
    }
    values.push(user.get().into());
    if !tx.insert(&format!("UPDATE users SET {} WHERE id = ?", sets.join(", ")), values).await? {
        return Ok(None);
    }
    if edit.name.is_some() || new_handle.is_some() {
        rewrite_names(tx, user).await?;
    }
    Ok(Some(true))
}
