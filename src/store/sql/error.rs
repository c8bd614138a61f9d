//! From a driver's error to what the caller can do about it. Decided by the engines' numbers, never by their words.

use sea_orm::{DbErr, RuntimeErr, SqlErr, sqlx};

use crate::store::StoreError;

/// MySQL and MariaDB: 1205 a lock wait that took too long, 1213 a deadlock.
const MYSQL_CONTENDED: [u16; 2] = [1205, 1213];
/// The server is full (1040, 1203), stops (1053), lost the connection (1152 to 1161, 1184, 1927, 2006, 2013), takes no writes (1290, 1836), or ended a statement that ran
/// too long (1317, 1969, 3024).
const MYSQL_UNAVAILABLE: [u16; 22] = [
    1040, 1053, 1152, 1153, 1154, 1155, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1203, 1290, 1317, 1836, 1927, 1969,
    2006, 2013, 3024,
];
/// Busy, locked: another process writes.
const SQLITE_CONTENDED: [i32; 2] = [5, 6];
/// Read-only, interrupted, an I/O error, a full disk, a file that cannot be opened.
const SQLITE_UNAVAILABLE: [i32; 5] = [8, 9, 10, 13, 14];

/// The driver's error as the port's.
pub(super) fn store_error(error: DbErr) -> StoreError {
    match &error {
        DbErr::ConnectionAcquire(_) | DbErr::Conn(_) => StoreError::Unavailable(Box::new(error)),
        DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause)) => match class(cause) {
            Class::Contended => StoreError::Contended(Box::new(error)),
            Class::Unavailable => StoreError::Unavailable(Box::new(error)),
            Class::Refused => StoreError::Refused(Box::new(error)),
        },
        DbErr::Type(what) => StoreError::Unreadable(what.clone()),
        _ => StoreError::Refused(Box::new(error)),
    }
}

/// As [`store_error`], before sea-orm has seen it.
pub(super) fn connect_error(error: sqlx::Error) -> StoreError {
    match class(&error) {
        Class::Refused => StoreError::Refused(Box::new(error)),
        Class::Contended | Class::Unavailable => StoreError::Unavailable(Box::new(error)),
    }
}

/// Whether a row was refused because its key, or another unique value of it, is there.
pub(super) fn is_unique_violation(error: &DbErr) -> bool {
    matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Contended,
    Unavailable,
    Refused,
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

fn database_class(error: &dyn sqlx::error::DatabaseError) -> Class {
    if let Some(mysql) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return mysql_class(mysql.number());
    }
    error.code().and_then(|code| code.parse().ok()).map_or(Class::Refused, sqlite_class)
}

fn mysql_class(number: u16) -> Class {
    if MYSQL_CONTENDED.contains(&number) {
        Class::Contended
    } else if MYSQL_UNAVAILABLE.contains(&number) {
        Class::Unavailable
    } else {
        Class::Refused
    }
}

/// The low byte of an extended code is the primary one.
fn sqlite_class(code: i32) -> Class {
    if SQLITE_CONTENDED.contains(&(code & 0xff)) {
        Class::Contended
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
    }

    #[test]
    fn an_extended_code_is_read_by_its_primary_one() {
        assert_eq!(sqlite_class(517), Class::Contended, "5 + 2 * 256: busy, snapshot");
        assert_eq!(sqlite_class(1034), Class::Unavailable, "10 + 4 * 256: I/O error, fsync");
        assert_eq!(sqlite_class(1555), Class::Refused, "19 + 6 * 256: constraint, primary key");
    }

    #[test]
    fn waiting_for_a_connection_in_vain_is_transient() {
        let error = store_error(DbErr::ConnectionAcquire(sea_orm::ConnAcquireErr::Timeout));
        assert!(error.is_transient());
        assert_eq!(error.to_string(), "the store cannot be reached");
    }
}
