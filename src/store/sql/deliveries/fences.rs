//! Fences of outside inboxes as SQL keeps them, and the check that no reader has one.

use super::super::rows::Row;
use crate::{
    domain::timeline::outside::{BucketToken, Fence, Generation},
    store::{StoreError, outside_states::NotConfigured},
};

/// A delivery that does not look for recipients outside must not end while there may be some.
pub(super) fn expect_unused(is_used: bool) -> Result<(), StoreError> {
    if is_used { Err(NotConfigured.into()) } else { Ok(()) }
}

/// Generation, node and epoch from `column` on.
pub(in super::super) fn fence(row: &Row, column: usize) -> Result<Fence, StoreError> {
    Ok(Fence { generation: Generation(row.get(column)?), token: token(row, column + 1)? })
}

/// Node and epoch from `column` on.
pub(in super::super) fn token(row: &Row, column: usize) -> Result<BucketToken, StoreError> {
    let node: String = row.get(column)?;
    let node = node.parse().map_err(|error| StoreError::Unreadable(format!("the node {node:?}: {error}")))?;
    Ok(BucketToken { node, epoch: row.get(column + 1)? })
}
