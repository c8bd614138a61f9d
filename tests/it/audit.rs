//! The audit finds what is wrong, blames what is to blame, and mends it; of what is right it finds nothing.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    app::{Settings, auditor},
    domain::{EdgeMode, Entry, PageRequest, PageSize, UserId, content::Draft, timeline::audit::Cause},
    store::queue::Topic,
    upkeep::{AuditOptions, Auditor, Finding},
};

use crate::{
    delivery::{followed_author, user},
    harness::{Around, TestHouse, settings},
    servers::{self, on_each_backend},
};

const READER: i64 = 2;

/// An auditor who looks at small pages.
pub fn over(house: &TestHouse, repair: bool) -> Result<Auditor> {
    let options = AuditOptions { pages: 10, size: PageSize::try_new(4)?, repair, step: settings().tiers.step };
    Ok(auditor(&house.ports, Arc::new(house.store.clone()), house.reader.clone(), options))
}

/// A reader with nine contents of one author in the inbox, all of it trusted.
async fn covered_reader(backend: servers::Backend, settings: Settings) -> Result<Arc<TestHouse>> {
    let house = TestHouse::start_with(backend, Around::Memory, settings).await?;
    followed_author(&house, 2).await?;
    for time in 1..=9 {
        house.set_time(time);
        house.publisher.publish(user(1), Draft::try_new("words", Vec::new(), None)?).await?;
    }
    house.settle().await?;
    house.waker.wake(user(READER)).await?;
    house.settle().await?;
    Ok(house)
}

async fn past(house: &TestHouse, sql: &str) -> Result<()> {
    let database = servers::connect_sql(house.database_url()).await?;
    servers::execute(&database, sql).await
}

async fn newest(house: &TestHouse) -> Result<Vec<Entry>> {
    let request = PageRequest::newest(PageSize::try_new(20)?);
    Ok(house.reader.look(user(READER), &request).await?.entries)
}

/// Finds it without mending, mends it, and finds nothing any more.
async fn found_and_mended(house: &TestHouse) -> Result<Finding> {
    let reader = user(READER);
    let found = over(house, false)?.audit(reader).await?.finding.context("nothing was found")?;
    ensure!(!found.repaired);
    let again = over(house, true)?.audit(reader).await?.finding.context("it was mended by looking")?;
    ensure!(again == Finding { repaired: true, ..found.clone() }, "{found:?}, then {again:?}");
    let mended = over(house, false)?.audit(reader).await?;
    ensure!(mended.finding.is_none() && mended.pages == 3, "{mended:?}");
    ensure!(newest(house).await?.len() == 9);
    Ok(found)
}

on_each_backend! {
    async fn of_a_timeline_that_is_right_an_audit_finds_nothing_and_leaves_no_trace(backend: Backend) -> Result<()> {
        let house = covered_reader(backend, settings()).await?;
        let database = servers::connect_sql(house.database_url()).await?;
        let seen = "SELECT last_seen FROM inbox_states ORDER BY user_id";
        let before = servers::numbers(&database, seen).await?;
        let audited = over(&house, true)?.audit(user(READER)).await?;
        ensure!(audited.finding.is_none() && audited.pages == 3, "{audited:?}");
        ensure!(servers::numbers(&database, seen).await? == before && house.ports.queue.depth(Topic::Visit).await? == 0);
        Ok(())
    }

    async fn a_row_that_is_gone_is_a_hole_and_the_inbox_is_filled_anew(backend: Backend) -> Result<()> {
        let house = covered_reader(backend, settings()).await?;
        let lost = newest(&house).await?[4];
        past(&house, &format!("DELETE FROM inboxes WHERE user_id = {READER} AND content_id = {}", lost.content)).await?;
        let found = found_and_mended(&house).await?;
        ensure!(found.cause == Cause::Hole && found.flaws.iter().map(|it| it.entry).eq([lost]), "{found:?}");
        ensure!(found.difference.context("no page was wrong")?.missing == [lost]);
        Ok(())
    }

    async fn an_edge_that_is_trusted_without_being_covered_is_a_hole(backend: Backend) -> Result<()> {
        let house = covered_reader(backend, settings()).await?;
        past(&house, &format!("DELETE FROM inboxes WHERE user_id = {READER}")).await?;
        past(&house, &format!("UPDATE follows SET mode = {} WHERE follower_id = {READER}", EdgeMode::Push.code())).await?;
        ensure!(newest(&house).await?.is_empty());
        let found = found_and_mended(&house).await?;
        ensure!(found.cause == Cause::Hole && found.flaws.len() == 9, "{found:?}");
        Ok(())
    }

    async fn a_row_at_another_place_than_its_content_is_found_and_mended(backend: Backend) -> Result<()> {
        let house = covered_reader(backend, settings()).await?;
        let moved = newest(&house).await?[8];
        let sql = "UPDATE inboxes SET publish_time = publish_time + 100 WHERE user_id = 2 AND content_id =";
        past(&house, &format!("{sql} {}", moved.content)).await?;
        let found = found_and_mended(&house).await?;
        ensure!(found.flaws.iter().any(|flaw| flaw.cause == Cause::Misplaced), "{found:?}");
        ensure!(found.flaws.iter().any(|flaw| flaw.cause == Cause::Hole && flaw.entry == moved), "{found:?}");
        Ok(())
    }

    async fn a_cached_outbox_that_lies_is_found_and_replaced(backend: Backend) -> Result<()> {
        let house = covered_reader(backend, settings()).await?;
        house.demote(user(READER), user(1)).await?;
        past(&house, &format!("DELETE FROM inboxes WHERE user_id = {READER}")).await?;
        let cache = house.ports.outbox_cache.clone().context("no cache")?;
        let mut heads = house.ports.contents.outbox_heads(&[user(1)], 20).await?;
        let lost = heads[0].entries.remove(2);
        cache.fill(&heads).await?;
        ensure!(newest(&house).await?.len() == 8, "the cache is not asked");
        let found = found_and_mended(&house).await?;
        ensure!(found.cause == Cause::Cache && found.flaws.is_empty(), "{found:?}");
        let difference = found.difference.context("no page was wrong")?;
        ensure!(difference.missing == [lost], "{difference:?}");
        Ok(())
    }

    async fn a_reader_without_an_inbox_to_trust_is_passed_over_by_samples(backend: Backend) -> Result<()> {
        let house = covered_reader(backend, settings()).await?;
        let auditor = over(&house, true)?;
        let everybody: Vec<UserId> = auditor.readers(0, 10).await?;
        ensure!(everybody == [user(1), user(2), user(3)], "{everybody:?}");
        for draw in [0, 1, 2, u64::MAX] {
            let audit = auditor.sample(draw).await?.context("nobody was audited")?;
            ensure!(audit.finding.is_none());
        }
        past(&house, "UPDATE inbox_states SET floor_time = NULL, floor_content = NULL").await?;
        ensure!(auditor.sample(1).await?.is_none());
        Ok(())
    }
}
