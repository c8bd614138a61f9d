//! A session as its user sees it, without its tokens.

use async_graphql::{ID, Object, SimpleObject};
use graphql_transport::metered::Metered;

use crate::{
    api::graphql::{ids, scalars::Timestamp},
    domain::{SessionId, account::session::Session as Kept},
};

/// A custom attribute of a profile.
#[derive(SimpleObject)]
pub struct ProfileAttribute {
    /// The key: a to z, 0 to 9, _ and .
    pub key: Metered<String>,
    /// The value.
    pub value: Metered<String>,
}

/// A sign-in that lasts.
pub struct Session {
    session: Kept,
    current: bool,
}

impl Session {
    /// `viewing`: the session of the request.
    pub fn new(session: Kept, viewing: Option<SessionId>) -> Self {
        let current = viewing == Some(session.id);
        Self { session, current }
    }
}

/// A session of the viewer: a sign-in that lasts. Only its user can see it.
#[Object]
impl Session {
    /// Opaque; begins with S_. For `endSession`.
    pub async fn id(&self) -> Metered<ID> {
        Metered(ids::of_session(self.session.id))
    }

    /// When the user signed in.
    async fn created_at(&self) -> Metered<Timestamp> {
        Metered(Timestamp(self.session.created_at))
    }

    /// When its tokens were last issued.
    async fn last_used_at(&self) -> Metered<Timestamp> {
        Metered(Timestamp(self.session.rotated_at))
    }

    /// When it ends unless refreshed.
    async fn expires_at(&self) -> Metered<Timestamp> {
        Metered(Timestamp(self.session.good_until))
    }

    /// The client's name at sign-in, shortened; may be empty.
    async fn user_agent(&self) -> Metered<&str> {
        Metered(&self.session.agent)
    }

    /// Whether the request's token belongs to it.
    async fn is_current(&self) -> Metered<bool> {
        Metered(self.current)
    }
}
