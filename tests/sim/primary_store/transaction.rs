//! Models transactions of a READ COMMITTED database, statement by statement. Each statement sees one snapshot of the
//! committed rows and of the transaction's own writes. Rows that are written or selected for update stay locked until
//! the end, and other transactions wait for them. A statement that would close a cycle of waits is refused. A dropped
//! transaction is rolled back. The store may end a transaction by itself, at any statement or instead of its commit.

use std::{
    collections::{BTreeMap, VecDeque},
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard},
    task::{Poll, Waker},
};

use tidefeed::{
    domain::{ContentId, Position, UserId},
    store::{StoreError, outside_states::Recipient},
};

use super::{
    connections::{Connections, Outer},
    replicated::StoreState,
    tables::{Change, Row, Tables},
};
use crate::{
    checks::Checks,
    fault_injector::FaultInjector,
    replicas::{Reading, Replication},
    rules::Rule,
};

/// Attempts of a contended transaction.
pub const ATTEMPTS: u32 = 6;
/// Commits that a fail-over may lose.
const REPLICATED_LATE: usize = 12;

/// How the model behaves; drawn for each seed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Engine {
    /// Transactions that write take turns, as on SQLite.
    pub one_writer: bool,
    /// Ranges that one transaction adds to a chain at most.
    pub ranges_at_once: usize,
    /// Reactions of a reader with which all of them are remembered.
    pub most_reactions: usize,
    /// All counts of users are spread: follows change those of authors beside their rows.
    pub has_spread_counts: bool,
    /// The rule that is broken in this run.
    pub broken: Option<Rule>,
}

/// The database: everything that is committed, and who holds what.
#[derive(Clone)]
pub struct PrimaryStore {
    pub injector: FaultInjector,
    pub engine: Engine,
    base: Arc<Mutex<Base>>,
    connections: Connections,
    replicas: Reading,
}

/// See [`PrimaryStore`].
#[derive(Default)]
pub struct Base {
    pub tables: Tables,
    pub checks: Checks,
    locks: BTreeMap<Row, u64>,
    waiting: BTreeMap<u64, (Row, Waker)>,
    last: u64,
    /// The last commits, the newest last.
    commits: VecDeque<Vec<Change>>,
    /// Pages whose inbox outside SQL claims what this store knows of.
    pub claimed: u64,
    /// What broken rules have read too early.
    pub early: Early,
    /// Fail-overs that have lost commits.
    pub losses: u64,
    pub replication: Replication,
}

/// What only broken rules read: before the content's commit, before the inbox is opened, and of which edge.
#[derive(Default)]
pub struct Early {
    pub recipients: BTreeMap<ContentId, Vec<Recipient>>,
    pub rows: BTreeMap<UserId, Vec<Position>>,
    /// The incarnation that an edge has kept, by the one that it was to get.
    pub incarnations: BTreeMap<i64, i64>,
}

/// An open transaction.
pub struct Tx {
    primary_store: PrimaryStore,
    number: u64,
    changes: Vec<Change>,
    connection: Connection,
    /// Fail-overs before it began.
    losses: u64,
}

/// What a transaction runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// It was at rest when the transaction began.
    Fresh,
    /// It was not: of the changes, so many are of those who used it before.
    Nested(usize),
    /// The store has undone everything by itself.
    RolledBack,
    /// It broke.
    Broken,
}

impl PrimaryStore {
    pub fn new(injector: FaultInjector, engine: Engine, checks: Checks) -> Self {
        let base = Arc::new(Mutex::new(Base { checks, ..Base::default() }));
        let replicas = Reading::of(StoreState { injector: injector.clone(), engine, base: Arc::clone(&base) });
        Self { injector, engine, base, connections: Connections::default(), replicas }
    }

    /// The same, by connections of one node's own.
    pub fn of_a_node(&self) -> Self {
        Self { connections: Connections::default(), replicas: Reading::of(self.state()), ..self.clone() }
    }

    pub fn state(&self) -> StoreState {
        StoreState { injector: self.injector.clone(), engine: self.engine, base: Arc::clone(&self.base) }
    }

    /// The node's reading on replicas.
    pub fn replicas(&self) -> Reading {
        self.replicas.clone()
    }

