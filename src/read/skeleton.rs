//! Reads which entries a page has, before they are folded: recalls or learns whose contents the timeline shows, asks
//! the domain what to read next, and reads it. What candidates do not give is read by the definition of a timeline,
//! from the outboxes of all followed authors: in a short stretch of time, or whole.

use super::{
    PageQuery, Raw, TimelineReader,
    candidates::{CandidatesRead, with_reactions},
    count,
    outside_inbox::{Inbox, Refusal},
    readers::KnownReader,
};
use crate::{
    domain::{
        IdMap, Page, PageRequest, UserId,
        limits::MAX_NAMED_AUTHORS,
        timeline::{
            route::{Miss, Progress, Prospect, Step},
            stretch::{OutboxesSnapshot, Stretch},
        },
    },
    store::StoreError,
    telemetry::metrics::OUTSIDE_READS,
};

impl TimelineReader {
    /// The page, in at most [`crate::domain::timeline::route::MOST_STATEMENTS`] statements, and one more if reactions
    /// have changed since they were remembered.
    pub(super) async fn read(&self, asked: &PageQuery<'_>) -> Result<Raw, StoreError> {
        let mut inbox = self.inboxes.find(asked.reader);
        let mut known = self.readers.recall(asked.reader);
        let mut progress = Progress::begin(self.readers.expects_crowd());
        let mut judged: Option<CandidatesRead> = None;
        loop {
            let prospect = prospect(asked.request, known.as_ref(), &inbox);
            let stretch = known.as_ref().and_then(|known| Some((known, self.stretch(asked, known)?)));
            match (progress.next(prospect, stretch.is_some()), &known) {
                (Step::Candidates, Some(remembered)) => {
                    match self.read_candidates(asked, remembered, &inbox, progress).await? {
                        Err(refusal) => refused(&refusal, &mut inbox, &mut progress),
                        Ok(read) => {
                            match self.judge(asked, remembered, &read, progress).await? {
                                Ok(raw) => return Ok(served(raw, &inbox)),
                                Err((miss, statements)) => progress.missed(miss, statements),
                            }
                            inbox.widen();
                            (known, judged) = (self.readers.get(asked.reader), Some(read));
                        }
                    }
                }
                (Step::Learn, _) => {
                    known = self.learn(asked.reader).await?;
                    progress.learned();
                    if let Some((learned, read)) = known.as_ref().zip(judged.take())
                        && let Ok(raw) = self.judge(asked, learned, &read, progress).await?
                    {
                        return Ok(served(raw, &inbox));
                    }
                }
                (Step::Stretch, _) if let Some(stretch) = stretch => {
                    if let Some(raw) = self.read_stretch(asked, stretch).await? {
                        return Ok(raw);
                    }
                    progress.missed_stretch();
                }
                // Neither candidates nor a stretch are next unless they are there to be read.
                (Step::Definition | Step::Candidates | Step::Stretch, _) => return self.read_definition(asked).await,
            }
        }
    }

    /// Reads the reader's authors and reactions from the store and remembers them.
    pub(super) async fn learn(&self, reader: UserId) -> Result<Option<KnownReader>, StoreError> {
        let read = self.timelines.reader(reader).await?;
        if read.is_none() {
            self.readers.forget(reader);
        }
        Ok(read.map(|read| self.readers.learn(reader, read)))
    }

    /// Reads the page from a stretch. `None` if the stretch is too short for the page, or if the reader's authors have
    /// changed: then they are forgotten.
    pub(super) async fn read_stretch(
        &self,
        asked: &PageQuery<'_>,
        (known, stretch): (&KnownReader, Stretch),
    ) -> Result<Option<Raw>, StoreError> {
        let PageQuery { reader, request, .. } = *asked;
        let Some(found) = self.timelines.stretch(reader, request, stretch, &known.authors).await? else {
            self.readers.forget(reader);
            return Ok(None);
        };
        let page = found.snapshot.page(request);
        self.readers.note_stretch(reader, page.is_some());
        let Some(page) = page else { return Ok(None) };
        count("stretch");
        self.of_outboxes(asked, page, found).await.map(Some)
    }

    /// Reads the page whole. This always succeeds.
    pub(super) async fn read_definition(&self, asked: &PageQuery<'_>) -> Result<Raw, StoreError> {
        let PageQuery { reader, request, with_facts } = *asked;
        let has_reactions = self.readers.get(reader).is_some_and(|known| known.reactions.is_some());
        let found = self.timelines.definition(reader, request, with_facts && has_reactions).await?;
        let page = found.snapshot.page(request);
        let page = page.ok_or_else(|| StoreError::Unreadable("whole outboxes do not suffice for a page".to_owned()))?;
        count("definition");
        self.readers.note_whole(reader);
        self.of_outboxes(asked, page, found).await
    }

    /// Reactions that are out of date are read again: that costs no more than to read the facts again, and serves the
    /// next pages, too.
    async fn of_outboxes(&self, asked: &PageQuery<'_>, page: Page, found: OutboxesSnapshot) -> Result<Raw, StoreError> {
        let OutboxesSnapshot { snapshot, reactions_version, facts } = found;
        self.readers.note_page(asked.reader, asked.request, (&page, snapshot.floor));
        let mut known = self.readers.get(asked.reader);
        if !facts.is_empty() && known.as_ref().is_some_and(|known| known.reactions_at(reactions_version).is_none()) {
            known = self.learn(asked.reader).await?;
        }
        let facts = match known {
            Some(known) => with_reactions(&known, reactions_version, facts),
            None => IdMap::default(),
        };
        Ok(Raw::of(page, snapshot.floor, facts))
    }

    /// The stretch that probably holds the page; `None` without earlier pages, and if there are too many authors.
    pub(super) fn stretch(&self, asked: &PageQuery<'_>, known: &KnownReader) -> Option<Stretch> {
        let authors = known.authors.followed().len();
        if !asked.request.kinds.is_all() || authors == 0 || authors > self.timelines.max_stretch_authors() {
            return None;
        }
        let mut stretch = self.readers.stretch(known, asked.request)?;
        if !asked.with_facts || known.reactions.is_none() {
            stretch.facts_end_ms = None;
        }
        Some(stretch)
    }
}

/// Whether candidates may give the page.
fn prospect(request: &PageRequest, known: Option<&KnownReader>, inbox: &Inbox<'_>) -> Prospect {
    let Some(known) = known else { return Prospect::Unknown };
    let floor = inbox.floor().unwrap_or(known.floor);
    if request.lies_below(floor) || known.authors.uncovered().len() > MAX_NAMED_AUTHORS {
        return Prospect::None;
    }
    Prospect::Good
}

/// Only SQL can give the page, or the inbox is read again.
fn refused(refusal: &Refusal, inbox: &mut Inbox<'_>, progress: &mut Progress) {
    let outcome = match refusal {
        Refusal::Changed => {
            progress.missed(Miss::Refused, 1);
            "changed"
        }
        Refusal::Unbelieved(why) => {
            progress.missed(Miss::Refused, 1);
            *inbox = Inbox::Sql;
            why
        }
        Refusal::Unread(why) => {
            *inbox = Inbox::Sql;
            why
        }
    };
    metrics::counter!(OUTSIDE_READS, "outcome" => outcome).increment(1);
}

fn served(raw: Raw, inbox: &Inbox<'_>) -> Raw {
    if matches!(inbox, Inbox::Outside(_)) {
        metrics::counter!(OUTSIDE_READS, "outcome" => "believed").increment(1);
    }
    count("candidates");
    raw
}
