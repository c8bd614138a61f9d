//! Conditions on exclusions and accounts that decide who sees whom.

use sql_driver::{Fragment, Tx, Value};

use super::existing_accounts::author_remains;
use crate::{
    domain::{UserId, timeline::exclusion::ExclusionKind},
    store::{StoreError, relations::Pair},
};

/// Whether one of the two has blocked the other. Both are locked (see [`super::follows::lock_counts`]), or the result
/// may be outdated.
pub(super) async fn is_blocked(tx: &Tx, pair: Pair) -> Result<bool, StoreError> {
    let blocked = not_blocked(Some(pair.follower), "u.user_id");
    let sql = format!("SELECT 1 FROM user_counts u WHERE u.user_id = ?{}", blocked.text);
    let author = Value::from(pair.author.get());
    Ok(tx.query_one(&sql, std::iter::once(author).chain(blocked.values)).await?.is_none())
}

/// ` AND ..`: `viewer` has no exclusion, of any cause, for the user with the id in the column `author`. As
/// [`not_blocked`].
pub(super) fn not_excluded(viewer: Option<UserId>, author: &str) -> Fragment {
    let exists = Fragment::new(author_remains(author), []);
    let Some(viewer) = viewer else { return exists };
    let text = format!(
        " AND (SELECT x.cause FROM exclusions x WHERE x.reader_id = ? AND x.author_id = {author} LIMIT 1) IS NULL"
    );
    exists.add(&text, [viewer.get()])
}

/// ` AND ..`: the user with the id in the column `author` has an account, and neither they nor `viewer` have blocked
/// the other. The anonymous have no blocks. Costs one probe of a key for each row, as in timelines.
pub(super) fn not_blocked(viewer: Option<UserId>, author: &str) -> Fragment {
    let exists = Fragment::new(author_remains(author), []);
    let Some(viewer) = viewer else { return exists };
    let text = format!(
        " AND (SELECT b.cause FROM exclusions b WHERE b.reader_id = ? AND b.author_id = {author} \
         AND b.cause IN ({by_reader}, {by_author}) LIMIT 1) IS NULL",
        by_reader = ExclusionKind::BlockedByReader.code(),
        by_author = ExclusionKind::BlockedByAuthor.code(),
    );
    exists.add(&text, [viewer.get()])
}
