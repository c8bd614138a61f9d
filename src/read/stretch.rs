//! Reads a page that the inbox cannot give from the outboxes of all followed authors in a short stretch of time.

use std::collections::HashMap;

use super::{TimelineReader, count, outcome::Raw};
use crate::{
    domain::{
        PageRequest, UserId,
        timeline::plan::{Next, decide},
    },
    store::StoreError,
};

impl TimelineReader {
    /// The page, from a stretch whose length earlier pages suggest. `None` without earlier pages, if the authors are too
    /// many for one, or if the stretch is too short for the page.
    pub(super) async fn read_stretch(&self, reader: UserId, request: &PageRequest) -> Result<Option<Raw>, StoreError> {
        let Some((stretch, authors)) = self.known.stretch(reader, request, self.visits.now_ms()) else {
            return Ok(None);
        };
        if authors.followed().len() > self.timelines.max_stretch_authors() {
            return Ok(None);
        }
        let mut found = self.timelines.stretch(reader, request, stretch, &authors).await?;
        if found.is_none() {
            let Some(renewed) = self.learn(reader).await?.filter(|it| it.authors.version() != authors.version()) else {
                return Ok(None);
            };
            found = self.timelines.stretch(reader, request, stretch, &renewed.authors).await?;
        }
        let Some(snapshot) = found else { return Ok(None) };
        let next = decide(request, &snapshot, None);
        self.known.note_stretch(reader, matches!(next, Next::Serve(_)));
        let Next::Serve(page) = next else { return Ok(None) };
        count("stretch");
        self.known.note_page(reader, request, (&page, snapshot.floor));
        Ok(Some(Raw::of(page, snapshot.floor, HashMap::new())))
    }
}
