//! What the primary store keeps of inboxes outside it, in the model: tokens of buckets, tiers of readers, and the
//! transactions between which rows are written outside.

use async_trait::async_trait;
use tidefeed::{
    domain::{
        ContentId, EdgeMode, Entry, Floor, Position, UserId,
        delivery::{DeliveryPolicy, subtask::END},
        timeline::outside::{Basis, Bucket, BucketToken, Fence, Generation},
    },
    store::{
        OutsideStates, StoreError,
        deliveries::{AtOnce, Pushed, Subtask},
        outside_states::{FencedReader, NotConfigured, Occupancy, OutsideBatch, Recipient},
        relations::Pair,
    },
};

use super::{
    at_once::{self, Ended, state_of},
    chains,
    deliveries::{Part, delete_with_subtasks, push_within},
    follows::renew_authors,
    inboxes::lock_state,
    tables::{Change, Edge, Record, Row, State, Stay, Tables, Task},
    transaction::{PrimaryStore, Tx, transaction},
};
use crate::rules::Rule;

/// A delivery that does not look for recipients outside must not end while there may be some.
pub fn expect_unused(tables: &Tables) -> Result<(), StoreError> {
    if is_used(tables) { Err(NotConfigured.into()) } else { Ok(()) }
}

/// Whether any bucket has a token.
pub fn is_used(tables: &Tables) -> bool {
    tables.buckets.values().any(Option::is_some)
}

/// The token of the reader's bucket and the reader's stay.
pub fn fence_of(tables: &Tables, reader: UserId) -> Option<(Fence, Option<Basis>)> {
    let stay = tables.states.get(&reader)?.stay?;
    let token = tables.buckets.get(&Bucket::of(reader)).copied().flatten()?;
    Some((Fence { token, generation: stay.generation }, stay.basis))
}

#[async_trait]
impl OutsideStates for PrimaryStore {
    async fn tokens(&self) -> Result<Vec<(Bucket, BucketToken)>, StoreError> {
        self.read(|tables| tables.buckets.iter().filter_map(|(bucket, token)| Some((*bucket, (*token)?))).collect())
            .await
    }

    /// Buckets of nobody are left out, to save time.
    async fn set_token(
        &self,
        bucket: Bucket,
        former: Option<BucketToken>,
        next: Option<BucketToken>,
    ) -> Result<bool, StoreError> {
        if !self.base().tables.users.keys().any(|user| Bucket::of(*user) == bucket) {
            return Ok(false);
        }
        let stays = self.breaks(Rule::EpochStays);
        let next = next.map(|token| BucketToken { epoch: if stays { 0 } else { token.epoch }, ..token });
        transaction!(self, tx => set_token(tx, bucket, former, next))
    }

    async fn fences(&self, readers: &[UserId]) -> Result<Vec<FencedReader>, StoreError> {
        if self.breaks(Rule::BuildReadsBeforeOpening) {
            let base = &mut *self.base();
            for reader in readers {
                base.early.rows.insert(*reader, newest_of_followed(self, &base.tables, *reader, u32::MAX));
            }
        }
        let fenced = |tables: &Tables, reader: UserId| {
            let (fence, basis) = fence_of(tables, reader)?;
            Some(FencedReader { reader, fence, basis })
        };
        self.read(|tables| readers.iter().filter_map(|reader| fenced(tables, *reader)).collect()).await
    }

    async fn enter_all(&self, readers: &[(UserId, Generation)]) -> Result<Vec<UserId>, StoreError> {
        if readers.is_empty() {
            return Ok(Vec::new());
        }
        transaction!(self, tx => enter(self, tx, readers))
    }

    async fn leave(&self, reader: UserId) -> Result<bool, StoreError> {
        transaction!(self, tx => leave(tx, reader))
    }

