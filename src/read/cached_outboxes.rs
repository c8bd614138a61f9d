//! Completes a page from cached outboxes. An outbox counts only at exactly the version that the snapshot names.

use crate::{
    domain::{
        Direction, Entry, PageRequest, Position, Run, UserId,
        timeline::{candidates::OutboxVersion, merge::TrustedArea},
    },
    store::{Contents, OutboxCache, StoreError, contents::OutboxHead, outbox_cache::CachedOutbox},
    telemetry::metrics::OUTBOX_CACHE,
};

/// Most outboxes that one read fetches from SQL and caches. With more, the statement that pulls everything is cheaper.
const MAX_REFILLS: usize = 64;

/// What caches gave of outboxes.
pub struct CachedRuns {
    /// The runs ahead of the bound, and behind it; `None` if some outbox could not be had at its version.
    pub runs: Option<[Vec<Run>; 2]>,
    /// Whether a statement has filled the cache.
    pub has_refilled: bool,
}

/// The runs of these outboxes, each at exactly this version. Fills the cache with those that it lacks, if it may. A
/// failing cache counts as a miss.
pub async fn pull(
    cache: &dyn OutboxCache,
    contents: &dyn Contents,
    wanted: &[OutboxVersion],
    (request, may_refill): (&PageRequest, bool),
) -> Result<CachedRuns, StoreError> {
    let authors: Vec<UserId> = wanted.iter().map(|it| it.author).collect();
    let cached = cache.fetch(&authors).await.unwrap_or_else(|error| {
        tracing::warn!(error = &error as &dyn std::error::Error, "The outbox cache cannot be read.");
        vec![None; authors.len()]
    });
    let mut current = Vec::with_capacity(wanted.len());
    let mut missing = Vec::new();
    for (wanted, outbox) in wanted.iter().zip(cached) {
        match outbox {
            Some(outbox) if outbox.version == wanted.version => current.push(outbox),
            _ => missing.push(*wanted),
        }
    }
    metrics::counter!(OUTBOX_CACHE, "outcome" => "hit").increment(current.len() as u64);
    metrics::counter!(OUTBOX_CACHE, "outcome" => "miss").increment(missing.len() as u64);
    if missing.is_empty() {
        return Ok(CachedRuns { runs: Some(runs(&current, request)), has_refilled: false });
    }
    if !may_refill || missing.len() > MAX_REFILLS {
        return Ok(CachedRuns { runs: None, has_refilled: false });
    }
    let heads = refill(cache, contents, &missing).await?;
    let is_wanted = |head: &OutboxHead| missing.contains(&OutboxVersion { author: head.author, version: head.version });
    let is_whole = heads.len() == missing.len() && heads.iter().all(is_wanted);
    current.extend(heads.iter().map(|head| CachedOutbox::of_head(head, cache.capacity())));
    Ok(CachedRuns { runs: is_whole.then(|| runs(&current, request)), has_refilled: true })
}

async fn refill(
    cache: &dyn OutboxCache,
    contents: &dyn Contents,
    missing: &[OutboxVersion],
) -> Result<Vec<OutboxHead>, StoreError> {
    let authors: Vec<UserId> = missing.iter().map(|it| it.author).collect();
    let heads = contents.outbox_heads(&authors, cache.capacity()).await?;
    if let Err(error) = cache.fill(&heads).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "The outbox cache could not be filled.");
    }
    Ok(heads)
}

fn runs(outboxes: &[CachedOutbox], request: &PageRequest) -> [Vec<Run>; 2] {
    let ahead = outboxes.iter().map(|it| side(it, request.direction, request.bound, false)).collect();
    let behind = match request.bound {
        Some(_) => outboxes.iter().map(|it| side(it, request.direction.reversed(), request.bound, true)).collect(),
        None => Vec::new(),
    };
    [ahead, behind]
}

/// One side of the bound in a cached outbox.
fn side(outbox: &CachedOutbox, direction: Direction, bound: Option<Position>, inclusive: bool) -> Run {
    let from = bound.unwrap_or(direction.start());
    let rows: Vec<Entry> = outbox
        .entries
        .iter()
        .filter(|entry| entry.position() >= outbox.complete_from)
        .filter(|entry| direction.meets_first(from, entry.position()) || (inclusive && entry.position() == from))
        .copied()
        .collect();
    let area = TrustedArea { direction, bound, limit: rows.len() + 1, edge: outbox.complete_from };
    Run::from_trusted_area(&area, rows)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::domain::ContentId;

    fn entry(time: i64) -> Entry {
        Entry { publish_time: time, content: ContentId::try_new(time).unwrap(), author: UserId::try_new(1).unwrap() }
    }

    fn cached(times: &[i64], complete_from: i64) -> CachedOutbox {
        let complete_from = Position::bound(complete_from, complete_from);
        CachedOutbox { version: 1, entries: times.iter().map(|time| entry(*time)).collect(), complete_from }
    }

    #[test]
    fn a_cached_outbox_reaches_down_to_where_it_is_complete() {
        let run = side(&cached(&[9, 7, 5], 5), Direction::Older, Some(Position::bound(8, 8)), false);
        assert_eq!(run.entries(), [entry(7), entry(5)]);
        assert_eq!(run.reaches(), Position::bound(5, 5));
    }

    #[test]
    fn a_whole_outbox_is_exhausted() {
        let mut whole = cached(&[9], 0);
        whole.complete_from = Position::OLDEST;
        assert!(side(&whole, Direction::Older, None, false).is_exhausted());
        assert!(side(&whole, Direction::Newer, Some(Position::bound(9, 9)), true).is_exhausted());
    }

    #[test]
    fn reading_newer_from_below_the_cache_is_unknown() {
        let run = side(&cached(&[9, 7], 7), Direction::Newer, Some(Position::bound(3, 3)), false);
        assert!(run.entries().is_empty());
        assert!(!run.is_exhausted());
    }
}
