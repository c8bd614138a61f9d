//! Users of an external issuer in SQL: one row for each identity, written with its user.

use async_trait::async_trait;
use sql_driver::Value;

use super::{
    super::{SqlStore, rows::DomainColumns as _},
    conflicting_account, insert_beginnings, insert_user,
};
use crate::{
    domain::UserId,
    store::{
        Identities, StoreError,
        accounts::NewAccount,
        identities::{Adopted, Identity},
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
}
