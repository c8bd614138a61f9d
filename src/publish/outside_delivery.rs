//! Delivers to inboxes outside SQL as well: reads a batch's recipients, writes their rows, one call for each bucket,
//! and only then commits the progress.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;

use crate::{
    domain::{
        ContentId, UserId,
        delivery::DeliveryPolicy,
        timeline::outside::{Bucket, BucketToken, Delivered, Generation, Nonce},
    },
    rng::SharedRng,
    store::{
        Deliveries, StoreError,
        deliveries::{AtOnce, Pushed, Subtask},
        outside_inboxes::Push,
        outside_states::{Batch, NotConfigured, OutsideStores},
    },
    telemetry::metrics::OUTSIDE_ROWS,
};

/// Calls of one batch that run at once.
const UNDER_WAY: usize = 16;

/// As [`Deliveries::deliver_at_once`]. A content that is gone or removed, or whose delivery must be cut, has no
/// recipients to read.
pub(super) async fn deliver_at_once(
    deliveries: &dyn Deliveries,
    outside: Option<&OutsideStores>,
    rng: &SharedRng,
    (content, most, policy): (ContentId, u32, &DeliveryPolicy),
) -> Result<AtOnce, StoreError> {
    if let Some(outside) = outside {
        let attempt = rng.number();
        if let Some(batch) = outside.states.begin_at_once(content, most, policy, attempt).await? {
            write(outside, rng, &batch).await?;
            return outside.states.deliver_at_once_as(content, most, policy, attempt).await;
        }
    }
    match deliveries.deliver_at_once(content, most, policy).await {
        // It became small only after the check above: its ranges serve it.
        Err(StoreError::Refused(why)) if outside.is_some() && why.is::<NotConfigured>() => Ok(AtOnce::ToBeCut),
        outcome => outcome,
    }
}

/// As [`Deliveries::push_batch`].
pub(super) async fn push_batch(
    deliveries: &dyn Deliveries,
    outside: Option<&OutsideStores>,
    rng: &SharedRng,
    (task, batch_size): (&Subtask, u32),
) -> Result<Pushed, StoreError> {
    let Some(outside) = outside else { return deliveries.push_batch(task, batch_size).await };
    let Some(batch) = outside.states.begin_batch(task, batch_size, rng.number()).await? else {
        return Ok(Pushed { progress: None, rows: 0 });
    };
    write(outside, rng, &batch).await?;
    outside.states.push_batch_as(task, batch.through, batch.attempt).await
}

/// Skips readers whose inbox is gone or has another fence: SQL holds the content for the inbox that is built next.
async fn write(outside: &OutsideStores, rng: &SharedRng, batch: &Batch) -> Result<(), StoreError> {
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
