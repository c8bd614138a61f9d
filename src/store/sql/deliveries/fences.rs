//! Fences of outside inboxes as SQL keeps them, and the check that nobody has one.

use super::super::rows::Row;
use crate::{
    domain::timeline::outside::{Fence, Generation, Token},
    store::{StoreError, outside_states::NotConfigured},
};

/// A delivery that does not look for recipients outside must not end while there may be some.
pub(super) fn expect_unused(is_used: bool) -> Result<(), StoreError> {
    if is_used { Err(NotConfigured.into()) } else { Ok(()) }
}

/// Generation, node and epoch from `place` on.
pub(in super::super) fn fence(row: &Row, place: usize) -> Result<Fence, StoreError> {
    Ok(Fence { generation: Generation(row.get(place)?), token: token(row, place + 1)? })
}

/// Node and epoch from `place` on.
pub(in super::super) fn token(row: &Row, place: usize) -> Result<Token, StoreError> {
    let node: String = row.get(place)?;
    let node = node.parse().map_err(|error| StoreError::Unreadable(format!("the node {node:?}: {error}")))?;
    Ok(Token { node, epoch: row.get(place + 1)? })
}
