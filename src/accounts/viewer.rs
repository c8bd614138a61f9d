//! Who is asking, and from where.

use std::net::IpAddr;

use crate::domain::{SessionId, UserId};

/// The authenticated reader of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// Who.
    pub id: UserId,
    /// The session that the token belongs to; `None` for tokens that somebody else has signed.
    pub session: Option<SessionId>,
    /// Until when the token is taken for good, leeway included; milliseconds UTC.
    pub good_until_ms: i64,
}

/// From where a request comes, as far as the transport can tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The client's address.
    pub address: Option<IpAddr>,
    /// What the client calls itself; anything.
    pub agent: String,
}