    /// The node's connections end, with what nobody has committed.
    pub fn close(&self) {
        while let Some(outer) = self.connections.take() {
            self.base().release(outer.number);
        }
    }

    /// What was committed until now is never lost.
    pub fn replicate(&self) {
        self.base().commits.clear();
    }

    /// The server fails over to one that lacks the last commits. Whatever transaction is open is undone.
    pub fn lose_commits(&self) {
        let lost = 1 + self.injector.index(REPLICATED_LATE);
        self.injector.note(|| format!("the store fails over and loses up to {lost} commits"));
        let mut base = self.base();
        let kept = base.commits.len().saturating_sub(lost);
        let lost: Vec<Vec<Change>> = base.commits.drain(kept..).collect();
        base.replication.fail_over(lost.len());
        base.losses += 1;
        base.locks.clear();
        base.waiting.values().for_each(|(_, waker)| waker.wake_by_ref());
        base.make_so(lost.iter().flatten().rev().map(Change::inverse).collect(), &self.injector);
        base.commits.pop_back();
    }

    pub fn base(&self) -> MutexGuard<'_, Base> {
        self.base.try_lock().expect("nobody else looks at the tables: a world has one thread")
    }

    /// Whether this rule is broken in this run.
    pub fn breaks(&self, rule: Rule) -> bool {
        self.engine.broken == Some(rule)
    }

    /// One statement outside any transaction.
    pub async fn read<T>(&self, statement: impl FnOnce(&Tables) -> T) -> Result<T, StoreError> {
        self.injector.statement().await?;
        let answer = statement(&self.base().tables);
        self.injector.switch().await;
        Ok(answer)
    }

    pub async fn begin(&self) -> Result<Tx, StoreError> {
        self.injector.statement().await?;
        let (number, changes, connection) = match self.connections.take() {
            Some(Outer { number, changes }) => {
                let connection = Connection::Nested(changes.len());
                (number, changes, connection)
            }
            None => (self.number(), Vec::new(), Connection::Fresh),
        };
        let losses = self.base().losses;
        let tx = Tx { primary_store: self.clone(), number, changes, connection, losses };
        if self.engine.one_writer {
            tx.wait_for(Row::Everything).await?;
        }
        Ok(tx)
    }

    fn number(&self) -> u64 {
        let mut base = self.base();
        base.last += 1;
        base.last
    }
}

/// Runs a transaction, and again while it is contended.
macro_rules! transaction {
    ($primary_store:expr, $tx:ident => $work:expr) => {{
        let mut attempt = 1;
        loop {
            let outcome = match $primary_store.begin().await {
                Ok($tx) => $work.await,
                Err(error) => Err(error),
            };
            match outcome {
                Err(tidefeed::store::StoreError::Contended(_))
                    if attempt < $crate::primary_store::transaction::ATTEMPTS =>
                {
                    attempt += 1;
                    $primary_store.injector.switch().await;
                }
                outcome => break outcome,
            }
        }
    }};
}
pub(crate) use transaction;

impl Base {
    /// Takes the lock, or learns who has it.
    fn take(&mut self, row: Row, number: u64) -> Result<(), u64> {
        match self.locks.get(&row) {
            Some(holder) if *holder != number => Err(*holder),
            _ => {
                self.locks.insert(row, number);
                Ok(())
            }
        }
    }

    /// Whether waiting for `holder` would be waiting for oneself.
    fn closes_a_cycle(&self, mut holder: u64, number: u64) -> bool {
        while let Some((row, _)) = self.waiting.get(&holder) {
            match self.locks.get(row) {
                Some(next) if *next == number => return true,
                Some(next) if *next != holder => holder = *next,
                _ => return false,
            }
        }
        false
    }

    fn release(&mut self, number: u64) {
        self.waiting.remove(&number);
        let waiting = &self.waiting;
        self.locks.retain(|row, holder| {
            if *holder == number {
                waiting
                    .values()
                    .filter(|(waits, _)| waits == row)
                    .for_each(|(_, reactivator)| reactivator.wake_by_ref());
            }
            *holder != number
        });
    }

