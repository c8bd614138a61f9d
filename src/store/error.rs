//! Why a store could not do what it was asked: one error for all ports, told by what the caller can do about it.

/// A store's failure. Expected outcomes (a taken handle, a missing content) are values, never this.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The server cannot be reached, timed out, or broke off. Trying again later may help; whether the work was done is
    /// unknown.
    #[error("the store cannot be reached")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A deadlock or lock wait time-out; nothing was done. Adapters try a few times before they say so.
    #[error("the store is contended")]
    Contended(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store holds something that this version does not understand.
    #[error("the store holds an unreadable value: {0}")]
    Unreadable(String),
    /// The store refused the request: a defect here, or a schema that has not been migrated.
    #[error("the store refused a request")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Whether the same request may succeed later without anybody's help.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Contended(_))
    }
}
