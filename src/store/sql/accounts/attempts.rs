//! Counts sign-in attempts: one row for each subject, which stays locked while an attempt is decided.

use async_trait::async_trait;
use sql_driver::{Tx, Value};

use super::super::SqlStore;
use crate::{
    domain::account::attempts::{Attempts as Counted, SignInDecision, admit},
    store::{Attempts, StoreError, attempts::Subjects},
};

#[async_trait]
impl Attempts for SqlStore {
    async fn admit(&self, subjects: &Subjects, now_ms: i64) -> Result<SignInDecision, StoreError> {
        self.transaction(move |tx| async move {
            let [pair, account, network] = locked(&tx, subjects).await?;
            let admission = admit(&pair, &account, &network, now_ms);
            if admission != SignInDecision::Admitted {
                return tx.commit(admission).await;
            }
            for (subject, counted) in in_order(subjects, [pair, account, network]) {
                let failures = i64::from(counted.counted(now_ms).saturating_add(1).min(1 << 30));
                let sql = "UPDATE sign_in_attempts SET failures = ?, last_at = ? WHERE subject = ?";
                tx.execute(sql, [failures.into(), now_ms.into(), subject.into()]).await?;
            }
            tx.commit(admission).await
        })
        .await
    }

    async fn succeeded(&self, subjects: &Subjects, now_ms: i64) -> Result<(), StoreError> {
        self.transaction(move |tx| async move {
            let sql = "UPDATE sign_in_attempts SET good_at = CASE WHEN subject = ? THEN ? ELSE good_at END, \
                       failures = CASE WHEN subject = ? OR failures < 1 THEN 0 ELSE failures - 1 END \
                       WHERE subject IN (?, ?, ?)";
            let [one, two, three] = sorted(subjects);
            let pair = || Value::from(subjects.pair.as_str());
            tx.execute(sql, [pair(), now_ms.into(), pair(), one.into(), two.into(), three.into()]).await?;
            tx.commit(()).await
        })
        .await
    }

    async fn forget(&self, attempt_ms: i64, success_ms: i64, limit: u64) -> Result<u64, StoreError> {
        let sql = "SELECT subject FROM sign_in_attempts WHERE last_at < ? AND good_at < ? LIMIT ?";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut forgotten = 0;
        for row in self.read(sql, [attempt_ms.into(), success_ms.into(), limit.into()]).await? {
            let subject: String = row.get(0)?;
            let sql = "DELETE FROM sign_in_attempts WHERE subject = ? AND last_at < ?";
            forgotten += self.write(sql, [subject.into(), attempt_ms.into()]).await?;
        }
        Ok(forgotten)
    }
}

/// Locks the three rows, always in the same order, and inserts the missing ones.
async fn locked(tx: &Tx, subjects: &Subjects) -> Result<[Counted; 3], StoreError> {
    let values = || sorted(subjects).map(Value::from);
    let sql = format!(
        "INSERT INTO sign_in_attempts (subject) VALUES (?), (?), (?) {} failures = failures",
        tx.dialect().on_conflict_update("subject")
    );
    tx.execute(&sql, values()).await?;
    let sql = format!(
        "SELECT subject, failures, last_at, good_at FROM sign_in_attempts WHERE subject IN (?, ?, ?) {}",
        tx.dialect().for_update()
    );
    let mut counted = [Counted::default(); 3];
    for row in tx.query(&sql, values()).await? {
        let (subject, failures): (String, i64) = (row.get(0)?, row.get(1)?);
        let failures = u32::try_from(failures).unwrap_or(0);
        let of = Counted { failures, last_at: row.get(2)?, good_at: row.get(3)? };
        for (name, place) in in_order(subjects, [0, 1, 2]) {
            if name == subject
                && let Some(place) = counted.get_mut(place)
            {
                *place = of;
            }
        }
    }
    Ok(counted)
}

fn in_order<T>(subjects: &Subjects, [pair, account, network]: [T; 3]) -> [(&str, T); 3] {
    [(&subjects.pair, pair), (&subjects.account, account), (&subjects.network, network)]
}

fn sorted(subjects: &Subjects) -> [&str; 3] {
    let mut all = [subjects.pair.as_str(), &subjects.account, &subjects.network];
    all.sort_unstable();
    all
}
