//! Follows of a batch. docs/protocol.md#imported-edges says which of them claim something, and why they may.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use sql_driver::{Tx, Value};

use super::super::{
    bulk::{Lookup, insert, insert_new},
    inboxes::state,
    rows::{DomainColumns as _, id_list},
};
use crate::{
    domain::{
        EdgeMode, Floor, UserId,
        limits::{MAX_FOLLOWS, SPREAD_FROM},
        timeline::exclusion::ExclusionKind,
    },
    store::{
        StoreError,
        imports::{AppliedBatch, ImportedFollow, RowOutcome, RowRefusal},
        relations::Pair,
    },
};

/// The table of edges, in the order of an insert.
pub(super) const EDGES: &str = "follows (follower_id, author_id, mode, inc, followed_at)";

/// Locks the counts of all users of the batch in ascending ids, spread or not, and returns how many each follows. A
/// follow of one pair locks the follower's and no spread ones, and reads them without a lock; so only gathering,
/// blocks and deletions wait longer.
pub(super) async fn lock_counts(
    tx: &Tx,
    users: impl Iterator<Item = UserId>,
) -> Result<HashMap<UserId, u64>, StoreError> {
    let users: Vec<UserId> = users.collect::<BTreeSet<_>>().into_iter().collect();
    let (list, values) = id_list(&users);
    let sql = format!(
        "SELECT user_id, following FROM user_counts{by_key} WHERE user_id IN {list} ORDER BY user_id {for_update}",
        by_key = tx.dialect().force_index("PRIMARY"),
        for_update = tx.dialect().for_update(),
    );
    tx.query(&sql, values).await?.iter().map(|row| Ok((row.user(0)?, row.count(1)?))).collect()
}

/// Inserts the edges that are missing.
pub(super) async fn follow(tx: &Tx, follows: &[ImportedFollow], version: i64) -> Result<AppliedBatch, StoreError> {
    let users = follows.iter().flat_map(|it| [it.pair.follower, it.pair.author]);
    let counts = lock_counts(tx, users).await?;
    let pairs: Vec<Pair> = follows.iter().map(|it| it.pair).collect();
    let existing = existing(tx, &pairs).await?;
    let blocked = blocked(tx, &pairs).await?;
    let mut following = counts.clone();
    let mut outcomes = Vec::with_capacity(follows.len());
    let mut new = Vec::new();
    for follow in follows {
        let outcome = judged(follow.pair, &existing, &blocked, &mut following);
        if outcome == RowOutcome::Created {
            new.push(*follow);
        }
        outcomes.push(outcome);
    }
    if new.is_empty() {
        return Ok(AppliedBatch { outcomes, ..AppliedBatch::default() });
    }
    let followers: Vec<UserId> = new.iter().map(|it| it.pair.follower).collect::<BTreeSet<_>>().into_iter().collect();
    insert_edges(tx, &new, &followers, version).await?;
    raise_counts(tx, &new, version).await?;
    Ok(AppliedBatch { outcomes, followers, ..AppliedBatch::default() })
}

/// `following`: how many each user follows, with the edges that were found to be new.
fn judged(
    pair: Pair,
    existing: &HashSet<Pair>,
    blocked: &HashSet<Pair>,
    following: &mut HashMap<UserId, u64>,
) -> RowOutcome {
    if !following.contains_key(&pair.author) {
        return RowOutcome::Refused(RowRefusal::UnknownUser);
    }
    let Some(follows) = following.get_mut(&pair.follower) else {
        return RowOutcome::Refused(RowRefusal::UnknownUser);
    };
    if existing.contains(&pair) {
        return RowOutcome::Unchanged;
    }
    if blocked.contains(&pair) {
        return RowOutcome::Refused(RowRefusal::Blocked);
    }
    if pair.follower != pair.author {
        if *follows >= MAX_FOLLOWS {
            return RowOutcome::Refused(RowRefusal::TooManyFollows);
        }
        *follows += 1;
    }
    RowOutcome::Created
}

