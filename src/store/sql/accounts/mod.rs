//! Users, their profiles and their credentials in SQL.

mod attempts;
mod deactivations;
mod deletions;
pub(super) mod identities;
pub(super) mod profiles;
mod services;
mod sessions;

use async_trait::async_trait;
use sql_driver::{Tx, Value};

use super::{
    SqlStore,
    existing_accounts::account_exists,
    people,
    rows::{DomainColumns as _, MAX_LIST, Row, id_list},
    spread_counts::FOLLOWERS,
};
use crate::{
    domain::{EdgeMode, Floor, Handle, Profile, UserId, account::profile::ProfileCounts},
    store::{
        Accounts, StoreError,
        accounts::{NewAccount, PasswordHash, Registered},
    },
};

/// What [`profile_at`] reads of `users`.
pub(super) const COLUMNS: &str = "id, handle, name, bio, avatar_url, created_at, profile_version";

#[async_trait]
impl Accounts for SqlStore {
    async fn register(&self, account: NewAccount) -> Result<Registered, StoreError> {
        let account = &account;
        self.transaction(move |tx| async move {
            if insert_user(&tx, account).await? {
                insert_beginnings(&tx, account).await?;
                return tx.commit(Registered::Created).await;
            }
            let taken = conflicting_account(&tx, account).await?;
            tx.roll_back(taken).await
        })
        .await
    }

    async fn credential(&self, handle: &Handle) -> Result<Option<(UserId, PasswordHash)>, StoreError> {
        let sql =
            "SELECT c.user_id, c.password_hash FROM users u JOIN credentials c ON c.user_id = u.id WHERE u.handle = ?";
        let rows = self.read_few(sql, [handle.as_str().into()]).await?;
        rows.first().map(|row| Ok((row.user(0)?, PasswordHash(row.get(1)?)))).transpose()
    }

    async fn credential_of(&self, user: UserId) -> Result<Option<(Handle, PasswordHash)>, StoreError> {
        let sql = "SELECT u.handle, c.password_hash FROM users u JOIN credentials c ON c.user_id = u.id WHERE u.id = ?";
        let rows = self.read_few(sql, [user.get().into()]).await?;
        rows.first().map(|row| Ok((read_handle(row, 0)?, PasswordHash(row.get(1)?)))).transpose()
    }

    async fn replace_password(&self, user: UserId, old: &PasswordHash, new: &PasswordHash) -> Result<bool, StoreError> {
        let sql = "UPDATE credentials SET password_hash = ? WHERE user_id = ? AND password_hash = ?";
        let values: [Value; 3] = [new.0.as_str().into(), user.get().into(), old.0.as_str().into()];
        Ok(self.write(sql, values).await? > 0)
    }

    async fn profiles(&self, ids: &[UserId]) -> Result<Vec<Profile>, StoreError> {
        let mut profiles = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            let sql = format!("SELECT {COLUMNS} FROM users WHERE id IN {list}{}", account_exists("users.id"));
            for row in self.read_few_anywhere(&sql, values).await? {
                profiles.push(profile(&row)?);
            }
        }
        Ok(profiles)
    }

    async fn by_handle(&self, handle: &Handle) -> Result<Option<Profile>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM users WHERE handle = ?{}", account_exists("users.id"));
        let rows = self.read_few(&sql, [handle.as_str().into()]).await?;
        rows.first().map(profile).transpose()
    }

    async fn counts(&self, ids: &[UserId]) -> Result<Vec<(UserId, ProfileCounts)>, StoreError> {
        let mut counts = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            let followers = FOLLOWERS.whole("followers", "n");
            let sql = format!(
                "SELECT n.user_id, {followers}, n.following, n.contents FROM user_counts n WHERE n.user_id IN {list}"
            );
            for row in self.read_few_anywhere(&sql, values).await? {
                let of_user = ProfileCounts { followers: row.get(1)?, following: row.get(2)?, contents: row.get(3)? };
                counts.push((row.user(0)?, of_user));
            }
        }
        Ok(counts)
    }

    async fn count(&self) -> Result<u64, StoreError> {
        let rows = self.read("SELECT COUNT(*) FROM users", []).await?;
        rows.first().map_or(Ok(0), |row| row.count(0))
    }
}

