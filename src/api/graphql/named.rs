//! The objects that arguments name: by an id of this service, or a user by the product's id (`ext:42`). Every argument
//! with an id is read here, so that nothing else knows the second form.

use std::sync::Arc;

use async_graphql::{Context, ID};
use futures_util::future::join_all;

use super::{
    errors::Failure,
    hydration::Hydration,
    ids::{self, InvalidId, NodeId},
    service_calls::ServiceCall,
};
use crate::domain::UserId;

/// The user whom `id` names. An unknown product's id names nobody, as an id of this service does that nobody has.
pub async fn user(ctx: &Context<'_>, hydration: &Hydration, id: &str) -> Result<UserId, Failure> {
    match ids::external(id) {
        Some(external) => called(ctx, hydration, external).await,
        None => Ok(ids::parse_user(id)?),
    }
}

/// The object that `id` names, whether it exists or not.
pub async fn object(ctx: &Context<'_>, hydration: &Hydration, id: &str) -> Result<NodeId, Failure> {
    match ids::external(id) {
        Some(external) => called(ctx, hydration, external).await.map(NodeId::User),
        None => Ok(ids::parse(id)?),
    }
}

/// As [`object`], for many; with one statement for all products' ids.
pub async fn objects(
    ctx: &Context<'_>,
    hydration: &Arc<Hydration>,
    ids: &[ID],
) -> Result<Vec<Result<NodeId, InvalidId>>, Failure> {
    let named = join_all(ids.iter().map(|id| object(ctx, hydration, id))).await;
    let parsed = named.into_iter().map(|named| match named {
        Ok(id) => Ok(Ok(id)),
        Err(Failure::Id(invalid)) => Ok(Err(invalid)),
        Err(failure) => Err(failure),
    });
    parsed.collect()
}

async fn called(ctx: &Context<'_>, hydration: &Hydration, external: &str) -> Result<UserId, Failure> {
    let found = if sees(ctx, hydration, None) { hydration.called(external).await? } else { None };
    Ok(found.unwrap_or(UserId::NOBODY))
}

/// Whether who asks sees the product's id of `user`, or names users by such ids if there is no `user`.
pub fn sees(ctx: &Context<'_>, hydration: &Hydration, user: Option<UserId>) -> bool {
    hydration.services().shows_external_ids
        || user.is_some_and(|user| hydration.shows_private(user))
        || ctx.data_opt::<ServiceCall>().is_some()
}
