//! Keys of services in SQL, one row each, and the log of what they do.

use std::iter::repeat_n;

use async_trait::async_trait;
use sql_driver::Value;

use super::super::{
    SqlStore,
    rows::{MAX_LIST, Row, id_list},
};
use crate::{
    domain::{
        ServiceKeyId, UserId,
        account::service::{Scopes, ServiceName},
        limits::{MAX_LISTED_KEYS, MAX_LOGGED_AT_ONCE},
    },
    store::{
        ServiceKeys, ServiceLog, StoreError,
        service_keys::{NEVER, NewKey, ServiceKey},
        service_log::LoggedCall,
    },
};

const COLUMNS: &str = "id, service, scopes, created_at, expires_at, last_used_at";
const INSERT: &str =
    "INSERT INTO service_keys (id, service, digest, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)";

#[async_trait]
impl ServiceKeys for SqlStore {
    async fn add_key(&self, service: &ServiceName, scopes: Scopes, key: &NewKey) -> Result<bool, StoreError> {
        self.transaction(move |tx| async move {
            let expires_at = key.expires_at.unwrap_or(NEVER);
            // Until it is kept, the digest is the service's name: of two keys at once one waits for the other's row.
            let pending = NewKey { digest: service.to_string(), ..key.clone() };
            tx.execute(INSERT, values(service, scopes, &pending, expires_at)).await?;
            let sql = format!(
                "SELECT id FROM service_keys WHERE service = ? AND expires_at > ? AND id <> ? {}",
                tx.dialect().for_update()
            );
            let others = [service.as_str().into(), key.now_ms.into(), key.id.get().into()];
            if !tx.query(&sql, others).await?.is_empty() {
                return tx.roll_back(false).await;
            }
            let sql = "UPDATE service_keys SET digest = ? WHERE id = ?";
            tx.execute(sql, [key.digest.as_str().into(), key.id.get().into()]).await?;
            tx.commit(true).await
        })
        .await
    }

    async fn rotate_key(
        &self,
        service: &ServiceName,
        key: &NewKey,
        former_end: i64,
    ) -> Result<Option<ServiceKey>, StoreError> {
        self.transaction(move |tx| async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM service_keys WHERE service = ? AND expires_at > ? \
                 ORDER BY created_at DESC, id DESC {}",
                tx.dialect().for_update()
            );
            let former = tx.query(&sql, [service.as_str().into(), key.now_ms.into()]).await?;
            let Some(former) = former.first().map(read_key).transpose()? else { return tx.roll_back(None).await };
            let lifetime = former.expires_at.saturating_sub(former.created_at);
            let again = if former.expires_at == NEVER { NEVER } else { key.now_ms.saturating_add(lifetime) };
            let expires_at = key.expires_at.unwrap_or(again);
            let sql = "UPDATE service_keys SET expires_at = ? WHERE service = ? AND expires_at > ?";
            tx.execute(sql, [former_end.into(), service.as_str().into(), former_end.into()]).await?;
            tx.execute(INSERT, values(service, former.scopes, key, expires_at)).await?;
            let (id, created_at) = (Some(key.id), key.now_ms);
            tx.commit(Some(ServiceKey { id, created_at, expires_at, last_used_at: 0, ..former })).await
        })
        .await
    }

    async fn revoke_keys(&self, service: &ServiceName) -> Result<u64, StoreError> {
        self.write("DELETE FROM service_keys WHERE service = ?", [service.as_str().into()]).await
    }

    async fn key(&self, digest: &str) -> Result<Option<ServiceKey>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM service_keys WHERE digest = ?");
        self.read_few(&sql, [digest.into()]).await?.first().map(read_key).transpose()
    }

    async fn keys(&self) -> Result<Vec<ServiceKey>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM service_keys ORDER BY service, created_at DESC, id LIMIT {MAX_LISTED_KEYS}");
        self.read(&sql, []).await?.iter().map(read_key).collect()
    }

    async fn living_keys(&self, ids: &[ServiceKeyId], now_ms: i64) -> Result<Vec<ServiceKeyId>, StoreError> {
        let mut living = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let (list, values) = id_list(ids);
            let sql = format!("SELECT id FROM service_keys WHERE expires_at > ? AND id IN {list}");
            for row in self.read_few(&sql, std::iter::once(now_ms.into()).chain(values)).await? {
                living.push(read_id(&row)?);
            }
        }
        Ok(living)
    }

    async fn note_used(&self, id: ServiceKeyId, now_ms: i64) -> Result<(), StoreError> {
        let sql = "UPDATE service_keys SET last_used_at = ? WHERE id = ? AND last_used_at < ?";
        self.write(sql, [now_ms.into(), id.get().into(), now_ms.into()]).await.map(|_| ())
    }

    async fn forget_keys(&self, before_ms: i64) -> Result<u64, StoreError> {
        self.write("DELETE FROM service_keys WHERE expires_at < ?", [before_ms.into()]).await
    }
}

