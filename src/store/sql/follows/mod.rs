//! Follow edges in SQL. All operations, and blocks, take locks in one order: counts by ascending user id, the edge,
//! its pending relation, the author's deltas. A follow always locks the follower's counts, and a block those of both,
//! so that they meet there; the author's only to count in them, and not if they are spread.

pub(super) mod authors_version;
pub(super) mod exclusions;
pub(super) mod lists;
mod pending;
mod promotion;
pub(super) mod relations;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment, Tx, Value};

use self::{
    authors_version::renew_authors,
    pending::{look_at, over_earlier_relation},
};
use super::{
    SqlStore,
    existing_accounts::author_remains,
    rows::{DomainColumns as _, MAX_LIST, Row, id_list},
    spread_counts::{Change, Counts, FOLLOWERS},
    visibility::is_blocked,
};
use crate::{
    domain::{
        EdgeMode, UserId,
        delivery::{AuthorFacts, ReaderFacts, subtask::Range},
        limits::{MAX_FOLLOWS, MAX_JUDGED_EDGES},
    },
    store::{Follows, StoreError, follows::Followed, relations::Pair},
};

#[async_trait]
impl Follows for SqlStore {
    async fn follow(
        &self,
        follower: UserId,
        author: UserId,
        mode: EdgeMode,
        incarnation: i64,
        now_ms: i64,
    ) -> Result<Followed, StoreError> {
        if mode == EdgeMode::Push {
            return Err(StoreError::Refused("a new edge covers nothing: follow with mode Fill or Pull".into()));
        }
        let pair = Pair { follower, author };
        self.brief_transaction(move |tx| async move {
            let dialect = tx.dialect();
            let lock = lock_counts(dialect, pair, Some(follower));
            let edge = insert_edge(pair, mode, incarnation, now_ms);
            let done = tx.all_unless_there([lock, is_blocked(dialect, pair), edge]).await?;
            let counts = LockedCounts::of(done.rows(0))?;
            let (Some(following), Some(blocked)) = (counts.following(follower), done.row(1)) else {
                return tx.roll_back(Followed::UnknownAuthor).await;
            };
            if blocked.get::<i64>(0)? == 1 {
                return tx.roll_back(Followed::Blocked).await;
            }
            if done.stopped_at().is_some() {
                return tx.roll_back(Followed::Already).await;
            }
            if follower != author && following >= MAX_FOLLOWS {
                return tx.roll_back(Followed::TooMany).await;
            }
            let written = count(dialect, (pair, &counts), (1, incarnation), (incarnation, now_ms));
            let counted = tx.all(written).await?;
            if follower != author && !counts.has(author) && counted.affected(2) == 0 {
                return Err(StoreError::Contended("the author's account came or went meanwhile".into()));
            }
            tx.commit(Followed::New).await
        })
        .await
    }

    async fn unfollow(&self, follower: UserId, author: UserId, version: i64, now_ms: i64) -> Result<bool, StoreError> {
        let pair = Pair { follower, author };
        self.brief_transaction(move |tx| async move {
            let dialect = tx.dialect();
            let found = tx.all([lock_counts(dialect, pair, Some(follower)), edge_of(dialect, pair)]).await?;
            let counts = LockedCounts::of(found.rows(0))?;
            let ended = end_edge(&tx, (pair, &counts), found.row(1), (version, now_ms)).await?;
            tx.commit(ended).await
        })
        .await
    }

    async fn followed_among(&self, follower: UserId, authors: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let mut among = Vec::new();
        for authors in authors.chunks(MAX_LIST) {
            let (list, values) = id_list(authors);
            let sql = format!("SELECT author_id FROM follows WHERE follower_id = ? AND author_id IN {list}");
            let values = std::iter::once(Value::from(follower.get())).chain(values);
            for row in self.read_few_anywhere(&sql, values).await? {
                among.push(row.user(0)?);
            }
        }
        Ok(among)
    }

    async fn followed_by(&self, follower: UserId) -> Result<Vec<UserId>, StoreError> {
        let exists = author_remains(self.dialect, "follows.author_id");
        let sql = format!("SELECT author_id FROM follows WHERE follower_id = ?{exists} ORDER BY author_id LIMIT ?");
        let rows = self.read(&sql, [follower.get().into(), rows(MAX_FOLLOWS + 1)]).await?;
        rows.iter().map(|row| row.user(0)).collect()
    }

    async fn pushed_readers(
        &self,
        author: UserId,
        range: Range,
        unseen_since: Option<i64>,
    ) -> Result<Vec<ReaderFacts>, StoreError> {
        let statement = pushed_readers(self.dialect, author, range, unseen_since);
        let rows = self.read(&statement.text, statement.values).await?;
        let reader =
            |row: &Row| Ok(ReaderFacts { reader: row.user(0)?, last_seen: row.get(1)?, read_every_ms: row.get(2)? });
        let mut readers = rows.iter().map(reader).collect::<Result<Vec<_>, StoreError>>()?;
        readers.sort_unstable_by_key(|it| it.reader);
        Ok(readers)
    }

