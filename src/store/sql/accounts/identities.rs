//! Users of an external issuer in SQL: one row for each identity, written with its user.

use async_trait::async_trait;
use sql_driver::{Tx, Value};

use super::{
    super::{
        SqlStore,
        existing_accounts::account_exists,
        rows::{DomainColumns as _, MAX_LIST, Row, id_list, value_list},
    },
    conflicting_account,
    deactivations::lock_user,
    insert_beginnings, insert_user,
    profiles::{assignments, rewrite_names, written},
};
use crate::{
    domain::UserId,
    store::{
        Identities, StoreError,
        accounts::NewAccount,
        identities::{Adopted, Bound, Identified, Identity, Membership, Rebound, Revised, Revision, Standing},
        profiles::ProfileEdit,
    },
};

/// As wide as the columns.
const ISSUER_CHARS: usize = 500;
const SUBJECT_CHARS: usize = 255;

#[async_trait]
impl Identities for SqlStore {
    async fn identified(&self, digests: &[String]) -> Result<Vec<Identified>, StoreError> {
        let mut found = Vec::with_capacity(digests.len());
        for digests in digests.chunks(MAX_LIST) {
            let (list, values) = value_list(digests.iter().map(|digest| digest.as_str().into()));
            let sql = format!(
                "SELECT e.identity, e.user_id, e.as_of, g.user_id, d.user_id FROM external_identities e \
                 LEFT JOIN account_deletions g ON g.user_id = e.user_id \
                 LEFT JOIN deactivations d ON d.user_id = e.user_id WHERE e.identity IN {list}"
            );
            for row in self.read_few(&sql, values).await? {
                found.push(identified(&row)?);
            }
        }
        Ok(found)
    }

    async fn memberships(&self, issuer: &str, users: &[UserId]) -> Result<Vec<Membership>, StoreError> {
        let mut found = Vec::with_capacity(users.len());
        for users in users.chunks(MAX_LIST) {
            let (list, values) = id_list(users);
            let sql = format!(
                "SELECT u.id, e.subject, d.user_id FROM users u \
                 LEFT JOIN external_identities e ON e.user_id = u.id AND e.issuer = ? \
                 LEFT JOIN deactivations d ON d.user_id = u.id WHERE u.id IN {list}{}",
                account_exists("u.id")
            );
            let values = std::iter::once(Value::from(cut(issuer, ISSUER_CHARS))).chain(values);
            for row in self.read_few(&sql, values).await? {
                let is_deactivated = row.get::<Option<i64>>(2)?.is_some();
                found.push(Membership { user: row.user(0)?, subject: row.get(1)?, is_deactivated });
            }
        }
        Ok(found)
    }

