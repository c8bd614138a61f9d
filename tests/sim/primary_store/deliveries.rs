//! Delivery records in the model, and the batches that serve them.

use async_trait::async_trait;
use tidefeed::{
    domain::{
        ContentId, EdgeMode, Entry, Floor, UserId,
        delivery::{
            DeliveryPolicy,
            subtask::{Progress, Range},
        },
        limits::MAX_WAIT_MS,
    },
    store::{
        Deliveries, StoreError,
        deliveries::{AtOnce, Backlog, Begun, Delivery, First, Lease, Pushed, Subtask, Together},
    },
};

use super::{
    at_once, begin, chains, first,
    outside_states::expect_unused,
    tables::{Change, Record, Row, Tables, Task},
    together,
    transaction::{PrimaryStore, Tx, transaction},
};
use crate::rules::Rule;

#[async_trait]
impl Deliveries for PrimaryStore {
    async fn find(&self, content: ContentId) -> Result<Option<Delivery>, StoreError> {
        self.read(|tables| delivery(tables, content)).await
    }

    async fn deliver_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
    ) -> Result<AtOnce, StoreError> {
        let rows_later = self.breaks(Rule::SmallRecordGoesFirst);
        let ended = transaction!(self, tx => at_once::deliver(self, tx, content, (most, policy), None))?;
        match ended {
            at_once::Ended::AtOnce(ended) => Ok(ended),
            at_once::Ended::RowsLater(entry) if rows_later => {
                let rows = transaction!(self, tx => at_once::rows_only(self, tx, entry))?;
                Ok(AtOnce::Ended { rows })
            }
            at_once::Ended::RowsLater(_) => unreachable!("rows come later only where that rule is broken"),
        }
    }

    async fn deliver_together(&self, contents: &[ContentId], most: u64) -> Result<Together, StoreError> {
        transaction!(self, tx => together::deliver(self, tx, contents, most))
    }

    async fn serve_first(&self, content: ContentId, first: First) -> Result<u64, StoreError> {
        transaction!(self, tx => first::serve(self, tx, content, first))
    }

    async fn extend_chain(&self, content: ContentId, subtask_size: u32, limit: usize) -> Result<bool, StoreError> {
        let limit = limit.min(self.engine.ranges_at_once.max(1));
        transaction!(self, tx => chains::extend(self, tx, content, (subtask_size, limit)))
    }

    async fn open_subtasks(&self, content: ContentId) -> Result<Vec<Subtask>, StoreError> {
        self.read(|tables| {
            let open = tables.chain(content).filter(|(_, task)| task.pushed_through < task.last_fan);
            open.map(|(after, task)| chains::subtask(content, after, task)).collect()
        })
        .await
    }

    async fn take_subtask(&self, subtask: (ContentId, i64), lease: Lease) -> Result<Option<Subtask>, StoreError> {
        transaction!(self, tx => begin::take(self, tx, subtask, lease))
    }

    async fn push_batch(&self, subtask: &Subtask, batch_size: u32) -> Result<Pushed, StoreError> {
        if self.breaks(Rule::ProgressBeforeRows) {
            let before = transaction!(self, tx => push(self, tx, subtask, batch_size, Part::Progress))?;
            let rows = transaction!(self, tx => push(self, tx, subtask, batch_size, Part::Rows))?;
            return Ok(Pushed { progress: before.progress, ..rows });
        }
        transaction!(self, tx => push(self, tx, subtask, batch_size, Part::Both))
    }

    async fn begin_subtask(
        &self,
        subtask: (ContentId, i64),
        lease: Lease,
        batch_size: u32,
        policy: &DeliveryPolicy,
    ) -> Result<Begun, StoreError> {
        if self.breaks(Rule::ProgressBeforeRows) {
            return begin::in_steps(self, subtask, lease, batch_size, policy).await;
        }
        transaction!(self, tx => begin::begin(self, tx, subtask, lease, (batch_size, policy)))
    }

    async fn finish(&self, content: ContentId) -> Result<bool, StoreError> {
        let known = self.read(|tables| {
            let is_due = !tables.is_visible(content) || chains::is_served(self, tables, content);
            if tables.deliveries.contains_key(&content) { (!is_due).then_some(false) } else { Some(true) }
        });
        if let Some(known) = known.await? {
            return Ok(known);
        }
        transaction!(self, tx => finish(self, tx, content))
    }

    async fn record_failure(
        &self,
        content: ContentId,
        subtask: Option<i64>,
        error: &str,
        retry_at_ms: i64,
    ) -> Result<(), StoreError> {
        transaction!(self, tx => record_failure(tx, (content, subtask), error, retry_at_ms))
    }

    /// Takes all, wherever the sweep begins: what it would pass over comes with the next whole one.
    async fn due(
        &self,
        _from_ms: i64,
        now_ms: i64,
        next_look_ms: i64,
        limit: u64,
    ) -> Result<Vec<Delivery>, StoreError> {
        if self.breaks(Rule::NobodySweeps) {
            return Ok(Vec::new());
        }
        transaction!(self, tx => due(tx, (now_ms, next_look_ms), limit))
    }

    async fn backlog(&self, _from_ms: i64, attempts: u32) -> Result<Backlog, StoreError> {
        self.read(|tables| {
            let records = || tables.deliveries.values();
            Backlog {
                unfinished: records().count() as u64,
                failing: records().filter(|it| it.attempts >= attempts).count() as u64,
                oldest: records().map(|it| it.publish_time).min(),
            }
        })
        .await
    }

    async fn failing(&self, attempts: u32, limit: u64) -> Result<Vec<Delivery>, StoreError> {
        self.read(|tables| {
            let failing = tables.deliveries.iter().filter(|(_, it)| it.attempts >= attempts);
            let mut failing: Vec<_> = failing.map(|(content, it)| (it.publish_time, *content)).collect();
            failing.sort_unstable();
            failing.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            failing.into_iter().filter_map(|(_, content)| delivery(tables, content)).collect()
        })
        .await
    }
}

