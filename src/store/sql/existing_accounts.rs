//! Conditions for users whose accounts have not been deleted, and who are not deactivated.

/// ` AND ..`: the account of the user whose id is in this column, or parameter, has not been deleted. A probe of the
/// key for each row, as with exclusions.
pub(super) fn account_exists(user: &str) -> String {
    format!(" AND (SELECT g.user_id FROM account_deletions g WHERE g.user_id = {user} LIMIT 1) IS NULL")
}

/// ` AND ..`: the user whose id is in this column is not deactivated.
pub(super) fn not_deactivated(user: &str) -> String {
    format!(" AND (SELECT d.user_id FROM deactivations d WHERE d.user_id = {user} LIMIT 1) IS NULL")
}

/// ` AND ..`: as [`account_exists`], for the user who publishes, follows or reacts in the rows that are read. A
/// cleared account has no such rows, so most statements need one look only: it shows that no account is being cleared.
pub(super) fn author_remains(author: &str) -> String {
    let probe = account_exists(author);
    format!(
        " AND ((SELECT p.user_id FROM account_deletions p WHERE p.look_at IS NOT NULL LIMIT 1) IS NULL OR {})",
        probe.trim_start_matches(" AND ")
    )
}
