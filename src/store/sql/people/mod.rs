//! Finds and suggests people in SQL: a range of names, the follows of the followed, and the most followed.

pub(super) mod names;

use std::iter;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment, Value};

use super::{
    SqlStore,
    existing_accounts::not_deactivated,
    follows::lists::following,
    rows::{DomainColumns as _, Row},
    visibility::{not_blocked, not_excluded},
};
use crate::{
    domain::{
        Direction, UserId,
        limits::SUGGESTING_FOLLOWS,
        search::people::{FoundUser, KeyPrefix},
        timeline::exclusion::ExclusionKind,
    },
    store::{People, StoreError},
};

#[async_trait]
impl People for SqlStore {
    async fn named(
        &self,
        viewer: Option<UserId>,
        prefix: &KeyPrefix,
        after: Option<&FoundUser>,
        limit: usize,
    ) -> Result<Vec<FoundUser>, StoreError> {
        let Fragment { text, values } = named(self.dialect, viewer, prefix, after, limit);
        let found = |row: &Row| Ok(FoundUser { key: row.get(0)?, user: row.user(1)? });
        self.read_anywhere(&text, values).await?.iter().map(found).collect()
    }

    async fn is_current(&self) -> Result<bool, StoreError> {
        self.names_are_current().await
    }

    async fn index_next(&self) -> Result<bool, StoreError> {
        self.index_names().await
    }

    async fn suggested(&self, viewer: Option<UserId>, limit: usize) -> Result<Vec<UserId>, StoreError> {
        let mut suggested = match viewer {
            Some(viewer) => self.followed_by_followed(viewer, limit).await?,
            None => Vec::new(),
        };
        if suggested.len() < limit {
            let others = self.users(most_followed(self.dialect, viewer, limit)).await?;
            let others: Vec<UserId> = others.into_iter().filter(|other| !suggested.contains(other)).collect();
            suggested.extend(others);
            suggested.truncate(limit);
        }
        Ok(suggested)
    }
}

impl SqlStore {
    async fn followed_by_followed(&self, viewer: UserId, limit: usize) -> Result<Vec<UserId>, StoreError> {
        let followed = self.users(newest_follows(self.dialect, viewer, SUGGESTING_FOLLOWS)).await?;
        if followed.is_empty() {
            return Ok(Vec::new());
        }
        self.users(followed_by(self.dialect, viewer, &followed, limit)).await
    }

    /// The users whom a statement of one column returns.
    async fn users(&self, part: Fragment) -> Result<Vec<UserId>, StoreError> {
        self.read_anywhere(&part.text, part.values).await?.iter().map(|row| row.user(0)).collect()
    }
}

/// The statement of [`People::named`]: for each user the first row of the range. A user has at most ten rows, so a
/// page skips few.
pub(super) fn named(
    dialect: Dialect,
    viewer: Option<UserId>,
    prefix: &KeyPrefix,
    after: Option<&FoundUser>,
    limit: usize,
) -> Fragment {
    let (first, below) = (prefix.from(), prefix.below());
    let (from, beyond) = match after {
        Some(found) if found.key.as_str() >= first => (found.key.as_str(), found.user.get()),
        _ => (first, 0),
    };
    let earlier = format!(
        "user_names m{own} WHERE m.user_id = n.user_id AND m.folded >= ? AND m.folded < n.folded",
        own = dialect.in_order_of("user_names_of"),
    );
    let text = format!(
        "SELECT CAST(n.folded AS CHAR), n.user_id FROM user_names n{key} \
         WHERE n.folded >= ? AND n.folded < ? AND (n.folded > ? OR n.user_id > ?) AND {is_first}",
        key = dialect.force_index("PRIMARY"),
        is_first = dialect.no_row("m.user_id", &earlier),
    );
    let values: Vec<Value> = vec![from.into(), below.into(), from.into(), beyond.into(), first.into()];
    let rows = Fragment { text, values }.then(not_blocked(dialect, viewer, "n.user_id"));
    rows.add(" ORDER BY n.folded, n.user_id LIMIT ?", [number(limit)])
}

/// `SELECT author_id ..`: the users whom the user followed last.
fn newest_follows(dialect: Dialect, user: UserId, limit: usize) -> Fragment {
    let list = following(dialect, None, user);
    let rows = list.rows.add(&list.columns.order(Direction::Older), []).add(" LIMIT ?", [number(limit)]);
    Fragment::new("SELECT x.author_id FROM ", []).then(rows.into_table("x"))
}

/// The users whom `followed` follow, ordered by how many of them do and then by followers. Empty lists fill it up to a
/// power of two, because each connection prepares each distinct text once.
pub(super) fn followed_by(dialect: Dialect, viewer: UserId, followed: &[UserId], limit: usize) -> Fragment {
    let idle = followed.len().next_power_of_two() - followed.len();
    let each = followed.iter().map(|user| (*user, SUGGESTING_FOLLOWS)).chain(iter::repeat_n((viewer, 0), idle));
    let lists = each.map(|(user, limit)| newest_follows(dialect, user, limit));
    let edges = lists.reduce(|all, next| all.add(" UNION ALL ", []).then(next)).unwrap_or_default();
    let grouped = Fragment::new("SELECT e.author_id, COUNT(*) AS known FROM ", [])
        .then(edges.into_table("e"))
        .add(" GROUP BY e.author_id", []);
    let counts = format!(
        " {} user_counts u{} ON u.user_id = k.author_id",
        dialect.join_in_order(),
        dialect.force_index("PRIMARY")
    );
    Fragment::new("SELECT k.author_id FROM ", [])
        .then(grouped.into_table("k"))
        .add(&counts, [])
        .add(" WHERE 1 = 1", [])
        .then(could_follow(dialect, viewer, "k.author_id"))
        .add(&not_deactivated(dialect, "k.author_id"), [])
        .add(" ORDER BY k.known DESC, u.followers DESC, u.user_id DESC LIMIT ?", [number(limit)])
}

/// The users whom the viewer could follow, in index order. Stops when there are enough.
pub(super) fn most_followed(dialect: Dialect, viewer: Option<UserId>, limit: usize) -> Fragment {
    let index = dialect.in_order_of("most_followed");
    let all = Fragment::new(format!("SELECT u.user_id FROM user_counts u{index} WHERE 1 = 1"), []);
    let all = match viewer {
        Some(viewer) => all.then(could_follow(dialect, viewer, "u.user_id")),
        None => all,
    };
    all.add(&not_deactivated(dialect, "u.user_id"), [])
        .add(" ORDER BY u.followers DESC, u.user_id DESC LIMIT ?", [number(limit)])
}

/// ` AND ..`: the viewer does not follow the user in this column and has not excluded them, and they neither hide from
/// the viewer nor block them. A mute by them does not count, because it is private. Everybody follows themselves.
fn could_follow(dialect: Dialect, viewer: UserId, user: &str) -> Fragment {
    let followed = format!("follows f WHERE f.follower_id = ? AND f.author_id = {user}");
    let hidden = format!(
        "exclusions h WHERE h.reader_id = {user} AND h.author_id = ? AND h.cause = {}",
        ExclusionKind::Hidden.code()
    );
    Fragment::new(format!(" AND {}", dialect.no_row("f.mode", &followed)), [viewer.get()])
        .then(not_excluded(dialect, Some(viewer), user))
        .add(&format!(" AND {}", dialect.no_row("h.cause", &hidden)), [viewer.get()])
}

fn number(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
