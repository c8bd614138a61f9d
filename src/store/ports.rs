//! The adapters of every port: what use cases are built over. Tests put others in the place of single ones.

use std::sync::Arc;

use super::{
    Accounts, Announcements, Contents, Deliveries, Exclusions, Follows, Imports, InboxTier, Inboxes, OutboxCache,
    Queue, Relations, Timelines, inbox_tier::InSql,
};

/// The adapters of every port. A port that stands for an aggregate also gives the narrower ports that it names.
#[derive(Clone)]
pub struct Ports {
    /// Users: credentials, profiles, sessions, read markers, and how they are found.
    pub accounts: Arc<dyn Accounts>,
    /// Contents and outboxes, reactions to them, what is shown beside them, and the search index.
    pub contents: Arc<dyn Contents>,
    /// Follow edges, and lists of them.
    pub follows: Arc<dyn Follows>,
    /// Follow edges, read through the deliveries' own connections.
    pub delivered_follows: Arc<dyn Follows>,
    /// Mutes, hides and blocks.
    pub exclusions: Arc<dyn Exclusions>,
    /// Imports.
    pub imports: Arc<dyn Imports>,
    /// Timeline reads.
    pub timelines: Arc<dyn Timelines>,
    /// Unfinished deliveries.
    pub deliveries: Arc<dyn Deliveries>,
    /// Inboxes and floors.
    pub inboxes: Arc<dyn Inboxes>,
    /// Pending relations.
    pub relations: Arc<dyn Relations>,
    /// Notifications.
    pub queue: Arc<dyn Queue>,
    /// Cached outboxes; without them every pull reads SQL.
    pub outbox_cache: Option<Arc<dyn OutboxCache>>,
    /// Announcements between nodes.
    pub announcements: Arc<dyn Announcements>,
    /// Where readers have their inboxes.
    pub tier: Arc<dyn InboxTier>,
}

impl Ports {
    /// All ports, with one adapter behind those of the primary store.
    pub fn with_primary_store<T>(
        store: Arc<T>,
        queue: Arc<dyn Queue>,
        outbox_cache: Option<Arc<dyn OutboxCache>>,
        announcements: Arc<dyn Announcements>,
    ) -> Self
    where
        T: Accounts
            + Contents
            + Follows
            + Exclusions
            + Imports
            + Timelines
            + Deliveries
            + Inboxes
            + Relations
            + 'static,
    {
        Self {
            accounts: store.clone(),
            contents: store.clone(),
            follows: store.clone(),
            delivered_follows: store.clone(),
            exclusions: store.clone(),
            imports: store.clone(),
            timelines: store.clone(),
            deliveries: store.clone(),
            inboxes: store.clone(),
            tier: Arc::new(InSql::of(store.clone())),
            relations: store,
            queue,
            outbox_cache,
            announcements,
        }
    }

    /// Uses `store` for deliveries and inbox updates: the same store with its own connections, so that this work does
    /// not wait for readers.
    #[must_use]
    pub fn delivering_by<T>(self, store: Arc<T>) -> Self
    where
        T: Deliveries + Follows + Inboxes + Relations + 'static,
    {
        Self {
            deliveries: store.clone(),
            delivered_follows: store.clone(),
            inboxes: store.clone(),
            tier: Arc::new(InSql::of(store.clone())),
            relations: store,
            ..self
        }
    }
}
