//! Conditions on exclusions and accounts that decide who sees whom.

use sql_driver::{Dialect, Fragment, Value};

use super::existing_accounts::author_remains;
use crate::{
    domain::{UserId, timeline::exclusion::ExclusionKind},
    store::relations::Pair,
};

/// Whether one of the two has blocked the other: a row with 0 or 1, or none if the author has no account. The
/// follower's counts are locked (see [`super::follows::lock_counts`]), or the result may be outdated.
pub(super) fn is_blocked(dialect: Dialect, pair: Pair) -> Fragment {
    let Fragment { text, values } = not_blocked(dialect, Some(pair.follower), "u.user_id");
    let text = format!("SELECT CASE WHEN 1 = 1{text} THEN 0 ELSE 1 END FROM user_counts u WHERE u.user_id = ?");
    Fragment::with(text, values.into_iter().chain([Value::from(pair.author.get())]))
}

/// ` AND ..`: `viewer` has no exclusion, of any cause, for the user with the id in the column `author`. As
/// [`not_blocked`].
pub(super) fn not_excluded(dialect: Dialect, viewer: Option<UserId>, author: &str) -> Fragment {
    let exists = Fragment::new(author_remains(dialect, author), []);
    let Some(viewer) = viewer else { return exists };
    let excluded = format!("exclusions x WHERE x.reader_id = ? AND x.author_id = {author}");
    exists.add(&format!(" AND {}", dialect.no_row("x.cause", &excluded)), [viewer.get()])
}

/// ` AND ..`: the user with the id in the column `author` has an account, and neither they nor `viewer` have blocked
/// the other. The anonymous have no blocks. Costs one probe of a key for each row, as in timelines.
pub(super) fn not_blocked(dialect: Dialect, viewer: Option<UserId>, author: &str) -> Fragment {
    let exists = Fragment::new(author_remains(dialect, author), []);
    let Some(viewer) = viewer else { return exists };
    let blocked = format!(
        "exclusions b WHERE b.reader_id = ? AND b.author_id = {author} AND b.cause IN ({by_reader}, {by_author})",
        by_reader = ExclusionKind::BlockedByReader.code(),
        by_author = ExclusionKind::BlockedByAuthor.code(),
    );
    exists.add(&format!(" AND {}", dialect.no_row("b.cause", &blocked)), [viewer.get()])
}
