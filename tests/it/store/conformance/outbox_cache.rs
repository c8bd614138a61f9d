//! Tests what [`OutboxCache`] promises, over Redis and Redis Cluster.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::sync::Arc;

use anyhow::Result;
use redis::cmd;
use tidefeed::{
    domain::{ContentId, Entry, Position, UserId},
    store::{
        OutboxCache,
        contents::{OutboxHead, VersionChange},
        outbox_cache::{CachedOutbox, OutboxChange},
        redis::{Redis, RedisOutboxCache},
    },
};

use super::{
    adapters::{Adapter, RawConnection, on_each_adapter},
    outbox_model,
};

const CAPACITY: usize = 4;

on_each_adapter!(
    on servers: fetching_keeps_the_requested_order,
    an_empty_outbox_is_cached,
    the_next_change_is_applied,
    versions_have_no_order,
    a_repeated_change_does_nothing,
    a_change_to_anything_else_evicts,
    an_author_that_is_not_cached_stays_so,
    the_newest_entries_stay_and_the_complete_part_shrinks,
    a_head_that_is_not_whole_is_complete_from_its_oldest_entry,
    ties_are_ordered_by_id_as_a_number,
    an_entry_below_the_complete_part_does_not_extend_it,
    a_fill_replaces_whatever_is_cached,
    many_changes_at_once_leave_a_true_outbox_or_none,
    a_cached_outbox_is_always_right_at_its_version,
);

async fn cache(adapter: Adapter) -> Result<Arc<dyn OutboxCache>> {
    let redis = adapter.redis(|options| options.outbox_capacity = CAPACITY).await?.expect("a server");
    Ok(Arc::new(RedisOutboxCache::new(redis)))
}

fn user(id: i64) -> UserId {
    UserId::try_new(id).unwrap()
}

fn entry(author: i64, time: i64, id: i64) -> Entry {
    Entry { publish_time: time, content: ContentId::try_new(id).unwrap(), author: user(author) }
}

/// Entries of author 1 at these times, content id = time.
fn at(times: &[i64]) -> Vec<Entry> {
    times.iter().map(|time| entry(1, *time, *time)).collect()
}

fn whole(version: i64, entries: Vec<Entry>) -> OutboxHead {
    OutboxHead { author: user(1), version, entries, whole: true }
}

fn cached(version: i64, entries: Vec<Entry>, complete_from: Position) -> CachedOutbox {
    CachedOutbox { version, entries, complete_from }
}

async fn fetch(cache: &dyn OutboxCache) -> Result<Option<CachedOutbox>> {
    Ok(cache.fetch(&[user(1)]).await?.remove(0))
}

/// The change to the outbox from version `after` - 1. The suites use consecutive versions, on which nothing may
/// depend.
fn to(after: i64) -> VersionChange {
    VersionChange { before: after - 1, after }
}

async fn publish(cache: &dyn OutboxCache, after: i64, entry: Entry) -> Result<()> {
    Ok(cache.apply(entry.author, to(after), OutboxChange::Published(entry)).await?)
}

async fn remove(cache: &dyn OutboxCache, after: i64, entry: Entry) -> Result<()> {
    Ok(cache.apply(entry.author, to(after), OutboxChange::Removed(entry)).await?)
}

async fn fetching_keeps_the_requested_order(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    let head = |author: i64| OutboxHead {
        author: user(author),
        version: i64::MAX - author,
        entries: vec![entry(author, 1_700_000_000_000, i64::MAX), entry(author, 0, 1)],
        whole: true,
    };
    let heads: Vec<OutboxHead> = (1..=40).map(head).collect();
    cache.fill(&heads).await?;
    let asked: Vec<UserId> = (1..=41).rev().chain([7, 7]).map(user).collect();
    let fetched = cache.fetch(&asked).await?;
    assert_eq!(fetched.len(), asked.len());
    assert_eq!(fetched[0], None);
    for (author, found) in asked.iter().zip(&fetched).skip(1) {
        let head = head(author.get());
        assert_eq!(found.as_ref(), Some(&cached(head.version, head.entries, Position::OLDEST)));
    }
    assert_eq!(cache.fetch(&[]).await?, []);
    cache.fill(&[]).await?;
    assert_eq!(cache.capacity(), CAPACITY);
    Ok(())
}

async fn an_empty_outbox_is_cached(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    cache.fill(&[whole(0, Vec::new())]).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(0, Vec::new(), Position::OLDEST)));
    publish(&*cache, 1, entry(1, 5, 5)).await?;
    remove(&*cache, 2, entry(1, 5, 5)).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(2, Vec::new(), Position::OLDEST)));
    Ok(())
}

async fn the_next_change_is_applied(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    cache.fill(&[whole(7, at(&[9, 5]))]).await?;
    publish(&*cache, 8, entry(1, 7, 7)).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(8, at(&[9, 7, 5]), Position::OLDEST)));
    remove(&*cache, 9, entry(1, 9, 9)).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(9, at(&[7, 5]), Position::OLDEST)));
    Ok(())
}

