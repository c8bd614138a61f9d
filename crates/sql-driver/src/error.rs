//! Maps a driver's error to what the caller can do about it, by the engine's error number, never by its message.

use sea_orm::{
    DbErr, RuntimeErr,
    sqlx::{self, error::DatabaseError, mysql::MySqlDatabaseError},
};
use store_error::StoreError;
use tokio::task::JoinError;

/// MySQL and MariaDB: 1205 a lock wait that took too long, 1213 a deadlock. TiDB has numbers from 8000 on: a
/// transaction that others were faster than (8002, 8005, 8022, 8141, 8147, 9007), that met a change of a table (8028),
/// or whose snapshot is gone (9006).
const MYSQL_CONTENDED: [u16; 10] = [1205, 1213, 8002, 8005, 8022, 8028, 8141, 8147, 9006, 9007];
/// No number of its own. TiDB says it when a lock was waited for in vain, or when a part of the store is away.
const MYSQL_UNKNOWN: u16 = 1105;
/// The server is full (1040, 1203), is stopping (1053), or ended the connection (1080, 1152 to 1161, 1184, 1927, 2006,
/// 2013, 3169, 4031).
const MYSQL_CONNECTION_ENDED: [u16; 20] = [
    1040, 1053, 1080, 1152, 1153, 1154, 1155, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1203, 1927, 2006, 2013, 3169,
    4031,
];
/// TiDB: a node of the store is away, is busy, or has not answered; locks may have been lost meanwhile (8027, 8120,
/// 8229).
const TIDB_UNAVAILABLE: [u16; 10] = [8027, 8120, 8229, 9001, 9002, 9003, 9004, 9005, 9010, 9011];
/// The server ended a statement that ran too long.
const MYSQL_TOO_LONG: [u16; 3] = [1317, 1969, 3024];
/// The disk (1021, 3675) or the tablespace (1114) is full, a file cannot be written (3, 1026), the server (1290, 1836),
/// a table (1036) or the transaction (1792) is read-only, the user has no right to write (1044, 1142, 1143, 1227), the
/// binary log does not fit the isolation level (1665).
const MYSQL_TAKES_NO_WRITES: [u16; 14] =
    [3, 1021, 1026, 1036, 1044, 1114, 1142, 1143, 1227, 1290, 1665, 1792, 1836, 3675];
/// The server is read-only, as a primary becomes that has made room for another.
const MYSQL_READ_ONLY: [u16; 2] = [1290, 1836];
/// Busy, locked: another process writes.
const SQLITE_CONTENDED: [i32; 2] = [5, 6];
/// Interrupted, an I/O error, a file that cannot be opened.
const SQLITE_UNAVAILABLE: [i32; 3] = [9, 10, 14];
/// Read-only, a full disk.
const SQLITE_TAKES_NO_WRITES: [i32; 2] = [8, 13];
/// I/O errors, extended codes: a write, the fsync of a file or a folder, a truncation, or making the shared memory has
/// failed.
const SQLITE_WRITE_FAILED: [i32; 6] = [778, 1034, 1290, 1546, 4618, 4874];
/// Constraint violations, extended codes: a primary key, another unique index, a row id.
const SQLITE_NOT_UNIQUE: [i32; 3] = [1555, 2067, 2579];

/// Why a statement of the writer of a SQLite file, or the end of its transaction, failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriterError {
    /// SQLite has refused it.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// Nothing of the transaction is stored: SQLite has rolled it back by itself, or it has ended.
    #[error("the transaction was rolled back before this statement")]
    Undone,
}

/// A library's error, sorted.
pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    let class = class(&error);
    class.of(error)
}

/// As [`store_error`], for what comes through sea-orm.
pub fn migration_error(error: DbErr) -> StoreError {
    migration_class(&error).of(error)
}

fn migration_class(error: &DbErr) -> Class {
    match error {
        DbErr::ConnectionAcquire(_) | DbErr::Conn(_) => Class::Unavailable,
        DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause)) => class(cause),
        _ => Class::Refused,
    }
}

