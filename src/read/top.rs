//! Reads the top of a timeline, which a live subscription compares with what it has sent.

use super::{Asked, TimelineReader};
use crate::{
    domain::{
        Direction, PageRequest, PageSize, Position, UserId, live::view::TimelineTop, timeline::folding::Subjects,
    },
    store::StoreError,
};

impl TimelineReader {
    /// `reader`'s timeline above `floor`, exact at one instant during the call. It notes no visit, and is whole only if
    /// it has at most `max` entries.
    pub async fn top(&self, reader: UserId, floor: Position, max: PageSize) -> Result<TimelineTop, StoreError> {
        let bound = Some(floor).filter(|floor| *floor > Position::OLDEST);
        let request = PageRequest { direction: Direction::Newer, bound, ..PageRequest::newest(max) };
        let page = self.read(&Asked { reader, request: &request, with_facts: false }).await?.page;
        if page.has_newer {
            return Ok(TimelineTop { whole: false, entries: Vec::new() });
        }
        let mut subjects = Subjects::default();
        self.look_up(&page, &request, &mut subjects).await?;
        Ok(TimelineTop {
            whole: true,
            entries: page.entries.into_iter().map(|entry| subjects.showing(entry)).collect(),
        })
    }
}
