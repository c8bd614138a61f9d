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
    /// The error with all its causes in one line, for operators; a cause that only repeats what was said is left out.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let words = error.to_string();
            if !text.ends_with(&words) {
                text = format!("{text}: {words}");
            }
            cause = error.source();
        }
        text
    }

    /// Whether the same request may succeed later without anybody's help.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Contended(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_causes_once() {
        let error = StoreError::Refused("no such table: inboxes".into());
        assert_eq!(error.with_causes(), "the store refused a request: no such table: inboxes");
        assert_eq!(StoreError::Unreadable("x".into()).with_causes(), "the store holds an unreadable value: x");
    }
}
