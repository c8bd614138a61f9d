//! The objects that arguments name: by an id of this service, or by the product's id of a user or a content (`ext:42`).
//! Every argument with an id is read here, so that nothing else knows the second form.

use std::sync::Arc;

use async_graphql::{Context, ID};
use futures_util::future::join_all;

use super::{
    errors::Failure,
    hydration::Hydration,
    ids::{self, InvalidId, NodeId},
    service_calls::ServiceCall,
};
use crate::domain::{ContentId, UserId};

/// The user whom `id` names. An unknown product's id names nobody, as an id of this service does that nobody has.
pub async fn user(ctx: &Context<'_>, hydration: &Hydration, id: &str) -> Result<UserId, Failure> {
    match ids::external(id) {
        Some(external) => called(ctx, hydration, external).await,
        None => Ok(ids::parse_user(id)?),
    }
}

/// The content that `id` names. An unknown product's id names nothing, as in [`user`].
pub async fn content(ctx: &Context<'_>, hydration: &Hydration, id: &str) -> Result<ContentId, Failure> {
    match ids::external(id) {
        Some(external) => Ok(called_content(ctx, hydration, external).await?.unwrap_or(ContentId::NOTHING)),
        None => Ok(ids::parse_content(id)?),
    }
}

/// The object that `id` names, whether it exists or not. A product's id is that of a user, or else of a content.
pub async fn object(ctx: &Context<'_>, hydration: &Hydration, id: &str) -> Result<NodeId, Failure> {
    let Some(external) = ids::external(id) else { return Ok(ids::parse(id)?) };
    match called(ctx, hydration, external).await? {
        UserId::NOBODY => Ok(match called_content(ctx, hydration, external).await? {
            Some(content) => NodeId::Content(content),
            None => NodeId::User(UserId::NOBODY),
        }),
        user => Ok(NodeId::User(user)),
    }
}

/// As [`object`], for many; with one statement for all products' ids of users, and one for those of contents.
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

/// The content that the product calls so, if who asks may know.
pub async fn called_content(
    ctx: &Context<'_>,
    hydration: &Hydration,
    external: &str,
) -> Result<Option<ContentId>, Failure> {
    if sees(ctx, hydration, None) { hydration.called_content(external).await } else { Ok(None) }
}

/// Whether who asks sees the product's id of `user`, or of what they have published; or, if there is no `user`, names
/// users and contents by such ids.
pub fn sees(ctx: &Context<'_>, hydration: &Hydration, user: Option<UserId>) -> bool {
    hydration.services().shows_external_ids
        || user.is_some_and(|user| hydration.shows_private(user))
        || ctx.data_opt::<ServiceCall>().is_some()
}
