//! Deleted accounts in SQL. The row of an account is what every read looks at, see `existing_accounts`; its columns say
//! how far the clearing is.

use async_trait::async_trait;
use sql_driver::{Tx, Value};

use super::super::{
    SqlStore,
    follows::authors_version::renew_authors,
    reactions::column,
    rows::{DomainColumns as _, Row, id_list},
    spread_counts::{COUNTERS, Change},
};
use crate::{
    domain::{ContentId, Entry, Handle, SessionId, UserId, limits::MAX_WAIT_MS, object::DEFAULT_TYPE},
    store::{
        AccountDeletions, StoreError,
        account_deletions::{Deleted, DeletedAccount, LeftContent},
        accounts::PasswordHash,
        relations::Pair,
    },
};

#[async_trait]
impl AccountDeletions for SqlStore {
    async fn delete(&self, user: UserId, password: Option<&PasswordHash>, now_ms: i64) -> Result<Deleted, StoreError> {
        self.transaction(move |tx| async move {
            // The first lock: everyone who publishes, follows or reacts waits for it, and finds no counts. An edge to
            // the user that is committed after this is ended by the reconciler (docs/protocol.md#f1).
            if tx.execute("DELETE FROM user_counts WHERE user_id = ?", [user.get().into()]).await? == 0 {
                return tx.roll_back(Deleted::Unknown).await;
            }
            if !password_is(&tx, user, password).await? {
                return tx.roll_back(Deleted::PasswordChanged).await;
            }
            blank_user(&tx, user).await?;
            let sql = "INSERT INTO account_deletions (user_id, deleted_at, look_at) VALUES (?, ?, ?)";
            tx.execute(sql, [user.get().into(), now_ms.into(), now_ms.into()]).await?;
            let sessions = end_sessions(&tx, user).await?;
            tx.commit(Deleted::Gone { sessions }).await
        })
        .await
    }

