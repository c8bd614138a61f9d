//! The top of a timeline: what a live subscriber compares with what it has been told.

use super::TimelineReader;
use crate::{
    domain::{
        Direction, PageRequest, PageSize, Position, UserId, live::view::TimelineTop, timeline::folding::Subjects,
    },
    store::StoreError,
};

impl TimelineReader {
    /// `reader`'s timeline above `floor` at one instant during the call, past the cache: one statement, and one for
    /// what the entries show, which never changes. Whole only if it has at most `max` entries there. No visit is
    /// noted.
    pub async fn top(&self, reader: UserId, floor: Position, max: PageSize) -> Result<TimelineTop, StoreError> {
        let bound = Some(floor).filter(|floor| *floor > Position::OLDEST);
        let request = PageRequest { direction: Direction::Newer, bound, ..PageRequest::newest(max) };
        let page = self.look_past_the_cache(reader, &request).await?;
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
