//! Imports in the model: a batch of contents or of follows with the progress of its file, in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use tidefeed::{
    domain::{Counters, EdgeMode, Floor, UserId, delivery::rate},
    store::{
        Imports, StoreError,
        contents::NewContent,
        imports::{
            self, Applied, AppliedBatch, BegunImport, ImportBatch, ImportCounts, ImportFile, ImportLease, ImportState,
            ImportStep, ImportedFollow, RowOutcome, RowRefusal,
        },
        relations::Pair,
    },
};

use super::{
    exclusions::BLOCKS,
    inboxes::lock_state,
    tables::{self, Change, Counts, Edge, Head, Import, Record, Row, State, Tables},
    transaction::{PrimaryStore, Tx, transaction},
    unsimulated::refused,
};
use crate::rules::Rule;

const FIRST_LOOK_MS: i64 = 10_000;

/// Which part of a batch a transaction commits. All of it, unless a rule is broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Progress,
    Rows,
}

#[async_trait]
impl Imports for PrimaryStore {
    /// A holder never dies here without a trace: leases do not count.
    async fn begin(&self, file: &ImportFile, lease: ImportLease) -> Result<BegunImport, StoreError> {
        transaction!(self, tx => begin(tx, file, lease))
    }

    async fn apply(&self, step: &ImportStep, batch: &ImportBatch) -> Result<Applied, StoreError> {
        if self.breaks(Rule::ImportProgressBeforeRows) {
            let before = transaction!(self, tx => apply(self, tx, step, batch, Part::Progress))?;
            if matches!(before, Applied::NotMine(_)) {
                return Ok(before);
            }
            return transaction!(self, tx => apply(self, tx, step, batch, Part::Rows));
        }
        transaction!(self, tx => apply(self, tx, step, batch, Part::Whole))
    }

    async fn end(&self, _: &str, _: ImportLease, _: bool) -> Result<bool, StoreError> {
        refused()
    }

    async fn cancel(&self, _: &str, _: i64) -> Result<bool, StoreError> {
        refused()
    }

    async fn import(&self, digest: &str) -> Result<Option<imports::Import>, StoreError> {
        let key = key(digest)?;
        self.read(|tables| tables.imports.get(&key).map(|it| shown(digest, *it))).await
    }

    async fn imports(&self, _: u64) -> Result<Vec<imports::Import>, StoreError> {
        refused()
    }
}

fn key(digest: &str) -> Result<i64, StoreError> {
    digest.parse().map_err(|_| StoreError::Refused("digests are numbers here".into()))
}

fn shown(digest: &str, it: Import) -> imports::Import {
    imports::Import {
        file: ImportFile { digest: digest.to_owned(), bytes: 0, lines: it.line_count },
        state: if it.is_finished { ImportState::Finished } else { ImportState::Running },
        through_line: it.through_line,
        counts: ImportCounts::default(),
        started_at: 0,
        updated_at: 0,
    }
}

async fn begin(mut tx: Tx, file: &ImportFile, lease: ImportLease) -> Result<BegunImport, StoreError> {
    let key = key(&file.digest)?;
    let begun = Import { holder: lease.holder, through_line: 0, line_count: file.lines, is_finished: false };
    if !tx.lock(Row::Import(key)).await? {
        if !tx.insert(Change::Import(key, Some(begun), None)).await? {
            return Err(StoreError::Contended("somebody else has begun the same import".into()));
        }
        return tx.commit(BegunImport::Mine(shown(&file.digest, begun))).await;
    }
    let found = tx.look(|tables| tables.imports.get(&key).copied()).unwrap_or(begun);
    let mine = Import { holder: lease.holder, ..found };
    tx.write(|_| vec![Change::Import(key, Some(mine), None)]).await?;
    tx.commit(BegunImport::Mine(shown(&file.digest, mine))).await
}

