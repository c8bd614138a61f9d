//! What services do with users beside bringing them: keep them out, let them in, delete them, call them otherwise, and
//! sign them in.

use std::sync::Arc;

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::{
    payload::answer,
    user_error::{UserError, UserErrorCode},
};
use crate::{
    accounts::{AccountError, DeleteOutcome, RebindOutcome},
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        ids, named,
        objects::User,
        scalars::Timestamp,
        scope::{Answer, fresh_hydration},
        selection::user_parts,
        service_calls::{issuing_key, service_alone},
    },
    domain::{
        UserId,
        limits::{DEFAULT_ISSUED_MINUTES, MAX_ISSUED_MINUTES},
    },
};

/// The user to keep out.
#[derive(InputObject)]
struct DeactivateUserInput {
    /// The user's id; begins with U_ or ext:.
    user_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The user to let in again.
#[derive(InputObject)]
struct ReactivateUserInput {
    /// The user's id; begins with U_ or ext:.
    user_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The user whose account to delete.
#[derive(InputObject)]
struct DeleteUserInput {
    /// The user's id; begins with U_ or ext:.
    user_id: ID,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The user, and what the product calls them from now on.
#[derive(InputObject)]
#[expect(clippy::struct_field_names, reason = "all of them are ids")]
struct RebindExternalIdInput {
    /// The user's id; begins with U_, or with ext: and is the former one.
    user_id: ID,
    /// The new one: 1 to 255 bytes, compared byte by byte.
    external_id: String,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The user to sign in.
#[derive(InputObject)]
struct IssueTokenInput {
    /// The user's id; begins with U_ or ext:.
    user_id: ID,
    /// How long the token lasts, 1 to 1440; 60 by default.
    expires_in_minutes: Option<i32>,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

changed_user! {
    ReactivateUserPayload, "The user who may sign in again; or why not.", "The user after the change. Null if refused.";
    RebindExternalIdPayload, "The user with the new external id; or why it has not changed.", "The user after the change. Null if refused.";
}

/// The user who is kept out; or why not.
#[derive(SimpleObject)]
struct DeactivateUserPayload {
    /// The user after the change. Null if refused.
    user: Option<User>,
    /// How many sessions have ended. Null if refused.
    ended_session_count: Option<i32>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// The result of deleting a user's account.
#[derive(SimpleObject)]
struct DeleteUserPayload {
    /// The id of the deleted user. Null if refused.
    deleted_user_id: Option<ID>,
    /// How many sessions have ended. Null if refused.
    ended_session_count: Option<i32>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

/// A token for a user; or why there is none.
#[derive(SimpleObject)]
struct IssueTokenPayload {
    /// The access token, to be sent as bearer token. Null if refused.
    token: Option<String>,
    /// When it expires. Null if refused.
    expires_at: Option<Timestamp>,
    /// Whose it is. Null if refused.
    user: Option<User>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(DeactivateUserPayload, DeleteUserPayload, IssueTokenPayload);

/// The part of the root about what services do with users.
#[derive(Default)]
pub struct StandingMutation;

#[Object]
impl StandingMutation {
    /// For services: keeps a user out until `reactivateUser`. Their sessions end, their tokens are refused, and no
    /// service acts as them; nobody finds or is suggested them by name. What they published stays, and their profile
    /// does.
    async fn deactivate_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to keep out.")] input: DeactivateUserInput,
    ) -> Answer<DeactivateUserPayload> {
        answer(ctx, async {
            service_alone(ctx, "deactivateUser")?;
            let hydration = fresh_hydration(ctx)?;
            let user = named::user(ctx, &hydration, &input.user_id).await?;
            let ended = hydration.services().accounts.deactivate(user).await?;
            let (user, user_errors) = after(ctx, &hydration, user, ended.is_none().then(no_such_user)).await?;
            let ended_session_count = ended.map(|ended| i32::try_from(ended).unwrap_or(i32::MAX));
            let client_mutation_id = input.client_mutation_id;
            Ok(Some(DeactivateUserPayload { user, ended_session_count, user_errors, client_mutation_id }))
        })
        .await
    }

    /// For services: lets a deactivated user in again.
    async fn reactivate_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to let in.")] input: ReactivateUserInput,
    ) -> Answer<ReactivateUserPayload> {
        answer(ctx, async {
            service_alone(ctx, "reactivateUser")?;
            let hydration = fresh_hydration(ctx)?;
            let user = named::user(ctx, &hydration, &input.user_id).await?;
            let exists = hydration.services().accounts.reactivate(user).await?;
            let (user, user_errors) = after(ctx, &hydration, user, (!exists).then(no_such_user)).await?;
            Ok(Some(ReactivateUserPayload { user, user_errors, client_mutation_id: input.client_mutation_id }))
        })
        .await
    }

