//! Tests that the audit finds differences, names their cause and repairs them, and reports nothing on a correct
//! timeline.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    app::{Settings, auditor},
    domain::{
        Direction, EdgeMode, Entry, PageRequest, PageSize, UserId,
        content::Draft,
        timeline::{
            audit::DifferenceCause,
            outside::{Cleared, Nonce, Window},
        },
    },
    store::queue::Topic,
    upkeep::{AuditOptions, Auditor, Finding},
};

use crate::{
    harness::{CacheBackend, Inboxes, TestApp, settings},
    servers::{self, on_each_backend},
    usecases::delivery::{followed_author, user},
};

const READER: i64 = 2;

/// An auditor that reads small pages.
pub fn over(app: &TestApp, repair: bool) -> Result<Auditor> {
    let options = AuditOptions { pages: 10, size: PageSize::try_new(4)?, repair, step: settings().tiers.step };
    Ok(auditor(&app.ports, Arc::new(app.store.clone()), app.reader.clone(), options))
}

/// A reader whose trusted inbox has nine contents of one author.
async fn covered_reader(backend: servers::Backend, settings: Settings) -> Result<Arc<TestApp>> {
    let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
    fill_inbox(&app).await?;
    Ok(app)
}

async fn fill_inbox(app: &TestApp) -> Result<()> {
    followed_author(app, 2).await?;
    for time in 1..=9 {
        app.set_time(time);
        app.publisher.publish(user(1), Draft::try_new("words", Vec::new(), None)?).await?;
    }
    app.settle().await?;
    app.reactivator.visit(user(READER), None).await?;
    app.settle().await
}

async fn past(app: &TestApp, sql: &str) -> Result<()> {
    let database = servers::connect_sql(app.database_url()).await?;
    servers::execute(&database, sql).await
}

async fn newest(app: &TestApp) -> Result<Vec<Entry>> {
    let request = PageRequest::newest(PageSize::try_new(20)?);
    Ok(app.reader.read_raw(user(READER), &request).await?.entries)
}