    async fn demote(&self, author: UserId, readers: &[UserId], version: i64) -> Result<u64, StoreError> {
        let mut demoted = 0;
        for readers in readers.chunks(MAX_LIST) {
            let (list, values) = id_list(readers);
            let sql =
                format!("UPDATE follows SET mode = ? WHERE author_id = ? AND mode <> ? AND follower_id IN {list}");
            let pull = EdgeMode::Pull.code();
            let values = [pull.into(), author.get().into(), pull.into()].into_iter().chain(values);
            demoted += self.demote_some((&sql, values.collect()), readers, version).await?;
        }
        Ok(demoted)
    }

    async fn pulled_authors(&self, followers: &[UserId]) -> Result<Vec<(UserId, AuthorFacts)>, StoreError> {
        let mut pulled = Vec::new();
        for followers in followers.chunks(MAX_LIST) {
            let statement = pulled_authors(self.dialect, followers);
            for row in self.read(&statement.text, statement.values).await? {
                pulled.push((row.user(0)?, facts(&row)?));
            }
        }
        pulled.sort_unstable_by_key(|(follower, it)| (*follower, it.author));
        Ok(pulled)
    }

    async fn promote(&self, pairs: &[Pair], incarnation: i64, now_ms: i64) -> Result<Vec<Pair>, StoreError> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        self.transaction(move |tx| async move {
            let promoted = promotion::promote(&tx, pairs, (incarnation, now_ms)).await?;
            tx.commit(promoted).await
        })
        .await
    }
}

impl SqlStore {
    /// Locks counts before edges, like all operations.
    async fn demote_some(
        &self,
        (sql, values): (&str, Vec<Value>),
        readers: &[UserId],
        version: i64,
    ) -> Result<u64, StoreError> {
        let values = &values;
        self.transaction(move |tx| async move {
            renew_authors(&tx, readers, version).await?;
            let demoted = tx.execute(sql, values.iter().cloned()).await?;
            tx.commit(demoted).await
        })
        .await
    }
}

fn facts(row: &Row) -> Result<AuthorFacts, StoreError> {
    Ok(AuthorFacts { author: row.user(1)?, followers: row.count(2)?, publish_every_ms: row.get(3)? })
}

/// The statement of [`Follows::pushed_readers`].
pub(super) fn pushed_readers(dialect: Dialect, author: UserId, range: Range, unseen_since: Option<i64>) -> Fragment {
    let unseen = if unseen_since.is_some() { " AND (s.last_seen IS NULL OR s.last_seen < ?)" } else { "" };
    let text = format!(
        "SELECT f.follower_id, s.last_seen, s.read_every_ms FROM follows f{targets} \
         LEFT JOIN inbox_states s ON s.user_id = f.follower_id \
         WHERE f.author_id = ? AND f.mode IN ({fill}, {push}) AND f.follower_id > ? AND f.follower_id <= ?{unseen} \
         LIMIT {MAX_JUDGED_EDGES}",
        targets = dialect.in_order_of("targets"),
        fill = EdgeMode::Fill.code(),
        push = EdgeMode::Push.code(),
    );
    let readers = Fragment::new(text, [author.get(), range.after, range.through]);
    match unseen_since {
        Some(since) => readers.add("", [since]),
        None => readers,
    }
}

/// The statement of [`Follows::pulled_authors`], of at most [`MAX_LIST`] followers.
pub(super) fn pulled_authors(dialect: Dialect, followers: &[UserId]) -> Fragment {
    let (list, values) = id_list(followers);
    let text = format!(
        "SELECT f.follower_id, c.user_id, c.followers, o.publish_every_ms FROM follows f{uncovered} \
         {then} user_counts c ON c.user_id = f.author_id LEFT JOIN outbox_heads o ON o.author_id = c.user_id \
         WHERE f.follower_id IN {list} AND f.mode = {pull}",
        uncovered = dialect.force_index("uncovered"),
        then = dialect.join_in_order(),
        pull = EdgeMode::Pull.code(),
    );
    Fragment::with(text, values)
}

/// The users whose counts are locked, and how many each follows.
pub(super) struct LockedCounts(Vec<(UserId, u64)>);

impl LockedCounts {
    /// Of the rows of [`lock_counts`].
    pub(super) fn of(rows: &[Row]) -> Result<Self, StoreError> {
        rows.iter().map(|row| Ok((row.user(0)?, row.count(1)?))).collect::<Result<_, _>>().map(Self)
    }

    /// Whether this user exists.
    pub(super) fn has(&self, user: UserId) -> bool {
        self.following(user).is_some()
    }