    fn free(&mut self, row: Row, number: u64) {
        if self.locks.get(&row) == Some(&number) {
            self.locks.remove(&row);
            self.waiting
                .values()
                .filter(|(waits, _)| *waits == row)
                .for_each(|(_, reactivator)| reactivator.wake_by_ref());
        }
    }

    /// What the transaction sees.
    fn see<T>(&mut self, changes: &mut [Change], look: impl FnOnce(&mut Self) -> T) -> T {
        for change in &mut *changes {
            self.tables.make(change);
        }
        let seen = look(self);
        changes.iter().rev().for_each(|change| self.tables.unmake(change));
        seen
    }
}

impl Tx {
    /// See [`FaultInjector::statement`]; the store may also undo the whole transaction.
    async fn statement(&mut self) -> Result<(), StoreError> {
        let sent = self.primary_store.injector.statement().await;
        if matches!(sent, Err(StoreError::Unavailable(_))) {
            self.connection = Connection::Broken;
        }
        sent?;
        self.goes_on()?;
        if self.primary_store.injector.injects(self.primary_store.injector.rates().rolled_back) {
            self.primary_store.injector.note(|| "    the store rolls back by itself".to_owned());
            self.connection = Connection::RolledBack;
            return Err(StoreError::Unavailable("the simulated store is full".into()));
        }
        Ok(())
    }

    /// Fails if the server has failed over since the transaction began.
    fn goes_on(&self) -> Result<(), StoreError> {
        match self.primary_store.base().losses == self.losses {
            true => Ok(()),
            false => Err(StoreError::Unavailable("the simulated store has failed over".into())),
        }
    }

    /// A statement that reads.
    pub async fn read<T>(&mut self, statement: impl FnOnce(&Tables) -> T) -> Result<T, StoreError> {
        self.statement().await?;
        Ok(self.look(statement))
    }

    /// What this transaction sees now; no statement of its own.
    pub fn look<T>(&mut self, look: impl FnOnce(&Tables) -> T) -> T {
        self.primary_store.base().see(&mut self.changes, |base| look(&base.tables))
    }

    /// `SELECT .. FOR UPDATE` of one row: waits for it, then reads what is there. A row that is not there is not
    /// locked.
    pub async fn lock(&mut self, row: Row) -> Result<bool, StoreError> {
        self.statement().await?;
        self.lock_within(row).await
    }

    async fn lock_within(&mut self, row: Row) -> Result<bool, StoreError> {
        let mine = self.primary_store.base().locks.get(&row) == Some(&self.number);
        self.wait_for(row).await?;
        let there = self.look(|tables| tables.has(row));
        if !there && !mine {
            self.primary_store.base().free(row, self.number);
        }
        Ok(there)
    }

    /// `SELECT .. FOR UPDATE SKIP LOCKED`: those of the rows that nobody else holds, locked.
    pub async fn lock_free_ones<K: Copy>(
        &mut self,
        select: impl FnOnce(&Tables) -> Vec<K>,
        row: impl Fn(K) -> Row,
        limit: u64,
    ) -> Result<Vec<K>, StoreError> {
        self.statement().await?;
        let selected = self.look(select);
        let mut base = self.primary_store.base();
        let free = selected.into_iter().filter(|key| base.take(row(*key), self.number).is_ok());
        Ok(free.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect())
    }

    /// A statement that updates or deletes: what it finds is looked for again after each wait. Returns the rows
    /// written.
    pub async fn write(&mut self, find: impl Fn(&Tables) -> Vec<Change>) -> Result<u64, StoreError> {
        self.statement().await?;
        loop {
            let changes = self.look(&find);
            let blocked = {
                let mut base = self.primary_store.base();
                changes.iter().map(Change::row).find(|row| base.take(*row, self.number).is_err())
            };
            match blocked {
                Some(row) => self.wait_for(row).await?,
                None => return Ok(self.make(changes)),
            }
        }
    }

    /// `INSERT` of one row; `false` if its key is there, in which case nothing is inserted.
    pub async fn insert(&mut self, change: Change) -> Result<bool, StoreError> {
        self.statement().await?;
        let row = change.row();
        let mine = self.primary_store.base().locks.get(&row) == Some(&self.number);
        self.wait_for(row).await?;
        if self.look(|tables| tables.has(row)) {
            if !mine {
                self.primary_store.base().free(row, self.number);
            }
            return Ok(false);
        }
        self.make(vec![change]);
        Ok(true)
    }

