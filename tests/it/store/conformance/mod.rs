//! Tests what each port promises, on every engine. A suite calls the port. Where a promise concerns rows that only
//! another port reads, it reads the tables.

#![expect(clippy::expect_used, reason = "a fixture that cannot be made fails its test")]

mod accounts;
pub mod adapters;
mod announcements;
mod attempts;
mod begun_subtasks;
mod cards;
mod cassandra;
mod content_objects;
mod contents;
mod deliveries;
mod exclusions;
mod export;
mod extensions;
mod first_served;
mod follow_lists;
mod follows;
mod imported_contents;
mod imports;
mod inboxes;
mod indexing;
mod many_lists;
mod outbox_cache;
mod outbox_model;
mod outboxes;
mod outside_inboxes;
mod outside_model;
mod outside_numbered;
mod outside_servers;
mod outside_states;
mod people;
mod profiles;
mod queue;
mod reactions;
mod read_markers;
mod references;
mod relations;
pub mod rows;
mod search;
mod search_model;
mod service_keys;
mod sessions;
mod spread_counts;
mod standing;
mod timeline_states;
mod timelines;
mod together;
mod visibility;

use anyhow::{Context as _, Result, ensure};
use sea_orm::{ConnectionTrait as _, Database, DatabaseConnection, Statement, TransactionTrait as _, TryGetable};
use tidefeed::domain::{
    ContentId, Media, MediaKind, Reference, UserId, account::profile::Registration, content::Draft,
};
use tidefeed::store::accounts::{NewAccount, PasswordHash, Registered};
use tidefeed::store::contents::{NewContent, Published, VersionChange};
use tidefeed::store::sql::SqlStore;
use tidefeed::store::{Accounts as _, Contents as _};

use crate::servers::{Backend, MigratedDatabase, open_store};

/// The default time of events: 2026-01-01.
pub const NOW: i64 = 1_767_225_600_000;

/// A store and its tables.
pub struct World {
    /// The store under test.
    pub store: SqlStore,
    /// A direct connection to the tables.
    rows: DatabaseConnection,
    /// Ends with this value.
    _database: Box<dyn Send + Sync>,
}

impl World {
    /// A world on this engine.
    pub async fn on(backend: Backend) -> Result<Self> {
        Self::in_database(backend.migrated_database().await?).await
    }

    /// A world in a database of its own, whose tables may be altered.
    pub async fn on_own_tables(backend: Backend) -> Result<Self> {
        Self::in_database(backend.empty_database().await?.migrated().await?).await
    }

    /// A world in this database.
    pub async fn in_database(database: MigratedDatabase) -> Result<Self> {
        Self::open(&database.url.clone(), Box::new(database)).await
    }

    /// A world in a new database without tables.
    pub async fn without_tables(backend: Backend) -> Result<Self> {
        let database = backend.empty_database().await?;
        Self::open(&database.url.clone(), Box::new(database)).await
    }

    async fn open(url: &str, database: Box<dyn Send + Sync>) -> Result<Self> {
        let (store, rows) = (open_store(url).await?, Database::connect(url).await?);
        Ok(Self { store, rows, _database: database })
    }

    /// Runs the first `count` migrations.
    pub async fn apply_migrations(&self, count: usize) -> Result<()> {
        let transaction = self.rows.begin().await?;
        migration::apply(&transaction, &migration::all(), count).await?;
        Ok(transaction.commit().await?)
    }

    /// The first column of a statement's rows.
    pub async fn column<T: TryGetable>(&self, sql: &str) -> Result<Vec<T>> {
        let statement = Statement::from_string(self.rows.get_database_backend(), sql);
        let rows = self.rows.query_all_raw(statement).await.with_context(|| sql.to_owned())?;
        rows.iter().map(|row| Ok(row.try_get_by_index(0)?)).collect()
    }

    /// The number in the only row of a statement.
    pub async fn number(&self, sql: &str) -> Result<i64> {
        self.column(sql).await?.first().copied().with_context(|| format!("no row: {sql}"))
    }

    /// Runs a statement directly, without the store.
    pub async fn run(&self, sql: &str) -> Result<u64> {
        Ok(self.rows.execute_unprepared(sql).await.with_context(|| sql.to_owned())?.rows_affected())
    }

    /// Registers users 1 to `count`, seen at [`NOW`].
    pub async fn with_users(self, count: i64) -> Result<Self> {
        for id in 1..=count {
            ensure!(self.store.register(account(id, &format!("user_{id}"))).await? == Registered::Created);
        }
        Ok(self)
    }

    /// Publishes a content with this id, author and time. Returns its change of the outbox's version.
    pub async fn publish(&self, id: i64, author: i64, publish_time: i64) -> Result<VersionChange> {
        match self.store.publish(content(id, author, publish_time)).await? {
            Published::Created { versions } => Ok(versions),
            other => anyhow::bail!("content {id} was not published: {other:?}"),
        }
    }
}

/// The only element of a port's answers.
pub fn only<T, E>(answers: Result<Vec<T>, E>) -> Result<T>
where
    anyhow::Error: From<E>,
{
    let mut answers = answers?;
    ensure!(answers.len() == 1, "{} answers about one thing", answers.len());
    answers.pop().context("an answer")
}

/// The user with this id.
pub fn user(id: i64) -> UserId {
    UserId::try_new(id).expect("tests name positive ids")
}

/// The content id of this number.
pub fn content_id(id: i64) -> ContentId {
    ContentId::try_new(id).expect("tests name positive ids")
}

/// A user to be registered at [`NOW`].
pub fn account(id: i64, handle: &str) -> NewAccount {
    NewAccount {
        id: user(id),
        registration: Registration::try_new(handle, handle, "", None).expect("tests name valid handles"),
        password_hash: Some(PasswordHash(format!("hash of {handle}"))),
        incarnation: 1_000 + id,
        now_ms: NOW,
    }
}

/// The version that content `id` gives its author's outbox.
pub fn version(id: i64) -> i64 {
    i64::MAX - id
}

/// A content to be published, without a key.
pub fn content(id: i64, author: i64, publish_time: i64) -> NewContent {
    let draft = Draft {
        text: format!("content {id}"),
        media: Vec::new(),
        idempotency_key: None,
        reference: Reference::Nothing,
        object: None,
    };
    NewContent { id: content_id(id), author: user(author), draft, publish_time, version: version(id) }
}

/// A picture.
pub fn picture() -> Media {
    let url = "https://a.example/tide.png".to_owned();
    Media { kind: MediaKind::Picture, url, width: Some(4), height: Some(3), alt: "low tide".to_owned() }
}

/// The same with a key.
pub fn keyed(id: i64, author: i64, key: &str) -> NewContent {
    let mut new = content(id, author, NOW);
    new.draft.idempotency_key = Some(key.to_owned());
    new
}

/// Runs all of them concurrently. All must succeed.
pub async fn at_once<T, F>(works: impl IntoIterator<Item = F>) -> Result<Vec<T>>
where
    F: Future<Output = Result<T, tidefeed::store::StoreError>>,
{
    Ok(futures_util::future::try_join_all(works).await?)
}
