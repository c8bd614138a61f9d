//! The user and the tokens in the payload of every sign-in.

use std::sync::Arc;

use async_graphql::{Context, SimpleObject};

use super::user_error::UserError;
use crate::{
    accounts::SignedIn,
    api::graphql::{errors::Failure, objects::User, scalars::Timestamp, scope::hydration_for, selection::user_parts},
};

/// Part of several payloads.
#[derive(SimpleObject, Default)]
pub struct Tokens {
    /// The signed-in user. Null if refused.
    user: Option<User>,
    /// The access token, to be sent as bearer token. Null if refused.
    token: Option<String>,
    /// When the access token expires. Null if refused.
    expires_at: Option<Timestamp>,
    /// Exchange it once for new tokens with `refreshToken`. Anyone who has it can act as the user: keep it secret.
    /// Null if refused.
    refresh_token: Option<String>,
    /// When the session ends unless its tokens are refreshed. Null if refused.
    refresh_expires_at: Option<Timestamp>,
}

/// The tokens for a payload. Its fields see the new user as the viewer.
pub async fn tokens(
    ctx: &Context<'_>,
    result: Result<SignedIn, Vec<UserError>>,
) -> Result<(Tokens, Vec<UserError>), Failure> {
    let SignedIn { viewer, token, refresh } = match result {
        Ok(signed_in) => signed_in,
        Err(refusals) => return Ok((Tokens::default(), refusals)),
    };
    let hydration = hydration_for(ctx, Some(viewer))?;
    hydration.prime_users(&[viewer.id], user_parts(&ctx.look_ahead().field("user"))).await;
    let profile = hydration.profile(viewer.id).await?;
    let tokens = Tokens {
        user: profile.map(|profile| User::new(profile, Arc::clone(&hydration))),
        token: Some(token.text),
        expires_at: Some(Timestamp(token.expires_at_ms)),
        refresh_token: Some(refresh.text),
        refresh_expires_at: Some(Timestamp(refresh.expires_at_ms)),
    };
    Ok((tokens, Vec::new()))
}
