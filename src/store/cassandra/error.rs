//! Maps errors of Cassandra to `StoreError`.

use std::time::Duration;

use certificates::{CertificateFiles, CertificateRefusal, UnusableFile, refusal};
use scylla::errors::{
    BrokenConnectionErrorKind, ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError,
    ExecutionError, FrameHeaderParseError, MetadataError, NewSessionError, PrepareError, RequestAttemptError,
};

use super::options::CassandraOptions;
use crate::store::{StoreError, error::OfCassandra};

/// Nobody has connected yet, or nobody could.
#[derive(Debug, thiserror::Error)]
#[error("not connected yet")]
struct NotConnected;

/// The same request failed a moment ago, for this reason.
#[derive(Debug, thiserror::Error)]
#[error("the last try, a moment ago, failed: {0}")]
struct FailedRecently(String);

/// No session. The client library does not say with whom.
#[derive(Debug, thiserror::Error)]
#[error("no connection to {0}")]
struct NoSession(String, #[source] NewSessionError);

/// No session, because of a certificate.
#[derive(Debug, thiserror::Error)]
#[error("no connection over TLS to {0}")]
struct NotTrusted(String, #[source] CertificateRefusal);

/// With TLS 1.3 a server looks at a client's certificate after the handshake, and the client library drops its reason.
#[derive(Debug, thiserror::Error)]
#[error("{0} ended the connection over TLS: perhaps it wants another certificate from this node")]
struct EndedAtOnce(String, #[source] NewSessionError);

/// No session, because of a file.
#[derive(Debug, thiserror::Error)]
#[error("no connection over TLS to {0}")]
struct NoFiles(String, #[source] UnusableFile);

/// No session within the time that connecting may take.
#[derive(Debug, thiserror::Error)]
#[error("no connection to {0} within {1} ms")]
struct TimedOut(String, u128);

/// Other processes changed the same header again and again.
#[derive(Debug, thiserror::Error)]
#[error("other processes changed the header of an inbox at each try")]
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

/// No session with these nodes: another try may help.
pub fn no_session(options: &CassandraOptions, error: NewSessionError) -> StoreError {
    let nodes = options.contact_points.join(", ");
    let authorities = options.certificates.as_ref().map(CertificateFiles::authorities).unwrap_or_default();
    match io_error(&error).and_then(|error| refusal(error, &authorities)) {
        Some(refusal) => StoreError::Unavailable(of_cassandra(NotTrusted(nodes, refusal))),
        None if options.certificates.is_some() && ended_at_once(&error) => {
            StoreError::Unavailable(of_cassandra(EndedAtOnce(nodes, error)))
        }
        None => StoreError::Unavailable(of_cassandra(NoSession(nodes, error))),
    }
}

/// Files of certificates cannot be used: another try may help.
pub fn not_readable(contact_points: &[String], error: UnusableFile) -> StoreError {
    StoreError::Unavailable(of_cassandra(NoFiles(contact_points.join(", "), error)))
}

/// Whether the node has ended the connection before it answered anything.
fn ended_at_once(error: &NewSessionError) -> bool {
    let NewSessionError::MetadataError(MetadataError::ConnectionPoolError(error)) = error else { return false };
    let ConnectionPoolError::Broken { last_connection_error } = error else { return false };
    let ConnectionError::ConnectionSetupRequestError(failed) = last_connection_error else { return false };
    matches!(failed.error, ConnectionSetupRequestErrorKind::BrokenConnection(_))
}

/// What the last connection failed with. The client library does not count it among its sources.
fn io_error(error: &NewSessionError) -> Option<&std::io::Error> {
    let NewSessionError::MetadataError(MetadataError::ConnectionPoolError(error)) = error else { return None };
    let ConnectionPoolError::Broken { last_connection_error } = error else { return None };
    let broken = match last_connection_error {
        ConnectionError::IoError(error) => return Some(error),
        ConnectionError::BrokenConnection(broken) => broken,
        ConnectionError::ConnectionSetupRequestError(failed) => match &failed.error {
            ConnectionSetupRequestErrorKind::BrokenConnection(broken) => broken,
            _ => return None,
        },
        _ => return None,
    };
    match broken.downcast_ref::<BrokenConnectionErrorKind>()? {
        BrokenConnectionErrorKind::WriteError(error)
        | BrokenConnectionErrorKind::FrameHeaderParseError(FrameHeaderParseError::HeaderIoError(error)) => Some(error),
        _ => None,
    }
}

/// A statement could not be prepared: no node, or no such table yet.
pub fn not_prepared(error: PrepareError) -> StoreError {
    StoreError::Unavailable(of_cassandra(error))
}

/// No session with these nodes within `limit`.
pub fn late(contact_points: &[String], limit: Duration) -> StoreError {
    StoreError::Unavailable(of_cassandra(TimedOut(contact_points.join(", "), limit.as_millis())))
}

/// Nobody but the one who connects waits for that.
pub fn not_connected() -> StoreError {
    StoreError::Unavailable(of_cassandra(NotConnected))
}

/// Nobody waits for a server that did not answer a moment ago; `why` is what was said then.
pub fn failed_recently(why: String) -> StoreError {
    StoreError::Unavailable(of_cassandra(FailedRecently(why)))
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