fn delivery(tables: &Tables, content: ContentId) -> Option<Delivery> {
    let record = tables.deliveries.get(&content)?;
    let entry = Entry { publish_time: record.publish_time, content, author: record.author };
    let (attempts, last_error) = (record.attempts, record.last_error.clone());
    Some(Delivery { entry, removed: !tables.is_visible(content), attempts, last_error })
}

/// What of a batch is done; both in one transaction, unless a rule is broken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Both,
    Progress,
    Rows,
}

async fn push(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    task: &Subtask,
    size: u32,
    part: Part,
) -> Result<Pushed, StoreError> {
    tx.look(expect_unused)?;
    let pushed = push_within(primary_store, &mut tx, task, (size, None), part).await?;
    tx.commit(pushed).await
}

/// One batch of a transaction that the caller ends: the next so many followers, or up to this one, if that is the last
/// attempt that has read the recipients outside SQL.
pub async fn push_within(
    primary_store: &PrimaryStore,
    tx: &mut Tx,
    task: &Subtask,
    (size, attempt): (u32, Option<(i64, i64)>),
    part: Part,
) -> Result<Pushed, StoreError> {
    let gone = Pushed { progress: None, rows: 0 };
    let key = (task.content, task.progress.range.after);
    if !tx.lock(Row::Subtask(key)).await? {
        return Ok(gone);
    }
    let row = tx.look(|tables| tables.subtasks.get(&key).copied());
    let Some(row) = row else { return Ok(gone) };
    let any = primary_store.breaks(Rule::ProgressOfAnyAttempt);
    if attempt.is_some_and(|(_, attempt)| row.attempt != Some(attempt) && !any) {
        return Ok(gone);
    }
    let mut progress = chains::subtask(key.0, key.1, row).progress;
    if part == Part::Rows {
        progress.pushed_through = task.progress.pushed_through;
    }
    let record = tx.read(|tables| tables.deliveries.get(&task.content).cloned()).await?;
    let Some(record) = record else { return Ok(gone) };
    let author = record.author;
    let skipped = usize::try_from(size.max(1)).unwrap_or(1) - 1;
    let last = |it: &Tables| it.targets(author, progress.pushed_through, progress.range.through).nth(skipped);
    let batch = match attempt {
        Some((through, _)) => {
            let through = through.min(progress.range.through);
            let range = Range { after: progress.pushed_through, through };
            (range.through > range.after).then_some(range)
        }
        None => progress.next_batch(tx.read(last).await?),
    };
    let Some(batch) = batch else {
        return Ok(Pushed { progress: Some(progress), rows: 0 });
    };
    let (mut rows, mut through) = (0, batch.through);
    if part != Part::Progress {
        let entry = Entry { publish_time: record.publish_time, content: task.content, author };
        let now = primary_store.injector.now();
        rows = tx.insert_selected(|it| served(primary_store, it, entry, (batch.after, batch.through), now)).await?;
        if primary_store.breaks(Rule::ProgressIsTheLastRow) {
            let last = tx.look(|it| it.targets(author, batch.after, batch.through).last());
            through = last.map_or(batch.after, UserId::get);
        }
    }
    if part != Part::Rows {
        tx.write(|tables| {
            let row = tables.subtasks.get(&key);
            let further = |row: &Task| Task { pushed_through: row.pushed_through.max(through), ..*row };
            row.map(|row| Change::Subtask(key, Some(further(row)), None)).into_iter().collect()
        })
        .await?;
    }
    Ok(Pushed { progress: Some(Progress { pushed_through: through, ..progress }), rows })
}

