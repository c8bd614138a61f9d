//! Tests a SQLite file whose write-ahead log was cut, damaged or replaced while no process had it open.

use std::{fs, time::Duration};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use tidefeed::store::{
    Accounts as _, Contents as _, StoreError,
    contents::Published,
    sql::{SqlOptions, SqlStore},
};

use crate::servers::{connect_sql, migrated_file, numbers};
use crate::store::conformance::{NOW, account, content, content_id};

/// Number of contents in the log.
const CONTENTS: i64 = 20;

/// A database and its log, as they lie on the disk when their process dies.
struct Files {
    database: Vec<u8>,
    log: Vec<u8>,
}

fn url(folder: &TempDir) -> String {
    format!("sqlite://{}", folder.path().join("tidefeed.db").display())
}

async fn open(folder: &TempDir) -> Result<SqlStore, StoreError> {
    let (url, patience) = (url(folder), Duration::from_secs(20));
    SqlStore::connect(&SqlOptions { url, max_connections: 1, acquire_timeout: patience, statement_timeout: patience })
        .await
}

impl Files {
    /// Contents 1 to 20 were acknowledged, and are only in the log.
    async fn of_a_crash() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("tidefeed.db"), migrated_file().await?)?;
        let store = open(&folder).await?;
        store.register(account(1, "ann")).await?;
        store.close().await?;
        let store = open(&folder).await?;
        for id in 1..=CONTENTS {
            ensure!(matches!(store.publish(content(id, 1, NOW + id)).await?, Published::Created { .. }));
        }
        let read = |name| fs::read(folder.path().join(name));
        Ok(Self { database: read("tidefeed.db")?, log: read("tidefeed.db-wal")? })
    }

    fn lie_in(&self, folder: &TempDir) -> Result<()> {
        fs::write(folder.path().join("tidefeed.db"), &self.database)?;
        Ok(fs::write(folder.path().join("tidefeed.db-wal"), &self.log)?)
    }

    /// Opens the files. Returns the number of remaining contents, which must be the first ones, each complete. A
    /// content that is written now must be kept.
    async fn contents_left(&self) -> Result<i64> {
        let folder = tempfile::tempdir()?;
        self.lie_in(&folder)?;
        let store = open(&folder).await?;
        let rows = connect_sql(&url(&folder)).await?;
        let left = numbers(&rows, "SELECT id FROM contents ORDER BY id").await?;
        let count = i64::try_from(left.len())?;
        ensure!(left.iter().copied().eq(1..=count), "a later content is there without an earlier one: {left:?}");
        ensure!(numbers(&rows, "SELECT content_id FROM deliveries ORDER BY content_id").await? == left);
        let sound = "SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'";
        ensure!(numbers(&rows, sound).await? == [1], "the database is malformed");
        rows.close().await?;
        store.publish(content(100, 1, NOW + 100)).await?;
        store.close().await?;
        ensure!(open(&folder).await?.by_ids(None, &[content_id(100)]).await?.len() == 1, "the next write is lost");
        Ok(count)
    }
}

#[tokio::test]
async fn a_cut_or_damaged_log_yields_whole_transactions_before_the_damage() -> Result<()> {
    let whole = Files::of_a_crash().await?;
    ensure!(whole.contents_left().await? == CONTENTS, "a crash loses nothing");
    let mut before = 0;
    for tenth in 0..10 {
        let at = whole.log.len() * tenth / 10 + 100;
        let cut = Files { log: whole.log[..at].to_vec(), database: whole.database.clone() };
        let mut damaged = Files { log: whole.log.clone(), database: whole.database.clone() };
        damaged.log[at] ^= 1;
        let left = cut.contents_left().await.with_context(|| format!("cut at {at}"))?;
        ensure!(damaged.contents_left().await.with_context(|| format!("damaged at {at}"))? == left);
        ensure!((before..CONTENTS).contains(&left), "{left} at {at}, and {before} before");
        before = left;
    }
    ensure!(before > CONTENTS / 2, "{before}");
    Ok(())
}

#[tokio::test]
async fn an_unreadable_log_is_reported_and_nothing_is_lost() -> Result<()> {
    let (whole, folder) = (Files::of_a_crash().await?, tempfile::tempdir()?);
    whole.lie_in(&folder)?;
    let log = folder.path().join("tidefeed.db-wal");
    fs::remove_file(&log)?;
    fs::create_dir(&log)?;
    let refused = open(&folder).await;
    ensure!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    fs::remove_dir(&log)?;
    fs::write(&log, &whole.log)?;
    let ids: Vec<_> = (1..=CONTENTS).map(content_id).collect();
    ensure!(open(&folder).await?.by_ids(None, &ids).await?.len() == ids.len(), "the log was put back");
    Ok(())
}
