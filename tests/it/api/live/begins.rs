//! Tests that many subscriptions that begin at once are admitted in turn.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use tidefeed::{
    domain::{
        EdgeMode, Listing, PageRequest, UserId,
        delivery::{AuthorFacts, ReaderFacts, subtask::Range},
    },
    live::{LiveFeed, LiveSettings},
    store::{FollowLists, Follows, StoreError, follows::Followed, relations::Pair},
};

use crate::{
    harness::{CacheBackend, TestApp},
    servers::Backend,
};

/// The bound of `live::feed` on subscriptions that begin at the same time.
const AT_ONCE: usize = 32;

/// Counts how many read their follows at the same time.
struct Counting {
    inner: Arc<dyn Follows>,
    asking: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl FollowLists for Counting {
    async fn followers(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError> {
        self.inner.followers(viewer, authors, request).await
    }

    async fn following(
        &self,
        viewer: Option<UserId>,
        followers: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError> {
        self.inner.following(viewer, followers, request).await
    }
}

#[async_trait]
impl Follows for Counting {
    async fn followed_by(&self, follower: UserId) -> Result<Vec<UserId>, StoreError> {
        let asking = self.asking.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(asking, Ordering::SeqCst);
        let authors = self.inner.followed_by(follower).await;
        self.asking.fetch_sub(1, Ordering::SeqCst);
        authors
    }

    async fn follow(
        &self,
        follower: UserId,
        author: UserId,
        mode: EdgeMode,
        incarnation: i64,
        now_ms: i64,
    ) -> Result<Followed, StoreError> {
        self.inner.follow(follower, author, mode, incarnation, now_ms).await
    }

    async fn unfollow(&self, follower: UserId, author: UserId, version: i64, now_ms: i64) -> Result<bool, StoreError> {
        self.inner.unfollow(follower, author, version, now_ms).await
    }

    async fn followed_among(&self, follower: UserId, authors: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        self.inner.followed_among(follower, authors).await
    }

    async fn pushed_readers(
        &self,
        author: UserId,
        range: Range,
        unseen_since: Option<i64>,
    ) -> Result<Vec<ReaderFacts>, StoreError> {
        self.inner.pushed_readers(author, range, unseen_since).await
    }

    async fn demote(&self, author: UserId, readers: &[UserId], version: i64) -> Result<u64, StoreError> {
        self.inner.demote(author, readers, version).await
    }

    async fn pulled_authors(&self, followers: &[UserId]) -> Result<Vec<(UserId, AuthorFacts)>, StoreError> {
        self.inner.pulled_authors(followers).await
    }

    async fn promote(&self, pairs: &[Pair], incarnation: i64, now_ms: i64) -> Result<Vec<Pair>, StoreError> {
        self.inner.promote(pairs, incarnation, now_ms).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_subscriptions_begin_at_once_and_none_fails() -> Result<()> {
    let app = TestApp::start(Backend::Sqlite, CacheBackend::NoCache).await?;
    let (asking, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let follows = Arc::new(Counting { inner: app.ports.follows.clone(), asking, most });
    let (shown, reader) = ((follows.clone() as _, app.ports.contents.clone()), app.reader.clone());
    let feed = Arc::new(LiveFeed::new(app.hub.clone(), shown, reader, LiveSettings::default()));
    let mut begun = Vec::new();
    for id in 1..=5_000 {
        let (feed, reader) = (Arc::clone(&feed), UserId::try_new(id)?);
        begun.push(tokio::spawn(async move { feed.subscribe(reader, None).await }));
    }
    for subscription in begun {
        subscription.await??;
    }
    let most = follows.most.load(Ordering::SeqCst);
    ensure!((2..=AT_ONCE).contains(&most), "{most} asked the store at the same time");
    Ok(())
}
