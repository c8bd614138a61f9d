//! The SQL store with counters and outboxes that a test can make fail, and with a hook that runs just before contents
//! are read.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tidefeed::{
    domain::{
        Content, ContentId, Counters, Entry, Listing, PageRequest, Reaction, UserId, ViewerReactions,
        account::external::ExternalId,
        search::{Candidates, Look, Source, Span},
    },
    store::{
        Cards, Contents, Reactions, SearchTerms, SpreadCounts, StoreError,
        cards::{ContentCard, ContentParts, UserCard, UserParts},
        contents::{NewContent, OutboxHead, OutboxPage, Published, Removed},
        reactions::Reacted,
        search_terms::{Indexed, Unindexed},
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

/// Implements a port by the store, but for the methods that are given whole.
macro_rules! by_the_store {
    (impl $port:ident { $($own:tt)* } $(fn $method:ident($($name:ident: $type:ty),*) -> $found:ty;)*) => {
        #[async_trait]
        impl $port for FailingContents {
            $($own)*
            $(
                async fn $method(&self, $($name: $type),*) -> Result<$found, StoreError> {
                    $port::$method(&self.store, $($name),*).await
                }
            )*
        }
    };
}

by_the_store! {
    impl Cards {
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
    }
    fn user_cards(viewer: Option<UserId>, ids: &[UserId], parts: UserParts) -> Vec<UserCard>;
}

by_the_store! {
    impl Contents {
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
    }
    fn publish(new: NewContent) -> Published;
    fn remove(author: UserId, content: ContentId, version: i64, now_ms: i64) -> Removed;
    fn was_published(id: ContentId) -> bool;
    fn by_external_ids(ids: &[ExternalId]) -> Vec<(ExternalId, ContentId)>;
    fn with_media(viewer: Option<UserId>, authors: &[UserId], request: &PageRequest) -> Vec<OutboxPage>;
    fn subjects(ids: &[ContentId]) -> Vec<(ContentId, ContentId)>;
    fn reposted_among(author: UserId, originals: &[ContentId]) -> Vec<(ContentId, ContentId)>;
    fn replies(viewer: Option<UserId>, contents: &[ContentId], request: &PageRequest) -> Vec<OutboxPage>;
    fn ancestors(contents: &[ContentId], limit: usize) -> Vec<Vec<ContentId>>;
    fn outbox_heads(authors: &[UserId], limit: usize) -> Vec<OutboxHead>;
}

by_the_store! {
    impl Reactions {}
    fn react(user: UserId, content: ContentId, reaction: Reaction, version: i64, now_ms: i64) -> Reacted;
    fn take_back(user: UserId, content: ContentId, reaction: Reaction, version: i64) -> Reacted;
    fn of_user(user: UserId, contents: &[ContentId]) -> Vec<(ContentId, ViewerReactions)>;
    fn likers(viewer: Option<UserId>, contents: &[ContentId], request: &PageRequest) -> Vec<Listing<UserId>>;
    fn reacted_to(user: UserId, reaction: Reaction, request: &PageRequest) -> Listing<Entry>;
}

by_the_store! {
    impl SpreadCounts {}
    fn gather(limit: u64) -> u64;
}

by_the_store! {
    impl SearchTerms {}
    fn count(sources: &[Source], span: Span) -> Vec<usize>;
    fn candidates(viewer: Option<UserId>, look: &Look, span: Span, limit: usize) -> Candidates;
    fn unindexed(viewer: Option<UserId>, author: Option<UserId>, span: Span) -> Unindexed;
    fn texts(contents: &[ContentId]) -> Vec<(ContentId, String)>;
    fn is_current() -> bool;
    fn index_next() -> Indexed;
}