/// As [`store_error`], for a statement that reads. No room for a temporary table does not mean that the store takes no
/// writes.
pub(crate) fn read_error(error: sqlx::Error) -> StoreError {
    match store_error(error) {
        StoreError::TakesNoWrites(cause) => StoreError::Unavailable(cause),
        other => other,
    }
}

/// As [`store_error`], for a statement that commits by itself. After an error without a cause nobody knows whether it
/// was done.
pub(crate) fn committing_error(error: sqlx::Error) -> StoreError {
    class(&error).at_commit().of(error)
}

/// As [`store_error`], for a `COMMIT`. After any error except contention it is unknown whether the transaction was
/// committed.
pub(crate) fn commit_error(error: sqlx::Error) -> StoreError {
    in_doubt(committing_error(error))
}

/// As [`commit_error`], for what comes through sea-orm.
pub fn migration_commit_error(error: DbErr) -> StoreError {
    in_doubt(migration_class(&error).at_commit().of(error))
}

fn in_doubt(error: StoreError) -> StoreError {
    match error {
        StoreError::Refused(cause) => StoreError::Unavailable(cause),
        other => other,
    }
}

/// As [`store_error`], for an attempt to connect.
pub(crate) fn connect_error(error: sqlx::Error) -> StoreError {
    match class(&error) {
        Class::Refused => StoreError::Refused(Box::new(error)),
        _ => StoreError::Unavailable(Box::new(error)),
    }
}

/// As [`read_error`], for a reader of a SQLite file.
pub(crate) fn sqlite_error(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error().map_or(Class::Refused, |failure| sqlite_class(failure.extended_code)) {
        Class::Contended => StoreError::Contended(Box::new(error)),
        Class::Refused => StoreError::Refused(Box::new(error)),
        _ => StoreError::Unavailable(Box::new(error)),
    }
}

/// As [`store_error`], for a statement of the writer of a SQLite file.
pub(crate) fn writer_error(error: WriterError) -> StoreError {
    let WriterError::Sqlite(error) = error else { return StoreError::Contended(Box::new(error)) };
    match error.sqlite_error().map_or(Class::Refused, |failure| sqlite_class(failure.extended_code)) {
        Class::TakesNoWrites => StoreError::TakesNoWrites(Box::new(error)),
        _ => sqlite_error(error),
    }
}

/// As [`commit_error`], for the writer of a SQLite file.
pub(crate) fn writer_commit_error(error: WriterError) -> StoreError {
    in_doubt(writer_error(error))
}

/// As [`is_unique_violation`], for the writer of a SQLite file.
pub(crate) fn is_writers_unique_violation(error: &WriterError) -> bool {
    let WriterError::Sqlite(error) = error else { return false };
    error.sqlite_error().is_some_and(|failure| SQLITE_NOT_UNIQUE.contains(&failure.extended_code))
}

/// A thread for blocking work has panicked, or the runtime is stopping.
pub(crate) fn died(error: JoinError) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}

/// Whether a row was refused because its key, or another unique value of it, exists already.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(DatabaseError::is_unique_violation)
}

/// Whether a server has ended the connection with this error.
pub(crate) fn has_ended_connection(error: &dyn DatabaseError) -> bool {
    mysql_number(error).is_none_or(|number| MYSQL_CONNECTION_ENDED.contains(&number))
}

/// Whether a server takes no writes by anybody.
pub(crate) fn is_of_read_only_server(error: &dyn DatabaseError) -> bool {
    mysql_number(error).is_some_and(|number| MYSQL_READ_ONLY.contains(&number))
}

/// The number of an error of MySQL, MariaDB or TiDB.
fn mysql_number(error: &dyn DatabaseError) -> Option<u16> {
    error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Contended,
    /// The server names no cause. Within a transaction, which is not committed, it may pass like contention.
    Unexplained,
    Unavailable,
    TakesNoWrites,
    Refused,
}

