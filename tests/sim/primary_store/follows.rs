//! Follow edges in the model.

use async_trait::async_trait;
use tidefeed::{
    domain::{
        EdgeMode, UserId,
        delivery::{AuthorFacts, ReaderFacts, subtask::Range},
        limits::MAX_FOLLOWS,
    },
    store::{Follows, StoreError, follows::Followed, relations},
};

use super::{
    exclusions::BLOCKS,
    tables::{Change, Counts, Edge, Relation, Row, Tables},
    transaction::{PrimaryStore, Tx, transaction},
};
use crate::rules::Rule;

const FIRST_LOOK_MS: i64 = 5_000;

type Pair = (UserId, UserId);

#[async_trait]
impl Follows for PrimaryStore {
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
        let mode = if self.breaks(Rule::FollowIsTrusted) { EdgeMode::Push } else { mode };
        transaction!(self, tx => follow(self, tx, (follower, author), Edge { mode, incarnation }, now_ms))
    }

    async fn unfollow(&self, follower: UserId, author: UserId, version: i64, now_ms: i64) -> Result<bool, StoreError> {
        transaction!(self, tx => unfollow(self, tx, (follower, author), version, now_ms))
    }

    async fn followed_among(&self, follower: UserId, authors: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        self.read_anywhere(|tables| {
            authors.iter().copied().filter(|author| tables.follows.contains_key(&(follower, *author))).collect()
        })
        .await
    }

    async fn followed_by(&self, follower: UserId) -> Result<Vec<UserId>, StoreError> {
        self.read(|tables| tables.edges(follower).map(|(author, _)| author).collect()).await
    }

    async fn pushed_readers(
        &self,
        author: UserId,
        range: Range,
        unseen_since: Option<i64>,
    ) -> Result<Vec<ReaderFacts>, StoreError> {
        self.read(|tables| {
            let fans = tables.fans(author, range.after, range.through);
            let pushed = fans.filter(|fan| tables.mode(*fan, author) != Some(EdgeMode::Pull));
            let facts = pushed.map(|reader| {
                let state = tables.states.get(&reader);
                let (last_seen, read_every_ms) = state.map_or((None, None), |it| (it.last_seen, it.read_every));
                ReaderFacts { reader, last_seen, read_every_ms }
            });
            let is_unseen =
                |it: &ReaderFacts| unseen_since.is_none_or(|since| it.last_seen.is_none_or(|seen| seen < since));
            facts.filter(is_unseen).collect()
        })
        .await
    }

    async fn pulled_authors(&self, followers: &[UserId]) -> Result<Vec<(UserId, AuthorFacts)>, StoreError> {
        self.read(|tables| {
            let edges = followers.iter().flat_map(|follower| tables.edges(*follower).map(move |it| (*follower, it)));
            let pulled = edges.filter(|(_, (_, edge))| edge.mode == EdgeMode::Pull);
            pulled.filter_map(|(follower, (author, _))| Some((follower, facts(tables, author)?))).collect()
        })
        .await
    }

    async fn demote(&self, author: UserId, readers: &[UserId], version: i64) -> Result<u64, StoreError> {
        transaction!(self, tx => demote(self, tx, author, readers, version))
    }

    async fn promote(
        &self,
        pairs: &[relations::Pair],
        incarnation: i64,
        now_ms: i64,
    ) -> Result<Vec<relations::Pair>, StoreError> {
        let pairs: Vec<Pair> = pairs.iter().map(|pair| (pair.follower, pair.author)).collect();
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let promoted = transaction!(self, tx => promote(self, tx, &pairs, incarnation, now_ms))?;
        Ok(promoted.into_iter().map(|(follower, author)| relations::Pair { follower, author }).collect())
    }
}

pub fn facts(tables: &Tables, author: UserId) -> Option<AuthorFacts> {
    let counts = tables.whole_counts(author)?;
    let followers = u64::try_from(counts.followers).unwrap_or(0);
    let publish_every_ms = tables.heads.get(&author).and_then(|head| head.publish_every);
    Some(AuthorFacts { author, followers, publish_every_ms })
}

