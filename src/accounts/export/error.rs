//! Why a link to a copy of an account does not open.

use crate::{accounts::tokens::TokenError, store::StoreError};

/// Why a link leads to no file, or a file breaks off.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The token is not one of a link, or it has expired.
    #[error("the link's token is not valid")]
    Token(#[from] TokenError),
    /// The session that has asked for the link has ended.
    #[error("the session has ended")]
    SessionEnded,
    /// The account is deleted.
    #[error("there is no such account")]
    NoAccount,
    /// The viewer's earlier copy is still being written.
    #[error("a copy is already being sent to the viewer")]
    ViewerBusy,
    /// The node writes as many copies as it may.
    #[error("this node is already writing as many copies as it may")]
    NodeBusy,
    /// The store failed.
    #[error("the account could not be read")]
    Store(#[from] StoreError),
}
