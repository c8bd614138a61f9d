//! Tests a service whose SQL store is the primary of a MySQL replication group: it reads no other member, because a
//! member may show a commit before the primary does.

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{PageRequest, PageSize},
    store::{
        Inspect as _,
        inspection::Verdict,
        sql::{ReplicaOptions, SqlStore},
    },
};

use super::replicas::{PATIENCE, options};
use crate::{
    harness::TestApp,
    servers::{ReplicationGroup, connect_sql, execute, on_each_backend, reader_url},
    usecases::delivery::{followed_author, publish, user},
};

on_each_backend! {
    on mysql in soak;

    async fn pages_of_a_replication_group_are_read_on_its_primary(_backend: Backend) -> Result<()> {
        let group = Box::pin(ReplicationGroup::start()).await?;
        let database = group.migrated().await?;
        let (_, name) = database.url.rsplit_once('/').context("The address names no database.")?;
        let options = options(&database.url);
        let replicas = ReplicaOptions { urls: vec![reader_url(&group.secondary, name)], wait: PATIENCE };
        let store = SqlStore::connect(&options).await?.with_replicas(&options, &replicas)?;
        let app = TestApp::over(database, store).await?;
        followed_author(&app, 1).await?;
        for _ in 0..10 {
            app.clock.advance(1);
            let published = publish(&app).await?;
            let page = app.reader.page(user(2), &PageRequest::newest(PageSize::default())).await?;
            ensure!(page.entries.first() == Some(&published), "{page:?} lacks {published:?}");
        }
        ensure!(app.store.serving_replicas() == Some((1, 0)), "a member is read");
        let findings = app.store.inspect().await;
        let finding = |subject| findings.iter().find(|it| it.subject.starts_with(subject)).context(subject);
        let (whole, member) = (finding("replication group")?, finding("replica ")?);
        ensure!(whole.verdict == Verdict::Fine, "{whole:?}");
        ensure!(member.verdict == Verdict::Broken && member.seen.contains("replication group"), "{member:?}");
        let primary = connect_sql(app.database_url()).await?;
        execute(&primary, "SET GLOBAL group_replication_consistency = 'EVENTUAL'").await?;
        let findings = app.store.inspect().await;
        let whole = findings.iter().find(|it| it.subject == "replication group").context("no group")?;
        ensure!(whole.verdict == Verdict::Broken && whole.seen.contains("EVENTUAL"), "{whole:?}");
        Ok(())
    }
}
