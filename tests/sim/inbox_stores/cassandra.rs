//! A Cassandra with inboxes: each operation is a few statements, as the adapter sends them. Anything may come between
//! two of them, and the process may die there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tidefeed::{
    domain::{
        UserId,
        timeline::outside::{
            Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, NodeId, Nonce, Opening, Revision, Slice,
            StoredHeader, Window,
        },
    },
    store::{
        InboxStore, StoreError,
        inbox_store::{InboxStoreError, Push},
    },
};

use super::partitions::{Partitions, Statement};
use crate::{fault_injector::FaultInjector, rules::Rule};

/// How often an operation looks again at a header that others have changed meanwhile.
const TRIES: usize = 4;

/// See the module.
pub struct SimCassandra {
    injector: FaultInjector,
    broken: Option<Rule>,
    partitions: Mutex<Partitions>,
}

impl SimCassandra {
    pub fn new(injector: FaultInjector, broken: Option<Rule>) -> Self {
        let partitions = Mutex::new(Partitions::new(&mut injector.rng(), broken));
        Self { injector, broken, partitions }
    }

    fn partitions(&self) -> MutexGuard<'_, Partitions> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A statement that was on its way for long runs; or headers go, if a rule is broken.
    pub fn happen(&self) {
        let (loses, all) = (self.injector.chance(300_000), self.injector.chance(300_000));
        let mut rng = self.injector.rng();
        if loses && self.broken == Some(Rule::HeadersAreDeleted) {
            self.partitions().lose_headers(&mut rng, all);
        } else {
            self.partitions().run_late(&mut rng);
        }
    }

    async fn stored(&self, reader: UserId) -> Option<StoredHeader> {
        self.injector.switch().await;
        let stored = self.partitions().header(reader).cloned();
        self.injector.switch().await;
        stored
    }

    /// Whether a conditional statement applied.
    async fn execute(&self, reader: UserId, statement: Statement) -> Result<bool, StoreError> {
        self.injector.switch().await;
        let done = self.partitions().execute(&mut self.injector.rng(), reader, &statement);
        self.injector.note(|| format!("    inbox of {reader}: {statement:?}: {done:?}"));
        self.injector.switch().await;
        done.map_err(|_| StoreError::Unavailable("the simulated store of inboxes has not answered".into()))
    }

    async fn set(&self, reader: UserId, before: Option<&StoredHeader>, next: StoredHeader) -> Result<bool, StoreError> {
        let expected = before.map(|before| before.header.revision);
        self.execute(reader, Statement::Set { expected, next }).await
    }

    fn admits(&self, token: BucketToken) -> Result<(), InboxStoreError> {
        if token.node == self.partitions().node { Ok(()) } else { Err(InboxStoreError::OtherNode) }
    }
}

fn overtaken() -> StoreError {
    StoreError::Contended("the simulated header changes all the time".into())
}

#[async_trait]
impl InboxStore for SimCassandra {
    async fn identify(&self, _: Bucket) -> Result<NodeId, StoreError> {
        Ok(self.partitions().node)
    }

    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError> {
        let Some(stored) = self.stored(reader).await.filter(StoredHeader::is_there) else { return Ok(None) };
        let header = stored.header;
        let rows = self.partitions().rows(&mut self.injector.rng(), reader, header.fence, window);
        self.injector.switch().await;
        Ok(Some(Slice { header, rows }))
    }

    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, InboxStoreError> {
        self.admits(fence.token)?;
        for _ in 0..TRIES {
            let mut before = self.stored(reader).await;
            if let Some(before) = before.as_mut().filter(|_| self.broken == Some(Rule::FenceIsUsedAgain)) {
                before.dropped.clear();
            }
            let Opening::Next(next, former) = StoredHeader::open(before.as_ref(), fence, nonce) else {
                return Err(InboxStoreError::Spent);
            };
            let drops_first = self.broken == Some(Rule::RowsGoBeforeHeader);
            if let Some(fence) = former.filter(|_| drops_first) {
                let _stays_behind = self.execute(reader, Statement::Drop { fence }).await;
            }
            let revision = next.header.revision;
            if self.set(reader, before.as_ref(), next).await? {
                if let Some(fence) = former.filter(|_| !drops_first) {
                    let _stays_behind = self.execute(reader, Statement::Drop { fence }).await;
                }
                return Ok(revision);
            }
        }
        Err(overtaken().into())
    }

    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, InboxStoreError> {
        self.admits(push.token)?;
        for (reader, generation) in &push.recipients {
            let fence = Fence { token: push.token, generation: *generation };
            match self.execute(*reader, Statement::Insert { fence, rows: vec![push.row] }).await {
                Err(_) if self.broken == Some(Rule::OneAcknowledges) => {}
                answer => drop(answer?),
            }
        }
        Ok(vec![Delivered::Added; push.recipients.len()])
    }

    async fn claim(
        &self,
        reader: UserId,
        at: (BucketToken, Revision),
        claim: &Claim,
        _: usize,
    ) -> Result<bool, InboxStoreError> {
        self.admits(at.0)?;
        let Some(before) = self.stored(reader).await else { return Ok(false) };
        let Some(next) = before.claim(at, claim) else { return Ok(false) };
        let insert = Statement::Insert { fence: before.header.fence, rows: claim.rows.clone() };
        if self.broken == Some(Rule::ClaimBeforeRows) {
            let done = self.set(reader, Some(&before), next).await?;
            self.execute(reader, insert).await?;
            return Ok(done);
        }
        self.execute(reader, insert).await?;
        Ok(self.set(reader, Some(&before), next).await?)
    }

    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, _: usize) -> Result<bool, InboxStoreError> {
        self.admits(fence.token)?;
        let mut is_inserted = false;
        for _ in 0..TRIES {
            let Some(before) = self.stored(reader).await else { return Ok(false) };
            let Some(next) = before.cover(fence, newest) else { return Ok(false) };
            if !is_inserted {
                self.execute(reader, Statement::Insert { fence, rows: newest.rows.clone() }).await?;
                is_inserted = true;
            }
            if self.set(reader, Some(&before), next).await? {
                return Ok(true);
            }
        }
        Err(overtaken().into())
    }

    async fn remove(&self, _: UserId, _: (BucketToken, Revision), _: &Cleared) -> Result<bool, InboxStoreError> {
        Ok(false)
    }

    async fn is_too_long(&self, reader: UserId, keep: usize) -> Result<bool, StoreError> {
        let most = keep.saturating_mul(4);
        let window = Window { limit: most + 1, ..super::scripts::EVERYTHING };
        Ok(self.slice(reader, &window).await?.is_some_and(|slice| slice.rows.len() > most))
    }

    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            let Some(before) = self.stored(reader).await else { return Ok(()) };
            let Some(next) = before.forget() else { return Ok(()) };
            if self.set(reader, Some(&before), next).await? {
                let _stays_behind = self.execute(reader, Statement::Drop { fence: before.header.fence }).await;
                return Ok(());
            }
        }
        Err(overtaken())
    }
}
