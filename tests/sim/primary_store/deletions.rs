//! Deleted accounts in the model. Those who leave have published and reacted to nothing: only edges are left of them.

use async_trait::async_trait;
use tidefeed::{
    domain::{Entry, Floor, Handle, UserId, limits::MAX_WAIT_MS},
    store::{
        AccountDeletions, StoreError,
        account_deletions::{Deleted, DeletedAccount, LeftContent},
        accounts::PasswordHash,
        relations::Pair,
    },
};

use super::{
    tables::{Change, Deletion, Row, State, Tables},
    transaction::{PrimaryStore, Tx, transaction},
};

#[async_trait]
impl AccountDeletions for PrimaryStore {
    async fn delete(&self, user: UserId, _: Option<&PasswordHash>, now_ms: i64) -> Result<Deleted, StoreError> {
        transaction!(self, tx => delete(tx, user, now_ms))
    }

    async fn was_deleted(&self, handle: &Handle) -> Result<bool, StoreError> {
        self.read(|tables| {
            tables
                .deletions
                .keys()
                .any(|user| tables.users.get(user).is_some_and(|deleted| deleted.registration.handle == *handle))
        })
        .await
    }

    async fn due(&self, now_ms: i64, next_look_ms: i64) -> Result<Option<DeletedAccount>, StoreError> {
        transaction!(self, tx => due(tx, now_ms, next_look_ms))
    }

    async fn look_at(&self, user: UserId, at_ms: Option<i64>) -> Result<(), StoreError> {
        transaction!(self, tx => look_at(tx, user, at_ms))
    }

    async fn contents_left(&self, _: UserId, _: u64) -> Result<Vec<LeftContent>, StoreError> {
        Ok(Vec::new())
    }

    async fn erase(&self, _: UserId, _: &[Entry]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn edges_left(&self, user: UserId, limit: u64) -> Result<Vec<Pair>, StoreError> {
        self.read(|tables| {
            let from = tables.edges(user).map(|(author, _)| Pair { follower: user, author });
            let to = tables.fans(user, 0, i64::MAX).map(|follower| Pair { follower, author: user });
            from.chain(to).take(usize::try_from(limit).unwrap_or(usize::MAX)).collect()
        })
        .await
    }

    async fn take_back_reactions(&self, _: UserId, _: u64) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn clear(&self, user: UserId, _: i64, _: u64) -> Result<u64, StoreError> {
        transaction!(self, tx => turn_off(tx, user))
    }
}

async fn delete(mut tx: Tx, user: UserId, now_ms: i64) -> Result<Deleted, StoreError> {
    if !tx.lock(Row::Counts(user)).await? {
        return tx.roll_back(Deleted::Unknown).await;
    }
    tx.write(|_| vec![Change::Counts(user, None, None)]).await?;
    let deletion = Deletion { deleted_at: now_ms, look_at: Some(now_ms) };
    tx.insert(Change::Deletion(user, Some(deletion), None)).await?;
    tx.commit(Deleted::Gone { sessions: Vec::new() }).await
}

async fn due(mut tx: Tx, now_ms: i64, next_look_ms: i64) -> Result<Option<DeletedAccount>, StoreError> {
    let too_far = now_ms.saturating_add(MAX_WAIT_MS);
    let waiting = |tables: &Tables| {
        let mut due: Vec<_> = tables.deletions.iter().filter_map(|(user, it)| Some((it.look_at?, *user))).collect();
        due.retain(|(look_at, _)| *look_at <= now_ms || *look_at > too_far);
        due.sort_unstable();
        due.into_iter().map(|(_, user)| user).collect()
    };
    let Some(user) = tx.lock_free_ones(waiting, Row::Deletion, 1).await?.first().copied() else {
        return tx.roll_back(None).await;
    };
    let deleted_at = tx.look(|tables| tables.deletions.get(&user).map_or(0, |it| it.deleted_at));
    put_off(&mut tx, user, Some(next_look_ms)).await?;
    tx.commit(Some(DeletedAccount { user, deleted_at })).await
}

async fn look_at(mut tx: Tx, user: UserId, at_ms: Option<i64>) -> Result<(), StoreError> {
    put_off(&mut tx, user, at_ms).await?;
    tx.commit(()).await
}

async fn put_off(tx: &mut Tx, user: UserId, look_at: Option<i64>) -> Result<(), StoreError> {
    let later = |tables: &Tables| {
        let deletion = Deletion { look_at, ..*tables.deletions.get(&user)? };
        Some(Change::Deletion(user, Some(deletion), None))
    };
    tx.write(|tables| later(tables).into_iter().collect()).await.map(|_| ())
}

async fn turn_off(mut tx: Tx, user: UserId) -> Result<u64, StoreError> {
    let off = |tables: &Tables| {
        let state = *tables.states.get(&user).filter(|state| state.floor != Floor::Off)?;
        Some(Change::State(user, Some(State { floor: Floor::Off, rev: state.rev + 1, ..state }), None))
    };
    let gone = tx.write(|tables| off(tables).into_iter().collect()).await?;
    tx.commit(gone).await
}
