//! Errors of stores, sorted by what the caller can do about them. All ports and drivers share the type.

pub mod causes;

/// An error of a store. Expected outcomes, such as a taken handle, are values instead.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The server cannot be reached, timed out, or closed the connection. A retry may help; the work may have been
    /// done.
    #[error("{} cannot be reached", server_name(.0.as_ref()))]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store answers but has no room or is read-only. Reads continue. A retry may help; the work may have been
    /// done.
    #[error("{} takes no writes", server_name(.0.as_ref()))]
    TakesNoWrites(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A deadlock or lock time-out; nothing was done. Adapters retry a few times before they return it.
    #[error("the store is contended")]
    Contended(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store holds a value that this version cannot read.
    #[error("the store holds an unreadable value: {0}")]
    Unreadable(String),
    /// The store refused the request: a defect here, or outdated tables.
    #[error("{} refused a request", server_name(.0.as_ref()))]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// An error of Redis. Messages name it, because "the store" means the SQL store.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OfRedis(pub Box<dyn std::error::Error + Send + Sync>);

/// As [`OfRedis`], of Cassandra.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OfCassandra(pub Box<dyn std::error::Error + Send + Sync>);

/// As [`OfRedis`], of the store of inboxes outside SQL, whichever it is.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct OfInboxes(pub Box<dyn std::error::Error + Send + Sync>);

fn server_name(source: &(dyn std::error::Error + Send + Sync + 'static)) -> &'static str {
    if source.is::<OfRedis>() {
        "Redis"
    } else if source.is::<OfCassandra>() {
        "Cassandra"
    } else if source.is::<OfInboxes>() {
        "the store of inboxes"
    } else {
        "the store"
    }
}

impl StoreError {
    /// As [`causes::with_causes`].
    pub fn with_causes(&self) -> String {
        causes::with_causes(self)
    }

    /// Whether the same request may succeed later without intervention.
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