async fn apply(
    store: &PrimaryStore,
    mut tx: Tx,
    step: &ImportStep,
    batch: &ImportBatch,
    part: Part,
) -> Result<Applied, StoreError> {
    let key = key(&step.digest)?;
    if !tx.lock(Row::Import(key)).await? {
        return Err(StoreError::Refused("the import was never begun".into()));
    }
    let Some(found) = tx.look(|tables| tables.imports.get(&key).copied()) else {
        return Err(StoreError::Contended("a locked row is gone".into()));
    };
    let is_at = found.through_line == step.after_line || part == Part::Rows;
    if !is_at || found.holder != step.lease.holder {
        return tx.roll_back(Applied::NotMine(shown(&step.digest, found))).await;
    }
    let applied = match (part, batch) {
        (Part::Progress, _) => AppliedBatch::default(),
        (_, ImportBatch::Contents(contents)) => publish(store, &mut tx, contents, step).await?,
        (_, ImportBatch::Follows(follows)) => follow(store, &mut tx, follows, step.version).await?,
        _ => return refused(),
    };
    if part != Part::Rows {
        let come = Import { through_line: step.through_line, ..found };
        tx.write(|_| vec![Change::Import(key, Some(come), None)]).await?;
    }
    tx.commit(Applied::Committed(applied)).await
}

async fn publish(
    store: &PrimaryStore,
    tx: &mut Tx,
    contents: &[NewContent],
    step: &ImportStep,
) -> Result<AppliedBatch, StoreError> {
    let mut times: BTreeMap<UserId, Vec<i64>> = BTreeMap::new();
    for new in contents {
        times.entry(new.author).or_default().push(new.publish_time);
    }
    for author in times.keys() {
        tx.lock(Row::Head(*author)).await?;
    }
    for author in times.keys() {
        tx.lock(Row::Counts(*author)).await?;
    }
    for new in contents {
        insert(store, tx, new, step.lease.now_ms).await?;
    }
    if !store.breaks(Rule::ImportKeepsOutboxVersion) {
        let version = step.version;
        tx.write(|tables| times.iter().map(|(author, times)| head(tables, *author, times, version)).collect()).await?;
    }
    let counted = |tables: &Tables, author: &UserId, more: usize| {
        let counts = *tables.counts.get(author)?;
        let contents = counts.contents + i64::try_from(more).unwrap_or(0);
        Some(Change::Counts(*author, Some(Counts { contents, ..counts }), None))
    };
    tx.write(|tables| times.iter().filter_map(|(author, times)| counted(tables, author, times.len())).collect())
        .await?;
    Ok(AppliedBatch {
        outcomes: vec![RowOutcome::Created; contents.len()],
        published: contents.iter().map(|new| new.id).collect(),
        authors: times.into_keys().collect(),
        ..AppliedBatch::default()
    })
}

async fn insert(store: &PrimaryStore, tx: &mut Tx, new: &NewContent, now_ms: i64) -> Result<(), StoreError> {
    let row = tables::Published {
        author: new.author,
        draft: std::sync::Arc::new(new.draft.clone()),
        publish_time: new.publish_time,
        kind: new.draft.reference.kind(),
        repost_author: None,
        removed: false,
    };
    if !tx.insert(Change::Content(new.id, Some(row), None)).await? {
        return Err(StoreError::Contended("an id is taken".into()));
    }
    let none = Counters { replies: 0, likes: 0, reposts: 0, bookmarks: 0 };
    tx.insert(Change::Counters(new.id, Some(none), None)).await?;
    if store.breaks(Rule::ImportWithoutRecord) {
        return Ok(());
    }
    let record = Record {
        author: new.author,
        publish_time: new.publish_time,
        attempts: 0,
        last_error: String::new(),
        look_at: now_ms.saturating_add(FIRST_LOOK_MS),
        look_count: 0,
        attempt: None,
    };
    tx.insert(Change::Delivery(new.id, Some(record), None)).await.map(|_| ())
}

