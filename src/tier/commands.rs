//! What operators do to inboxes outside SQL. Needs SQL alone: the store of the inboxes may be gone.

use crate::{
    domain::timeline::outside::BucketToken,
    rng::SharedRng,
    store::{Inboxes, OutsideStates, StoreError},
};

/// Readers who are moved in turn.
const MOVED_IN_TURN: u64 = 1_000;
/// Of these, readers whose inboxes in SQL are filled in one transaction.
const EXTENDED_AT_ONCE: usize = 32;

/// Draws a new token for every bucket that has one: what is there counts no longer, and is built again as readers
/// come. Returns how many buckets.
pub async fn renew_tokens(states: &dyn OutsideStates, rng: &SharedRng) -> Result<usize, StoreError> {
    let mut renewed = 0;
    for (bucket, token) in states.tokens().await? {
        let next = BucketToken { epoch: rng.number(), ..token };
        renewed += usize::from(states.set_token(bucket, Some(token), Some(next)).await?);
    }
    Ok(renewed)
}

/// Gives up every bucket, and moves every reader to SQL, `step` rows each; while a node that is configured for inboxes
/// outside runs, it admits buckets again. Returns how many readers.
pub async fn move_all(states: &dyn OutsideStates, inboxes: &dyn Inboxes, step: u32) -> Result<u64, StoreError> {
    for (bucket, token) in states.tokens().await? {
        states.set_token(bucket, Some(token), None).await?;
    }
    let (mut moved, mut next) = (0, Some(0));
    while let Some(after) = next {
        let (readers, last) = states.unseen(after, i64::MAX, MOVED_IN_TURN).await?;
        for readers in readers.chunks(EXTENDED_AT_ONCE) {
            for reader in readers {
                moved += u64::from(states.leave(*reader).await?);
            }
            inboxes.extend_all(readers, step).await?;
        }
        next = last;
    }
    Ok(moved)
}