async fn versions_have_no_order(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    // Neighbours that are equal as doubles.
    let (first, second, third) = (i64::MAX, i64::MAX - 1, i64::MAX - 2);
    cache.fill(&[whole(first, at(&[5]))]).await?;
    let change = OutboxChange::Published(entry(1, 6, 6));
    cache.apply(user(1), VersionChange { before: first, after: second }, change).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(second, at(&[6, 5]), Position::OLDEST)));
    let change = OutboxChange::Removed(entry(1, 5, 5));
    cache.apply(user(1), VersionChange { before: second, after: 3 }, change).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(3, at(&[6]), Position::OLDEST)));
    cache.apply(user(1), VersionChange { before: 3, after: third }, OutboxChange::Published(entry(1, 7, 7))).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(third, at(&[7, 6]), Position::OLDEST)));
    Ok(())
}

async fn a_repeated_change_does_nothing(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    cache.fill(&[whole(7, at(&[5]))]).await?;
    publish(&*cache, 8, entry(1, 6, 6)).await?;
    publish(&*cache, 8, entry(1, 6, 6)).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(8, at(&[6, 5]), Position::OLDEST)));
    Ok(())
}

async fn a_change_to_anything_else_evicts(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    for (after, what) in [(9, "a change was lost"), (6, "an earlier change comes late")] {
        cache.fill(&[whole(7, at(&[5]))]).await?;
        publish(&*cache, after, entry(1, 6, 6)).await?;
        assert_eq!(fetch(&*cache).await?, None, "{what}");
    }
    Ok(())
}

async fn an_author_that_is_not_cached_stays_so(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    publish(&*cache, 1, entry(1, 6, 6)).await?;
    remove(&*cache, 2, entry(1, 6, 6)).await?;
    assert_eq!(fetch(&*cache).await?, None);
    Ok(())
}

async fn the_newest_entries_stay_and_the_complete_part_shrinks(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    cache.fill(&[whole(1, at(&[40, 30, 20, 10]))]).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(1, at(&[40, 30, 20, 10]), Position::OLDEST)));
    publish(&*cache, 2, entry(1, 50, 50)).await?;
    let shrunk = cached(2, at(&[50, 40, 30, 20]), Position::bound(20, 20));
    assert_eq!(fetch(&*cache).await?, Some(shrunk));
    remove(&*cache, 3, entry(1, 20, 20)).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(3, at(&[50, 40, 30]), Position::bound(20, 20))));
    cache.fill(&[whole(4, at(&[60, 50, 40, 30, 10]))]).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(4, at(&[60, 50, 40, 30]), Position::bound(30, 30))));
    Ok(())
}

async fn a_head_that_is_not_whole_is_complete_from_its_oldest_entry(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    cache.fill(&[OutboxHead { whole: false, ..whole(1, at(&[9, 8])) }]).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(1, at(&[9, 8]), Position::bound(8, 8))));
    cache.fill(&[OutboxHead { whole: false, ..whole(2, Vec::new()) }]).await?;
    assert_eq!(fetch(&*cache).await?, Some(cached(2, Vec::new(), Position::NEWEST)));
    publish(&*cache, 3, entry(1, 10, 10)).await?;
    let found = fetch(&*cache).await?.expect("the next change does not evict");
    assert_eq!((found.version, found.complete_from), (3, Position::NEWEST), "nothing is known about what is older");
    Ok(())
}

async fn ties_are_ordered_by_id_as_a_number(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    cache.fill(&[whole(1, vec![entry(1, 5, 10), entry(1, 5, 9)])]).await?;
    publish(&*cache, 2, entry(1, 5, 100)).await?;
    publish(&*cache, 3, entry(1, 5, i64::MAX)).await?;
    publish(&*cache, 4, entry(1, 5, 11)).await?;
    let newest = [i64::MAX, 100, 11, 10].map(|id| entry(1, 5, id)).to_vec();
    assert_eq!(fetch(&*cache).await?, Some(cached(4, newest, Position::bound(5, 10))));
    Ok(())
}

async fn an_entry_below_the_complete_part_does_not_extend_it(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    cache.fill(&[OutboxHead { whole: false, ..whole(1, vec![entry(1, 5, 10)]) }]).await?;
    publish(&*cache, 2, entry(1, 5, 9)).await?;
    publish(&*cache, 3, entry(1, 4, 99)).await?;
    publish(&*cache, 4, entry(1, 5, 11)).await?;
    let found = fetch(&*cache).await?.expect("cached");
    assert_eq!((found.version, found.complete_from), (4, Position::bound(5, 10)));
    let complete: Vec<Entry> =
        found.entries.into_iter().filter(|entry| entry.position() >= found.complete_from).collect();
    assert_eq!(complete, [entry(1, 5, 11), entry(1, 5, 10)]);
    Ok(())
}

async fn a_fill_replaces_whatever_is_cached(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    for (version, time) in [(5, 5), (4, 4), (4, 6), (6, 7)] {
        cache.fill(&[whole(version, at(&[time]))]).await?;
        assert_eq!(fetch(&*cache).await?, Some(cached(version, at(&[time]), Position::OLDEST)));
    }
    Ok(())
}

