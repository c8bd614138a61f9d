//! Covers an edge in an inbox outside SQL: reads the author's newest contents, adds them, and then trusts the edge, if
//! it is still the one that was read.

use crate::{
    domain::timeline::outside::{Cover, Nonce, floor_of_newest},
    rng::SharedRng,
    store::{StoreError, outside_states::OutsideStores, relations::Pair},
};

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
