//! Exclusions in the model: rows of (reader, author, cause).

use std::ops::RangeInclusive;

use async_trait::async_trait;
use tidefeed::{
    domain::{
        UserId,
        timeline::exclusion::{ExclusionKind, ExclusionState},
    },
    store::{
        Exclusions, StoreError,
        exclusions::{Blocked, Excluded, ExclusionList},
        relations::Pair,
    },
};

use super::{
    follows::{end_edge, lock_counts, renew_authors, renewed},
    tables::{Change, Tables},
    transaction::{PrimaryStore, Tx, transaction},
};
use crate::rules::Rule;

/// The numbers of all causes.
pub const EVERY_CAUSE: RangeInclusive<i32> = 1..=4;
/// The numbers of the causes that a block writes, one for each side.
pub const BLOCKS: RangeInclusive<i32> = 3..=4;

type Key = (UserId, UserId, i32);

#[async_trait]
impl Exclusions for PrimaryStore {
    async fn mute(&self, reader: UserId, author: UserId, version: i64) -> Result<Excluded, StoreError> {
        let key = (reader, author, ExclusionKind::Muted.code());
        transaction!(self, tx => exclude(tx, key, author, self.excluded_at(version)))
    }

    async fn unmute(&self, reader: UserId, author: UserId, version: i64) -> Result<bool, StoreError> {
        let key = (reader, author, ExclusionKind::Muted.code());
        transaction!(self, tx => include(tx, &[key], self.included_at(version)))
    }

    async fn hide(&self, author: UserId, reader: UserId, version: i64) -> Result<Excluded, StoreError> {
        let key = (reader, author, ExclusionKind::Hidden.code());
        transaction!(self, tx => exclude(tx, key, reader, self.excluded_at(version)))
    }

    async fn unhide(&self, author: UserId, reader: UserId, version: i64) -> Result<bool, StoreError> {
        let key = (reader, author, ExclusionKind::Hidden.code());
        transaction!(self, tx => include(tx, &[key], self.included_at(version)))
    }

    async fn block(&self, user: UserId, other: UserId, version: i64, now_ms: i64) -> Result<Blocked, StoreError> {
        transaction!(self, tx => block(tx, (user, other), self.excluded_at(version), now_ms))
    }

    async fn unblock(&self, user: UserId, other: UserId, version: i64) -> Result<bool, StoreError> {
        transaction!(self, tx => include(tx, &sides(user, other), self.included_at(version)))
    }

    async fn exclusion_states(
        &self,
        user: UserId,
        others: &[UserId],
    ) -> Result<Vec<(UserId, ExclusionState)>, StoreError> {
        let exclusions = |tables: &Tables, other: UserId| ExclusionState {
            has_muted: tables.exclusions.contains_key(&(user, other, ExclusionKind::Muted.code())),
            has_blocked: tables.exclusions.contains_key(&(user, other, ExclusionKind::BlockedByReader.code())),
            is_hiding: tables.exclusions.contains_key(&(other, user, ExclusionKind::Hidden.code())),
        };
        self.read_anywhere(|tables| {
            let all = others.iter().map(|other| (*other, exclusions(tables, *other)));
            all.filter(|(_, exclusions)| *exclusions != ExclusionState::default()).collect()
        })
        .await
    }

    async fn excluded(
        &self,
        user: UserId,
        what: ExclusionList,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let other = |(reader, author, cause): Key| match what {
            ExclusionList::Muted => (reader == user && cause == ExclusionKind::Muted.code()).then_some(author),
            ExclusionList::Blocked => {
                (reader == user && cause == ExclusionKind::BlockedByReader.code()).then_some(author)
            }
            ExclusionList::HiddenFrom => (author == user && cause == ExclusionKind::Hidden.code()).then_some(reader),
        };
        self.read_anywhere(|tables| {
            let all = tables.exclusions.keys().filter_map(|key| other(*key));
            all.filter(|other| after.is_none_or(|after| *other > after)).take(limit).collect()
        })
        .await
    }
}

impl PrimaryStore {
    fn excluded_at(&self, version: i64) -> Option<i64> {
        renewed(self, Rule::ExclusionKeepsVersion, version)
    }

    fn included_at(&self, version: i64) -> Option<i64> {
        renewed(self, Rule::InclusionKeepsVersion, version)
    }
}

const fn sides(user: UserId, other: UserId) -> [Key; 2] {
    [(user, other, ExclusionKind::BlockedByReader.code()), (other, user, ExclusionKind::BlockedByAuthor.code())]
}

async fn exclude(mut tx: Tx, key: Key, other: UserId, version: Option<i64>) -> Result<Excluded, StoreError> {
    if !tx.read(|tables| tables.users.contains_key(&other)).await? {
        return tx.roll_back(Excluded::UnknownUser).await;
    }
    renew_authors(&mut tx, &[key.0], version).await?;
    if !tx.insert(Change::Exclusion(key, Some(()), None)).await? {
        return tx.roll_back(Excluded::Already).await;
    }
    tx.commit(Excluded::New).await
}

async fn include(mut tx: Tx, keys: &[Key], version: Option<i64>) -> Result<bool, StoreError> {
    let mut readers: Vec<UserId> = keys.iter().map(|(reader, ..)| *reader).collect();
    readers.sort_unstable();
    renew_authors(&mut tx, &readers, version).await?;
    let mut lifted = 0;
    for key in keys {
        let there =
            |tables: &Tables| tables.exclusions.contains_key(key).then_some(Change::Exclusion(*key, None, None));
        lifted += tx.write(|tables| there(tables).into_iter().collect()).await?;
    }
    if lifted == 0 { tx.roll_back(false).await } else { tx.commit(true).await }
}

async fn block(
    mut tx: Tx,
    (user, other): (UserId, UserId),
    version: Option<i64>,
    now_ms: i64,
) -> Result<Blocked, StoreError> {
    if !lock_counts(&mut tx, (user, other)).await?.contains(&other) {
        return tx.roll_back(Blocked::UnknownUser).await;
    }
    for side in sides(user, other) {
        if !tx.insert(Change::Exclusion(side, Some(()), None)).await? {
            return tx.roll_back(Blocked::Already).await;
        }
    }
    let mut ended = Vec::new();
    for (follower, author) in [(user, other), (other, user)] {
        if end_edge(&mut tx, (follower, author), version, now_ms, false).await? {
            ended.push(Pair { follower, author });
        }
    }
    renew_authors(&mut tx, &[user, other], version).await?;
    tx.commit(Blocked::New { ended }).await
}
