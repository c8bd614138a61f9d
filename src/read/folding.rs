//! Pages as they are shown: reposts folded, and filled up by longer raw pages, each of one snapshot.

use super::TimelineReader;
use crate::{
    domain::{
        ContentKind, Page, PageRequest, UserId,
        folding::{Folded, Subjects, fold},
    },
    store::StoreError,
};

impl TimelineReader {
    /// The folded page, made of one raw page; and how deep that was read, as [`Self::read`] tells. Raw pages are read again only while the shown one is short,
    /// each wider than the one before: see [`crate::domain::PageSize::wider`] for the last.
    pub(super) async fn read_folded(
        &self,
        reader: UserId,
        request: &PageRequest,
    ) -> Result<(Folded, Option<i64>), StoreError> {
        let (mut raw, mut subjects) = (*request, Subjects::default());
        loop {
            let (page, reached) = self.read(reader, &raw).await?;
            self.look_up(&page, request, &mut subjects).await?;
            let folded = fold(request, page, &subjects);
            match raw.size.wider() {
                Some(wider) if folded.is_short(request) => raw.size = wider,
                _ => return Ok((folded, reached)),
            }
        }
    }

    /// Looks up, after the snapshot and outside of it, what the page's entries show: it never changes.
    async fn look_up(&self, page: &Page, request: &PageRequest, subjects: &mut Subjects) -> Result<(), StoreError> {
        let unknown = subjects.unknown(page);
        if unknown.is_empty() || !request.kinds.contains(ContentKind::Repost) {
            return Ok(());
        }
        let originals = self.contents.originals(&unknown).await?;
        subjects.learn(&unknown, &originals);
        Ok(())
    }
}