    async fn adopt(&self, account: &NewAccount, identity: &Identity) -> Result<Adopted, StoreError> {
        let made = self.transaction(move |tx| async move {
            if !insert(&tx, (account.id, identity), 0).await? {
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
        let known = self.identified(std::slice::from_ref(&identity.digest)).await?;
        known
            .first()
            .map(|known| Adopted::Known(known.user))
            .ok_or_else(|| StoreError::Contended("an identity was undone meanwhile".into()))
    }

    async fn rebind(&self, user: UserId, identity: &Identity, version: i64) -> Result<Rebound, StoreError> {
        self.transaction(move |tx| async move {
            if !lock_user(&tx, user).await? {
                return tx.roll_back(Rebound::NoUser).await;
            }
            let sql = "SELECT user_id FROM external_identities WHERE identity = ?";
            let owner = tx.query_one(sql, [identity.digest.as_str().into()]).await?;
            match owner.map(|row| row.user(0)).transpose()? {
                Some(owner) if owner == user => return tx.roll_back(Rebound::Done).await,
                Some(_) if !release(&tx, &identity.digest).await? => return tx.roll_back(Rebound::Taken).await,
                _ => {}
            }
            let sql = "SELECT as_of FROM external_identities WHERE user_id = ? ORDER BY as_of DESC LIMIT 1";
            let former = tx.query_one(sql, [user.get().into()]).await?;
            let as_of = former.map(|row| row.get(0)).transpose()?.unwrap_or(0);
            let sql = "DELETE FROM external_identities WHERE user_id = ? AND issuer = ?";
            tx.execute(sql, [user.get().into(), cut(&identity.issuer, ISSUER_CHARS).into()]).await?;
            if !insert(&tx, (user, identity), as_of).await? {
                return tx.roll_back(Rebound::Taken).await;
            }
            let sql = "UPDATE users SET profile_version = ? WHERE id = ?";
            tx.execute(sql, [version.into(), user.get().into()]).await?;
            tx.commit(Rebound::Done).await
        })
        .await
    }

    async fn release(&self, digest: &str) -> Result<bool, StoreError> {
        self.transaction(move |tx| async move {
            let released = release(&tx, digest).await?;
            tx.commit(released).await
        })
        .await
    }

    async fn former_issuer(&self, issuer: &str) -> Result<Option<String>, StoreError> {
        let of_this = "SELECT issuer FROM external_identities WHERE issuer = ? LIMIT 1";
        if !self.read(of_this, [cut(issuer, ISSUER_CHARS).into()]).await?.is_empty() {
            return Ok(None);
        }
        let others = format!(
            "SELECT e.issuer FROM external_identities e WHERE e.issuer <> ?{} LIMIT 1",
            account_exists("e.user_id")
        );
        let rows = self.read(&others, [cut(issuer, ISSUER_CHARS).into()]).await?;
        rows.first().map(|row| row.get(0)).transpose()
    }

    async fn of_issuer(&self, issuer: &str, after: &str, limit: usize) -> Result<Vec<Bound>, StoreError> {
        let sql = format!(
            "SELECT e.identity, e.user_id, e.subject FROM external_identities e \
             WHERE e.identity > ? AND e.issuer = ?{} ORDER BY e.identity LIMIT ?",
            account_exists("e.user_id")
        );
        let values = [after.into(), cut(issuer, ISSUER_CHARS).into(), i64::try_from(limit).unwrap_or(i64::MAX).into()];
        let rows = self.read(&sql, values).await?;
        rows.iter().map(|row| Ok(Bound { digest: row.get(0)?, user: row.user(1)?, subject: row.get(2)? })).collect()
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
            let as_of = revision.as_of.unwrap_or(revision.now_ms);
            if as_of > known_as_of {
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

fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

fn identified(row: &Row) -> Result<Identified, StoreError> {
    let (is_deleted, is_deactivated) = (row.get::<Option<i64>>(3)?.is_some(), row.get::<Option<i64>>(4)?.is_some());
    let standing = match (is_deleted, is_deactivated) {
        (true, _) => Standing::Deleted,
        (false, true) => Standing::Deactivated,
        (false, false) => Standing::Active,
    };
    Ok(Identified { digest: row.get(0)?, user: row.user(1)?, standing, as_of: row.get(2)? })
}

/// `false` if somebody has the identity. `as_of`: of what is newest known of the user.
async fn insert(tx: &Tx, (user, identity): (UserId, &Identity), as_of: i64) -> Result<bool, StoreError> {
    let sql = "INSERT INTO external_identities (identity, user_id, issuer, subject, as_of) VALUES (?, ?, ?, ?, ?)";
    let values: Vec<Value> = columns(user, identity).into_iter().chain([as_of.into()]).collect();
    tx.insert(sql, values).await
}

/// Identity, user, issuer and subject.
pub(in super::super) fn columns(user: UserId, identity: &Identity) -> [Value; 4] {
    let (issuer, subject) = (cut(&identity.issuer, ISSUER_CHARS), cut(&identity.subject, SUBJECT_CHARS));
    [identity.digest.as_str().into(), user.get().into(), issuer.into(), subject.into()]
}

/// Whether the identity was that of a deleted account, and is nobody's now.
pub(in super::super) async fn release(tx: &Tx, digest: &str) -> Result<bool, StoreError> {
    let sql = "DELETE FROM external_identities WHERE identity = ? \
               AND user_id IN (SELECT g.user_id FROM account_deletions g)";
    Ok(tx.execute(sql, [digest.into()]).await? > 0)
}

/// Changes what is different in the locked row, which has handle, name, bio, avatar and attributes. Returns whether
/// anything was; `None` if the handle is taken.
pub(in super::super) async fn change(
    tx: &Tx,
    user: UserId,
    present: &Row,
    revision: &Revision,
) -> Result<Option<bool>, StoreError> {
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