async fn many_changes_at_once_leave_a_true_outbox_or_none(adapter: Adapter) -> Result<()> {
    let cache = cache(adapter).await?;
    cache.fill(&[whole(0, Vec::new())]).await?;
    let mut changes = tokio::task::JoinSet::new();
    for version in 1..=50 {
        let cache = Arc::clone(&cache);
        changes.spawn(async move { publish(&*cache, version, entry(1, version, version)).await });
    }
    while let Some(done) = changes.join_next().await {
        done??;
    }
    if let Some(found) = fetch(&*cache).await? {
        let newest: Vec<i64> = (1..=found.version).rev().take(CAPACITY).collect();
        assert_eq!(found.entries, at(&newest));
    }
    Ok(())
}

async fn a_cached_outbox_is_always_right_at_its_version(adapter: Adapter) -> Result<()> {
    let mut options = adapter.options().await?.expect("a server");
    options.outbox_capacity = CAPACITY;
    let raw = (RawConnection::open(&options).await?, format!("{}outbox2:1", options.prefix));
    outbox_model::run(64, Arc::new(RedisOutboxCache::new(Redis::connect(options).await?)), raw).await
}

/// Tests that only Redis allows: the stored form, its expiry, and changes by others.
mod on_servers {
    use super::*;

    async fn with_raw_connection(adapter: Adapter) -> Result<(RedisOutboxCache, RawConnection, String)> {
        let options = adapter.options().await?.expect("a server");
        let key = format!("{}outbox2:1", options.prefix);
        let raw = RawConnection::open(&options).await?;
        Ok((RedisOutboxCache::new(Redis::connect(options).await?), raw, key))
    }

    async fn an_outbox_lies_there_as_documented_and_not_for_ever(adapter: Adapter) -> Result<()> {
        let (cache, raw, key) = with_raw_connection(adapter).await?;
        cache.fill(&[whole(7, at(&[9]))]).await?;
        publish(&cache, 8, entry(1, 1_700_000_000_000, 10)).await?;
        let members: Vec<String> = raw.run(cmd("ZRANGE").arg(&key).arg(0).arg(-1)).await?;
        assert_eq!(members, ["version:8:0:0", "00000000000000000009", "00000000000000000010"]);
        let left: i64 = raw.run(cmd("PTTL").arg(&key)).await?;
        assert!((1..=24 * 60 * 60 * 1_000).contains(&left), "{left}");
        Ok(())
    }

    async fn anything_foreign_is_a_miss_and_is_replaced(adapter: Adapter) -> Result<()> {
        let (cache, raw, key) = with_raw_connection(adapter).await?;
        cache.fill(&[whole(7, at(&[9]))]).await?;
        raw.run::<()>(cmd("ZREM").arg(&key).arg("version:7:0:0")).await?;
        assert_eq!(fetch(&cache).await?, None);
        publish(&cache, 8, entry(1, 10, 10)).await?;
        assert_eq!(fetch(&cache).await?, None);
        cache.fill(&[whole(8, at(&[10, 9]))]).await?;
        assert_eq!(fetch(&cache).await?, Some(cached(8, at(&[10, 9]), Position::OLDEST)));
        Ok(())
    }

    async fn a_key_of_another_kind_is_a_miss_for_its_author_alone(adapter: Adapter) -> Result<()> {
        let (cache, raw, key) = with_raw_connection(adapter).await?;
        cache.fill(&[OutboxHead { author: user(2), ..whole(7, vec![entry(2, 9, 9)]) }]).await?;
        raw.run::<()>(cmd("SET").arg(&key).arg("no outbox")).await?;
        let found = cache.fetch(&[user(1), user(2)]).await?;
        assert_eq!(found, [None, Some(cached(7, vec![entry(2, 9, 9)], Position::OLDEST))]);
        Ok(())
    }

    async fn a_time_without_an_exact_score_is_never_cached(adapter: Adapter) -> Result<()> {
        let (cache, _, _) = with_raw_connection(adapter).await?;
        cache.fill(&[whole(1, at(&[9])), whole(2, vec![entry(1, i64::MAX, 9)])]).await?;
        assert_eq!(fetch(&cache).await?, Some(cached(1, at(&[9]), Position::OLDEST)));
        publish(&cache, 2, entry(1, i64::MAX, 10)).await?;
        assert_eq!(fetch(&cache).await?, None);
        Ok(())
    }

    on_each_adapter!(@in redis_server Redis an_outbox_lies_there_as_documented_and_not_for_ever,
        anything_foreign_is_a_miss_and_is_replaced, a_key_of_another_kind_is_a_miss_for_its_author_alone,
        a_time_without_an_exact_score_is_never_cached);
    on_each_adapter!(@in redis_cluster Cluster an_outbox_lies_there_as_documented_and_not_for_ever,
        anything_foreign_is_a_miss_and_is_replaced, a_key_of_another_kind_is_a_miss_for_its_author_alone,
        a_time_without_an_exact_score_is_never_cached);
}