impl Class {
    /// The class of this error at a commit, whose outcome is unknown if the server names no cause.
    const fn at_commit(self) -> Self {
        if matches!(self, Self::Unexplained) { Self::Unavailable } else { self }
    }

    fn of(self, error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
        match self {
            Self::Contended | Self::Unexplained => StoreError::Contended(Box::new(error)),
            Self::Unavailable => StoreError::Unavailable(Box::new(error)),
            Self::TakesNoWrites => StoreError::TakesNoWrites(Box::new(error)),
            Self::Refused => StoreError::Refused(Box::new(error)),
        }
    }
}

fn class(error: &sqlx::Error) -> Class {
    match error {
        sqlx::Error::Database(database) => database_class(database.as_ref()),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Class::Unavailable,
        _ => Class::Refused,
    }
}

fn database_class(error: &dyn DatabaseError) -> Class {
    if let Some(number) = mysql_number(error) {
        return mysql_class(number);
    }
    error.code().and_then(|code| code.parse().ok()).map_or(Class::Refused, sqlite_class)
}

fn mysql_class(number: u16) -> Class {
    if MYSQL_CONTENDED.contains(&number) {
        Class::Contended
    } else if number == MYSQL_UNKNOWN {
        Class::Unexplained
    } else if MYSQL_TAKES_NO_WRITES.contains(&number) {
        Class::TakesNoWrites
    } else if [&MYSQL_CONNECTION_ENDED[..], &MYSQL_TOO_LONG, &TIDB_UNAVAILABLE].iter().any(|of| of.contains(&number)) {
        Class::Unavailable
    } else {
        Class::Refused
    }
}

/// The low byte of an extended code is the primary one.
fn sqlite_class(code: i32) -> Class {
    if SQLITE_CONTENDED.contains(&(code & 0xff)) {
        Class::Contended
    } else if SQLITE_TAKES_NO_WRITES.contains(&(code & 0xff)) || SQLITE_WRITE_FAILED.contains(&code) {
        Class::TakesNoWrites
    } else if SQLITE_UNAVAILABLE.contains(&(code & 0xff)) {
        Class::Unavailable
    } else {
        Class::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadlock_is_contention_and_a_syntax_error_is_not() {
        assert_eq!(mysql_class(1213), Class::Contended);
        assert_eq!(mysql_class(1205), Class::Contended);
        assert_eq!(mysql_class(1064), Class::Refused);
        assert_eq!(mysql_class(1053), Class::Unavailable);
        assert_eq!(
            [8028, 9007, 9005, 1105].map(mysql_class),
            [Class::Contended, Class::Contended, Class::Unavailable, Class::Unexplained]
        );
        for refusal in [1114, 1142, 1665, 1792] {
            assert_eq!(mysql_class(refusal), Class::TakesNoWrites, "{refusal}");
        }
    }

    #[test]
    fn an_unexplained_error_at_a_commit_leaves_its_outcome_unknown() {
        assert_eq!(mysql_class(1105).at_commit(), Class::Unavailable);
        assert_eq!(mysql_class(9007).at_commit(), Class::Contended, "not committed");
    }

    #[test]
    fn an_extended_code_is_read_by_its_primary_one() {
        assert_eq!(sqlite_class(517), Class::Contended, "5 + 2 * 256: busy, snapshot");
        assert_eq!(sqlite_class(1034), Class::TakesNoWrites, "10 + 4 * 256: I/O error, fsync");
        assert_eq!(sqlite_class(266), Class::Unavailable, "10 + 256: I/O error, read");
        assert_eq!(sqlite_class(13), Class::TakesNoWrites);
        assert_eq!(sqlite_class(1555), Class::Refused, "19 + 6 * 256: constraint, primary key");
    }

    #[test]
    fn waiting_for_a_connection_in_vain_is_transient() {
        let error = store_error(sqlx::Error::PoolTimedOut);
        assert!(error.is_transient());
        assert_eq!(error.to_string(), "the store cannot be reached");
    }
}
