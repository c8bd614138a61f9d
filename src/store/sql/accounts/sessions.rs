//! Sessions in SQL: one row for each session, deleted when it ends.

use async_trait::async_trait;
use sql_driver::{Tx, Value};

use super::{
    super::{
        SqlStore,
        rows::{DomainColumns as _, MAX_LIST, Row, id_list},
    },
    deactivations::{is_deactivated, lock_user},
};
use crate::{
    domain::{
        SessionId, UserId,
        account::session::{Presented, Session},
    },
    store::{
        Sessions, StoreError,
        sessions::{Begun, Rotation},
    },
};

const COLUMNS: &str =
    "id, user_id, family, current_token, previous_token, nonce, rotated_at, created_at, good_until, agent";

#[async_trait]
impl Sessions for SqlStore {
    async fn begin(&self, session: &Session, keep: u32) -> Result<Begun, StoreError> {
        self.transaction(move |tx| async move {
            // Who is deactivated at the same time waits, and ends this session, or this one waits.
            lock_user(&tx, session.user).await?;
            if is_deactivated(&tx, session.user).await? {
                return tx.roll_back(Begun::Deactivated).await;
            }
            let sql = format!("INSERT INTO sessions ({COLUMNS}) VALUES (?, ?, ?, ?, NULL, NULL, ?, ?, ?, ?)");
            let values: [Value; 8] = [
                session.id.get().into(),
                session.user.get().into(),
                session.family.as_str().into(),
                session.current.as_str().into(),
                session.rotated_at.into(),
                session.created_at.into(),
                session.good_until.into(),
                session.agent.as_str().into(),
            ];
            if !tx.insert(&sql, values).await? {
                return tx.roll_back(Begun::IdTaken).await;
            }
            let ended = overdue(&tx, session, keep).await?;
            delete(&tx, &ended).await?;
            tx.commit(Begun::Began(ended)).await
        })
        .await
    }

    async fn find(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        let rows = self.read_few(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?"), [id.get().into()]).await?;
        rows.first().map(session).transpose()
    }

    async fn living(&self, ids: &[SessionId], now_ms: i64) -> Result<Vec<SessionId>, StoreError> {
        let mut living = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            let sql = format!("SELECT id FROM sessions WHERE good_until > ? AND id IN {list}");
            for row in self.read_few(&sql, std::iter::once(now_ms.into()).chain(values)).await? {
                living.push(id(&row)?);
            }
        }
        Ok(living)
    }

    async fn rotate(&self, rotation: &Rotation) -> Result<(Presented, Option<UserId>), StoreError> {
        self.transaction(move |tx| async move {
            let sql = format!("SELECT {COLUMNS} FROM sessions WHERE id = ? {}", tx.dialect().for_update());
            let row = tx.query_one(&sql, [rotation.id.get().into()]).await?;
            let Some(session) = row.as_ref().map(session).transpose()? else {
                return tx.roll_back((Presented::Unknown, None)).await;
            };
            let Rotation { family, token, now_ms, grace_ms, .. } = rotation;
            let presented = session.presented(family, token, *now_ms, *grace_ms);
            match presented {
                Presented::Current => advance(&tx, rotation).await?,
                Presented::Reused => delete(&tx, &[session.id]).await?,
                Presented::Again(_) => {}
                Presented::Unknown => return tx.roll_back((presented, None)).await,
            }
            tx.commit((presented, Some(session.user))).await
        })
        .await
    }

    async fn end(&self, user: UserId, id: SessionId) -> Result<bool, StoreError> {
        let sql = "DELETE FROM sessions WHERE id = ? AND user_id = ?";
        Ok(self.write(sql, [id.get().into(), user.get().into()]).await? > 0)
    }

    async fn end_all(&self, user: UserId, except: Option<SessionId>) -> Result<Vec<SessionId>, StoreError> {
        self.transaction(move |tx| async move {
            let sql = format!("SELECT id FROM sessions WHERE user_id = ? AND id <> ? {}", tx.dialect().for_update());
            let kept = except.map_or(0, SessionId::get);
            let rows = tx.query(&sql, [user.get().into(), kept.into()]).await?;
            let ended: Vec<SessionId> = rows.iter().map(id).collect::<Result<_, _>>()?;
            delete(&tx, &ended).await?;
            tx.commit(ended).await
        })
        .await
    }

    async fn of_user(&self, user: UserId, now_ms: i64) -> Result<Vec<Session>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE user_id = ? AND good_until > ? ORDER BY id DESC");
        self.read(&sql, [user.get().into(), now_ms.into()]).await?.iter().map(session).collect()
    }

    async fn forget(&self, before_ms: i64, limit: u64) -> Result<u64, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = "SELECT id FROM sessions WHERE good_until < ? ORDER BY good_until LIMIT ?";
        let rows = self.read(sql, [before_ms.into(), limit.into()]).await?;
        let over: Vec<SessionId> = rows.iter().map(id).collect::<Result<_, _>>()?;
        if over.is_empty() {
            return Ok(0);
        }
        let (list, values) = id_list(&over);
        let sql = format!("DELETE FROM sessions WHERE good_until < ? AND id IN {list}");
        self.write(&sql, std::iter::once(before_ms.into()).chain(values)).await
    }
}

/// The user's sessions that have ended, and the oldest beyond `keep`. Locks the user's sessions.
async fn overdue(tx: &Tx, begun: &Session, keep: u32) -> Result<Vec<SessionId>, StoreError> {
    let lock = tx.dialect().for_update();
    let sql = format!("SELECT id, good_until FROM sessions WHERE user_id = ? ORDER BY id DESC {lock}");
    let (mut kept, mut overdue) = (0, Vec::new());
    for row in tx.query(&sql, [begun.user.get().into()]).await? {
        let good_until: i64 = row.get(1)?;
        if id(&row)? != begun.id && (good_until <= begun.created_at || kept + 1 >= keep) {
            overdue.push(id(&row)?);
        } else if id(&row)? != begun.id {
            kept += 1;
        }
    }
    Ok(overdue)
}

async fn advance(tx: &Tx, rotation: &Rotation) -> Result<(), StoreError> {
    let sql = "UPDATE sessions SET previous_token = ?, current_token = ?, nonce = ?, rotated_at = ?, good_until = ? \
               WHERE id = ?";
    let values: [Value; 6] = [
        rotation.token.as_str().into(),
        rotation.next.as_str().into(),
        rotation.nonce.as_str().into(),
        rotation.now_ms.into(),
        rotation.good_until.into(),
        rotation.id.get().into(),
    ];
    tx.execute(sql, values).await.map(|_| ())
}

async fn delete(tx: &Tx, ids: &[SessionId]) -> Result<(), StoreError> {
    for ids in ids.chunks(MAX_LIST) {
        let (list, values) = id_list(ids);
        tx.execute(&format!("DELETE FROM sessions WHERE id IN {list}"), values).await?;
    }
    Ok(())
}

fn id(row: &Row) -> Result<SessionId, StoreError> {
    SessionId::try_new(row.get(0)?).map_err(|invalid| StoreError::Unreadable(invalid.to_string()))
}

fn session(row: &Row) -> Result<Session, StoreError> {
    let (previous, nonce): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
    Ok(Session {
        id: id(row)?,
        user: row.user(1)?,
        family: row.get(2)?,
        current: row.get(3)?,
        previous: previous.zip(nonce),
        rotated_at: row.get(6)?,
        created_at: row.get(7)?,
        good_until: row.get(8)?,
        agent: row.get(9)?,
    })
}
