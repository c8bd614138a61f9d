//! Folds reposts out of timeline pages. Reads a longer raw page, from one snapshot, when too few entries stay.

use super::{Asked, Count, Raw, TimelineReader};
use crate::{
    domain::{
        ContentKind, Direction, Kinds, Page, PageRequest, PageSize, Position, UserId,
        timeline::folding::{Folded, Subjects, fold},
    },
    store::StoreError,
};

impl TimelineReader {
    /// Counts the folded entries of `reader`'s timeline that are newer than `position`, up to `max`, and says whether
    /// there are more. The count is exact at one instant during the call. It also notes a visit of the reader.
    pub async fn count_newer(&self, reader: UserId, position: Position, max: PageSize) -> Result<Count, StoreError> {
        let (bound, size) = (Some(position), max.one_more());
        let mut raw = PageRequest { direction: Direction::Newer, bound, size, kinds: Kinds::ALL };
        let mut subjects = Subjects::default();
        loop {
            let Raw { page, .. } = self.read(&Asked { reader, request: &raw, with_facts: false }).await?;
            self.look_up(&page, &raw, &mut subjects).await?;
            let shown = subjects.distinct(&page);
            if shown > max.get() || !page.has_newer || raw.size == PageSize::WIDEST_COUNT {
                self.visits.note_present(reader).await;
                return Ok(Count { count: shown.min(max.get()), capped: shown > max.get() || page.has_newer });
            }
            raw.size = PageSize::WIDEST_COUNT;
        }
    }

    /// The folded page, and the raw page that it was made from. While the folded page is too short, the raw page is
    /// read again with [`crate::domain::PageSize::wider`].
    pub(super) async fn read_folded(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<(Folded, Raw), StoreError> {
        let (mut raw, mut subjects) = (*request, Subjects::default());
        loop {
            let read = self.read(&Asked { reader, request: &raw, with_facts }).await?;
            self.look_up(&read.page, request, &mut subjects).await?;
            let folded = fold(request, read.page.clone(), &subjects);
            match raw.size.wider() {
                Some(wider) if folded.is_short(request) => raw.size = wider,
                _ => return Ok((folded, read)),
            }
        }
    }

    /// Looks up which content each entry shows. It runs outside the snapshot, because a content's subject never
    /// changes.
    pub(super) async fn look_up(
        &self,
        page: &Page,
        request: &PageRequest,
        subjects: &mut Subjects,
    ) -> Result<(), StoreError> {
        let unknown = subjects.unknown(page);
        if unknown.is_empty() || !request.kinds.contains(ContentKind::Repost) {
            return Ok(());
        }
        let originals = self.contents.originals(&unknown).await?;
        subjects.learn(&unknown, &originals);
        Ok(())
    }
}
