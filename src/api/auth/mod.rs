//! Who is asking: accounts with passwords, sessions and their tokens, and the tokens of outside issuers.
//!
//! Apart from the transports, which carry tokens, and from the schema, which asks for a viewer. It refuses to know both.

mod accounts;
mod digest;
pub mod issuer;
mod liveness;
mod network;
mod passwords;
mod refresh;
mod registrations;
mod sessions;
mod tokens;

use std::net::IpAddr;

use crate::domain::{SessionId, UserId};

pub use accounts::{
    AccountError, AccountStores, AccountsService, NewUser, PasswordOutcome, RegisterOutcome, SignInOutcome,
};
pub use liveness::Liveness;
pub use passwords::{PasswordError, PasswordSettings, Passwords};
pub use registrations::Registrations;
pub use sessions::{RefreshOutcome, SessionSettings, SessionsService, SignedIn};
pub use tokens::{Token, TokenError, TokenKey, Tokens, WeakSecret};

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
