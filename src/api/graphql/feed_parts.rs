//! Loads what subscribers are shown of new entries: one statement for each kind, for all entries of a batch and all
//! subscribers.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use super::{
    errors::Failure,
    feed_share::{FeedShare, Loaded, SharedEntry, SharedValue},
    selection::ContentSelection,
    services::Services,
};
use crate::{
    domain::{Content, ContentId, Entry, UserId},
    live::Batch,
    store::StoreError,
};

/// The content of `entry`, which is in `batch`.
pub async fn content(services: &Services, batch: &Batch<FeedShare>, entry: &Entry) -> SharedValue<Arc<Content>> {
    let contents = || async {
        // Reads without a viewer: only readers who may see the entry were signalled.
        let read = services.ports.contents.by_ids(None, &contents(batch)).await;
        logged(read).map(|all| all.into_iter().map(|it| (it.id, Arc::new(it))).collect())
    };
    one(&batch.shared().contents, contents, true, entry.content).await
}

/// The parts of `entry` in `selection`, apart from its content.
pub async fn parts(
    services: &Services,
    batch: &Batch<FeedShare>,
    entry: &Entry,
    selection: ContentSelection,
) -> SharedEntry {
    let share = batch.shared();
    let counters = || async {
        logged(services.ports.contents.counters(&contents(batch)).await).map(|all| all.into_iter().collect())
    };
    let profiles = || async {
        let read = services.ports.accounts.profiles(&authors(batch)).await;
        logged(read).map(|all| all.into_iter().map(|it| (it.id, Arc::new(it))).collect())
    };
    let counts =
        || async { logged(services.ports.accounts.counts(&authors(batch)).await).map(|all| all.into_iter().collect()) };
    SharedEntry {
        counters: one(&share.counters, counters, selection.counters, entry.content).await,
        profile: one(&share.profiles, profiles, selection.author.is_some(), entry.author).await,
        counts: one(&share.counts, counts, selection.author.is_some_and(|it| it.counts), entry.author).await,
    }
}

fn contents(batch: &Batch<FeedShare>) -> Vec<ContentId> {
    batch.entries().iter().map(|entry| entry.content).collect()
}

fn authors(batch: &Batch<FeedShare>) -> Vec<UserId> {
    let mut authors: Vec<UserId> = batch.entries().iter().map(|entry| entry.author).collect();
    authors.sort_unstable();
    authors.dedup();
    authors
}

async fn one<K: Copy + Eq + Hash, V: Clone, F: Future<Output = Option<HashMap<K, V>>>>(
    loaded: &Loaded<K, V>,
    load: impl FnOnce() -> F,
    is_selected: bool,
    key: K,
) -> SharedValue<V> {
    if !is_selected {
        return SharedValue::Unknown;
    }
    // Boxed: one subscriber loads, and none needs room for it while it waits for entries.
    match loaded.get_or_init(|| Box::pin(load())).await {
        Some(all) => SharedValue::Known(all.get(&key).cloned()),
        None => SharedValue::Unknown,
    }
}

/// A failed load is logged once for all subscribers.
fn logged<T>(read: Result<T, StoreError>) -> Option<T> {
    read.map_err(|error| Failure::Store(error).into_api_error()).ok()
}
