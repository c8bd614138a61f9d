//! Deactivated users in SQL: one row each, and no search keys. The user's row is the first lock.

use async_trait::async_trait;
use sql_driver::Tx;

use super::{
    super::{
        SqlStore,
        existing_accounts::{account_exists, not_deactivated},
        people,
        rows::{DomainColumns as _, MAX_LIST, id_list},
    },
    deletions::end_sessions,
    profiles::rewrite_names,
};
use crate::{
    domain::{SessionId, UserId},
    store::{Deactivations, StoreError},
};

#[async_trait]
impl Deactivations for SqlStore {
    async fn deactivate(&self, user: UserId, now_ms: i64) -> Result<Option<Vec<SessionId>>, StoreError> {
        self.transaction(move |tx| async move {
            if !lock_user(&tx, user).await? {
                return tx.roll_back(None).await;
            }
            if !is_deactivated(&tx, user).await? {
                let sql = "INSERT INTO deactivations (user_id, deactivated_at) VALUES (?, ?)";
                tx.execute(sql, [user.get().into(), now_ms.into()]).await?;
                people::names::delete(&tx, user).await?;
            }
            let ended = end_sessions(&tx, user).await?;
            tx.commit(Some(ended)).await
        })
        .await
    }

    async fn reactivate(&self, user: UserId) -> Result<bool, StoreError> {
        self.transaction(move |tx| async move {
            if !lock_user(&tx, user).await? {
                return tx.roll_back(false).await;
            }
            if tx.execute("DELETE FROM deactivations WHERE user_id = ?", [user.get().into()]).await? == 0 {
                return tx.roll_back(true).await;
            }
            rewrite_names(&tx, user).await?;
            tx.commit(true).await
        })
        .await
    }

    async fn active_among(&self, ids: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let mut active = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            let (exists, is_active) = (account_exists("users.id"), not_deactivated(self.dialect, "users.id"));
            let sql = format!("SELECT id FROM users WHERE id IN {list}{exists}{is_active}");
            for row in self.read_few(&sql, values).await? {
                active.push(row.user(0)?);
            }
        }
        Ok(active)
    }
}

/// Locks the row of a user; `false` if they have no account. Each statement sees what was committed before it, so what
/// is read after this is current.
pub(super) async fn lock_user(tx: &Tx, user: UserId) -> Result<bool, StoreError> {
    let sql = format!("SELECT 1 FROM users WHERE id = ? {}", tx.dialect().for_update());
    let exists = tx.query_one(&sql, [user.get().into()]).await?.is_some();
    let sql = "SELECT 1 FROM account_deletions WHERE user_id = ?";
    Ok(exists && tx.query_one(sql, [user.get().into()]).await?.is_none())
}

/// Whether the user, whose row is locked, is deactivated.
pub(super) async fn is_deactivated(tx: &Tx, user: UserId) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM deactivations WHERE user_id = ?";
    Ok(tx.query_one(sql, [user.get().into()]).await?.is_some())
}