    async fn was_deleted(&self, handle: &Handle) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM users u JOIN account_deletions g ON g.user_id = u.id WHERE u.handle = ?";
        Ok(!self.read_few(sql, [handle.as_str().into()]).await?.is_empty())
    }

    async fn due(&self, now_ms: i64, next_look_ms: i64) -> Result<Option<DeletedAccount>, StoreError> {
        self.transaction(move |tx| async move {
            let sql = format!(
                "SELECT user_id, deleted_at FROM account_deletions WHERE look_at <= ? OR look_at > ? ORDER BY look_at, user_id LIMIT 1 {}",
                tx.dialect().for_update_skip_locked()
            );
            let too_far = now_ms.saturating_add(MAX_WAIT_MS);
            let Some(row) = tx.query_one(&sql, [now_ms.into(), too_far.into()]).await? else {
                return tx.roll_back(None).await;
            };
            let remains = DeletedAccount { user: row.user(0)?, deleted_at: row.get(1)? };
            let sql = "UPDATE account_deletions SET look_at = ? WHERE user_id = ?";
            tx.execute(sql, [next_look_ms.into(), remains.user.get().into()]).await?;
            tx.commit(Some(remains)).await
        })
        .await
    }

    async fn look_at(&self, user: UserId, at_ms: Option<i64>) -> Result<(), StoreError> {
        let sql = "UPDATE account_deletions SET look_at = ? WHERE user_id = ?";
        self.write(sql, [at_ms.into(), user.get().into()]).await.map(|_| ())
    }

    async fn contents_left(&self, user: UserId, limit: u64) -> Result<Vec<LeftContent>, StoreError> {
        let sql = format!(
            "SELECT c.publish_time, c.id, c.author_id, c.removed_at FROM account_deletions g \
             {then} contents c{outbox} ON c.author_id = g.user_id AND c.publish_time >= g.through_time \
             AND (c.publish_time > g.through_time OR c.id > g.through_content) \
             WHERE g.user_id = ? ORDER BY c.author_id, c.publish_time, c.id LIMIT ?",
            then = self.dialect.join_in_order(),
            outbox = self.dialect.in_order_of("outbox"),
        );
        let left =
            |row: &Row| Ok(LeftContent { entry: row.entry(0)?, is_removed: row.get::<Option<i64>>(3)?.is_some() });
        self.read(&sql, [user.get().into(), rows(limit)]).await?.iter().map(left).collect()
    }

    async fn erase(&self, user: UserId, contents: &[Entry]) -> Result<(), StoreError> {
        let Some(end) = contents.iter().map(Entry::position).max() else { return Ok(()) };
        let ids: Vec<ContentId> = contents.iter().map(|entry| entry.content).collect();
        let (ids, [time, content]) = (ids.as_slice(), [end.publish_time(), end.content_number()]);
        self.transaction(move |tx| async move {
            let (list, values) = id_list(ids);
            let sql = format!(
                "UPDATE contents SET text = '', media = '[]', idempotency_key = NULL \
                 WHERE author_id = ? AND removed_at IS NOT NULL AND id IN {list}"
            );
            tx.execute(&sql, std::iter::once(Value::from(user.get())).chain(values.clone())).await?;
            // Their external ids stay: no content gets them again.
            let sql = format!(
                "UPDATE content_objects SET type = '{DEFAULT_TYPE}', url = NULL, attributes = NULL WHERE content_id IN \
                 (SELECT c.id FROM contents c WHERE c.author_id = ? AND c.removed_at IS NOT NULL AND c.id IN {list})"
            );
            tx.execute(&sql, std::iter::once(Value::from(user.get())).chain(values)).await?;
            let sql = "UPDATE account_deletions SET through_time = ?, through_content = ? WHERE user_id = ? \
                       AND (through_time < ? OR (through_time = ? AND through_content < ?))";
            tx.execute(sql, [time, content, user.get(), time, time, content].map(Into::into)).await?;
            tx.commit(()).await
        })
        .await
    }

    async fn edges_left(&self, user: UserId, limit: u64) -> Result<Vec<Pair>, StoreError> {
        let mut edges = Vec::new();
        for column in ["author_id", "follower_id"] {
            let sql = format!(
                "SELECT follower_id, author_id FROM follows WHERE {column} = ? ORDER BY follower_id, author_id LIMIT ?"
            );
            for row in self.read(&sql, [user.get().into(), rows(limit)]).await? {
                edges.push(Pair { follower: row.user(0)?, author: row.user(1)? });
            }
        }
        Ok(edges)
    }

    async fn take_back_reactions(&self, user: UserId, limit: u64) -> Result<u64, StoreError> {
        self.transaction(move |tx| async move {
            let sql = "SELECT content_id, kind FROM reactions WHERE user_id = ? LIMIT ?";
            let key = |row: &Row| Ok((row.get::<i64>(0)?, row.get::<i32>(1)?));
            let found = tx.query(sql, [user.get().into(), rows(limit)]).await?;
            let mut found = found.iter().map(key).collect::<Result<Vec<_>, StoreError>>()?;
            // In one order, so that no two of these wait for each other; all others count one content.
            found.sort_unstable();
            for reaction in &found {
                take_back(&tx, user, *reaction).await?;
            }
            if found.is_empty() { tx.roll_back(0).await } else { tx.commit(found.len() as u64).await }
        })
        .await
    }

    async fn clear(&self, user: UserId, version: i64, limit: u64) -> Result<u64, StoreError> {
        self.transaction(move |tx| async move {
            let mut gone = tx.execute("DELETE FROM read_markers WHERE user_id = ?", [user.get().into()]).await?;
            gone += end_sessions(&tx, user).await?.len() as u64;
            // A visit noted during the deletion may have opened the floor again.
            gone += turn_off(&tx, user).await?;
            for column in ["reader_id", "author_id"] {
                let sql = format!("SELECT reader_id, author_id, cause FROM exclusions WHERE {column} = ? LIMIT ?");
                let found = tx.query(&sql, [user.get().into(), rows(limit)]).await?;
                renew_readers(&tx, &found, version).await?;
                for row in found {
                    let sql = "DELETE FROM exclusions WHERE reader_id = ? AND author_id = ? AND cause = ?";
                    let key = [row.get::<i64>(0)?, row.get(1)?, row.get(2)?];
                    gone += tx.execute(sql, key.map(Into::into)).await?;
                }
            }
            if gone == 0 { tx.roll_back(0).await } else { tx.commit(gone).await }
        })
        .await
    }
}