/// Those of the pairs that have an edge.
pub(super) async fn existing(tx: &Tx, pairs: &[Pair]) -> Result<HashSet<Pair>, StoreError> {
    let edges = Lookup {
        select: "t.follower_id, t.author_id",
        table: "follows",
        index: "PRIMARY",
        key: &["follower_id", "author_id"],
        condition: "",
    };
    found(tx, &edges, pairs).await
}

/// Those of the pairs of which one has blocked the other.
pub(super) async fn blocked(tx: &Tx, pairs: &[Pair]) -> Result<HashSet<Pair>, StoreError> {
    let (by_reader, by_author) = (ExclusionKind::BlockedByReader.code(), ExclusionKind::BlockedByAuthor.code());
    let blocks = Lookup {
        select: "t.reader_id, t.author_id",
        table: "exclusions",
        index: "PRIMARY",
        key: &["reader_id", "author_id"],
        condition: &format!(" AND t.cause IN ({by_reader}, {by_author})"),
    };
    found(tx, &blocks, pairs).await
}

async fn found(tx: &Tx, lookup: &Lookup<'_>, pairs: &[Pair]) -> Result<HashSet<Pair>, StoreError> {
    let keys: Vec<[i64; 2]> = pairs.iter().map(|pair| [pair.follower.get(), pair.author.get()]).collect();
    let rows = lookup.rows(tx, &keys).await?;
    rows.iter().map(|row| Ok(Pair { follower: row.user(0)?, author: row.user(1)? })).collect()
}

/// Inserts edges of these readers, whose states are locked until the commit: nobody is turned on, or enters the outside
/// tier, between the look and the edge.
async fn insert_edges(tx: &Tx, new: &[ImportedFollow], readers: &[UserId], version: i64) -> Result<(), StoreError> {
    let states = state::lock_all(tx, readers).await?;
    let is_off =
        |reader: &UserId| states.get(reader).is_some_and(|state| state.floor == Floor::Off && !state.is_outside);
    let rows = new.iter().map(|follow| {
        let Pair { follower, author } = follow.pair;
        let mode = if is_off(&follower) { EdgeMode::Push } else { EdgeMode::Pull };
        let [by, to] = [follower, author].map(|user| Value::from(user.get()));
        [by, to, mode.code().into(), version.into(), follow.followed_at.into()]
    });
    insert_new(tx, EDGES, rows.collect()).await?;
    Ok(())
}

/// Counts both sides of every edge, and renews the version of each follower's authors. All rows are there and locked.
async fn raise_counts(tx: &Tx, new: &[ImportedFollow], version: i64) -> Result<(), StoreError> {
    let mut more: BTreeMap<UserId, [i64; 3]> = BTreeMap::new();
    for Pair { follower, author } in new.iter().map(|it| it.pair) {
        let counted = i64::from(follower != author);
        more.entry(author).or_default()[0] += counted;
        let follows = more.entry(follower).or_default();
        follows[1] += counted;
        follows[2] = version;
    }
    let rows = more
        .iter()
        .map(|(user, [followers, following, version])| [user.get(), *followers, *following, *version].map(Value::from));
    let dialect = tx.dialect();
    let incoming = |column: &str| dialect.incoming(column);
    let raise = format!(
        "{conflict} spread = CASE WHEN user_counts.followers + {followers} >= {SPREAD_FROM} THEN 1 \
         ELSE user_counts.spread END, followers = user_counts.followers + {followers}, \
         following = user_counts.following + {following}, \
         authors_version = CASE WHEN {version} = 0 THEN user_counts.authors_version ELSE {version} END",
        conflict = dialect.on_conflict_update("user_id"),
        followers = incoming("followers"),
        following = incoming("following"),
        version = incoming("authors_version"),
    );
    insert(tx, "user_counts (user_id, followers, following, authors_version)", &raise, rows.collect()).await
}
