//! Tests a SQL server that fails over and loses acknowledged commits: no cached outbox still shows the lost contents.

use anyhow::{Result, ensure};
use sea_orm::DatabaseConnection;
use tidefeed::{
    domain::{Entry, PageRequest, PageSize, UserId, content::Draft},
    publish::PublishOutcome,
    store::OutboxCache,
};

use crate::{
    harness::{CacheBackend, TestApp},
    servers::{self, Backend, on_each_backend},
    usecases::delivery::{followed_author, user},
};

const AUTHOR: i64 = 1;

struct Story {
    app: std::sync::Arc<TestApp>,
    database: DatabaseConnection,
    reader: UserId,
}

impl Story {
    /// A reader who pulls an author; the outbox is cached.
    async fn begin(backend: Backend, cache_backend: CacheBackend) -> Result<Self> {
        let app = TestApp::start(backend, cache_backend).await?;
        followed_author(&app, 1).await?;
        let reader = user(AUTHOR + 1);
        app.reactivator.visit(reader, None).await?;
        app.demote(reader, user(AUTHOR)).await?;
        let database = servers::connect_sql(app.database_url()).await?;
        Ok(Self { app, database, reader })
    }

    async fn publish(&self) -> Result<Entry> {
        self.app.clock.advance(1);
        let draft = Draft::try_new("words", Vec::new(), None)?;
        let PublishOutcome::Published(content) = self.app.publisher.publish(user(AUTHOR), draft).await? else {
            anyhow::bail!("not published")
        };
        self.app.settle().await?;
        // A visit that was handled has covered the edge again.
        self.app.demote(self.reader, user(AUTHOR)).await?;
        Ok(content.entry())
    }

    async fn version(&self) -> Result<i64> {
        let sql = format!("SELECT stamp FROM outbox_heads WHERE author_id = {AUTHOR}");
        Ok(servers::numbers(&self.database, &sql).await?[0])
    }

    /// Makes SQL lose the publish of `lost`.
    async fn lose(&self, lost: Entry, version: i64) -> Result<()> {
        let content = lost.content;
        for sql in [
            format!("DELETE FROM contents WHERE id = {content}"),
            format!("DELETE FROM counters WHERE content_id = {content}"),
            format!("DELETE FROM deliveries WHERE content_id = {content}"),
            format!("DELETE FROM subtasks WHERE content_id = {content}"),
            format!("DELETE FROM inboxes WHERE content_id = {content}"),
            format!("UPDATE user_counts SET contents = contents - 1 WHERE user_id = {AUTHOR}"),
            format!("UPDATE outbox_heads SET stamp = {version} WHERE author_id = {AUTHOR}"),
        ] {
            servers::execute(&self.database, &sql).await?;
        }
        Ok(())
    }

    /// Reads a page twice: the first one may have to learn whom the reader follows, and the next one fills the cache.
    async fn page_is(&self, expected: &[Entry]) -> Result<()> {
        let request = PageRequest::newest(PageSize::default());
        let oracle = self.app.ports.timelines.oracle(self.reader, &request).await?;
        for _ in 0..2 {
            let page = self.app.reader.page(self.reader, &request).await?;
            ensure!(page.entries == expected && oracle == expected, "{:?}, {oracle:?}, {expected:?}", page.entries);
        }
        Ok(())
    }

    /// The cached entries, if their version is the present one in SQL.
    async fn believed(&self) -> Result<Option<Vec<Entry>>> {
        let Some(cache) = &self.app.ports.outbox_cache else { anyhow::bail!("there is no cache") };
        let cache: &dyn OutboxCache = &**cache;
        let version = self.version().await?;
        let cached = cache.fetch(&[user(AUTHOR)]).await?.remove(0);
        Ok(cached.filter(|it| it.version == version).map(|it| it.entries))
    }
}

async fn lost_commits_leave_no_trace(backend: Backend, cache_backend: CacheBackend) -> Result<()> {
    let story = Story::begin(backend, cache_backend).await?;
    let kept = story.publish().await?;
    story.page_is(&[kept]).await?;
    let version = story.version().await?;
    let lost = story.publish().await?;
    ensure!(story.believed().await? == Some(vec![lost, kept]), "the cache did not follow");
    story.lose(lost, version).await?;
    story.page_is(&[kept]).await?;

    // The cache returns to the lost history, and SQL publishes as often as it had lost commits.
    let again = story.publish().await?;
    story.lose(again, version).await?;
    let new = story.publish().await?;
    ensure!(story.believed().await?.is_none_or(|it| it == [new, kept]), "a lost history is believed");
    story.page_is(&[new, kept]).await?;
    ensure!(story.believed().await? == Some(vec![new, kept]), "the page did not refill the cache");
    Ok(())
}

mod redis_server {
    use super::*;

    on_each_backend! {
        async fn a_commit_lost_by_sql_is_not_read_from_redis(backend: Backend) -> Result<()> {
            lost_commits_leave_no_trace(backend, CacheBackend::Redis).await
        }
    }
}