    /// For services: deletes a user's account for good, as `deleteViewer` does. `upsertUsers` may bring them back as a
    /// new user.
    async fn delete_user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user whose account to delete.")] input: DeleteUserInput,
    ) -> Answer<DeleteUserPayload> {
        answer(ctx, async {
            service_alone(ctx, "deleteUser")?;
            let hydration = fresh_hydration(ctx)?;
            let user = named::user(ctx, &hydration, &input.user_id).await?;
            let (ended, user_errors) = match hydration.services().accounts.delete_user(user).await? {
                DeleteOutcome::Deleted(ended) => (Some(i32::try_from(ended).unwrap_or(i32::MAX)), Vec::new()),
                DeleteOutcome::Unknown => (None, vec![no_such_user()]),
                DeleteOutcome::WrongCredentials | DeleteOutcome::NotBefore(_) => {
                    let message = "the user has changed the password at this moment: try again";
                    (None, vec![UserError::general(UserErrorCode::Conflict, message)])
                }
            };
            Ok(Some(DeleteUserPayload {
                deleted_user_id: ended.map(|_| ids::of_user(user)),
                ended_session_count: ended,
                user_errors,
                client_mutation_id: input.client_mutation_id,
            }))
        })
        .await
    }

    /// For services: changes what the product calls a user, or says it for the first time. From then on who has the new
    /// id in the issuer's tokens is this user, and who has the former one is not.
    async fn rebind_external_id(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user and the new id.")] input: RebindExternalIdInput,
    ) -> Answer<RebindExternalIdPayload> {
        answer(ctx, async {
            service_alone(ctx, "rebindExternalId")?;
            let hydration = fresh_hydration(ctx)?;
            let user = named::user(ctx, &hydration, &input.user_id).await?;
            let about = |code, message: &str| UserError::about(&["externalId"], code, message);
            let refusal = match hydration.services().external_users.rebind(user, &input.external_id).await? {
                RebindOutcome::Done => None,
                RebindOutcome::NoUser => Some(no_such_user()),
                RebindOutcome::Invalid(fault) => Some(about(UserErrorCode::Invalid, &fault.to_string())),
                RebindOutcome::Taken => Some(about(UserErrorCode::Taken, "another user has this external id")),
            };
            let (user, user_errors) = after(ctx, &hydration, user, refusal).await?;
            Ok(Some(RebindExternalIdPayload { user, user_errors, client_mutation_id: input.client_mutation_id }))
        })
        .await
    }

    /// For services: a token with which a client is this user, without a session. It cannot be refreshed; it ends with
    /// its time, with the key of the service, and when the user is deactivated or deleted.
    async fn issue_token(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The user to sign in.")] input: IssueTokenInput,
    ) -> Answer<IssueTokenPayload> {
        answer(ctx, async {
            let (key, hydration) = (issuing_key(ctx, "issueToken")?, fresh_hydration(ctx)?);
            let user = named::user(ctx, &hydration, &input.user_id).await?;
            let minutes = input.expires_in_minutes.unwrap_or(DEFAULT_ISSUED_MINUTES);
            let refusal = if (1..=MAX_ISSUED_MINUTES).contains(&minutes) {
                refused(&hydration, user).await?
            } else {
                let message = format!("a token lasts 1 to {MAX_ISSUED_MINUTES} minutes");
                Some(UserError::about(&["expiresInMinutes"], UserErrorCode::Invalid, &message))
            };
            let tokens = &hydration.services().tokens;
            let issued = refusal.is_none().then(|| tokens.issue_by(key, user, i64::from(minutes) * 60_000));
            let issued = issued.transpose().map_err(AccountError::from)?;
            let (token, expires_at) = issued.map(|it| (it.text, Timestamp(it.expires_at_ms))).unzip();
            let (user, user_errors) = after(ctx, &hydration, user, refusal).await?;
            let client_mutation_id = input.client_mutation_id;
            Ok(Some(IssueTokenPayload { token, expires_at, user, user_errors, client_mutation_id }))
        })
        .await
    }
}

fn no_such_user() -> UserError {
    UserError::about(&["userId"], UserErrorCode::NotFound, "there is no such user")
}

/// Why the user cannot be signed in.
async fn refused(hydration: &Hydration, user: UserId) -> Result<Option<UserError>, Failure> {
    Ok(match hydration.membership(user).await? {
        None => Some(no_such_user()),
        Some(it) if it.is_deactivated => {
            Some(UserError::about(&["userId"], UserErrorCode::NotAllowed, "this user is deactivated"))
        }
        Some(_) => None,
    })
}

/// What the payloads have in common, read after the change.
async fn after(
    ctx: &Context<'_>,
    hydration: &Arc<Hydration>,
    user: UserId,
    refusal: Option<UserError>,
) -> Result<(Option<User>, Vec<UserError>), Failure> {
    if let Some(refusal) = refusal {
        return Ok((None, vec![refusal]));
    }
    hydration.prime_users(&[user], user_parts(&ctx.look_ahead().field("user"))).await;
    let profile = hydration.profile(user).await?;
    Ok((profile.map(|profile| User::new(profile, Arc::clone(hydration))), Vec::new()))
}