/// The rows of one batch. It skips only `Pull` edges and readers who are off; more only while a rule is broken.
pub fn served(primary_store: &PrimaryStore, tables: &Tables, entry: Entry, range: (i64, i64), now: i64) -> Vec<Change> {
    let fans = tables.fans(entry.author, range.0, range.1);
    let served = fans.filter(|fan| {
        let Some(state) = tables.states.get(fan) else { return false };
        let Some(mode) = tables.mode(*fan, entry.author) else { return false };
        let skipped = match primary_store.engine.broken {
            Some(Rule::FillIsSkipped) => mode == EdgeMode::Fill,
            Some(Rule::OpenFloorIsSkipped) => state.floor == Floor::OPEN,
            Some(Rule::BelowFloorIsSkipped) => entry.position() < state.floor.trusted_from(),
            Some(Rule::UnseenAreSkipped) => state.last_seen.is_none_or(|seen| seen < now - 300),
            _ => false,
        };
        mode != EdgeMode::Pull && state.floor != Floor::Off && !state.passed_over && !skipped
    });
    served.map(|fan| Change::Inbox((fan, entry.position()), Some(entry.author), None)).collect()
}

async fn finish(primary_store: &PrimaryStore, mut tx: Tx, content: ContentId) -> Result<bool, StoreError> {
    if !tx.lock(Row::Delivery(content)).await? {
        return tx.roll_back(true).await;
    }
    if end(primary_store, &mut tx, content).await? { tx.commit(true).await } else { tx.roll_back(false).await }
}

/// The record goes if nothing is left to be done. The caller has locked it.
pub async fn end(primary_store: &PrimaryStore, tx: &mut Tx, content: ContentId) -> Result<bool, StoreError> {
    let removed = tx.read(|tables| !tables.is_visible(content)).await?;
    if !removed && !tx.read(|tables| chains::is_served(primary_store, tables, content)).await? {
        return Ok(false);
    }
    delete_with_subtasks(tx, content).await?;
    Ok(true)
}

/// The record goes, with its subtasks.
pub async fn delete_with_subtasks(tx: &mut Tx, content: ContentId) -> Result<(), StoreError> {
    tx.write(|tables| tables.chain(content).map(|(after, _)| Change::Subtask((content, after), None, None)).collect())
        .await?;
    tx.write(|_| vec![Change::Delivery(content, None, None)]).await.map(|_| ())
}

async fn record_failure(
    mut tx: Tx,
    (content, subtask): (ContentId, Option<i64>),
    error: &str,
    retry_at_ms: i64,
) -> Result<(), StoreError> {
    let failed = |it: &Record| Record {
        attempts: it.attempts + 1,
        last_error: error.chars().take(500).collect(),
        look_at: retry_at_ms,
        ..it.clone()
    };
    tx.write(|tables| {
        let record = tables.deliveries.get(&content);
        record.map(|it| Change::Delivery(content, Some(failed(it)), None)).into_iter().collect()
    })
    .await?;
    if let Some(after) = subtask {
        let key = (content, after);
        let free = |task: &Task| Change::Subtask(key, Some(Task { lease_until: 0, ..*task }), None);
        tx.write(|tables| tables.subtasks.get(&key).map(free).into_iter().collect()).await?;
    }
    tx.commit(()).await
}

async fn due(mut tx: Tx, (now_ms, next_look_ms): (i64, i64), limit: u64) -> Result<Vec<Delivery>, StoreError> {
    let waiting = |tables: &Tables| {
        let is_due = |look_at| look_at <= now_ms || look_at > now_ms.saturating_add(MAX_WAIT_MS);
        let due = tables.deliveries.iter().filter(|(_, record)| is_due(record.look_at));
        let mut due: Vec<_> = due.map(|(content, record)| (record.look_at, *content)).collect();
        due.sort_unstable();
        due.into_iter().map(|(_, content)| content).collect::<Vec<_>>()
    };
    let contents = tx.lock_free_ones(waiting, Row::Delivery, limit).await?;
    if contents.is_empty() {
        return tx.commit(Vec::new()).await;
    }
    tx.write(|tables| {
        let rows = contents.iter().filter_map(|id| Some((*id, tables.deliveries.get(id)?.clone())));
        let later = |row: &Record| {
            let often = [0, 1].get(row.look_count as usize).copied().unwrap_or(3);
            next_look_ms + next_look_ms.saturating_sub(now_ms) * often
        };
        let looked = |row: Record| Record { look_at: later(&row), look_count: row.look_count + 1, ..row };
        rows.map(|(id, row)| Change::Delivery(id, Some(looked(row)), None)).collect()
    })
    .await?;
    let found = tx.read(|tables| contents.iter().filter_map(|id| delivery(tables, *id)).collect()).await?;
    tx.commit(found).await
}