    /// How many authors the user follows; `None` if there is no such user.
    fn following(&self, user: UserId) -> Option<u64> {
        self.0.iter().find(|(of, _)| *of == user).map(|(_, following)| *following)
    }
}

/// Locks the counts of both users, or those `of` one of them, and those of the other only if they are not spread. This
/// delays every follow and unfollow by whom it has locked, and every block of theirs, until the transaction ends. Locks
/// in ascending ids. Which rows it locks is read without locks: a row that is passed over after it was waited for stays
/// locked on MariaDB.
pub(super) fn lock_counts(dialect: Dialect, pair: Pair, of: Option<UserId>) -> Fragment {
    let mut users = [pair.follower, pair.author];
    users.sort_unstable();
    let side = |user| {
        let in_row = if of.is_some_and(|of| of != user) { " AND spread = 0" } else { "" };
        format!("SELECT user_id FROM user_counts WHERE user_id = ?{in_row}")
    };
    let text = format!(
        "SELECT n.user_id, n.following FROM ({}) x {then} user_counts n{by_key} ON n.user_id = x.user_id {for_update}",
        users.map(side).join(" UNION ALL "),
        then = dialect.join_in_order(),
        by_key = dialect.force_index("PRIMARY"),
        for_update = dialect.for_update(),
    );
    Fragment::new(text, users.map(UserId::get))
}

/// Locks the pair's edge.
pub(super) fn edge_of(dialect: Dialect, pair: Pair) -> Fragment {
    let text = format!("SELECT inc FROM follows WHERE follower_id = ? AND author_id = ? {}", dialect.for_update());
    Fragment::with(text, key(pair))
}

/// Deletes the pair's edge, lowers the counts and records the relation. `false` if [`edge_of`] has found no edge.
pub(super) async fn end_edge(
    tx: &Tx,
    (pair, locked): (Pair, &LockedCounts),
    found: Option<&Row>,
    (version, now_ms): (i64, i64),
) -> Result<bool, StoreError> {
    let Some(row) = found else { return Ok(false) };
    let ended = row.get::<i64>(0)?.wrapping_neg();
    let delete = Fragment::with("DELETE FROM follows WHERE follower_id = ? AND author_id = ?", key(pair));
    // The author may have no account any more.
    let written = count(tx.dialect(), (pair, locked), (-1, version), (ended, now_ms));
    tx.all([delete].into_iter().chain(written)).await.map(|_| true)
}

fn insert_edge(pair: Pair, mode: EdgeMode, incarnation: i64, now_ms: i64) -> Fragment {
    let text = "INSERT INTO follows (follower_id, author_id, mode, inc, followed_at) VALUES (?, ?, ?, ?, ?)";
    let [follower, author] = key(pair);
    Fragment::with(text, [follower, author, mode.code().into(), incarnation.into(), now_ms.into()])
}

/// What is written beside an edge that is made or ends: that the pair must be looked at, the author's followers and the
/// follower's following, and the version of the follower's authors. A user's own edge is not counted. `relation`
/// differs from those of all operations on the pair, past ones included: the edge's incarnation when it is made, its
/// negative when it ends. A third statement changes the
/// followers of an author whose counts are not locked.
fn count(
    dialect: Dialect,
    (pair, locked): (Pair, &LockedCounts),
    (more, version): (i64, i64),
    (relation, now_ms): (i64, i64),
) -> Vec<Fragment> {
    let [by, to] = [pair.follower, pair.author].map(UserId::get);
    let relation = Fragment::with(
        format!(
            "INSERT INTO relations (follower_id, author_id, version, attempts, look_at) VALUES (?, ?, ?, 0, ?) {}",
            over_earlier_relation(dialect)
        ),
        [by.into(), to.into(), relation.into(), look_at(now_ms)],
    );
    let (of_others, in_row) = (if by == to { 0 } else { more }, locked.has(pair.author));
    let text = format!(
        "UPDATE user_counts SET following = following + CASE user_id WHEN ? THEN ? ELSE 0 END, \
         authors_version = CASE user_id WHEN ? THEN ? ELSE authors_version END, \
         followers = followers + CASE user_id WHEN ? THEN ? ELSE 0 END{spreads} WHERE user_id IN (?, ?)",
        spreads = Counts::spreads("followers"),
    );
    let counted = if in_row { to } else { by };
    let rows = Fragment::new(text, [by, of_others, by, version, to, of_others, by, counted]);
    let beside = Change { column: "followers", id: to, more: of_others, by: pair.follower };
    let beside = (!in_row).then(|| FOLLOWERS.beside(dialect, beside));
    [relation, rows].into_iter().chain(beside).collect()
}

fn key(pair: Pair) -> [Value; 2] {
    [pair.follower.get().into(), pair.author.get().into()]
}

fn rows(limit: u64) -> Value {
    i64::try_from(limit).unwrap_or(i64::MAX).into()
}
