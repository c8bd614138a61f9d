//! Creating users, and bringing them up to date, by the product's own ids.

use std::sync::Arc;

use async_graphql::{Context, Enum, InputObject, MaybeUndefined, Object, SimpleObject};

use super::{
    payload::answer,
    profile::{AttributeInput, changes},
    user_error::{UserError, UserErrorCode},
};
use crate::{
    accounts::{InvalidChange, InvalidUpsert, ProductUser, Upserted},
    api::graphql::{
        errors::Failure,
        objects::User,
        scalars::Timestamp,
        scope::{Answer, fresh_hydration},
        selection::user_parts,
        service_calls::service_alone,
    },
    domain::{UserId, limits::MAX_UPSERTS},
};

/// The users to create or to bring up to date.
#[derive(InputObject)]
struct UpsertUsersInput {
    /// At most 100, each by itself: a refused one keeps no other from being done.
    users: Vec<UpsertUserInput>,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// What the product says of a user. Omitted fields stay as they are.
#[derive(InputObject)]
struct UpsertUserInput {
    /// The product's id of the user, the subject in its issuer's tokens: 1 to 255 bytes, compared byte by byte.
    external_id: String,
    /// The unique name: 2 to 30 of the characters a to z, 0 to 9 and _. A new user without one gets one.
    handle: Option<String>,
    /// The name to show; as in `updateProfile`. A new user without one shows the handle. Cannot be null.
    name: MaybeUndefined<String>,
    /// A few words, at most 500 characters; null for none.
    bio: MaybeUndefined<String>,
    /// A link to a picture; starts with https:// or http://. Null for none.
    avatar_url: MaybeUndefined<String>,
    /// All custom attributes, at most 16. They replace the present ones. Null or empty for none.
    attributes: MaybeUndefined<Vec<AttributeInput>>,
    /// When the user joined the product. Only counts for a new user; by default now.
    created_at: Option<Timestamp>,
    /// When all this was true. If something was said before with a later time, this changes nothing.
    as_of: Option<Timestamp>,
}

/// What was done to a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
enum UpsertOutcome {
    /// The user is new.
    Created,
    /// The user has changed.
    Updated,
    /// All of it was so already, or something newer was said before.
    Unchanged,
}

/// The result for one of the users.
#[derive(SimpleObject)]
struct UpsertUserResult {
    /// Which of the input's users, from 0.
    index: i32,
    /// What was done. Null if refused.
    outcome: Option<UpsertOutcome>,
    /// The user. Null if refused.
    user: Option<User>,
    /// Why it was refused; empty if it was not.
    user_errors: Vec<UserError>,
}

/// The results in the order of the input.
#[derive(SimpleObject)]
struct UpsertUsersPayload {
    /// One result for each user.
    results: Vec<UpsertUserResult>,
    /// Why the mutation was refused as a whole; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(UpsertUsersPayload);

/// The part of the root about users of the product.
#[derive(Default)]
pub struct UpsertMutation;

#[Object]
impl UpsertMutation {
    /// For services: creates users by the product's ids, or brings them up to date. A user who signs in with a token of
    /// the product's issuer is the same one. One who deleted the account comes back as a new user. Doing it again
    /// changes nothing, so repeat it after any failure.
    async fn upsert_users(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The users.")] input: UpsertUsersInput,
    ) -> Answer<UpsertUsersPayload> {
        answer(ctx, async {
            let call = service_alone(ctx, "upsertUsers")?;
            let UpsertUsersInput { users, client_mutation_id } = input;
            if users.len() > MAX_UPSERTS {
                return Err(Failure::TooManyUpserts(users.len()));
            }
            let hydration = fresh_hydration(ctx)?;
            let mut done = Vec::with_capacity(users.len());
            for user in users {
                let id = user.external_id.clone();
                let (outcome, fault) = ended(hydration.services().external_users.upsert(given(user)).await?);
                call.note_part("upsertUsers", None, id, fault.as_ref().map(|fault| fault.code));
                done.push((outcome, fault));
            }
            let ids: Vec<UserId> = done.iter().filter_map(|(done, _)| Some(done.as_ref()?.1)).collect();
            let selection = user_parts(&ctx.look_ahead().field("results").field("user"));
            hydration.prime_users(&ids, selection).await;
            let mut results = Vec::with_capacity(done.len());
            for (index, (done, fault)) in done.into_iter().enumerate() {
                let profile = match done {
                    Some((_, user)) => hydration.profile(user).await?,
                    None => None,
                };
                let user = profile.map(|profile| User::new(profile, Arc::clone(&hydration)));
                let fault = fault.map(|fault| fault.within(&["users", &index.to_string()]));
                results.push(UpsertUserResult {
                    index: i32::try_from(index).unwrap_or(i32::MAX),
                    outcome: done.map(|(outcome, _)| outcome),
                    user,
                    user_errors: fault.into_iter().collect(),
                });
            }
            Ok(Some(UpsertUsersPayload { results, user_errors: Vec::new(), client_mutation_id }))
        })
        .await
    }
}

fn given(input: UpsertUserInput) -> ProductUser {
    let profile = changes((&input.name, &input.bio, &input.avatar_url), &input.attributes);
    let (created_at, as_of) = (input.created_at.map(|it| it.0), input.as_of.map(|it| it.0));
    ProductUser { external_id: input.external_id, handle: input.handle, profile, created_at, as_of }
}

/// What was done to whom, or why nothing was.
fn ended(upserted: Upserted) -> (Option<(UpsertOutcome, UserId)>, Option<UserError>) {
    let invalid = match upserted {
        Upserted::Created(user) => return (Some((UpsertOutcome::Created, user)), None),
        Upserted::Updated(user) => return (Some((UpsertOutcome::Updated, user)), None),
        Upserted::Unchanged(user) => return (Some((UpsertOutcome::Unchanged, user)), None),
        Upserted::Refused(invalid) => invalid,
    };
    let ahead = "a time in the future: check the clock of the sender";
    let error = match invalid {
        InvalidUpsert::ExternalId(fault) => {
            UserError::about(&["externalId"], UserErrorCode::Invalid, &fault.to_string())
        }
        InvalidUpsert::Handle(fault) | InvalidUpsert::Profile(InvalidChange::Profile(fault)) => fault.into(),
        InvalidUpsert::Profile(InvalidChange::Attributes(fault)) => fault.into(),
        InvalidUpsert::HandleTaken => {
            let message = "this handle is taken: choose another, or leave it out";
            UserError::about(&["handle"], UserErrorCode::Taken, message)
        }
        InvalidUpsert::CreatedAhead => UserError::about(&["createdAt"], UserErrorCode::Invalid, ahead),
        InvalidUpsert::AsOfAhead => UserError::about(&["asOf"], UserErrorCode::Invalid, ahead),
    };
    (None, Some(error))
}
