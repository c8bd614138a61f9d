//! Why a link to a copy leads to none.

use crate::{accounts::tokens::TokenError, store::StoreError};

/// Why a link leads to no file, or a file breaks off.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The token is none of a link, or its time is over.
    #[error("the link's token is not taken")]
    Token(#[from] TokenError),
    /// The session that has asked for the link has ended.
    #[error("the session has ended")]
    SessionEnded,
    /// The account is deleted.
    #[error("there is no such account")]
    NoAccount,
    /// The viewer's earlier copy is still being written.
    #[error("the viewer is being sent a copy already")]
    ViewerBusy,
    /// The node writes as many copies as it may.
    #[error("this node writes too many copies")]
    NodeBusy,
    /// The store failed.
    #[error("the account could not be read")]
    Store(#[from] StoreError),
}
