//! Maps errors of Redis to `StoreError`.

use std::time::Duration;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::store::{StoreError, error::OfRedis};

/// Codes of temporary refusals, beyond those that the library knows by kind.
const PASSING: [&str; 3] = ["BUSY", "NOREPLICAS", "UNBLOCKED"];
/// Codes of writes that are refused until there is room: memory is full, or a dump could not be written.
const NO_ROOM: [&str; 2] = ["OOM", "MISCONF"];

/// No answer within the time that a command may take.
#[derive(Debug, thiserror::Error)]
#[error("no answer from Redis within {0} ms")]
struct TimedOut(u128);

/// A node that only a master may stand for, during a fail-over or by a wrong address.
#[derive(Debug, thiserror::Error)]
#[error("the node that answered is no master")]
struct NoMaster;

/// A time too large for a score of a sorted set to differ from its neighbours.
#[derive(Debug, thiserror::Error)]
#[error("the publish time {0} has no exact score")]
struct NoScore(i64);

/// Outages and fail-overs are [`StoreError::Unavailable`], full memory and a full disk [`StoreError::TakesNoWrites`];
/// what Redis will refuse again is [`StoreError::Refused`]; an answer of another shape is [`StoreError::Unreadable`].
pub fn store_error(error: RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => StoreError::Unreadable(error.to_string()),
        ErrorKind::Server(kind) if !passes(kind) => StoreError::Refused(of_redis(error)),
        ErrorKind::Extension if error.code().is_some_and(|code| NO_ROOM.contains(&code)) => {
            StoreError::TakesNoWrites(of_redis(error))
        }
        ErrorKind::Extension if !error.code().is_some_and(|code| PASSING.contains(&code)) => {
            StoreError::Refused(of_redis(error))
        }
        _ => StoreError::Unavailable(of_redis(error)),
    }
}

/// No answer within `limit`.
pub fn late(limit: Duration) -> StoreError {
    StoreError::Unavailable(of_redis(TimedOut(limit.as_millis())))
}

/// The answer came from a replica.
pub fn no_master() -> StoreError {
    StoreError::Unavailable(of_redis(NoMaster))
}

/// A row of this publish time cannot be kept.
pub fn no_score(publish_time: i64) -> StoreError {
    StoreError::Refused(of_redis(NoScore(publish_time)))
}

fn of_redis(error: impl std::error::Error + Send + Sync + 'static) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(OfRedis(Box::new(error)))
}

const fn passes(kind: ServerErrorKind) -> bool {
    matches!(
        kind,
        ServerErrorKind::BusyLoading
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::TryAgain
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask
            | ServerErrorKind::ReadOnly
            | ServerErrorKind::NoScript
    )
}

/// Whether Redis says that the stream or its group of consumers is not there: it was restarted empty, or flushed.
pub fn is_group_missing(error: &RedisError) -> bool {
    matches!(error.code(), Some("NOGROUP" | "UNBLOCKED"))
}

#[cfg(test)]
mod tests {
    use redis::make_extension_error;

    use super::*;

    #[test]
    fn outages_are_transient_and_refusals_are_not() {
        let dropped = RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        let dropped = store_error(dropped);
        assert!(dropped.is_transient());
        assert_eq!(dropped.to_string(), "Redis cannot be reached");
        assert_eq!(
            late(Duration::from_secs(1)).with_causes(),
            "Redis cannot be reached: no answer from Redis within 1000 ms"
        );
        let known = |kind| RedisError::from((ErrorKind::Server(kind), "said by the server"));
        for code in NO_ROOM {
            let full = store_error(make_extension_error(code.to_owned(), None));
            assert!(matches!(full, StoreError::TakesNoWrites(_)) && full.is_transient(), "{full:?}");
        }
        assert!(store_error(known(ServerErrorKind::BusyLoading)).is_transient());
        assert!(!store_error(known(ServerErrorKind::NoPerm)).is_transient());
        assert!(!store_error(make_extension_error("WRONGTYPE".to_owned(), None)).is_transient());
    }
}
