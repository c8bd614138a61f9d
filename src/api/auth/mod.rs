//! Who is asking: accounts with passwords, and the tokens that they are exchanged for.
//!
//! Apart from the transports, which carry tokens, and from the schema, which asks for a viewer. It refuses to know both.

mod accounts;
mod passwords;
mod tokens;

use crate::domain::UserId;

pub use accounts::{AccountError, AccountsService, NewUser, RegisterOutcome, SignInOutcome, SignedIn};
pub use passwords::{PasswordError, PasswordSettings, Passwords};
pub use tokens::{Token, TokenError, TokenKey, Tokens, WeakSecret};

/// The authenticated reader of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// Who.
    pub id: UserId,
    /// Until when the token is taken for good, leeway included; milliseconds UTC.
    pub good_until_ms: i64,
}
