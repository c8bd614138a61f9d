//! Follow edges in SQL. All operations, and blocks, take locks in one order: counts by ascending user id, the edge,
//! its pending relation, the author's deltas. A follow always locks the follower's counts, and a block those of both,
//! so that they meet there; the author's only to count in them, and not if they are spread.

pub(super) mod authors_version;
pub(super) mod exclusions;
pub(super) mod lists;
pub(super) mod relations;

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment, Tx, Value};

use self::authors_version::renew_authors;
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

/// Delay after an operation at which the sweeper first looks at a pending relation. By then a worker that got the
/// message is done.
const FIRST_LOOK_MS: i64 = 5_000;

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
            let counts = lock_counts(&tx, pair, Some(follower)).await?;
            let (Some(following), Some(is_blocked)) = (counts.following(follower), is_blocked(&tx, pair).await?) else {
                return tx.roll_back(Followed::UnknownAuthor).await;
            };
            if is_blocked {
                return tx.roll_back(Followed::Blocked).await;
            }
            if !insert_edge(&tx, pair, mode, incarnation, now_ms).await? {
                return tx.roll_back(Followed::Already).await;
            }
            if follower != author && following >= MAX_FOLLOWS {
                return tx.roll_back(Followed::TooMany).await;
            }
            record_relation(&tx, pair, incarnation, now_ms).await?;
            if !add_to_counts(&tx, pair, &counts, 1, incarnation).await? {
                return Err(StoreError::Contended("the author's account came or went meanwhile".into()));
            }
            tx.commit(Followed::New).await
        })
        .await
    }

    async fn unfollow(&self, follower: UserId, author: UserId, version: i64, now_ms: i64) -> Result<bool, StoreError> {
        let pair = Pair { follower, author };
        self.brief_transaction(move |tx| async move {
            let counts = lock_counts(&tx, pair, Some(follower)).await?;
            let ended = end_edge(&tx, pair, &counts, version, now_ms).await?;
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
            for row in self.read_few(&sql, values).await? {
                among.push(row.user(0)?);
            }
        }
        Ok(among)
    }

    async fn followed_by(&self, follower: UserId) -> Result<Vec<UserId>, StoreError> {
        let exists = author_remains("follows.author_id");
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

    async fn pulled_authors(&self, follower: UserId) -> Result<Vec<AuthorFacts>, StoreError> {
        let statement = pulled_authors(self.dialect, follower);
        self.read(&statement.text, statement.values).await?.iter().map(facts).collect()
    }

    async fn promote(
        &self,
        follower: UserId,
        authors: &[UserId],
        incarnation: i64,
        now_ms: i64,
    ) -> Result<Vec<UserId>, StoreError> {
        self.transaction(move |tx| async move {
            let mut promoted = Vec::with_capacity(authors.len());
            for authors in authors.chunks(MAX_LIST) {
                let (list, values) = id_list(authors);
                let sql = format!(
                    "SELECT author_id FROM follows WHERE follower_id = ? AND mode = ? AND author_id IN {list} {}",
                    tx.dialect().for_update()
                );
                let edges = [follower.get().into(), EdgeMode::Pull.code().into()].into_iter().chain(values);
                let pulled = tx.query(&sql, edges).await?;
                let pulled: Vec<UserId> = pulled.iter().map(|row| row.user(0)).collect::<Result<_, _>>()?;
                if !pulled.is_empty() {
                    fill(&tx, follower, &pulled, incarnation, now_ms).await?;
                }
                promoted.extend(pulled);
            }
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
    Ok(AuthorFacts { author: row.user(0)?, followers: row.count(1)?, publish_every_ms: row.get(2)? })
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

/// The statement of [`Follows::pulled_authors`].
pub(super) fn pulled_authors(dialect: Dialect, follower: UserId) -> Fragment {
    let text = format!(
        "SELECT c.user_id, c.followers, o.publish_every_ms FROM follows f{uncovered} \
         {then} user_counts c ON c.user_id = f.author_id LEFT JOIN outbox_heads o ON o.author_id = c.user_id \
         WHERE f.follower_id = ? AND f.mode = {pull} ORDER BY f.author_id",
        uncovered = dialect.force_index("uncovered"),
        then = dialect.join_in_order(),
        pull = EdgeMode::Pull.code(),
    );
    Fragment::new(text, [follower.get()])
}

/// The users whose counts are locked, and how many each follows.
pub(super) struct LockedCounts(Vec<(UserId, u64)>);

impl LockedCounts {
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
/// delays every follow and unfollow by whom it has locked, and every block of theirs, until the transaction ends. One
/// statement walks the key, so it locks in ascending ids. A row that does not match is unlocked at once.
pub(super) async fn lock_counts(tx: &Tx, pair: Pair, of: Option<UserId>) -> Result<LockedCounts, StoreError> {
    let dialect = tx.dialect();
    let in_row = if of.is_some() { " AND (user_id = ? OR spread = 0)" } else { "" };
    let sql = format!(
        "SELECT user_id, following FROM user_counts{by_key} WHERE user_id IN (?, ?){in_row} \
         ORDER BY user_id {for_update}",
        by_key = dialect.force_index("PRIMARY"),
        for_update = dialect.for_update(),
    );
    let rows = tx.query(&sql, key(pair).into_iter().chain(of.map(|user| user.get().into()))).await?;
    let counts: Result<Vec<_>, StoreError> = rows.iter().map(|row| Ok((row.user(0)?, row.count(1)?))).collect();
    counts.map(LockedCounts)
}

/// Deletes the pair's edge, lowers the counts and records the relation. `false` if there was no edge.
pub(super) async fn end_edge(
    tx: &Tx,
    pair: Pair,
    locked: &LockedCounts,
    version: i64,
    now_ms: i64,
) -> Result<bool, StoreError> {
    let edge = "FROM follows WHERE follower_id = ? AND author_id = ?";
    let sql = format!("SELECT inc {edge} {}", tx.dialect().for_update());
    let Some(row) = tx.query_one(&sql, key(pair)).await? else { return Ok(false) };
    let incarnation: i64 = row.get(0)?;
    tx.execute(&format!("DELETE {edge}"), key(pair)).await?;
    record_relation(tx, pair, incarnation.wrapping_neg(), now_ms).await?;
    // The author may have no account any more.
    add_to_counts(tx, pair, locked, -1, version).await?;
    Ok(true)
}

/// `false` if the pair has an edge already.
async fn insert_edge(tx: &Tx, pair: Pair, mode: EdgeMode, incarnation: i64, now_ms: i64) -> Result<bool, StoreError> {
    let sql = "INSERT INTO follows (follower_id, author_id, mode, inc, followed_at) VALUES (?, ?, ?, ?, ?)";
    let [follower, author] = key(pair);
    tx.insert(sql, [follower, author, mode.code().into(), incarnation.into(), now_ms.into()]).await
}

/// Records that the pair must be looked at. `version` differs from those of all operations on the pair, past ones
/// included: the edge's `incarnation` when it is made, its negative when it ends.
async fn record_relation(tx: &Tx, pair: Pair, version: i64, now_ms: i64) -> Result<(), StoreError> {
    let [follower, author] = key(pair);
    let values = [follower, author, version.into(), look_at(now_ms)];
    let insert = "INSERT INTO relations (follower_id, author_id, version, attempts, look_at) VALUES (?, ?, ?, 0, ?)";
    tx.execute(&format!("{insert} {}", over_earlier_relation(tx)), values).await.map(|_| ())
}

fn over_earlier_relation(tx: &Tx) -> String {
    let dialect = tx.dialect();
    let conflict = dialect.on_conflict_update("follower_id, author_id");
    let (version, look_at) = (dialect.incoming("version"), dialect.incoming("look_at"));
    format!("{conflict} version = {version}, attempts = 0, look_at = {look_at}")
}

fn look_at(now_ms: i64) -> Value {
    now_ms.saturating_add(FIRST_LOOK_MS).into()
}

/// Changes the author's followers and the follower's following, and sets the version of the follower's authors. A
/// user's own edge is not counted. `false` if the author has no counts, neither locked nor spread.
async fn add_to_counts(
    tx: &Tx,
    pair: Pair,
    locked: &LockedCounts,
    more: i64,
    version: i64,
) -> Result<bool, StoreError> {
    let Pair { follower, author } = pair;
    if follower == author {
        return renew_authors(tx, &[follower], version).await.map(|()| true);
    }
    let sql = format!(
        "UPDATE user_counts SET following = following + CASE user_id WHEN ? THEN ? ELSE 0 END, \
         authors_version = CASE user_id WHEN ? THEN ? ELSE authors_version END, \
         followers = followers + CASE user_id WHEN ? THEN ? ELSE 0 END{spreads} WHERE user_id IN (?, ?)",
        spreads = Counts::spreads("followers"),
    );
    let in_row = locked.has(author);
    let counted = if in_row { author } else { follower };
    let [by, to, counted] = [follower, author, counted].map(UserId::get);
    tx.execute(&sql, [by, more, by, version, to, more, by, counted].map(Value::from)).await?;
    let change = Change { column: "followers", id: to, more, by: follower };
    Ok(in_row || FOLLOWERS.change_beside(tx, change, &Fragment::default()).await?)
}

/// All these edges get the same number: an `incarnation` only distinguishes edges of the same pair.
async fn fill(tx: &Tx, follower: UserId, authors: &[UserId], incarnation: i64, now_ms: i64) -> Result<(), StoreError> {
    let (list, ids) = id_list(authors);
    let of_these = format!("WHERE follower_id = ? AND author_id IN {list}");
    let these = || std::iter::once(Value::from(follower.get())).chain(ids.clone());
    let update = format!("UPDATE follows SET mode = ?, inc = ? {of_these}");
    let mode = [EdgeMode::Fill.code().into(), incarnation.into()];
    tx.execute(&update, mode.into_iter().chain(these())).await?;
    let insert = format!(
        "INSERT INTO relations (follower_id, author_id, version, attempts, look_at) \
         SELECT follower_id, author_id, inc, 0, ? FROM follows {of_these} {}",
        over_earlier_relation(tx)
    );
    tx.execute(&insert, std::iter::once(look_at(now_ms)).chain(these())).await.map(|_| ())
}

fn key(pair: Pair) -> [Value; 2] {
    [pair.follower.get().into(), pair.author.get().into()]
}

fn rows(limit: u64) -> Value {
    i64::try_from(limit).unwrap_or(i64::MAX).into()
}
