//! Why the link to an export does not open.

use std::time::Duration;

use crate::{accounts::tokens::TokenError, store::StoreError};

/// Why an export could not be opened, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The token is not an export link's, or has expired.
    #[error("the link's token is not valid")]
    Token(#[from] TokenError),
    /// The session that requested the link has ended.
    #[error("the session has ended")]
    SessionEnded,
    /// The account is deleted.
    #[error("there is no such account")]
    NoAccount,
    /// An earlier export of the viewer is still running.
    #[error("a copy is already being sent to the viewer")]
    ViewerBusy,
    /// The viewer has too few points. There are enough after this time.
    #[error("the viewer has too few points")]
    TooManyPoints(Duration),
    /// The node runs as many exports as it may, in all or for the client's network.
    #[error("this node is already writing as many exports as it may")]
    NodeBusy,
    /// The store failed.
    #[error("the account could not be read")]
    Store(#[from] StoreError),
}
