//! Maps errors of Cassandra to `StoreError`.

use std::time::Duration;

use scylla::errors::{DbError, ExecutionError, NewSessionError, PrepareError, RequestAttemptError};

use crate::store::{StoreError, error::OfCassandra};

/// The last attempt to connect failed a moment ago.
#[derive(Debug, thiserror::Error)]
#[error("no connection to Cassandra a moment ago")]
pub struct AwayRecently;

/// No session within the time that connecting may take.
#[derive(Debug, thiserror::Error)]
#[error("no connection to Cassandra within {0} ms")]
struct TimedOut(u128);

/// Other processes changed the same header again and again.
#[derive(Debug, thiserror::Error)]
#[error("the header of an inbox was changed by others each time")]
struct Overtaken;

/// Outages, time-outs and missing replicas are [`StoreError::Unavailable`]; what Cassandra will refuse again is
/// [`StoreError::Refused`].
pub fn store_error(error: ExecutionError) -> StoreError {
    let is_refused = match &error {
        ExecutionError::BadQuery(_) => true,
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => is_refusal(error),
        _ => false,
    };
    if is_refused { StoreError::Refused(of_cassandra(error)) } else { StoreError::Unavailable(of_cassandra(error)) }
}

const fn is_refusal(error: &DbError) -> bool {
    matches!(
        error,
        DbError::SyntaxError
            | DbError::Invalid
            | DbError::AlreadyExists { .. }
            | DbError::FunctionFailure { .. }
            | DbError::Unauthorized
            | DbError::ConfigError
            | DbError::ProtocolError
    )
}

/// No session: another try may help.
pub fn no_session(error: NewSessionError) -> StoreError {
    StoreError::Unavailable(of_cassandra(error))
}

/// A statement could not be prepared: no node, or no such table yet.
pub fn not_prepared(error: PrepareError) -> StoreError {
    StoreError::Unavailable(of_cassandra(error))
}

/// No session within `limit`.
pub fn late(limit: Duration) -> StoreError {
    StoreError::Unavailable(of_cassandra(TimedOut(limit.as_millis())))
}

/// Nobody waits for a server that did not answer a moment ago.
pub fn away_recently() -> StoreError {
    StoreError::Unavailable(of_cassandra(AwayRecently))
}

/// Nothing was claimed.
pub fn overtaken() -> StoreError {
    StoreError::Contended(of_cassandra(Overtaken))
}

/// An answer of another shape.
pub fn unreadable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unreadable(format!("an answer of Cassandra: {error}"))
}

fn of_cassandra(error: impl std::error::Error + Send + Sync + 'static) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(OfCassandra(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cassandra_refuses_again_is_refused() {
        let of = |error| store_error(RequestAttemptError::DbError(error, String::new()).into());
        assert!(matches!(of(DbError::Unauthorized), StoreError::Refused(_)));
        assert!(matches!(of(DbError::Overloaded), StoreError::Unavailable(_)));
        assert!(matches!(of(DbError::IsBootstrapping), StoreError::Unavailable(_)));
        let late = store_error(ExecutionError::RequestTimeout(Duration::from_millis(5)));
        assert!(late.with_causes().starts_with("Cassandra cannot be reached"), "{}", late.with_causes());
    }
}
