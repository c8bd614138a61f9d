//! Contents by the ids that the product has for them: the one memory of these ids.

use std::{collections::HashMap, sync::Arc};

use quick_cache::sync::Cache;

use crate::{
    clock::SharedClock,
    domain::{ContentId, account::external::ExternalId},
    store::{Contents, StoreError},
};

/// Ids remembered.
const REMEMBERED: usize = 100_000;
/// How long an answer of the store is used, in ms. An id keeps its content, unless SQL has lost commits.
const TRUST_MS: i64 = 60_000;

/// The contents that the product knows by ids of its own.
pub struct ExternalContents {
    contents: Arc<dyn Contents>,
    /// With when the store was asked, ms UTC.
    known: Cache<ExternalId, (ContentId, i64)>,
    clock: SharedClock,
}

impl ExternalContents {
    /// Remembers none yet.
    pub fn new(contents: Arc<dyn Contents>, clock: SharedClock) -> Self {
        Self { contents, known: Cache::new(REMEMBERED), clock }
    }

    /// The contents with these external ids, removed ones included. One statement for those that this node has not
    /// asked for lately.
    pub async fn find_all<'a>(&self, external_ids: &[&'a str]) -> Result<HashMap<&'a str, ContentId>, StoreError> {
        let now = self.clock.now_ms();
        let (mut found, mut unknown) = (HashMap::new(), HashMap::new());
        for text in external_ids {
            let Ok(id) = ExternalId::try_new(text) else { continue };
            // If the clock was set back, an entry must not count as fresh.
            match self.known.get(&id).filter(|(_, asked)| (0..TRUST_MS).contains(&(now - asked))) {
                Some((content, _)) => _ = found.insert(*text, content),
                None => _ = unknown.insert(id, *text),
            }
        }
        if !unknown.is_empty() {
            let ids: Vec<ExternalId> = unknown.keys().cloned().collect();
            for (id, content) in self.contents.by_external_ids(&ids).await? {
                if let Some(text) = unknown.get(&id) {
                    found.insert(*text, content);
                }
                self.known.insert(id, (content, now));
            }
        }
        Ok(found)
    }
}
