//! The mutations: a name that begins with a verb, one input, and a payload with the changed objects.
//!
//! Expected refusals are `userErrors` of the payload; faults of the client and of this server are top-level errors.

/// Payloads with the changed user alone: the name, what it is, and who the user is.
macro_rules! changed_user {
    ($($payload:ident, $about:literal, $user:literal;)+) => {$(
        #[doc = $about]
        #[derive(SimpleObject)]
        struct $payload {
            #[doc = $user]
            user: Option<User>,
            /// Why the mutation was refused; empty if it was not.
            user_errors: Vec<UserError>,
            /// The input's `clientMutationId`.
            client_mutation_id: Option<String>,
        }

        payloads!($payload);
    )+};
}

/// Types that say by `user_errors` why a mutation was refused.
macro_rules! payloads {
    ($($payload:ty),+) => {$(
        impl $crate::api::graphql::mutation::payload::Payload for $payload {
            fn user_errors(&self) -> &[$crate::api::graphql::mutation::user_error::UserError] {
                &self.user_errors
            }
        }
    )+};
}

mod account;
mod batch;
mod content;
mod deletion;
mod exclusion;
mod export;
mod follow;
mod payload;
mod profile;
mod reaction;
mod repost;
mod session;
mod signed_in;
mod standing;
mod timeline;
mod upsert;
mod user_error;

use async_graphql::MergedObject;

pub use self::{export::EXPORT_PATH, user_error::UserErrorCode};

/// The mutations that ask for a password or a refresh token. Their caller may have an expired access token, and send
/// it.
pub const WITHOUT_TOKEN: [&str; 3] = ["registerUser", "signIn", "refreshToken"];

/// Mutations that end sessions. They are cheap, and run however busy the server is.
pub const ALWAYS_ADMITTED: [&str; 3] = ["signOut", "signOutEverywhere", "endSession"];

/// All changes that a client can make. Several in one request run one after the other, in the order in which they are
/// written.
#[derive(MergedObject, Default)]
pub struct Mutation(
    account::AccountMutation,
    deletion::DeletionMutation,
    export::ExportMutation,
    session::SessionMutation,
    profile::ProfileMutation,
    content::ContentMutation,
    batch::BatchMutation,
    repost::RepostMutation,
    follow::FollowMutation,
    exclusion::ExclusionMutation,
    reaction::ReactionMutation,
    timeline::TimelineMutation,
    upsert::UpsertMutation,
    standing::StandingMutation,
);
