//! Subtasks in the model: taken alone, or begun with the first batch and, if it is the last one, the end of the
//! delivery.

use tidefeed::{
    domain::{
        ContentId,
        delivery::{AuthorFacts, DeliveryPolicy, subtask::END},
    },
    store::{
        Deliveries as _, StoreError,
        deliveries::{Begun, Lease, Subtask},
    },
};

use super::{
    at_once::state_of,
    chains,
    deliveries::{Part, delete_with_subtasks, end, push_within},
    outside_states::is_used,
    tables::{Row, Tables},
    transaction::{PrimaryStore, Tx},
};
use crate::rules::Rule;

/// See `Deliveries::take_subtask`.
pub async fn take(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    subtask: (ContentId, i64),
    lease: Lease,
) -> Result<Option<Subtask>, StoreError> {
    let taken = chains::take(primary_store, &mut tx, subtask, lease).await?;
    tx.commit(taken).await
}

/// See `Deliveries::begin_subtask`.
pub async fn begin(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    (content, after): (ContentId, i64),
    lease: Lease,
    (size, policy): (u32, &DeliveryPolicy),
) -> Result<Begun, StoreError> {
    let before = |tables: &Tables| Some((before(tables, content, after)?, is_used(tables)));
    let Some(((author, is_last), is_outside_used)) = tx.read(before).await? else {
        return tx.roll_back(Begun::NotTaken).await;
    };
    if is_outside_used || policy.is_selective(&author) {
        return tx.roll_back(Begun::ToBeJudged(author)).await;
    }
    if is_last && !tx.lock(Row::Delivery(content)).await? {
        return tx.roll_back(Begun::NotTaken).await;
    }
    let Some(taken) = chains::take(primary_store, &mut tx, (content, after), lease).await? else {
        return tx.roll_back(Begun::NotTaken).await;
    };
    let pushed = push_within(primary_store, &mut tx, &taken, (size, None), Part::Both).await?;
    let subtask = Subtask { progress: pushed.progress.unwrap_or(taken.progress), ..taken };
    let ended = if is_last && primary_store.breaks(Rule::FirstBatchIsAll) {
        delete_with_subtasks(&mut tx, content).await?;
        true
    } else {
        is_last && subtask.progress.is_done() && end(primary_store, &mut tx, content).await?
    };
    tx.commit(Begun::Served { subtask, rows: pushed.rows, ended }).await
}

/// What is read before any lock: facts about the author, and whether no other subtask is open.
fn before(tables: &Tables, content: ContentId, after: i64) -> Option<(AuthorFacts, bool)> {
    let state = state_of(tables, content)?;
    let end = tables.chain(content).next_back().map(|(_, task)| task.last_fan);
    let others = tables.chain(content).any(|(first, task)| first != after && task.pushed_through < task.last_fan);
    Some((state.author, end == Some(END) && !others))
}

/// The same in transactions of its own for each step, while that rule is broken.
pub async fn in_steps(
    primary_store: &PrimaryStore,
    (content, after): (ContentId, i64),
    lease: Lease,
    size: u32,
    policy: &DeliveryPolicy,
) -> Result<Begun, StoreError> {
    let state = primary_store.read(|tables| before(tables, content, after)).await?;
    if let Some((author, _)) = state.filter(|(author, _)| policy.is_selective(author)) {
        return Ok(Begun::ToBeJudged(author));
    }
    let Some(taken) = primary_store.take_subtask((content, after), lease).await? else {
        return Ok(Begun::NotTaken);
    };
    let pushed = primary_store.push_batch(&taken, size).await?;
    let subtask = Subtask { progress: pushed.progress.unwrap_or(taken.progress), ..taken };
    Ok(Begun::Served { subtask, rows: pushed.rows, ended: false })
}
