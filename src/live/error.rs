//! Why a subscription cannot begin or go on.

use std::sync::Arc;

use crate::store::StoreError;

/// Why a subscription cannot begin or go on.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LiveError {
    /// The viewer has as many subscriptions on this node as they may.
    #[error("this viewer has {0} subscriptions here already, as many as one may have: end one first")]
    TooMany(usize),
    /// Clients of this network have as many watches without a viewer on this node as they may.
    #[error(
        "this address has {0} subscriptions without a viewer here already, as many as one may have: sign in, or end one first"
    )]
    TooManyOfAddress(usize),
    /// This node keeps as much for watches without a viewer as it may, or leaves too little of that for others.
    #[error("too much is watched here without a viewer: sign in, or try again later")]
    NoRoom,
    /// The store failed. It is logged: all subscriptions that share a read have the same error.
    #[error("the store failed")]
    Store(#[source] Arc<StoreError>),
    /// A read was given up by all who had asked for it.
    #[error("the read was given up")]
    Abandoned,
}

impl LiveError {
    /// Logs the error, once for all who get it.
    pub fn logged(error: StoreError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "What live subscriptions show could not be read.");
        Self::Store(Arc::new(error))
    }
}
