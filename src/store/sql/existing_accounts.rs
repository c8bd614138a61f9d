//! Conditions for users whose accounts have not been deleted, and who are not deactivated.

use sql_driver::Dialect;

/// ` AND ..`: the account of the user whose id is in this column, or parameter, has not been deleted. A probe of the
/// key for each row, as with exclusions.
pub(super) fn account_exists(user: &str) -> String {
    format!(" AND (SELECT g.user_id FROM account_deletions g WHERE g.user_id = {user} LIMIT 1) IS NULL")
}

/// ` AND ..`: the user whose id is in this column is not deactivated.
pub(super) fn not_deactivated(dialect: Dialect, user: &str) -> String {
    format!(" AND {}", dialect.no_row("d.user_id", &format!("deactivations d WHERE d.user_id = {user}")))
}

/// ` AND ..`: as [`account_exists`], for the user who publishes, follows or reacts in the rows that are read. A
/// cleared account has no such rows, so most statements need one look only: it shows that no account is being cleared.
/// On TiDB one request looks for all rows at once.
pub(super) fn author_remains(dialect: Dialect, author: &str) -> String {
    let gone = format!("account_deletions g WHERE g.user_id = {author}");
    match dialect {
        Dialect::Sqlite | Dialect::Mysql => format!(
            " AND ((SELECT p.user_id FROM account_deletions p WHERE p.look_at IS NOT NULL LIMIT 1) IS NULL OR {})",
            dialect.no_row("g.user_id", &gone)
        ),
        Dialect::Tidb => format!(" AND {}", dialect.no_row("g.user_id", &gone)),
    }
}