    async fn unseen(
        &self,
        after: i64,
        seen_before_ms: i64,
        limit: u64,
    ) -> Result<(Vec<UserId>, Option<i64>), StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.read(|tables| {
            let outside = tables.states.iter().filter(|(user, state)| state.stay.is_some() && user.get() > after);
            let looked_at: Vec<(&UserId, &State)> = outside.take(limit).collect();
            let last = looked_at.last().filter(|_| looked_at.len() >= limit).map(|(user, _)| user.get());
            let unseen = looked_at.into_iter().filter(|(_, it)| it.last_seen.is_none_or(|seen| seen < seen_before_ms));
            (unseen.map(|(user, _)| *user).collect(), last)
        })
        .await
    }

    async fn read_for_builds(
        &self,
        builds: &[(UserId, Generation, Basis)],
        keep: u32,
    ) -> Result<Vec<(UserId, Vec<Position>)>, StoreError> {
        if builds.is_empty() {
            return Ok(Vec::new());
        }
        transaction!(self, tx => read_for_builds(self, tx, builds, keep))
    }

    async fn read_for_cover(
        &self,
        pair: Pair,
        keep: u32,
        incarnation: i64,
    ) -> Result<Option<(Option<Fence>, Vec<Position>)>, StoreError> {
        transaction!(self, tx => read_for_cover(self, tx, pair, keep, incarnation))
    }

    async fn trust(&self, pair: Pair, incarnation: i64) -> Result<bool, StoreError> {
        transaction!(self, tx => trust(self, tx, pair, incarnation))
    }

    async fn begin_at_once(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
        attempt: i64,
    ) -> Result<Option<OutsideBatch>, StoreError> {
        transaction!(self, tx => begin_at_once(self, tx, content, (most, policy), attempt))
    }

    async fn deliver_at_once_as(
        &self,
        content: ContentId,
        most: u32,
        policy: &DeliveryPolicy,
        attempt: i64,
    ) -> Result<AtOnce, StoreError> {
        match transaction!(self, tx => at_once::deliver(self, tx, content, (most, policy), Some(attempt)))? {
            Ended::AtOnce(ended) => Ok(ended),
            Ended::RowsLater(_) => unreachable!("the rule for which rows come later is of inboxes in SQL"),
        }
    }

    async fn begin_batch(
        &self,
        subtask: &Subtask,
        batch_size: u32,
        attempt: i64,
    ) -> Result<Option<OutsideBatch>, StoreError> {
        transaction!(self, tx => begin_batch(self, tx, subtask, batch_size, attempt))
    }

    async fn push_batch_as(&self, subtask: &Subtask, through: i64, attempt: i64) -> Result<Pushed, StoreError> {
        transaction!(self, tx => push_batch_as(self, tx, subtask, through, attempt))
    }

    async fn occupancy(&self) -> Result<Occupancy, StoreError> {
        super::unsimulated::refused()
    }
}

async fn set_token(
    mut tx: Tx,
    bucket: Bucket,
    former: Option<BucketToken>,
    next: Option<BucketToken>,
) -> Result<bool, StoreError> {
    tx.insert(Change::Bucket(bucket, Some(None), None)).await?;
    let set = |tables: &Tables| {
        let is_former = tables.buckets.get(&bucket) == Some(&former);
        is_former.then_some(Change::Bucket(bucket, Some(next), None)).into_iter().collect()
    };
    let rows = tx.write(set).await?;
    tx.commit(rows > 0).await
}

async fn stay(tx: &mut Tx, reader: UserId, stay: Option<Stay>, floor: Floor) -> Result<(), StoreError> {
    tx.write(|tables| {
        let state = tables.states.get(&reader);
        let next = state.map(|state| State { stay, floor, rev: state.rev + 1, ..*state });
        next.map(|next| Change::State(reader, Some(next), None)).into_iter().collect()
    })
    .await
    .map(drop)
}

async fn enter(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    readers: &[(UserId, Generation)],
) -> Result<Vec<UserId>, StoreError> {
    let mut in_sql = Vec::with_capacity(readers.len());
    for it in readers {
        if lock_state(&mut tx, it.0).await?.stay.is_none() {
            in_sql.push(*it);
        }
    }
    let stays = primary_store.breaks(Rule::GenerationStays);
    let mut entered = Vec::with_capacity(in_sql.len());
    for (reader, generation) in in_sql {
        if tx.read(|tables| tables.buckets.get(&Bucket::of(reader)).copied().flatten().is_none()).await? {
            continue;
        }
        let generation = if stays { Generation(1) } else { generation };
        stay(&mut tx, reader, Some(Stay { generation, basis: None }), Floor::Off).await?;
        entered.push(reader);
    }
    if entered.is_empty() { tx.roll_back(entered).await } else { tx.commit(entered).await }
}

async fn leave(mut tx: Tx, reader: UserId) -> Result<bool, StoreError> {
    if lock_state(&mut tx, reader).await?.stay.is_none() {
        return tx.roll_back(false).await;
    }
    stay(&mut tx, reader, None, Floor::OPEN).await?;
    tx.commit(true).await
}

