//! Caches rows that never change.

use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::domain::ContentId;

/// Contents whose subjects are remembered, some dozens of bytes each.
const CONTENTS: usize = 131_072;

/// The subjects of contents: a repost's original, otherwise the content itself. Bounded; clones share it.
///
/// Only the removal changes a content's row. An id is a time and random bits, so no other content ever gets it, even
/// if SQL has lost commits.
#[derive(Clone)]
pub(in super::super) struct RememberedSubjects(Arc<Cache<ContentId, ContentId>>);

impl Default for RememberedSubjects {
    fn default() -> Self {
        Self(Arc::new(Cache::new(CONTENTS)))
    }
}

impl std::fmt::Debug for RememberedSubjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RememberedSubjects").field(&self.0.len()).finish()
    }
}

impl RememberedSubjects {
    /// `None` if the content's row has not been read yet, or was evicted.
    pub(super) fn get(&self, content: ContentId) -> Option<ContentId> {
        self.0.get(&content)
    }

    /// Remembers the subject in a committed row of `content`.
    pub(super) fn note(&self, content: ContentId, subject: ContentId) {
        self.0.insert(content, subject);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn as_many_subjects_are_remembered_as_there_is_room_for() {
        let subjects = RememberedSubjects::default();
        for id in 1..=2 * i64::try_from(CONTENTS).unwrap() {
            let id = ContentId::try_new(id).unwrap();
            subjects.note(id, id);
        }
        assert!((CONTENTS / 2..=CONTENTS).contains(&subjects.0.len()), "{subjects:?}");
    }
}
