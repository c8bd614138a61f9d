//! Failures of a store, sorted by what the caller can do about them. All ports share the type.

use crate::telemetry::causes;

/// A store's failure. Expected outcomes (a taken handle, a missing content) are values, never this.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The server cannot be reached, timed out, or broke off. Trying again later may help; whether the work was done
    /// is unknown.
    #[error("{} cannot be reached", place(.0.as_ref()))]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store answers, but has no room or is read-only: reads go on. Trying again later may help; whether the work
    /// was done is unknown.
    #[error("{} takes no writes", place(.0.as_ref()))]
    TakesNoWrites(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A deadlock or lock wait time-out; nothing was done. Adapters try a few times before they say so.
    #[error("the store is contended")]
    Contended(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store holds something that this version does not understand.
    #[error("the store holds an unreadable value: {0}")]
    Unreadable(String),
    /// The store refused the request: a defect here, or a schema that has not been migrated.
    #[error("{} refused a request", place(.0.as_ref()))]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// An error of Redis: it is named where the failure is told, since "the store" is the SQL store.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OfRedis(pub Box<dyn std::error::Error + Send + Sync>);

fn place(source: &(dyn std::error::Error + Send + Sync + 'static)) -> &'static str {
    if source.is::<OfRedis>() { "Redis" } else { "the store" }
}

impl StoreError {
    /// As [`causes::with_causes`].
    pub fn with_causes(&self) -> String {
        causes::with_causes(self)
    }

    /// Whether the same request may succeed later without anybody's help.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::TakesNoWrites(_) | Self::Contended(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_redis_names_redis_and_not_the_store() {
        let of_redis = |words: &str| Box::new(OfRedis(words.into()));
        let away = StoreError::Unavailable(of_redis("broken pipe"));
        assert_eq!(away.with_causes(), "Redis cannot be reached: broken pipe");
        assert_eq!(StoreError::Refused(of_redis("WRONGTYPE")).with_causes(), "Redis refused a request: WRONGTYPE");
        assert_eq!(StoreError::Unavailable("no route".into()).with_causes(), "the store cannot be reached: no route");
    }

    #[test]
    fn an_error_names_its_causes_once() {
        let error = StoreError::Refused("no such table: inboxes".into());
        assert_eq!(error.with_causes(), "the store refused a request: no such table: inboxes");
        assert_eq!(StoreError::Unreadable("x".into()).with_causes(), "the store holds an unreadable value: x");
    }
}
