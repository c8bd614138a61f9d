//! The viewer of a request, and the address and agent it comes from.

use std::{net::IpAddr, sync::Arc};

use super::digest::DIGEST_BYTES;
use crate::{
    domain::{
        ServiceKeyId, SessionId, UserId,
        account::service::{Scope, Scopes},
    },
    store::service_keys::ServiceKey,
};

/// Whose key a service has issued a token with. The token ends with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuingKey {
    /// A key in the store.
    Stored(ServiceKeyId),
    /// The key of the configuration.
    Configured,
}

/// Stands for a subject of an external issuer: the bytes of its [`crate::store::identities::Identity::digest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubjectDigest(pub [u8; DIGEST_BYTES]);

/// The authenticated reader of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// Who.
    pub id: UserId,
    /// The session of the token; `None` for tokens from an external issuer, a service or the operator.
    pub session: Option<SessionId>,
    /// The key of the service that has issued the token.
    pub issued_by: Option<IssuingKey>,
    /// The end of the token's validity with leeway, in ms UTC.
    pub good_until_ms: i64,
    /// The scopes of the service that acts as them; `None` if they ask themselves.
    pub acted_by: Option<Scopes>,
}

impl Viewer {
    /// Who signs in with nothing but the user's own word, until then.
    pub const fn without_session(id: UserId, good_until_ms: i64) -> Self {
        Self { id, session: None, issued_by: None, good_until_ms, acted_by: None }
    }

    /// Whether who asks may read what only the viewer sees: a service needs a scope for that.
    pub fn may_read(&self) -> bool {
        self.acted_by.is_none_or(|scopes| scopes.contain(Scope::Read))
    }
}

/// Who asks.
#[derive(Debug, Clone)]
pub enum Principal {
    /// A user. Whom the token is about, if an external issuer's: it ends when that is not this user any more.
    Viewer(Viewer, Option<Arc<SubjectDigest>>),
    /// Another service with its key, perhaps as a user.
    Service(Arc<ServiceKey>, Option<Viewer>),
}

impl Principal {
    /// The viewer whose data it is about.
    pub const fn viewer(&self) -> Option<Viewer> {
        match self {
            Self::Viewer(viewer, _) => Some(*viewer),
            Self::Service(_, viewer) => *viewer,
        }
    }
}

/// Who has a share of what is bounded: who is signed in counts as such, whatever network they share with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    /// A viewer.
    Viewer(UserId),
    /// The network of a client without a viewer; `None` if it is unknown.
    Network(Option<IpAddr>),
}

/// The origin of a request, as far as the transport knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The viewer of the request.
    pub viewer: Option<UserId>,
    /// The client's network: its IPv4 address, or the first address of its IPv6 address's /64.
    pub network: Option<IpAddr>,
    /// The client's `User-Agent`, unchecked.
    pub agent: String,
}

impl Caller {
    /// Whose share the request takes.
    pub fn client(&self) -> Client {
        self.viewer.map_or(Client::Network(self.network), Client::Viewer)
    }

    /// The network in words that limits count by; all callers without an address share one.
    pub fn network_name(&self) -> String {
        self.network.map_or_else(|| "unknown".to_owned(), |network| network.to_string())
    }
}
