//! What is written to inboxes outside SQL between two transactions of SQL: the rows of a batch, and those of an author
//! who is covered.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;

use super::OutsideStores;
use crate::{
    domain::{
        UserId,
        timeline::outside::{Bucket, BucketToken, Cover, Delivered, Generation, Nonce, floor_of_newest},
    },
    rng::SharedRng,
    store::{StoreError, inbox_store::Push, outside_states::OutsideBatch, relations::Pair},
    telemetry::metrics::OUTSIDE_ROWS,
};

/// Calls of one batch that run at once.
const UNDER_WAY: usize = 16;

/// One call for each bucket. Skips readers whose inbox is gone or has another fence: SQL holds the content for the
/// inbox that is built next.
pub(super) async fn deliver(outside: &OutsideStores, rng: &SharedRng, batch: &OutsideBatch) -> Result<(), StoreError> {
    let mut buckets: BTreeMap<Bucket, (BucketToken, Vec<(UserId, Generation)>)> = BTreeMap::new();
    for recipient in &batch.recipients {
        let fence = recipient.fence;
        let bucket = buckets.entry(Bucket::of(recipient.reader)).or_insert_with(|| (fence.token, Vec::new()));
        bucket.1.push((recipient.reader, fence.generation));
    }
    let (row, keep) = (batch.entry.position(), outside.rows_kept());
    let pushes: Vec<Push> = buckets
        .into_values()
        .map(|(token, recipients)| Push { row, recipients, token, keep, nonce: Nonce(rng.number()) })
        .collect();
    let mut added = 0;
    for some in pushes.chunks(UNDER_WAY) {
        let delivered = try_join_all(some.iter().map(|push| outside.inboxes.deliver(push))).await?;
        added += delivered.iter().flatten().filter(|one| **one == Delivered::Added).count();
    }
    metrics::counter!(OUTSIDE_ROWS).increment(added as u64);
    Ok(())
}

/// docs/protocol.md#outside, *Cover*. Returns `false` if the reader is not in the outside tier, or the edge is no
/// longer to be covered.
///
/// An inbox that does not exist, or has another fence, is built from SQL later, and this edge with it.
pub(super) async fn cover(outside: &OutsideStores, rng: &SharedRng, pair: Pair) -> Result<bool, StoreError> {
    let incarnation = rng.incarnation();
    let Some((fence, rows)) = outside.states.read_for_cover(pair, outside.keep, incarnation).await? else {
        return Ok(false);
    };
    if let Some(fence) = fence {
        let floor = floor_of_newest(&rows, outside.rows_kept());
        let newest = Cover { rows, floor, nonce: Nonce(rng.number()) };
        outside.inboxes.cover(pair.follower, fence, &newest, outside.rows_kept()).await?;
    }
    outside.states.trust(pair, incarnation).await
}
