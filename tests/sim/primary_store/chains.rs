//! Chains of subtasks in the model.

use tidefeed::{
    domain::{
        ContentId, UserId,
        delivery::subtask::{END, Progress, Range, next_range},
        limits::MAX_WAIT_MS,
    },
    store::{
        StoreError,
        deliveries::{Lease, Subtask},
    },
};

use super::{
    tables::{Change, Row, Tables, Task},
    transaction::{PrimaryStore, Tx},
};
use crate::rules::Rule;

pub fn subtask(content: ContentId, after: i64, task: Task) -> Subtask {
    let range = Range { after, through: task.last_fan };
    Subtask { content, task_no: task.number, progress: Progress { range, pushed_through: task.pushed_through } }
}

/// See `Deliveries::extend_chain`.
pub async fn extend(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    content: ContentId,
    (size, limit): (u32, usize),
) -> Result<bool, StoreError> {
    let early = match primary_store.breaks(Rule::BrokenChainIsExtended) {
        true => Some(tx.read(|tables| tables.chain(content).next_back()).await?),
        false => None,
    };
    if !tx.lock(Row::Delivery(content)).await? {
        return tx.roll_back(true).await;
    }
    let author = tx.look(|tables| tables.deliveries.get(&content).map(|record| record.author));
    let Some(author) = author else { return tx.roll_back(true).await };
    let last = tx.read(|tables| tables.chain(content).next_back()).await?;
    let last = early.unwrap_or(last);
    let (mut end, mut number) = last.map_or((0, 0), |(_, task)| (task.last_fan, task.number));
    for _ in 0..limit {
        let probe = tx.read(|tables| probe(primary_store, tables, author, (end, number), size)).await?;
        let Some(mut range) = next_range(end, probe) else { return tx.commit(true).await };
        if primary_store.breaks(Rule::ChainIsNumbered) && number > 0 {
            // The n-th range starts where n - 1 full ones end now, wherever the one before ended.
            let before = usize::try_from(number).unwrap_or(0) * usize::try_from(size).unwrap_or(1);
            let start = tx.look(|tables| tables.targets(author, 0, END).nth(before - 1));
            range.after = start.map_or(range.after, |start| start.get().max(range.after));
        }
        number = number.saturating_add(1);
        let Range { after, through } = range;
        let task = Task { number, last_fan: through, pushed_through: after, lease_until: 0, attempt: None };
        let fresh = tx.insert(Change::Subtask((content, after), Some(task), None)).await?;
        if !fresh && !primary_store.breaks(Rule::BrokenChainIsExtended) {
            return Err(StoreError::Refused("a range that is there was added again".into()));
        }
        end = through;
    }
    let assumes_complete = primary_store.breaks(Rule::IncompleteChainIsFinished);
    tx.commit(assumes_complete || end == END).await
}

/// The targets at places `size` and `size + 1` behind the chain's end.
fn probe(
    primary_store: &PrimaryStore,
    tables: &Tables,
    author: UserId,
    (end, number): (i64, i32),
    size: u32,
) -> [Option<UserId>; 2] {
    let skipped = usize::try_from(size.max(1)).unwrap_or(1) - 1;
    if primary_store.breaks(Rule::ChainIsNumbered) {
        // As if every range had been full.
        let before = usize::try_from(number).unwrap_or(0) * usize::try_from(size).unwrap_or(1);
        let mut targets = tables.targets(author, 0, END).skip(before + skipped).filter(|fan| fan.get() > end);
        return [targets.next(), targets.next()];
    }
    let mut targets = tables.targets(author, end, END).skip(skipped);
    [targets.next(), targets.next()]
}

/// See `Deliveries::take_subtask`. The caller ends the transaction.
pub async fn take(
    primary_store: &PrimaryStore,
    tx: &mut Tx,
    (content, after): (ContentId, i64),
    Lease { now_ms, until_ms }: Lease,
) -> Result<Option<Subtask>, StoreError> {
    let key = (content, after);
    let for_ever = primary_store.breaks(Rule::LeasesNeverEnd);
    let free_since = |lease_until: i64| {
        let over = lease_until <= now_ms || lease_until > now_ms.saturating_add(MAX_WAIT_MS);
        if for_ever { lease_until == 0 } else { over }
    };
    let taken = tx
        .write(|tables| {
            let free = |task: &&Task| task.pushed_through < task.last_fan && free_since(task.lease_until);
            let task = tables.subtasks.get(&key).filter(free);
            let leased = |task: &Task| Task { lease_until: until_ms, ..*task };
            task.map(|task| Change::Subtask(key, Some(leased(task)), None)).into_iter().collect()
        })
        .await?;
    if taken == 0 {
        return Ok(None);
    }
    let task = tx.read(|tables| tables.subtasks.get(&key).copied()).await?;
    Ok(task.map(|task| subtask(content, after, task)))
}

/// Whether the chain is complete and every subtask done.
pub fn is_served(primary_store: &PrimaryStore, tables: &Tables, content: ContentId) -> bool {
    let end = tables.chain(content).next_back().map(|(_, task)| task.last_fan);
    let mut open = tables.chain(content).filter(|(_, task)| task.pushed_through < task.last_fan);
    match primary_store.engine.broken {
        Some(Rule::IncompleteChainIsFinished) => end.is_some() && open.next().is_none(),
        Some(Rule::LastSubtaskFinishes) => {
            let last = tables.chain(content).next_back();
            last.is_some_and(|(_, task)| task.last_fan == END && task.pushed_through == END)
        }
        Some(Rule::TakenCountsAsDone) => end == Some(END) && open.all(|(_, task)| task.lease_until > 0),
        _ => end == Some(END) && open.next().is_none(),
    }
}