/// Holds off every follow, unfollow and block by either; who of them is there. SQL's one statement locks row by row,
/// too.
pub async fn lock_counts(tx: &mut Tx, pair: Pair) -> Result<Vec<UserId>, StoreError> {
    let mut there = Vec::new();
    let mut users = vec![pair.0, pair.1];
    users.sort_unstable();
    users.dedup();
    for user in users {
        if tx.lock(Row::Counts(user)).await? {
            there.push(user);
        }
    }
    Ok(there)
}

/// As it is for a follow and an unfollow: if all counts are spread, only those of the follower.
async fn lock_counts_of_edge(tx: &mut Tx, pair: Pair, is_spread: bool) -> Result<Vec<UserId>, StoreError> {
    lock_counts(tx, if is_spread { (pair.0, pair.0) } else { pair }).await
}

async fn follow(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    pair: Pair,
    edge: Edge,
    now_ms: i64,
) -> Result<Followed, StoreError> {
    let unlocked = primary_store.breaks(Rule::FollowLooksPastTheLock);
    if unlocked && tx.read(|tables| tables.is_excluded(pair.0, pair.1, BLOCKS)).await? {
        return tx.roll_back(Followed::Blocked).await;
    }
    let is_spread = primary_store.engine.has_spread_counts;
    let mut there = lock_counts_of_edge(&mut tx, pair, is_spread).await?;
    if is_spread && tx.read(|tables| tables.counts.contains_key(&pair.1)).await? {
        there.push(pair.1);
    }
    if !there.contains(&pair.1) || !there.contains(&pair.0) {
        return tx.roll_back(Followed::UnknownAuthor).await;
    }
    if !unlocked && tx.read(|tables| tables.is_excluded(pair.0, pair.1, BLOCKS)).await? {
        return tx.roll_back(Followed::Blocked).await;
    }
    if !tx.insert(Change::Edge(pair, Some(edge), None)).await? {
        return tx.roll_back(Followed::Already).await;
    }
    let following = tx.look(|tables| tables.counts.get(&pair.0).map_or(0, |counts| counts.following));
    if pair.0 != pair.1 && u64::try_from(following).unwrap_or(0) >= MAX_FOLLOWS {
        return tx.roll_back(Followed::TooMany).await;
    }
    if !primary_store.breaks(Rule::FollowWithoutRecord) {
        record(&mut tx, pair, edge.incarnation, now_ms).await?;
    }
    let version = renewed(primary_store, Rule::FollowKeepsVersion, edge.incarnation);
    count(&mut tx, pair, 1, version, is_spread).await?;
    tx.commit(Followed::New).await
}

async fn unfollow(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    pair: Pair,
    version: i64,
    now_ms: i64,
) -> Result<bool, StoreError> {
    let is_spread = primary_store.engine.has_spread_counts;
    lock_counts_of_edge(&mut tx, pair, is_spread).await?;
    let version = renewed(primary_store, Rule::UnfollowKeepsVersion, version);
    let ended = end_edge(&mut tx, pair, version, now_ms, is_spread).await?;
    tx.commit(ended).await
}

/// Whether there was an edge. The follower's counts are locked, and the author's unless they change beside their row.
pub async fn end_edge(
    tx: &mut Tx,
    pair: Pair,
    version: Option<i64>,
    now_ms: i64,
    beside: bool,
) -> Result<bool, StoreError> {
    if !tx.lock(Row::Edge(pair)).await? {
        return Ok(false);
    }
    let incarnation = tx.look(|tables| tables.follows.get(&pair).map_or(0, |edge| edge.incarnation));
    tx.write(|_| vec![Change::Edge(pair, None, None)]).await?;
    record(tx, pair, incarnation.wrapping_neg(), now_ms).await?;
    count(tx, pair, -1, version, beside).await?;
    Ok(true)
}

async fn record(tx: &mut Tx, pair: Pair, version: i64, now_ms: i64) -> Result<(), StoreError> {
    let relation = Relation { version, attempts: 0, look_at: now_ms.saturating_add(FIRST_LOOK_MS) };
    tx.write(|_| vec![Change::Relation(pair, Some(relation), None)]).await.map(|_| ())
}

