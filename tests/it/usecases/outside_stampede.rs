//! Tests that the store of the inboxes is emptied, and everyone comes back at once.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use tidefeed::{
    domain::{
        PageRequest, PageSize, UserId,
        content::Draft,
        limits::INBOX_BUCKETS,
        timeline::outside::{
            Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, NodeId, Nonce, Revision, Slice, Window,
        },
    },
    store::{
        InboxStore, StoreError,
        inbox_store::{InboxStoreError, Push},
        inbox_tier::Round,
        queue::Topic,
    },
};

use crate::{
    harness::{BUILDS_AT_ONCE, CacheBackend, Inboxes, TestApp, settings},
    memory_inboxes::MemoryInboxes,
    servers::on_each_backend,
    usecases::delivery::{followed_author, user},
};

const AUTHOR: i64 = 1;
const READERS: i64 = 300;
/// Shortest duration of a build, in turns of the runtime: enough for others to begin meanwhile.
const ROUNDS: usize = 20;

/// Counts the running builds.
struct Counting {
    inner: Mutex<Arc<MemoryInboxes>>,
    nodes: AtomicU8,
    building: Mutex<HashSet<UserId>>,
    most: AtomicUsize,
    builds: AtomicUsize,
}

impl Counting {
    fn new() -> Self {
        Self {
            inner: Mutex::new(emptied(1)),
            nodes: AtomicU8::new(1),
            building: Mutex::default(),
            most: AtomicUsize::new(0),
            builds: AtomicUsize::new(0),
        }
    }

    /// Acts like a restart without a dump: the node has another identity and holds nothing.
    fn wipe(&self) {
        let node = self.nodes.fetch_add(1, SeqCst) + 1;
        *self.inner.lock().unwrap_or_else(PoisonError::into_inner) = emptied(node);
        self.most.store(0, SeqCst);
        self.builds.store(0, SeqCst);
    }

    fn inner(&self) -> Arc<MemoryInboxes> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn begin(&self, reader: UserId) {
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        building.insert(reader);
        self.most.fetch_max(building.len(), SeqCst);
        self.builds.fetch_add(1, SeqCst);
    }

    fn end(&self, reader: UserId) {
        self.building.lock().unwrap_or_else(PoisonError::into_inner).remove(&reader);
    }
}

fn emptied(node: u8) -> Arc<MemoryInboxes> {
    Arc::new(MemoryInboxes::new(NodeId::of([node; 20])))
}

#[async_trait]
impl InboxStore for Counting {
    async fn identify(&self, bucket: Bucket) -> Result<NodeId, StoreError> {
        self.inner().identify(bucket).await
    }

    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError> {
        self.inner().slice(reader, window).await
    }

    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, InboxStoreError> {
        self.begin(reader);
        for _ in 0..ROUNDS {
            tokio::task::yield_now().await;
        }
        self.inner().open(reader, fence, nonce).await
    }

    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, InboxStoreError> {
        self.inner().deliver(push).await
    }

    async fn claim(
        &self,
        reader: UserId,
        at: (BucketToken, Revision),
        claim: &Claim,
        keep: usize,
    ) -> Result<bool, InboxStoreError> {
        let claimed = self.inner().claim(reader, at, claim, keep).await;
        self.end(reader);
        claimed
    }

    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, InboxStoreError> {
        self.inner().cover(reader, fence, newest, keep).await
    }

    async fn remove(
        &self,
        reader: UserId,
        at: (BucketToken, Revision),
        cleared: &Cleared,
    ) -> Result<bool, InboxStoreError> {
        self.inner().remove(reader, at, cleared).await
    }

    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        self.inner().forget(reader).await
    }
}

/// Everyone who follows the author.
fn readers() -> impl Iterator<Item = UserId> {
    (AUTHOR + 1..=AUTHOR + READERS).map(user)
}

async fn publish(app: &TestApp) -> Result<()> {
    app.clock.advance(1);
    app.publisher.publish(user(AUTHOR), Draft::try_new("words", Vec::new(), None)?).await?;
    Ok(())
}

/// Reads everyone's page, without a visit, until no visit waits. Returns the number of pages.
async fn pages_are_right(app: &TestApp) -> Result<usize> {
    let (request, mut pages) = (PageRequest::newest(PageSize::try_new(20)?), 0);
    loop {
        for reader in readers() {
            let page = app.reader.read_raw(reader, &request).await?;
            let oracle = app.ports.timelines.oracle(reader, &request).await?;
            ensure!(page.entries == oracle, "{reader}: {page:?}, not {oracle:?}");
            pages += 1;
        }
        if app.ports.queue.depth(Topic::Visit).await? == 0 {
            return Ok(pages);
        }
    }
}

/// Runs a reactivator until no visit waits.
async fn reactivate(app: &TestApp, name: &str) -> Result<()> {
    while app.reactivator.run_once(name, Duration::ZERO).await? > 0 {}
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    /// Two workers of one node share its bound.
    async fn lost_inboxes_are_rebuilt_gradually_while_pages_stay_exact(backend: Backend) -> Result<()> {
        let counting = Arc::new(Counting::new());
        let inboxes = Inboxes::Own(counting.clone());
        let app = TestApp::start_outside(backend, CacheBackend::NoCache, inboxes, settings()).await?;
        followed_author(&app, READERS).await?;
        for reader in readers() {
            app.readers.note_present(reader).await;
        }
        app.settle().await?;
        let states = app.outside()?.clone().states;
        let built = states.occupancy().await?.claimed;
        ensure!(built == READERS.unsigned_abs(), "{built} are built");
        for _ in 0..5 {
            publish(&app).await?;
            app.settle().await?;
        }
        counting.wipe();
        publish(&app).await?;
        let round = app.ports.tier.run_once().await?;
        ensure!(round == Round { admitted: INBOX_BUCKETS.into(), ..Round::default() }, "{round:?}");
        let request = PageRequest::newest(PageSize::try_new(20)?);
        for reader in readers() {
            let page = app.reader.page(reader, &request).await?;
            ensure!(page.entries.len() == 6, "{reader}: {page:?}");
        }
        ensure!(app.ports.queue.depth(Topic::Visit).await? == READERS.unsigned_abs(), "everybody waits for an inbox");
        let (first, second, pages) =
            tokio::join!(reactivate(&app, "first"), reactivate(&app, "second"), pages_are_right(&app));
        first?;
        second?;
        let (pages, builds, most) = (pages?, counting.builds.load(SeqCst), counting.most.load(SeqCst));
        ensure!(most == BUILDS_AT_ONCE, "{most} builds at once, not {BUILDS_AT_ONCE}");
        ensure!(builds == usize::try_from(READERS)?, "{builds} builds for {READERS} readers, {pages} pages");
        app.settle().await?;
        let before = app.store.statements();
        pages_are_right(&app).await?;
        let statements = app.store.statements() - before;
        ensure!(statements == 2 * READERS.unsigned_abs(), "{statements}: an inbox's page and the oracle's for each");
        Ok(())
    }
}
