//! Reads a page that the inbox cannot give from the outboxes of all followed authors in a short stretch of time.

use super::{
    TimelineReader, count,
    known::{reactions_at, with_reactions},
    outcome::Raw,
};
use crate::{
    domain::{
        PageRequest, UserId,
        timeline::{
            plan::{Next, decide},
            stretch::StretchSnapshot,
        },
    },
    store::StoreError,
};

impl TimelineReader {
    /// The page, from a stretch whose length earlier pages suggest. `None` without earlier pages, if there are too many
    /// authors for one, or if the stretch is too short for the page.
    pub(super) async fn read_stretch(
        &self,
        reader: UserId,
        request: &PageRequest,
        with_facts: bool,
    ) -> Result<Option<Raw>, StoreError> {
        let Some((mut stretch, mut known)) = self.known.stretch(reader, request, self.visits.now_ms()) else {
            return Ok(None);
        };
        let authors = known.authors.followed().len();
        if authors == 0 || authors > self.timelines.max_stretch_authors() {
            return Ok(None);
        }
        if !with_facts || known.reactions.is_none() {
            stretch.facts_end_ms = None;
        }
        let mut found = self.timelines.stretch(reader, request, stretch, &known.authors).await?;
        if found.is_none() {
            let Some(renewed) = self.learn(reader).await?.filter(|it| it.authors.version() != known.authors.version())
            else {
                return Ok(None);
            };
            known = renewed;
            found = self.timelines.stretch(reader, request, stretch, &known.authors).await?;
        }
        let Some(StretchSnapshot { snapshot, reactions_version, facts }) = found else { return Ok(None) };
        let next = decide(request, &snapshot, None);
        self.known.note_stretch(reader, matches!(next, Next::Serve(_)));
        let Next::Serve(page) = next else { return Ok(None) };
        count("stretch");
        self.known.note_page(reader, request, (&page, snapshot.floor));
        if !facts.is_empty() && reactions_at(&known, reactions_version).is_none() {
            known = self.learn(reader).await?.unwrap_or(known);
        }
        let facts = with_reactions(&known, reactions_version, facts);
        Ok(Some(Raw::of(page, snapshot.floor, facts)))
    }
}
