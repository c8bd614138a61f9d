//! Follow edges in the model.

use async_trait::async_trait;
use tidefeed::{
    domain::{EdgeMode, UserId, limits::MAX_FOLLOWS},
    store::{Follows, StoreError, follows::Followed},
};

use super::{
    tables::{Change, Edge, Relation, Row, Tables},
    transaction::{Truth, Tx, transaction},
};
use crate::rules::Rule;

const FIRST_LOOK_MS: i64 = 5_000;

type Pair = (UserId, UserId);

#[async_trait]
impl Follows for Truth {
    async fn follow(
        &self,
        follower: UserId,
        author: UserId,
        mode: EdgeMode,
        inc: i64,
        now_ms: i64,
    ) -> Result<Followed, StoreError> {
        if mode == EdgeMode::Push {
            return Err(StoreError::Refused("a new edge covers nothing: follow with mode Fill or Pull".into()));
        }
        let mode = if self.breaks(Rule::FollowIsTrusted) { EdgeMode::Push } else { mode };
        transaction!(self, tx => follow(self, tx, (follower, author), Edge { mode, inc }, now_ms))
    }

    async fn unfollow(&self, follower: UserId, author: UserId, now_ms: i64) -> Result<bool, StoreError> {
        transaction!(self, tx => unfollow(self, tx, (follower, author), now_ms))
    }

    async fn followed_among(&self, follower: UserId, authors: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        self.read(|tables| {
            authors.iter().copied().filter(|author| tables.follows.contains_key(&(follower, *author))).collect()
        })
        .await
    }

    async fn followed_by(&self, follower: UserId) -> Result<Vec<UserId>, StoreError> {
        self.read(|tables| tables.edges(follower).map(|(author, _)| author).collect()).await
    }

    async fn follower_count(&self, author: UserId) -> Result<u64, StoreError> {
        self.read(|tables| {
            tables.counts.get(&author).map_or(0, |counts| u64::try_from(counts.followers + 1).unwrap_or(0))
        })
        .await
    }

    async fn demote_unseen(
        &self,
        author: UserId,
        after: i64,
        through: i64,
        seen_before_ms: i64,
    ) -> Result<u64, StoreError> {
        transaction!(self, tx => demote(tx, author, (after, through), seen_before_ms))
    }

    async fn promote(
        &self,
        follower: UserId,
        inc_seed: i64,
        limit: u64,
        now_ms: i64,
    ) -> Result<Vec<UserId>, StoreError> {
        transaction!(self, tx => promote(self, tx, follower, (inc_seed, now_ms), limit))
    }
}

async fn follow(truth: &Truth, mut tx: Tx, pair: Pair, edge: Edge, now_ms: i64) -> Result<Followed, StoreError> {
    if !tx.read(|tables| tables.users.contains_key(&pair.1)).await? {
        return tx.roll_back(Followed::UnknownAuthor).await;
    }
    if !tx.insert(Change::Edge(pair, Some(edge), None)).await? {
        return tx.roll_back(Followed::Already).await;
    }
    if !truth.breaks(Rule::FollowWithoutRecord) {
        record(&mut tx, pair, edge.inc, now_ms).await?;
    }
    count(&mut tx, pair, 1).await?;
    let following = tx.read(|tables| tables.counts.get(&pair.0).map_or(0, |counts| counts.following)).await?;
    if u64::try_from(following).unwrap_or(0) > MAX_FOLLOWS {
        return tx.roll_back(Followed::TooMany).await;
    }
    tx.commit(Followed::New).await
}

async fn unfollow(truth: &Truth, mut tx: Tx, pair: Pair, now_ms: i64) -> Result<bool, StoreError> {
    if !tx.lock(Row::Edge(pair)).await? {
        return tx.roll_back(false).await;
    }
    let inc = tx.look(|tables| tables.follows.get(&pair).map_or(0, |edge| edge.inc));
    tx.write(|_| vec![Change::Edge(pair, None, None)]).await?;
    if !truth.breaks(Rule::UnfollowWithoutRecord) {
        record(&mut tx, pair, inc.wrapping_neg(), now_ms).await?;
    }
    count(&mut tx, pair, -1).await?;
    tx.commit(true).await
}

async fn record(tx: &mut Tx, pair: Pair, version: i64, now_ms: i64) -> Result<(), StoreError> {
    let relation = Relation { version, attempts: 0, look_at: now_ms.saturating_add(FIRST_LOOK_MS) };
    tx.write(|_| vec![Change::Relation(pair, Some(relation), None)]).await.map(|_| ())
}

async fn count(tx: &mut Tx, (follower, author): Pair, more: i64) -> Result<(), StoreError> {
    if follower == author {
        return Ok(());
    }
    let mut users = [(follower, true), (author, false)];
    users.sort_unstable();
    for (user, follows) in users {
        let changed = |tables: &Tables| {
            let mut counts = *tables.counts.get(&user)?;
            *(if follows { &mut counts.following } else { &mut counts.followers }) += more;
            Some(Change::Counts(user, Some(counts), None))
        };
        tx.write(|tables| changed(tables).into_iter().collect()).await?;
    }
    Ok(())
}

async fn demote(mut tx: Tx, author: UserId, range: (i64, i64), seen_before_ms: i64) -> Result<u64, StoreError> {
    let unseen = |tables: &Tables, fan: UserId| {
        let seen = tables.states.get(&fan).and_then(|state| state.last_seen);
        seen.is_none_or(|seen| seen < seen_before_ms)
    };
    let demoted = tx
        .write(|tables| {
            let fans = tables.fans(author, range.0, range.1).filter(|fan| unseen(tables, *fan));
            fans.filter_map(|fan| {
                let edge = tables.follows.get(&(fan, author)).filter(|edge| edge.mode != EdgeMode::Pull)?;
                Some(Change::Edge((fan, author), Some(Edge { mode: EdgeMode::Pull, ..*edge }), None))
            })
            .collect()
        })
        .await?;
    tx.commit(demoted).await
}

async fn promote(
    truth: &Truth,
    mut tx: Tx,
    follower: UserId,
    (inc, now_ms): (i64, i64),
    limit: u64,
) -> Result<Vec<UserId>, StoreError> {
    let mode = if truth.breaks(Rule::PromotionIsTrusted) { EdgeMode::Push } else { EdgeMode::Fill };
    let pulled = |tables: &Tables| -> Vec<UserId> {
        let edges = tables.edges(follower).filter(|(_, edge)| edge.mode == EdgeMode::Pull);
        edges.map(|(author, _)| author).take(usize::try_from(limit).unwrap_or(usize::MAX)).collect()
    };
    let mut authors = Vec::new();
    for author in tx.read(pulled).await? {
        let pair = (follower, author);
        if tx.lock(Row::Edge(pair)).await? && tx.look(|tables| tables.mode(follower, author)) == Some(EdgeMode::Pull) {
            authors.push(author);
        }
    }
    let edge = Edge { mode, inc };
    tx.write(|_| authors.iter().map(|author| Change::Edge((follower, *author), Some(edge), None)).collect()).await?;
    let relation = Relation { version: inc, attempts: 0, look_at: now_ms.saturating_add(FIRST_LOOK_MS) };
    tx.write(|_| authors.iter().map(|author| Change::Relation((follower, *author), Some(relation), None)).collect())
        .await?;
    tx.commit(authors).await
}