    /// `INSERT IGNORE .. SELECT`: what is selected is of the snapshot that the statement began with, however long it
    /// waits for keys.
    pub async fn insert_selected(&mut self, select: impl FnOnce(&Tables) -> Vec<Change>) -> Result<u64, StoreError> {
        self.statement().await?;
        let selected = self.look(select);
        let mut inserted = 0;
        for change in selected {
            let row = change.row();
            let mine = self.primary_store.base().locks.get(&row) == Some(&self.number);
            self.wait_for(row).await?;
            if !self.look(|tables| tables.has(row)) {
                inserted += self.make(vec![change]);
            } else if !mine {
                self.primary_store.base().free(row, self.number);
            }
        }
        Ok(inserted)
    }

    fn make(&mut self, changes: Vec<Change>) -> u64 {
        let count = changes.len() as u64;
        self.changes.extend(changes);
        count
    }

    async fn wait_for(&self, row: Row) -> Result<(), StoreError> {
        poll_fn(|context| {
            self.goes_on()?;
            let mut base = self.primary_store.base();
            base.waiting.remove(&self.number);
            match base.take(row, self.number) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(holder) if base.closes_a_cycle(holder, self.number) => {
                    self.primary_store.injector.note(|| format!("    a deadlock at {row:?}"));
                    Poll::Ready(Err(StoreError::Contended("a simulated deadlock".into())))
                }
                Err(_) => {
                    base.waiting.insert(self.number, (row, context.waker().clone()));
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Commits all changes, then returns `value`. A fault may lose the answer after the commit.
    pub async fn commit<T>(mut self, value: T) -> Result<T, StoreError> {
        let assumed = self.primary_store.breaks(Rule::CommitIsAssumed);
        self.primary_store.injector.before_commit().await;
        match self.statement().await {
            Err(_) if assumed => return Ok(value),
            sent => sent?,
        }
        if let Connection::Nested(kept) = &mut self.connection {
            *kept = self.changes.len();
            return Ok(value);
        }
        let changes = std::mem::take(&mut self.changes);
        let id = self.primary_store.base().replication.log(&changes);
        self.primary_store.base().make_so(changes, &self.primary_store.injector);
        let primary_store = self.primary_store.clone();
        drop(self);
        primary_store.injector.switch().await;
        if let Some(id) = id {
            primary_store.injector.hold(primary_store.injector.rates().replication_held).await;
            primary_store.base().replication.execute(id);
        }
        if primary_store.injector.injects(primary_store.injector.rates().answer_lost) && !assumed {
            primary_store.injector.note(|| "    the commit's answer is lost".to_owned());
            return Err(StoreError::Unavailable("the simulated answer was lost".into()));
        }
        Ok(value)
    }

    /// Undoes all of it, then gives `value`.
    pub async fn roll_back<T>(self, value: T) -> Result<T, StoreError> {
        let injector = self.primary_store.injector.clone();
        drop(self);
        injector.switch().await;
        Ok(value)
    }
}

impl Base {
    fn make_so(&mut self, mut changes: Vec<Change>, injector: &FaultInjector) {
        for change in &mut changes {
            self.tables.make(change);
        }
        for change in &changes {
            injector.note(|| format!("    {}", super::trace::of(change)));
        }
        let Self { tables, checks, .. } = self;
        checks.committed(tables, &changes);
        if self.commits.len() == REPLICATED_LATE {
            self.commits.pop_front();
        }
        self.commits.push_back(changes);
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        let trusted = self.primary_store.breaks(Rule::ConnectionIsTrusted);
        if let Connection::Nested(kept) = self.connection {
            self.changes.truncate(kept);
            self.primary_store.base().waiting.remove(&self.number);
            let changes = std::mem::take(&mut self.changes);
            return self.primary_store.connections.keep(Outer { number: self.number, changes });
        }
        self.primary_store.base().release(self.number);
        if trusted && self.connection == Connection::RolledBack {
            self.primary_store.connections.keep(Outer { number: self.primary_store.number(), changes: Vec::new() });
        }
    }
}