async fn read_for_builds(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    builds: &[(UserId, Generation, Basis)],
    keep: u32,
) -> Result<Vec<(UserId, Vec<Position>)>, StoreError> {
    let mut of_stay = Vec::with_capacity(builds.len());
    for (reader, generation, basis) in builds {
        let state = lock_state(&mut tx, *reader).await?;
        if state.stay.is_some_and(|stay| stay.generation == *generation) {
            of_stay.push((*reader, Stay { generation: *generation, basis: Some(*basis) }, state.floor));
        }
    }
    if of_stay.is_empty() {
        return tx.roll_back(Vec::new()).await;
    }
    for (reader, drawn, floor) in &of_stay {
        stay(&mut tx, *reader, Some(*drawn), *floor).await?;
    }
    let limit = usize::try_from(keep.max(1)).unwrap_or(usize::MAX);
    let mut read = Vec::with_capacity(of_stay.len());
    for (reader, ..) in of_stay {
        let early = primary_store.base().early.rows.remove(&reader);
        let rows = match early {
            Some(early) => early.into_iter().take(limit).collect(),
            None => tx.read(|tables| newest_of_followed(primary_store, tables, reader, keep)).await?,
        };
        read.push((reader, rows));
    }
    tx.commit(read).await
}

/// The newest contents of all whom the reader follows, whatever the modes.
fn newest_of_followed(primary_store: &PrimaryStore, tables: &Tables, reader: UserId, keep: u32) -> Vec<Position> {
    let wanted = |mode| mode == EdgeMode::Push || !primary_store.breaks(Rule::BuildOfPushedOnly);
    let authors = tables.edges(reader).filter(|(_, edge)| wanted(edge.mode));
    newest(authors.flat_map(|(author, _)| tables.outbox(author)).collect(), keep)
}

fn newest(mut entries: Vec<Entry>, keep: u32) -> Vec<Position> {
    entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.position()));
    entries.truncate(usize::try_from(keep.max(1)).unwrap_or(usize::MAX));
    entries.iter().map(Entry::position).collect()
}

async fn read_for_cover(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    Pair { follower, author }: Pair,
    keep: u32,
    incarnation: i64,
) -> Result<Option<(Option<Fence>, Vec<Position>)>, StoreError> {
    if lock_state(&mut tx, follower).await?.stay.is_none() {
        return tx.roll_back(None).await;
    }
    let pair = (follower, author);
    let keeps = primary_store.breaks(Rule::CoverKeepsIncarnation);
    let renewed = |tables: &Tables| {
        let edge = tables.follows.get(&pair).filter(|edge| edge.mode == EdgeMode::Fill)?;
        let incarnation = if keeps { edge.incarnation } else { incarnation };
        Some(Change::Edge(pair, Some(Edge { incarnation, ..*edge }), None))
    };
    if tx.write(|tables| renewed(tables).into_iter().collect()).await? == 0 {
        return tx.roll_back(None).await;
    }
    let fence = tx.read(|tables| fence_of(tables, follower).map(|(fence, _)| fence)).await?;
    let rows = tx.read(|tables| newest(tables.outbox(author).collect(), keep)).await?;
    let kept = tx.look(|tables| tables.follows.get(&pair).map_or(0, |edge| edge.incarnation));
    if keeps {
        primary_store.base().early.incarnations.insert(incarnation, kept);
    }
    tx.commit(Some((fence, rows))).await
}

async fn trust(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    Pair { follower, author }: Pair,
    incarnation: i64,
) -> Result<bool, StoreError> {
    let version = (!primary_store.breaks(Rule::CoverKeepsVersion)).then_some(incarnation);
    renew_authors(&mut tx, &[follower], version).await?;
    if lock_state(&mut tx, follower).await?.stay.is_none() {
        return tx.roll_back(false).await;
    }
    let (pair, any) = ((follower, author), primary_store.breaks(Rule::CoverOfAnyIncarnation));
    let incarnation = primary_store.base().early.incarnations.remove(&incarnation).unwrap_or(incarnation);
    let trusted = |tables: &Tables| {
        let edge = tables.follows.get(&pair).filter(|edge| edge.mode == EdgeMode::Fill)?;
        let is_same = any || edge.incarnation == incarnation;
        is_same.then_some(Change::Edge(pair, Some(Edge { mode: EdgeMode::Push, ..*edge }), None))
    };
    let rows = tx.write(|tables| trusted(tables).into_iter().collect()).await?;
    if rows > 0 { tx.commit(true).await } else { tx.roll_back(false).await }
}

