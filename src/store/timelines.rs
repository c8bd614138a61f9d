//! Reads everything that one page needs, in one snapshot.

use async_trait::async_trait;

use super::{
    StoreError,
    outside_states::{OutsideCandidates, SideRead},
};
use crate::domain::{
    ContentId, Entry, PageRequest, UserId,
    timeline::{
        authors::{ReaderSnapshot, TimelineAuthors},
        candidates::{Ask, Candidates},
        stretch::{OutboxesSnapshot, Stretch},
    },
};

/// Timelines. Pages are read on the primary, or on a replica that has all that was committed before the call.
///
/// The authors of a reader's timeline have a **version** (docs/protocol.md#authors): a random number, drawn anew in the
/// same transaction by whatever ends or begins an edge of the reader's, sets one to `Push` or `Pull`, or adds or lifts
/// an exclusion. So the authors of two snapshots with the same version are the same, and an edge that was covered in
/// the first is in the second. The reader's reactions have a version of the same kind.
#[async_trait]
pub trait Timelines: Send + Sync {
    /// A page by its definition, whatever covers the followed authors: **one statement**. TiDB takes some more if these
    /// are many, until one reaches far enough, whose snapshot alone is the page's. The snapshot always suffices for the
    /// page. Entries come with facts, without reactions, if `with_facts`.
    async fn definition(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<OutboxesSnapshot, StoreError>;

    /// As [`Self::definition`], as far as the page lies in this stretch (docs/protocol.md#stretch): **one statement**.
    /// The snapshot makes no page if the stretch holds fewer entries than the page needs or more than are read, or if
    /// no entry stands at the bound. `None` if the snapshot has another version of the reader's authors, and, without a
    /// statement, if they are too many for one.
    async fn stretch(
        &self,
        reader: UserId,
        request: &PageRequest,
        stretch: Stretch,
        authors: &TimelineAuthors,
    ) -> Result<Option<OutboxesSnapshot>, StoreError>;

    /// Most authors with whom [`Self::stretch`] sends a statement.
    fn max_stretch_authors(&self) -> usize {
        usize::MAX
    }

    /// What a node remembers of a reader: **one statement**, one snapshot. `None` if the reader has no account, or more
    /// exclusions than [`crate::domain::limits::MAX_REMEMBERED_EXCLUSIONS`].
    async fn reader(&self, reader: UserId) -> Result<Option<ReaderSnapshot>, StoreError>;

    /// docs/protocol.md#read, what a page needs if the reader's authors are known: **one statement**, one snapshot
    /// (on TiDB a second one if the first has met a content that is gone). Facts are what cards need besides what never
    /// changes or has a version.
    async fn candidates(&self, reader: UserId, request: &PageRequest, ask: &Ask<'_>) -> Result<Candidates, StoreError>;

    /// docs/protocol.md#outside, the statement of a read. As [`Self::candidates`], but the contents of the slices take
    /// the place of the inbox's rows: all that still exist, by any author. **One statement**, one snapshot. There is a
    /// slice behind the bound if the request has a bound. A store without inboxes outside expects none.
    async fn candidates_with(
        &self,
        reader: UserId,
        request: &PageRequest,
        _sides: (&SideRead, Option<&SideRead>),
        ask: &Ask<'_>,
    ) -> Result<OutsideCandidates, StoreError> {
        let found = self.candidates(reader, request, ask).await?;
        Ok(OutsideCandidates { expected: None, found })
    }

    /// Those of `contents` that are in the reader's timeline now: author followed, content not removed. One statement.
    async fn visible(&self, reader: UserId, contents: &[ContentId]) -> Result<Vec<Entry>, StoreError>;

    /// Those of `readers` in whose timeline the content is now; as [`Self::visible`], seen from the other side. One
    /// statement for every 16 384 readers.
    async fn visible_to(&self, content: ContentId, readers: &[UserId]) -> Result<Vec<UserId>, StoreError>;

    /// The oracle: the page's need by the definition (contents JOIN follows, not removed), with no use of inboxes,
    /// floors or modes. Slow; for audits and tests.
    async fn oracle(&self, reader: UserId, request: &PageRequest) -> Result<Vec<Entry>, StoreError>;
}
