//! Reads a page by the definition of a timeline, from the outboxes of all followed authors: in a short stretch of time,
//! or whole.

use std::collections::HashMap;

use super::{
    TimelineReader,
    candidates::{reactions_at, with_reactions},
    count,
    known_authors::RememberedReader,
    raw::{Asked, Raw},
};
use crate::{
    domain::{
        Page,
        timeline::stretch::{OutboxesSnapshot, Stretch},
    },
    store::StoreError,
};

impl TimelineReader {
    /// Reads the page from a stretch. `None` if the stretch is too short for the page, or if the reader's authors have
    /// changed: then they are forgotten.
    pub(super) async fn read_stretch(
        &self,
        asked: &Asked<'_>,
        (known, stretch): (&RememberedReader, Stretch),
    ) -> Result<Option<Raw>, StoreError> {
        let Asked { reader, request, .. } = *asked;
        let Some(found) = self.timelines.stretch(reader, request, stretch, &known.authors).await? else {
            self.known.forget(reader);
            return Ok(None);
        };
        let page = found.snapshot.page(request);
        self.known.note_stretch(reader, page.is_some());
        let Some(page) = page else { return Ok(None) };
        count("stretch");
        self.of_outboxes(asked, page, found).await.map(Some)
    }

    /// Reads the page whole. This always succeeds.
    pub(super) async fn read_definition(&self, asked: &Asked<'_>) -> Result<Raw, StoreError> {
        let Asked { reader, request, with_facts } = *asked;
        let has_reactions = self.known.get(reader).is_some_and(|known| known.reactions.is_some());
        let found = self.timelines.definition(reader, request, with_facts && has_reactions).await?;
        let page = found.snapshot.page(request);
        let page = page.ok_or_else(|| StoreError::Unreadable("whole outboxes do not suffice for a page".to_owned()))?;
        count("definition");
        self.known.note_whole(reader);
        self.of_outboxes(asked, page, found).await
    }

    /// Reactions that are out of date are read again: that costs no more than to read the facts again, and serves the
    /// next pages, too.
    async fn of_outboxes(&self, asked: &Asked<'_>, page: Page, found: OutboxesSnapshot) -> Result<Raw, StoreError> {
        let OutboxesSnapshot { snapshot, reactions_version, facts } = found;
        self.known.note_page(asked.reader, asked.request, (&page, snapshot.floor));
        let mut known = self.known.get(asked.reader);
        if !facts.is_empty() && known.as_ref().is_some_and(|known| reactions_at(known, reactions_version).is_none()) {
            known = self.learn(asked.reader).await?;
        }
        let facts = match known {
            Some(known) => with_reactions(&known, reactions_version, facts),
            None => HashMap::new(),
        };
        Ok(Raw::of(page, snapshot.floor, facts))
    }

    /// The stretch that probably holds the page; `None` without earlier pages, and if there are too many authors.
    pub(super) fn stretch(&self, asked: &Asked<'_>, known: &RememberedReader) -> Option<Stretch> {
        let authors = known.authors.followed().len();
        if !asked.request.kinds.is_all() || authors == 0 || authors > self.timelines.max_stretch_authors() {
            return None;
        }
        let mut stretch = self.known.stretch(known, asked.request, self.visits.now_ms())?;
        if !asked.with_facts || known.reactions.is_none() {
            stretch.facts_end_ms = None;
        }
        Some(stretch)
    }
}