/// Everybody outside whom a batch reaches. It skips the same readers as the batch in SQL, and those whose bucket has no
/// token.
pub fn recipients(primary_store: &PrimaryStore, tables: &Tables, author: UserId, range: (i64, i64)) -> Vec<Recipient> {
    let skips_fill = primary_store.breaks(Rule::OutsideFillIsSkipped);
    let targets = tables.targets(author, range.0, range.1);
    let targets = targets.filter(|fan| !skips_fill || tables.mode(*fan, author) != Some(EdgeMode::Fill));
    targets.filter_map(|reader| Some(Recipient { reader, fence: fence_of(tables, reader)?.0 })).collect()
}

/// As [`recipients`]; those that a broken rule has read before the content's commit, if there are any.
async fn recipients_of(
    primary_store: &PrimaryStore,
    tx: &mut Tx,
    entry: Entry,
    range: (i64, i64),
) -> Result<Vec<Recipient>, StoreError> {
    let early = primary_store.base().early.recipients.get(&entry.content).cloned();
    let is_within = |it: &Recipient| it.reader.get() > range.0 && it.reader.get() <= range.1;
    match early {
        Some(early) => Ok(early.into_iter().filter(is_within).collect()),
        None => tx.read(|tables| recipients(primary_store, tables, entry.author, range)).await,
    }
}

async fn begin_at_once(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    content: ContentId,
    (most, policy): (u32, &DeliveryPolicy),
    attempt: i64,
) -> Result<Option<OutsideBatch>, StoreError> {
    if !tx.lock(Row::Delivery(content)).await? {
        return tx.roll_back(None).await;
    }
    let state = tx.read(|tables| state_of(tables, content)).await?;
    let Some(state) = state.filter(|state| !state.removed && state.is_small(most, policy)) else {
        return tx.roll_back(None).await;
    };
    tx.write(|tables| {
        let record = tables.deliveries.get(&content);
        let begun = record.map(|record| Record { attempt: Some(attempt), ..record.clone() });
        begun.map(|record| Change::Delivery(content, Some(record), None)).into_iter().collect()
    })
    .await?;
    let recipients = recipients_of(primary_store, &mut tx, state.entry, (0, END)).await?;
    if primary_store.breaks(Rule::OutsideProgressBeforeRows) {
        delete_with_subtasks(&mut tx, content).await?;
    }
    tx.commit(Some(OutsideBatch { entry: state.entry, recipients, through: END, attempt })).await
}

async fn begin_batch(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    task: &Subtask,
    size: u32,
    attempt: i64,
) -> Result<Option<OutsideBatch>, StoreError> {
    let key = (task.content, task.progress.range.after);
    if !tx.lock(Row::Subtask(key)).await? {
        return tx.roll_back(None).await;
    }
    let Some(row) = tx.look(|tables| tables.subtasks.get(&key).copied()) else { return tx.roll_back(None).await };
    let progress = chains::subtask(key.0, key.1, row).progress;
    let record = tx.read(|tables| tables.deliveries.get(&task.content).cloned()).await?;
    let Some(Record { author, publish_time, .. }) = record else { return tx.roll_back(None).await };
    let skipped = usize::try_from(size.max(1)).unwrap_or(1) - 1;
    let last = |it: &Tables| it.targets(author, progress.pushed_through, progress.range.through).nth(skipped);
    let Some(range) = progress.next_batch(tx.read(last).await?) else { return tx.roll_back(None).await };
    let early = primary_store.breaks(Rule::OutsideProgressBeforeRows);
    tx.write(|tables| {
        let pushed_through =
            |row: &Task| if early { row.pushed_through.max(range.through) } else { row.pushed_through };
        let begun = |row: &Task| Task { attempt: Some(attempt), pushed_through: pushed_through(row), ..*row };
        tables.subtasks.get(&key).map(|row| Change::Subtask(key, Some(begun(row)), None)).into_iter().collect()
    })
    .await?;
    let entry = Entry { publish_time, content: task.content, author };
    let recipients = recipients_of(primary_store, &mut tx, entry, (range.after, range.through)).await?;
    tx.commit(Some(OutsideBatch { entry, recipients, through: range.through, attempt })).await
}

async fn push_batch_as(
    primary_store: &PrimaryStore,
    mut tx: Tx,
    task: &Subtask,
    through: i64,
    attempt: i64,
) -> Result<Pushed, StoreError> {
    let pushed = push_within(primary_store, &mut tx, task, (0, Some((through, attempt))), Part::Both).await?;
    tx.commit(pushed).await
}