/// The audit finds it without repairing it, then repairs it, and then finds nothing.
async fn found_and_mended(app: &TestApp) -> Result<Finding> {
    let reader = user(READER);
    let found = over(app, false)?.audit(reader).await?.finding.context("nothing was found")?;
    ensure!(!found.repaired);
    let again = over(app, true)?.audit(reader).await?.finding.context("it was mended by looking")?;
    ensure!(again == Finding { repaired: true, ..found.clone() }, "{found:?}, then {again:?}");
    let mended = over(app, false)?.audit(reader).await?;
    ensure!(mended.finding.is_none() && mended.pages == 3, "{mended:?}");
    ensure!(newest(app).await?.len() == 9);
    Ok(found)
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn auditing_a_correct_timeline_finds_nothing_and_writes_nothing(backend: Backend) -> Result<()> {
        let app = covered_reader(backend, settings()).await?;
        let database = servers::connect_sql(app.database_url()).await?;
        let seen = "SELECT last_seen FROM inbox_states ORDER BY user_id";
        let before = servers::numbers(&database, seen).await?;
        let audited = over(&app, true)?.audit(user(READER)).await?;
        ensure!(audited.finding.is_none() && audited.pages == 3, "{audited:?}");
        ensure!(servers::numbers(&database, seen).await? == before && app.ports.queue.depth(Topic::Visit).await? == 0);
        Ok(())
    }

    async fn an_audit_finds_a_missing_row_and_rebuilds_the_inbox(backend: Backend) -> Result<()> {
        let app = covered_reader(backend, settings()).await?;
        let lost = newest(&app).await?[4];
        past(&app, &format!("DELETE FROM inboxes WHERE user_id = {READER} AND content_id = {}", lost.content)).await?;
        let found = found_and_mended(&app).await?;
        ensure!(found.cause == DifferenceCause::Hole && found.flaws.iter().map(|it| it.entry).eq([lost]), "{found:?}");
        ensure!(found.difference.context("no page was wrong")?.missing == [lost]);
        Ok(())
    }

    async fn an_edge_that_is_trusted_without_being_covered_is_a_hole(backend: Backend) -> Result<()> {
        let app = covered_reader(backend, settings()).await?;
        past(&app, &format!("DELETE FROM inboxes WHERE user_id = {READER}")).await?;
        past(&app, &format!("UPDATE follows SET mode = {} WHERE follower_id = {READER}", EdgeMode::Push.code())).await?;
        ensure!(newest(&app).await?.is_empty());
        let found = found_and_mended(&app).await?;
        ensure!(found.cause == DifferenceCause::Hole && found.flaws.len() == 9, "{found:?}");
        Ok(())
    }

    async fn a_row_at_another_place_than_its_content_is_found_and_mended(backend: Backend) -> Result<()> {
        let app = covered_reader(backend, settings()).await?;
        let moved = newest(&app).await?[8];
        let sql = "UPDATE inboxes SET publish_time = publish_time + 100 WHERE user_id = 2 AND content_id =";
        past(&app, &format!("{sql} {}", moved.content)).await?;
        let found = found_and_mended(&app).await?;
        ensure!(found.flaws.iter().any(|flaw| flaw.cause == DifferenceCause::Misplaced), "{found:?}");
        ensure!(found.flaws.iter().any(|flaw| flaw.cause == DifferenceCause::Hole && flaw.entry == moved), "{found:?}");
        Ok(())
    }

    async fn an_audit_finds_an_outside_inboxs_hole_and_discards_it(backend: Backend) -> Result<()> {
        let app = TestApp::start_outside(backend, CacheBackend::NoCache, Inboxes::Memory, settings()).await?;
        fill_inbox(&app).await?;
        let outside = app.outside()?.clone();
        let window = Window { direction: Direction::Older, bound: None, limit: 20 };
        let slice = outside.inboxes.slice(user(READER), &window).await?.context("an inbox outside SQL")?;
        let lost = newest(&app).await?[4];
        let (header, basis) = (slice.header, slice.header.basis.context("a claim")?);
        let cleared = Cleared { rows: vec![lost.position()], basis, nonce: Nonce(7) };
        ensure!(outside.inboxes.remove(user(READER), (header.fence.token, header.revision), &cleared).await?);
        ensure!(newest(&app).await?.len() == 8, "the inbox is not read");
        ensure!(over(&app, false)?.readers(0, 10).await?.contains(&user(READER)));
        let found = found_and_mended(&app).await?;
        ensure!(found.cause == DifferenceCause::Outside && found.flaws.is_empty(), "{found:?}");
        ensure!(found.difference.context("no page was wrong")?.missing == [lost]);
        ensure!(outside.states.fence(user(READER)).await?.is_none(), "the next visit builds another one");
        app.reactivator.visit(user(READER), None).await?;
        ensure!(over(&app, false)?.audit(user(READER)).await?.finding.is_none() && newest(&app).await?.len() == 9);
        Ok(())
    }

    async fn a_reader_without_an_inbox_to_trust_is_passed_over_by_samples(backend: Backend) -> Result<()> {
        let app = covered_reader(backend, settings()).await?;
        let auditor = over(&app, true)?;
        let everybody: Vec<UserId> = auditor.readers(0, 10).await?;
        ensure!(everybody == [user(1), user(2), user(3)], "{everybody:?}");
        for rng in [0, 1, 2, u64::MAX] {
            let audit = auditor.sample(rng).await?.context("nobody was audited")?;
            ensure!(audit.finding.is_none());
        }
        past(&app, "UPDATE inbox_states SET floor_time = NULL, floor_content = NULL").await?;
        ensure!(auditor.sample(1).await?.is_none());
        Ok(())
    }
}

mod redis_server {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        async fn a_cached_outbox_that_lies_is_found_and_replaced(backend: Backend) -> Result<()> {
            let app = TestApp::start(backend, CacheBackend::Redis).await?;
            fill_inbox(&app).await?;
            app.demote(user(READER), user(1)).await?;
            past(&app, &format!("DELETE FROM inboxes WHERE user_id = {READER}")).await?;
            let cache = app.ports.outbox_cache.clone().context("no cache")?;
            let mut heads = app.ports.contents.outbox_heads(&[user(1)], 20).await?;
            let lost = heads[0].entries.remove(2);
            cache.fill(&heads).await?;
            ensure!(newest(&app).await?.len() == 8, "the cache is not asked");
            let found = found_and_mended(&app).await?;
            ensure!(found.cause == DifferenceCause::Cache && found.flaws.is_empty(), "{found:?}");
            let difference = found.difference.context("no page was wrong")?;
            ensure!(difference.missing == [lost], "{difference:?}");
            Ok(())
        }
    }
}
