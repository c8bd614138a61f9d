//! Errors of stores, sorted by what the caller can do about them. All ports share the type.

use crate::{domain::backoff, telemetry::causes};

/// The failure from which the wait after one that passes grows no longer: 16 s. A store that is back is to be used
/// soon, however long it was away.
const GROWS_UNTIL: u32 = 6;

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

    /// Milliseconds to wait after the `failures`-th failure of the same work, which was this one, with jitter by
    /// `random`: as [`backoff::wait_ms`], and up to 16 s if it is transient.
    pub fn wait_ms(&self, failures: u32, random: u32) -> i64 {
        let failures = if self.is_transient() { failures.min(GROWS_UNTIL) } else { failures };
        backoff::wait_ms(failures, random)
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
    fn what_passes_is_tried_again_within_seconds() {
        let (away, defect) = (StoreError::Unavailable("away".into()), StoreError::Refused("no such table".into()));
        assert_eq!([1, 2, 6, 7, 40].map(|failures| away.wait_ms(failures, 0)), [500, 1_000, 16_000, 16_000, 16_000]);
        assert_eq!([1, 6, 7, 40].map(|failures| defect.wait_ms(failures, 0)), [500, 16_000, 32_000, 300_000]);
    }

    #[test]
    fn an_error_names_its_causes_once() {
        let error = StoreError::Refused("no such table: inboxes".into());
        assert_eq!(error.with_causes(), "the store refused a request: no such table: inboxes");
        assert_eq!(StoreError::Unreadable("x".into()).with_causes(), "the store holds an unreadable value: x");
    }
}