#[async_trait]
impl ServiceLog for SqlStore {
    async fn log_calls(&self, lines: &[(LoggedCall, i64)]) -> Result<(), StoreError> {
        for lines in lines.chunks(MAX_LOGGED_AT_ONCE) {
            let rows = repeat_n("(?, ?, ?, ?, ?, ?)", lines.len()).collect::<Vec<_>>().join(", ");
            let sql = format!(
                "INSERT INTO service_log (noted_at, nonce, service, user_id, operation, outcome) VALUES {rows}"
            );
            let values = lines.iter().flat_map(|(call, nonce)| -> [Value; 6] {
                [
                    call.at_ms.into(),
                    (*nonce).into(),
                    call.service.as_str().into(),
                    call.user.map(UserId::get).into(),
                    call.operation.as_str().into(),
                    call.outcome.as_str().into(),
                ]
            });
            self.write(&sql, values).await?;
        }
        Ok(())
    }

    async fn logged_calls(&self, service: Option<&ServiceName>, limit: u64) -> Result<Vec<LoggedCall>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let filter = if service.is_some() { "WHERE service = ? " } else { "" };
        let sql = format!(
            "SELECT noted_at, service, user_id, operation, outcome FROM service_log {filter}\
             ORDER BY noted_at DESC, nonce DESC LIMIT ?"
        );
        let values = service.map(|it| it.as_str().into()).into_iter().chain([limit.into()]);
        self.read(&sql, values).await?.iter().map(read_call).collect()
    }

    async fn forget_calls(&self, before_ms: i64, limit: u64) -> Result<u64, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = "SELECT noted_at FROM service_log WHERE noted_at < ? ORDER BY noted_at LIMIT ?";
        let rows = self.read(sql, [before_ms.into(), limit.into()]).await?;
        let Some(last) = rows.last() else { return Ok(0) };
        let last: i64 = last.get(0)?;
        self.write("DELETE FROM service_log WHERE noted_at <= ?", [last.into()]).await
    }
}

fn values(service: &ServiceName, scopes: Scopes, key: &NewKey, expires_at: i64) -> [Value; 6] {
    [
        key.id.get().into(),
        service.as_str().into(),
        key.digest.as_str().into(),
        scopes.to_string().into(),
        key.now_ms.into(),
        expires_at.into(),
    ]
}

fn read_key(row: &Row) -> Result<ServiceKey, StoreError> {
    let scopes: String = row.get(2)?;
    Ok(ServiceKey {
        id: Some(read_id(row)?),
        service: read_name(row, 1)?,
        scopes: Scopes::stored(&scopes),
        created_at: row.get(3)?,
        expires_at: row.get(4)?,
        last_used_at: row.get(5)?,
    })
}

fn read_call(row: &Row) -> Result<LoggedCall, StoreError> {
    let user = row.get::<Option<i64>>(2)?.map(UserId::try_new).transpose();
    Ok(LoggedCall {
        at_ms: row.get(0)?,
        service: read_name(row, 1)?,
        user: user.map_err(|invalid| StoreError::Unreadable(invalid.to_string()))?,
        operation: row.get(3)?,
        outcome: row.get(4)?,
    })
}

fn read_id(row: &Row) -> Result<ServiceKeyId, StoreError> {
    ServiceKeyId::try_new(row.get(0)?).map_err(|invalid| StoreError::Unreadable(invalid.to_string()))
}

fn read_name(row: &Row, column: usize) -> Result<ServiceName, StoreError> {
    let name: String = row.get(column)?;
    name.parse().map_err(|_| StoreError::Unreadable(format!("the name of a service {name}")))
}
