//! The SQL store with its reads counted, and with counters that can be made to fail. Each counted method promises to be one
//! statement.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use tidefeed::{
    domain::{
        Content, ContentId, Counters, EdgeMode, Entry, Handle, PageRequest, Profile, UserId, plan::Snapshot,
        profile::ProfileCounts,
    },
    store::{
        Accounts, Contents, Follows, StoreError, Timelines,
        accounts::{NewAccount, PasswordHash, Registered},
        contents::{NewContent, OutboxHead, OutboxPage, Published, Removed},
        follows::Followed,
        sql::SqlStore,
        timelines::Depth,
    },
};

/// What a table of reads was asked.
#[derive(Default)]
pub struct Asked {
    statements: AtomicUsize,
    /// Counters cannot be read.
    pub counters_fail: AtomicBool,
}

impl Asked {
    fn once(&self) {
        self.statements.fetch_add(1, Ordering::SeqCst);
    }

    /// Statements since it was asked last.
    pub fn take(&self) -> usize {
        self.statements.swap(0, Ordering::SeqCst)
    }
}

/// The store, with its reads counted.
#[derive(Clone)]
pub struct Counted {
    pub store: SqlStore,
    pub asked: Arc<Asked>,
}

#[async_trait]
impl Accounts for Counted {
    async fn register(&self, account: NewAccount) -> Result<Registered, StoreError> {
        self.store.register(account).await
    }

    async fn credential(&self, handle: &Handle) -> Result<Option<(UserId, PasswordHash)>, StoreError> {
        self.store.credential(handle).await
    }

    async fn profiles(&self, ids: &[UserId]) -> Result<Vec<Profile>, StoreError> {
        self.asked.once();
        self.store.profiles(ids).await
    }

    async fn by_handle(&self, handle: &Handle) -> Result<Option<Profile>, StoreError> {
        self.asked.once();
        self.store.by_handle(handle).await
    }

    async fn counts(&self, ids: &[UserId]) -> Result<Vec<(UserId, ProfileCounts)>, StoreError> {
        self.asked.once();
        self.store.counts(ids).await
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.store.count().await
    }
}

#[async_trait]
impl Contents for Counted {
    async fn publish(&self, new: NewContent) -> Result<Published, StoreError> {
        self.store.publish(new).await
    }

    async fn remove(&self, author: UserId, content: ContentId, now_ms: i64) -> Result<Removed, StoreError> {
        self.store.remove(author, content, now_ms).await
    }

    async fn by_ids(&self, ids: &[ContentId]) -> Result<Vec<Content>, StoreError> {
        self.asked.once();
        self.store.by_ids(ids).await
    }

    async fn counters(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, Counters)>, StoreError> {
        self.asked.once();
        if self.asked.counters_fail.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("the secret address refused".into()));
        }
        self.store.counters(ids).await
    }

    async fn outbox(&self, author: UserId, request: &PageRequest) -> Result<OutboxPage, StoreError> {
        self.asked.once();
        self.store.outbox(author, request).await
    }

    async fn outbox_heads(&self, authors: &[UserId], limit: usize) -> Result<Vec<OutboxHead>, StoreError> {
        self.store.outbox_heads(authors, limit).await
    }
}

#[async_trait]
impl Follows for Counted {
    async fn follow(
        &self,
        follower: UserId,
        author: UserId,
        mode: EdgeMode,
        inc: i64,
        now_ms: i64,
    ) -> Result<Followed, StoreError> {
        self.store.follow(follower, author, mode, inc, now_ms).await
    }

    async fn unfollow(&self, follower: UserId, author: UserId, now_ms: i64) -> Result<bool, StoreError> {
        self.store.unfollow(follower, author, now_ms).await
    }

    async fn followed_among(&self, follower: UserId, authors: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        self.asked.once();
        self.store.followed_among(follower, authors).await
    }

    async fn followed_by(&self, follower: UserId) -> Result<Vec<UserId>, StoreError> {
        self.store.followed_by(follower).await
    }

    async fn follower_count(&self, author: UserId) -> Result<u64, StoreError> {
        self.store.follower_count(author).await
    }

    async fn demote_unseen(&self, author: UserId, after: i64, through: i64, seen: i64) -> Result<u64, StoreError> {
        self.store.demote_unseen(author, after, through, seen).await
    }

    async fn promote(&self, follower: UserId, seed: i64, limit: u64, now_ms: i64) -> Result<Vec<UserId>, StoreError> {
        self.store.promote(follower, seed, limit, now_ms).await
    }
}

#[async_trait]
impl Timelines for Counted {
    async fn read(&self, reader: UserId, request: &PageRequest, depth: Depth) -> Result<Snapshot, StoreError> {
        self.asked.once();
        Timelines::read(&self.store, reader, request, depth).await
    }

    async fn visible(&self, reader: UserId, contents: &[ContentId]) -> Result<Vec<Entry>, StoreError> {
        self.store.visible(reader, contents).await
    }

    async fn oracle(&self, reader: UserId, request: &PageRequest) -> Result<Vec<Entry>, StoreError> {
        self.store.oracle(reader, request).await
    }
}
