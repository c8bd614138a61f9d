//! The viewer of a request, and the address and agent it comes from.

use std::net::IpAddr;

use crate::domain::{SessionId, UserId};

/// The authenticated reader of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// Who.
    pub id: UserId,
    /// The session of the token; `None` for tokens from an outside issuer or the operator.
    pub session: Option<SessionId>,
    /// The end of the token's validity with leeway, in ms UTC.
    pub good_until_ms: i64,
}

/// The origin of a request, as far as the transport knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The client's address.
    pub address: Option<IpAddr>,
    /// The client's `User-Agent`, unchecked.
    pub agent: String,
}