/// The new version of a reader's authors; `None` if the rule that draws it is broken.
pub fn renewed(primary_store: &PrimaryStore, broken: Rule, version: i64) -> Option<i64> {
    (!primary_store.breaks(broken)).then_some(version)
}

/// One statement: the authors of these readers have a new version.
pub async fn renew_authors(tx: &mut Tx, readers: &[UserId], version: Option<i64>) -> Result<(), StoreError> {
    let Some(version) = version else { return Ok(()) };
    let renewed = |tables: &Tables, reader: &UserId| {
        let counts = Counts { authors_version: version, ..*tables.counts.get(reader)? };
        Some(Change::Counts(*reader, Some(counts), None))
    };
    tx.write(|tables| readers.iter().filter_map(|reader| renewed(tables, reader)).collect()).await.map(|_| ())
}

async fn count(
    tx: &mut Tx,
    (follower, author): Pair,
    more: i64,
    version: Option<i64>,
    beside: bool,
) -> Result<(), StoreError> {
    if follower == author {
        return renew_authors(tx, &[follower], version).await;
    }
    let users = [(follower, true), (author, false)];
    let changed = |tables: &Tables, (user, follows): (UserId, bool)| {
        let mut counts = *tables.counts.get(&user)?;
        if follows {
            counts.following += more;
            counts.authors_version = version.unwrap_or(counts.authors_version);
        } else {
            counts.followers += more;
        }
        Some(Change::Counts(user, Some(counts), None))
    };
    let in_rows = if beside { &users[..1] } else { &users[..] };
    tx.write(|tables| in_rows.iter().filter_map(|user| changed(tables, *user)).collect()).await?;
    if beside {
        let delta = |tables: &Tables| {
            let delta = tables.follower_deltas.get(&(author, follower)).copied().unwrap_or(0) + more;
            let there = tables.counts.contains_key(&author);
            there.then_some(Change::FollowerDelta((author, follower), (delta != 0).then_some(delta), None))
        };
        tx.write(|tables| delta(tables).into_iter().collect()).await?;
    }
    Ok(())
}

async fn demote(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    author: UserId,
    readers: &[UserId],
    version: i64,
) -> Result<u64, StoreError> {
    renew_authors(&mut tx, readers, renewed(primary_store, Rule::DemotionKeepsVersion, version)).await?;
    let pulled = |tables: &Tables, fan: UserId| {
        let edge = tables.follows.get(&(fan, author)).filter(|edge| edge.mode != EdgeMode::Pull)?;
        Some(Change::Edge((fan, author), Some(Edge { mode: EdgeMode::Pull, ..*edge }), None))
    };
    let demoted = tx.write(|tables| readers.iter().filter_map(|fan| pulled(tables, *fan)).collect()).await?;
    tx.commit(demoted).await
}

async fn promote(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    pairs: &[Pair],
    incarnation: i64,
    now_ms: i64,
) -> Result<Vec<Pair>, StoreError> {
    let mode = if primary_store.breaks(Rule::PromotionIsTrusted) { EdgeMode::Push } else { EdgeMode::Fill };
    let is_pulled = |tables: &Tables, pair: &Pair| tables.mode(pair.0, pair.1) == Some(EdgeMode::Pull);
    let mut promoted = Vec::new();
    for pair in tx.read(|it| pairs.iter().copied().filter(|pair| is_pulled(it, pair)).collect::<Vec<_>>()).await? {
        if tx.lock(Row::Edge(pair)).await? && tx.look(|tables| is_pulled(tables, &pair)) {
            promoted.push(pair);
        }
    }
    if promoted.is_empty() {
        return tx.commit(promoted).await;
    }
    let edge = Edge { mode, incarnation };
    let changed = |it: &Pair| Change::Edge(*it, Some(edge), None);
    tx.write(|_| promoted.iter().map(changed).collect()).await?;
    let relation = Relation { version: incarnation, attempts: 0, look_at: now_ms.saturating_add(FIRST_LOOK_MS) };
    let pending = |it: &Pair| Change::Relation(*it, Some(relation), None);
    tx.write(|_| promoted.iter().map(pending).collect()).await?;
    tx.commit(promoted).await
}
