//! Pages as they are shown: reposts folded, and filled up by longer raw pages, each of one snapshot.

use super::{Count, Raw, TimelineReader};
use crate::{
    domain::{
        ContentKind, Direction, Kinds, Page, PageRequest, PageSize, Position, UserId,
        timeline::folding::{Folded, Subjects, fold},
    },
    store::StoreError,
};

impl TimelineReader {
    /// How many entries a page would show of those of `reader`'s timeline that are newer than `position`, counted up
    /// to `max`, and whether there are more: exactly what it is at one instant during the call. A count
    /// also notes that the reader is there.
    pub async fn count_newer(&self, reader: UserId, position: Position, max: PageSize) -> Result<Count, StoreError> {
        let (bound, size) = (Some(position), max.one_more());
        let mut raw = PageRequest { direction: Direction::Newer, bound, size, kinds: Kinds::ALL };
        let mut subjects = Subjects::default();
        loop {
            let Raw { page, .. } = self.read(reader, &raw, false).await?;
            self.look_up(&page, &raw, &mut subjects).await?;
            let shown = subjects.distinct(&page);
            if shown > max.get() || !page.has_newer || raw.size == PageSize::WIDEST_COUNT {
                self.visits.note_present(reader).await;
                return Ok(Count { count: shown.min(max.get()), capped: shown > max.get() || page.has_newer });
            }
            raw.size = PageSize::WIDEST_COUNT;
        }
    }

    /// The folded page, made of one raw page; and that. Raw pages are read
    /// again only while the shown one is short, each wider than the one before: see [`crate::domain::PageSize::wider`]
    /// for the last.
    pub(super) async fn read_folded(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<(Folded, Raw), StoreError> {
        let (mut raw, mut subjects) = (*request, Subjects::default());
        loop {
            let read = self.read(reader, &raw, with_facts).await?;
            self.look_up(&read.page, request, &mut subjects).await?;
            let folded = fold(request, read.page.clone(), &subjects);
            match raw.size.wider() {
                Some(wider) if folded.is_short(request) => raw.size = wider,
                _ => return Ok((folded, read)),
            }
        }
    }

    /// Looks up, after the snapshot and outside of it, what the page's entries show: it never changes.
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