/// The author's outbox with its new version. Times before the last one do not count for the interval.
fn head(tables: &Tables, author: UserId, times: &[i64], version: i64) -> Change {
    let before = tables.heads.get(&author).copied();
    let (mut published_at, mut publish_every) = before.map_or((None, None), |it| (it.published_at, it.publish_every));
    for at in times.iter().copied().collect::<BTreeSet<_>>() {
        if published_at.is_none_or(|last| at > last) {
            publish_every = rate::smoothed(publish_every, published_at, at, 0);
            published_at = Some(at);
        }
    }
    Change::Head(author, Some(Head { version, published_at, publish_every }), None)
}

async fn follow(
    store: &PrimaryStore,
    tx: &mut Tx,
    follows: &[ImportedFollow],
    version: i64,
) -> Result<AppliedBatch, StoreError> {
    let early = store.breaks(Rule::ImportedEdgeReadsBeforeLocking);
    let pairs: Vec<Pair> = follows.iter().map(|it| it.pair).collect();
    let readers: BTreeSet<UserId> = pairs.iter().map(|pair| pair.follower).collect();
    let mut states: BTreeMap<UserId, State> = match early {
        true => {
            let found = |tables: &Tables| {
                readers.iter().filter_map(|it| Some((*it, *tables.states.get(it)?))).collect::<BTreeMap<_, _>>()
            };
            tx.read(found).await?
        }
        false => BTreeMap::new(),
    };
    for user in pairs.iter().flat_map(|pair| [pair.follower, pair.author]).collect::<BTreeSet<_>>() {
        tx.lock(Row::Counts(user)).await?;
    }
    let judge = |tables: &Tables, pair: &Pair| match (pair.follower, pair.author) {
        (by, to) if !tables.counts.contains_key(&by) || !tables.counts.contains_key(&to) => {
            RowOutcome::Refused(RowRefusal::UnknownUser)
        }
        key if tables.follows.contains_key(&key) => RowOutcome::Unchanged,
        (by, to) if tables.is_excluded(by, to, BLOCKS) => RowOutcome::Refused(RowRefusal::Blocked),
        _ => RowOutcome::Created,
    };
    let outcomes: Vec<RowOutcome> = tx.read(|tables| pairs.iter().map(|pair| judge(tables, pair)).collect()).await?;
    let created = pairs.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == RowOutcome::Created);
    let new: Vec<Pair> = created.map(|(pair, _)| *pair).collect();
    let followers: BTreeSet<UserId> = new.iter().map(|pair| pair.follower).collect();
    for reader in &followers {
        let locked = lock_state(tx, *reader).await?;
        states.entry(*reader).or_insert(locked);
    }
    for pair in &new {
        let state = states.get(&pair.follower);
        let is_off = state.is_none_or(|state| {
            (state.floor == Floor::Off || store.breaks(Rule::ImportedEdgeOfActiveReaderIsPush))
                && (state.stay.is_none() || store.breaks(Rule::ImportedEdgeOfOutsideReaderIsPush))
        });
        let mode = if is_off { EdgeMode::Push } else { EdgeMode::Pull };
        let key = (pair.follower, pair.author);
        tx.insert(Change::Edge(key, Some(Edge { mode, incarnation: version }), None)).await?;
        count(tx, *pair, version).await?;
    }
    let followers = followers.into_iter().collect();
    Ok(AppliedBatch { outcomes, followers, ..AppliedBatch::default() })
}

async fn count(tx: &mut Tx, pair: Pair, version: i64) -> Result<(), StoreError> {
    let Pair { follower, author } = pair;
    let counted = i64::from(follower != author);
    let changed = |tables: &Tables, user: UserId| {
        let mut counts = *tables.counts.get(&user)?;
        if user == author {
            counts.followers += counted;
        }
        if user == follower {
            counts.following += counted;
            counts.authors_version = version;
        }
        Some(Change::Counts(user, Some(counts), None))
    };
    let users: BTreeSet<UserId> = [follower, author].into();
    tx.write(|tables| users.iter().filter_map(|user| changed(tables, *user)).collect()).await.map(|_| ())
}
