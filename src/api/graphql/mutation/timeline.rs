//! What readers say about their own timeline.

use std::sync::Arc;

use async_graphql::{Context, InputObject, Object, SimpleObject};

use super::{payload::answer, user_error::UserError};
use crate::{
    api::graphql::{
        objects::User,
        scope::{Answer, fresh_hydration},
    },
    domain::timeline::{cursor, page::InvalidPage},
};

/// The position up to which the viewer has read.
#[derive(InputObject)]
struct MarkTimelineReadInput {
    /// The cursor of the newest entry that they have seen.
    up_to: String,
    /// Returned unchanged in the payload.
    client_mutation_id: Option<String>,
}

/// The viewer's read marker.
#[derive(SimpleObject)]
struct MarkTimelineReadPayload {
    /// The cursor as passed; a newer one if another device has read further; or the newest entry of the timeline if
    /// the cursor lies above it. Null if the timeline is empty and was never marked.
    read_marker: Option<String>,
    /// The viewer, whose `timelineReadMarker` has moved.
    viewer: Option<User>,
    /// Why the mutation was refused; empty if it was not.
    user_errors: Vec<UserError>,
    /// The input's `clientMutationId`.
    client_mutation_id: Option<String>,
}

payloads!(MarkTimelineReadPayload);

/// The part of the root about the viewer's timeline.
#[derive(Default)]
pub struct TimelineMutation;

#[Object]
impl TimelineMutation {
    /// Moves the viewer's read marker forwards, never back, and not above the newest entry of their timeline. `newFeed`
    /// informs their other devices.
    async fn mark_timeline_read(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new read marker.")] input: MarkTimelineReadInput,
    ) -> Answer<MarkTimelineReadPayload> {
        answer(ctx, async {
            let hydration = fresh_hydration(ctx)?;
            let reader = hydration.viewer()?.id;
            let MarkTimelineReadInput { up_to, client_mutation_id } = input;
            let position = cursor::decode(&up_to).map_err(InvalidPage::UpTo)?;
            let marker = hydration.use_cases().read_marker.advance(reader, position).await?;
            let profile =
                if ctx.look_ahead().field("viewer").exists() { hydration.profile(reader).await? } else { None };
            Ok(Some(MarkTimelineReadPayload {
                read_marker: marker.map(cursor::encode),
                viewer: profile.map(|profile| User::new(profile, Arc::clone(&hydration))),
                user_errors: Vec::new(),
                client_mutation_id,
            }))
        })
        .await
    }
}
