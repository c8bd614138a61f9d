//! One client's hints at what it shows: what may have changed, but for what its viewer does not see.

use std::{collections::HashSet, sync::Arc};

use tokio::sync::Semaphore;

use super::shown::ShownWatch;
use crate::{
    domain::{ContentId, Shown},
    store::{Contents, StoreError},
};

/// Watches of this node of which it is read at the same time what their viewers see; the others queue. Those without a
/// viewer have as many of their own.
pub const CHECKS: usize = 8;

/// A running watch.
pub struct ShownHints {
    watch: ShownWatch,
    contents: Arc<dyn Contents>,
    checks: Arc<Semaphore>,
    /// Contents that the viewer did not see when they were last read. Nothing is told of them.
    unseen: HashSet<Shown>,
}

impl ShownHints {
    /// `contents` says what the viewer of `watch` sees, or anybody. All hints of a node share `checks`, of those with a
    /// viewer and without.
    pub fn new(watch: ShownWatch, contents: Arc<dyn Contents>, checks: Arc<Semaphore>) -> Self {
        Self { watch, contents, checks, unseen: HashSet::new() }
    }

    /// What may have changed since the last call: at least one. What the viewer does not see any more is among it
    /// once, so that the client learns that by reading.
    pub async fn next(&mut self) -> HashSet<Shown> {
        loop {
            let mut changed = self.watch.next().await;
            match self.newly_unseen().await {
                Ok(gone) => {
                    changed.retain(|shown| !self.unseen.contains(shown));
                    changed.extend(gone);
                    if !changed.is_empty() {
                        return changed;
                    }
                }
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "What a viewer sees could not be read. Their hints come later."
                    );
                    self.watch.put_off(changed);
                }
            }
        }
    }

    /// One statement when the watch begins, when the viewer's exclusions change, when an author has deleted the
    /// account, and after a gap.
    async fn newly_unseen(&mut self) -> Result<Vec<Shown>, StoreError> {
        if !self.watch.is_unchecked() {
            return Ok(Vec::new());
        }
        let content = |shown| if let Shown::Content(content) = shown { Some(content) } else { None };
        let contents: Vec<ContentId> = self.watch.shown().filter_map(content).collect();
        let permit = self.checks.acquire().await;
        let seen = self.contents.by_ids(self.watch.viewer(), &contents).await?;
        drop(permit);
        self.watch.note_authors(seen.iter().map(|content| (content.id, content.author)));
        let seen: HashSet<Shown> = seen.iter().map(|content| content.id.into()).collect();
        let unseen: HashSet<Shown> = contents.into_iter().map(Shown::from).filter(|it| !seen.contains(it)).collect();
        let gone = unseen.difference(&self.unseen).copied().collect();
        self.unseen = unseen;
        Ok(gone)
    }
}