pub(super) async fn insert_user(tx: &Tx, account: &NewAccount) -> Result<bool, StoreError> {
    let registration = &account.registration;
    let values: [Value; 6] = [
        account.id.get().into(),
        registration.handle.as_str().into(),
        registration.name.clone().into(),
        registration.bio.clone().into(),
        registration.avatar_url.clone().into(),
        account.now_ms.into(),
    ];
    tx.insert("INSERT INTO users (id, handle, name, bio, avatar_url, created_at) VALUES (?, ?, ?, ?, ?, ?)", values)
        .await
}

/// What every user has from the start. Counts and the outbox's version begin at 0.
pub(super) async fn insert_beginnings(tx: &Tx, account: &NewAccount) -> Result<(), StoreError> {
    let id = Value::from(account.id.get());
    let (now, push) = (Value::from(account.now_ms), Value::from(EdgeMode::Push.code()));
    let floor = Floor::OPEN.trusted_from();
    people::names::insert(tx, account.id, &account.registration.handle, &account.registration.name).await?;
    if let Some(hash) = &account.password_hash {
        let values = [id.clone(), hash.0.as_str().into()];
        tx.execute("INSERT INTO credentials (user_id, password_hash) VALUES (?, ?)", values).await?;
    }
    tx.execute("INSERT INTO user_counts (user_id) VALUES (?)", [id.clone()]).await?;
    tx.execute("INSERT INTO outbox_heads (author_id, stamp) VALUES (?, 0)", [id.clone()]).await?;
    tx.execute(
        "INSERT INTO inbox_states (user_id, floor_time, floor_content, rev, last_seen) VALUES (?, ?, ?, 0, ?)",
        [id.clone(), floor.publish_time().into(), floor.content_number().into(), now.clone()],
    )
    .await?;
    tx.execute(
        "INSERT INTO follows (follower_id, author_id, mode, inc, followed_at) VALUES (?, ?, ?, ?, ?)",
        [id.clone(), id, push, account.incarnation.into(), now],
    )
    .await
    .map(|_| ())
}

/// Finds which unique value of the new user exists already. Rows of users are never deleted, not even with their
/// accounts. If neither value is found, the conflicting insert was rolled back.
pub(super) async fn conflicting_account(tx: &Tx, account: &NewAccount) -> Result<Registered, StoreError> {
    let sql = "SELECT id FROM users WHERE id = ? OR handle = ?";
    let handle = account.registration.handle.as_str();
    let rows = tx.query(sql, [account.id.get().into(), handle.into()]).await?;
    let ids: Vec<UserId> = rows.iter().map(|row| row.user(0)).collect::<Result<_, _>>()?;
    match ids.as_slice() {
        [] => Err(StoreError::Contended("a registration of the same user was undone meanwhile".into())),
        ids if ids.contains(&account.id) => Ok(Registered::IdTaken),
        _ => Ok(Registered::HandleTaken),
    }
}

fn profile(row: &Row) -> Result<Profile, StoreError> {
    profile_at(row, 0)
}

/// A profile whose [`COLUMNS`] begin at `column`.
pub(super) fn profile_at(row: &Row, column: usize) -> Result<Profile, StoreError> {
    Ok(Profile {
        id: row.user(column)?,
        handle: read_handle(row, column + 1)?,
        name: row.get(column + 2)?,
        bio: row.get(column + 3)?,
        avatar_url: row.get(column + 4)?,
        created_at: row.get(column + 5)?,
        version: row.get(column + 6)?,
    })
}

pub(super) fn read_handle(row: &Row, column: usize) -> Result<Handle, StoreError> {
    let handle: String = row.get(column)?;
    Handle::try_new(&handle).map_err(|_| StoreError::Unreadable(format!("the handle {handle}")))
}
