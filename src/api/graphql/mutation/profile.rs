//! Mutations of the viewer's profile, attributes and handle.

use std::sync::Arc;

use async_graphql::{Context, InputObject, MaybeUndefined, Object, SimpleObject};

use super::{
    payload::answer,
    user_error::{UserError, UserErrorCode},
};
use crate::{
    accounts::{EditOutcome, InvalidChange, ProfileChange, RenameOutcome},
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        objects::User,
        scope::{Answer, fresh_hydration},
        selection::user_parts,
    },
    domain::account::attributes::InvalidAttributes,
};

/// A custom attribute to set on a profile.
#[derive(InputObject)]
pub struct AttributeInput {
    /// 1 to 32 of the characters a to z, 0 to 9, _ and .
    key: String,
    /// At most 200 characters.
    value: String,
}

/// The fields of the viewer's profile to change. Omitted fields stay as they are.
#[derive(InputObject)]
struct UpdateProfileInput {
    /// The name to show: 1 to 60 characters, at least one of them visible. Line breaks, control characters, invisible
    /// characters and marks that change the writing direction are refused. Cannot be null.
    name: MaybeUndefined<String>,
    /// A few words, at most 500 characters; null for none.
    bio: MaybeUndefined<String>,
    /// A link to a picture; starts with https:// or http://. Null for none.
    avatar_url: MaybeUndefined<String>,
    /// All custom attributes, at most 16. They replace the present ones. Null or empty for none.
    attributes: MaybeUndefined<Vec<AttributeInput>>,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The viewer's new handle.
#[derive(InputObject)]
struct ChangeHandleInput {
    /// The unique name: 2 to 30 of the characters a to z, 0 to 9 and _. Upper case is lowered.
    handle: String,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

changed_user! {
    UpdateProfilePayload, "The viewer with the new profile; or why it has not changed.", "The viewer. Null if refused.";
    ChangeHandlePayload, "The viewer with the new handle; or why it has not changed.", "The viewer. Null if refused.";
}

/// The part of the root about profiles.
#[derive(Default)]
pub struct ProfileMutation;

#[Object]
impl ProfileMutation {
    /// Changes the given fields of the viewer's profile: all of them, or none.
    async fn update_profile(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The fields to change.")] input: UpdateProfileInput,
    ) -> Answer<UpdateProfilePayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?.id;
            let UpdateProfileInput { name, bio, avatar_url, attributes, client_mutation_id } = input;
            let change = changes((&name, &bio, &avatar_url), &attributes);
            let refusal = match hydration.use_cases().profiles.edit(viewer, change).await? {
                EditOutcome::Edited => None,
                EditOutcome::Invalid(InvalidChange::Profile(fault)) => Some(fault.into()),
                EditOutcome::Invalid(InvalidChange::Attributes(fault)) => Some(fault.into()),
                EditOutcome::UnknownUser => return Err(Failure::SignInEnded),
            };
            let (user, user_errors) = viewer_after(ctx, &hydration, refusal).await?;
            Ok(Some(UpdateProfilePayload { user, user_errors, client_mutation_id }))
        })
        .await
    }

    /// Changes the viewer's handle. The old one is free for anybody at once.
    async fn change_handle(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new handle.")] input: ChangeHandleInput,
    ) -> Answer<ChangeHandlePayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let viewer = hydration.viewer()?.id;
            let refusal = match hydration.use_cases().profiles.rename(viewer, &input.handle).await? {
                RenameOutcome::Renamed => None,
                RenameOutcome::Invalid(fault) => Some(fault.into()),
                RenameOutcome::Taken => {
                    let message = "this handle is taken: choose another";
                    Some(UserError::about(&["handle"], UserErrorCode::Taken, message))
                }
                RenameOutcome::UnknownUser => return Err(Failure::SignInEnded),
            };
            let (user, user_errors) = viewer_after(ctx, &hydration, refusal).await?;
            Ok(Some(ChangeHandlePayload { user, user_errors, client_mutation_id: input.client_mutation_id }))
        })
        .await
    }
}

/// The viewer after the change, unless it was refused.
async fn viewer_after(
    ctx: &Context<'_>,
    hydration: &Arc<Hydration>,
    refusal: Option<UserError>,
) -> Result<(Option<User>, Vec<UserError>), Failure> {
    let viewer = hydration.viewer()?.id;
    let mut user = None;
    if refusal.is_none() {
        hydration.prime_users(&[viewer], user_parts(&ctx.look_ahead().field("user"))).await;
        user = hydration.profile(viewer).await?.map(|profile| User::new(profile, Arc::clone(hydration)));
    }
    Ok((user, refusal.into_iter().collect()))
}

/// A text that may be left out.
type Given = MaybeUndefined<String>;

/// Null means an empty text, no picture or no attributes. Omitted fields stay as they are.
pub fn changes(
    (name, bio, avatar_url): (&Given, &Given, &Given),
    attributes: &MaybeUndefined<Vec<AttributeInput>>,
) -> ProfileChange {
    let text = |given: &Given| given.as_opt_ref().map(|text| text.cloned().unwrap_or_default());
    let pairs = |all: &Vec<AttributeInput>| all.iter().map(|it| (it.key.clone(), it.value.clone())).collect();
    let attributes = attributes.as_opt_ref().map(|all| all.map(pairs).unwrap_or_default());
    let avatar_url = avatar_url.as_opt_ref().map(Option::<&String>::cloned);
    ProfileChange { name: text(name), bio: text(bio), avatar_url, attributes }
}

impl From<InvalidAttributes> for UserError {
    fn from(fault: InvalidAttributes) -> Self {
        let message = fault.to_string();
        let about = |index: usize, field, code| Self::about(&["attributes", &index.to_string(), field], code, &message);
        match fault {
            InvalidAttributes::TooMany => Self::about(&["attributes"], UserErrorCode::TooLong, &message),
            InvalidAttributes::Key(index) | InvalidAttributes::Twice(index) => {
                about(index, "key", UserErrorCode::Invalid)
            }
            InvalidAttributes::KeyTooLong(index) => about(index, "key", UserErrorCode::TooLong),
            InvalidAttributes::Value(index) => about(index, "value", UserErrorCode::Invalid),
            InvalidAttributes::ValueTooLong(index) => about(index, "value", UserErrorCode::TooLong),
        }
    }
}
