//! The SQL store with counters and outboxes that a test can make fail, and with a hook that runs just before contents
//! are read.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tidefeed::{
    domain::{Content, ContentId, Counters, PageRequest, UserId},
    store::{
        Cards, Contents, StoreError,
        cards::{ContentCard, ContentParts, UserCard, UserParts},
        contents::{NewContent, OutboxHead, OutboxPage, Published, Removed},
        sql::SqlStore,
    },
};

/// The store's contents, whose counters and outboxes can be made to fail.
pub struct FailingContents {
    pub store: SqlStore,
    /// Makes reading counters fail.
    pub counters_fail: AtomicBool,
    /// Makes reading outboxes fail.
    pub outboxes_fail: AtomicBool,
    /// Runs once, before contents are read by their ids.
    pub meanwhile: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl FailingContents {
    /// A store without faults.
    pub fn over(store: SqlStore) -> Self {
        Self {
            store,
            counters_fail: AtomicBool::default(),
            outboxes_fail: AtomicBool::default(),
            meanwhile: Mutex::default(),
        }
    }
}

#[async_trait]
impl Cards for FailingContents {
    async fn content_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[ContentId],
        parts: ContentParts,
    ) -> Result<Vec<ContentCard>, StoreError> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        if parts.counters && self.counters_fail.load(Ordering::Relaxed) {
            return Err(StoreError::Unreadable("cards of a bad mood".into()));
        }
        self.store.content_cards(viewer, ids, parts).await
    }

    async fn user_cards(
        &self,
        viewer: Option<UserId>,
        ids: &[UserId],
        parts: UserParts,
    ) -> Result<Vec<UserCard>, StoreError> {
        self.store.user_cards(viewer, ids, parts).await
    }
}

#[async_trait]
impl Contents for FailingContents {
    async fn publish(&self, new: NewContent) -> Result<Published, StoreError> {
        self.store.publish(new).await
    }

    async fn remove(
        &self,
        author: UserId,
        content: ContentId,
        version: i64,
        now_ms: i64,
    ) -> Result<Removed, StoreError> {
        self.store.remove(author, content, version, now_ms).await
    }

    async fn by_ids(&self, viewer: Option<UserId>, ids: &[ContentId]) -> Result<Vec<Content>, StoreError> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        self.store.by_ids(viewer, ids).await
    }

    async fn counters(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, Counters)>, StoreError> {
        if self.counters_fail.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("the secret address refused".into()));
        }
        self.store.counters(ids).await
    }

    async fn outbox(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        if self.outboxes_fail.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("the secret address refused".into()));
        }
        self.store.outbox(viewer, authors, request).await
    }

    async fn with_media(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        self.store.with_media(viewer, authors, request).await
    }

    async fn originals(&self, ids: &[ContentId]) -> Result<Vec<(ContentId, ContentId)>, StoreError> {
        self.store.originals(ids).await
    }

    async fn reposted_among(
        &self,
        author: UserId,
        originals: &[ContentId],
    ) -> Result<Vec<(ContentId, ContentId)>, StoreError> {
        self.store.reposted_among(author, originals).await
    }

    async fn replies(
        &self,
        viewer: Option<UserId>,
        contents: &[ContentId],
        request: &PageRequest,
    ) -> Result<Vec<OutboxPage>, StoreError> {
        self.store.replies(viewer, contents, request).await
    }

    async fn ancestors(&self, contents: &[ContentId], limit: usize) -> Result<Vec<Vec<ContentId>>, StoreError> {
        self.store.ancestors(contents, limit).await
    }

    async fn outbox_heads(&self, authors: &[UserId], limit: usize) -> Result<Vec<OutboxHead>, StoreError> {
        self.store.outbox_heads(authors, limit).await
    }
}