/// Gives a new version to the authors of the readers of these exclusions.
async fn renew_readers(tx: &Tx, exclusions: &[Row], version: i64) -> Result<(), StoreError> {
    let mut readers = exclusions.iter().map(|row| row.user(0)).collect::<Result<Vec<_>, _>>()?;
    readers.sort_unstable();
    readers.dedup();
    if readers.is_empty() { Ok(()) } else { renew_authors(tx, &readers, version).await }
}

/// Deletes the password if it is this one. Returns whether it was.
async fn password_is(tx: &Tx, user: UserId, password: Option<&PasswordHash>) -> Result<bool, StoreError> {
    let Some(hash) = password else {
        let sql = "SELECT 1 FROM credentials WHERE user_id = ?";
        return Ok(tx.query_one(sql, [user.get().into()]).await?.is_none());
    };
    let sql = "DELETE FROM credentials WHERE user_id = ? AND password_hash = ?";
    Ok(tx.execute(sql, [user.get().into(), hash.0.as_str().into()]).await? == 1)
}

/// The handle stays, but nobody finds the account by it. The digest of an external identity stays, too, because its
/// tokens name this account until they expire. The user's row is locked before the names, as in every change of them.
async fn blank_user(tx: &Tx, user: UserId) -> Result<(), StoreError> {
    for sql in [
        "UPDATE users SET name = '', bio = '', avatar_url = NULL, attributes = NULL WHERE id = ?",
        "DELETE FROM user_names WHERE user_id = ?",
        "DELETE FROM deactivations WHERE user_id = ?",
        "UPDATE external_identities SET subject = '' WHERE user_id = ?",
    ] {
        tx.execute(sql, [user.get().into()]).await?;
    }
    turn_off(tx, user).await.map(|_| ())
}

/// Turns the user's inbox off (docs/protocol.md#off); returns 1 if it was on.
async fn turn_off(tx: &Tx, user: UserId) -> Result<u64, StoreError> {
    let sql = "UPDATE inbox_states SET floor_time = NULL, floor_content = NULL, tier = 0, rev = rev + 1 \
               WHERE user_id = ? AND (floor_time IS NOT NULL OR tier <> 0)";
    tx.execute(sql, [user.get().into()]).await
}

pub(super) async fn end_sessions(tx: &Tx, user: UserId) -> Result<Vec<SessionId>, StoreError> {
    let sql = format!("SELECT id FROM sessions WHERE user_id = ? {}", tx.dialect().for_update());
    let id = |row: &Row| SessionId::try_new(row.get(0)?).map_err(|invalid| StoreError::Unreadable(invalid.to_string()));
    let ended = tx.query(&sql, [user.get().into()]).await?.iter().map(id).collect::<Result<Vec<_>, _>>()?;
    tx.execute("DELETE FROM sessions WHERE user_id = ?", [user.get().into()]).await?;
    Ok(ended)
}

/// Another node may have taken this reaction back meanwhile, so the counter follows the row.
async fn take_back(tx: &Tx, user: UserId, (content, kind): (i64, i32)) -> Result<(), StoreError> {
    let sql = "DELETE FROM reactions WHERE content_id = ? AND kind = ? AND user_id = ?";
    if tx.execute(sql, [content.into(), kind.into(), user.get().into()]).await? == 0 {
        return Ok(());
    }
    let change = Change { column: column(kind), id: content, more: -1, by: user };
    COUNTERS.change(tx, change).await
}

fn rows(limit: u64) -> Value {
    i64::try_from(limit).unwrap_or(i64::MAX).into()
}
