//! Reads the entries of one page, before they are folded: recalls or learns whose contents the timeline shows, asks the
//! domain what to read next, and reads it.

use super::{
    TimelineReader,
    candidates::Read,
    count,
    known_authors::RememberedReader,
    outside_inbox::{Inbox, Refusal},
    raw::{Asked, Raw},
};
use crate::{
    domain::{
        PageRequest, UserId,
        limits::MAX_NAMED_AUTHORS,
        timeline::{
            authors::lies_below,
            route::{Known, Miss, Progress, Prospect, Step},
        },
    },
    store::StoreError,
    telemetry::metrics::OUTSIDE_READS,
};

impl TimelineReader {
    /// The page, in at most [`crate::domain::timeline::route::MOST_STATEMENTS`] statements.
    pub(super) async fn read(&self, asked: &Asked<'_>) -> Result<Raw, StoreError> {
        let mut inbox = self.outside.as_ref().and_then(|it| it.ask(asked.reader)).map_or(Inbox::Sql, Inbox::Outside);
        let mut known = self.known.get(asked.reader);
        let mut progress = Progress::begin(self.crowd.is_expected());
        let mut judged: Option<Read> = None;
        loop {
            let prospect = prospect(asked.request, known.as_ref(), &inbox);
            let stretch = known.as_ref().and_then(|known| Some((known, self.stretch(asked, known)?)));
            let has_early_end = stretch.is_some();
            match (progress.next(Known { prospect, has_early_end }), &known) {
                (Step::Candidates, Some(remembered)) => {
                    match self.read_candidates(asked, remembered, &inbox, progress).await? {
                        Err(refusal) => refused(&refusal, &mut inbox, &mut progress),
                        Ok(read) => {
                            match self.judge(asked, remembered, &read, progress).await? {
                                Ok(raw) => return Ok(served(raw, &inbox)),
                                Err((miss, statements)) => progress.missed(miss, statements),
                            }
                            inbox.widen();
                            (known, judged) = (self.known.get(asked.reader), Some(read));
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
                (Step::EarlyEnd, _) if let Some(stretch) = stretch => {
                    if let Some(raw) = self.read_stretch(asked, stretch).await? {
                        return Ok(raw);
                    }
                    progress.ended_too_early();
                }
                (Step::Definition | Step::Candidates | Step::EarlyEnd, _) => return self.read_definition(asked).await,
            }
        }
    }

    /// Reads the reader's authors and reactions from the store and remembers them.
    pub(super) async fn learn(&self, reader: UserId) -> Result<Option<RememberedReader>, StoreError> {
        let Some(read) = self.timelines.reader(reader).await? else {
            self.known.forget(reader);
            return Ok(None);
        };
        let hints = self.known.get(reader).map(|known| known.hints).unwrap_or_default();
        let known = RememberedReader::of(read, hints);
        self.known.remember(reader, known.clone());
        Ok(Some(known))
    }
}

/// Whether candidates may give the page.
fn prospect(request: &PageRequest, known: Option<&RememberedReader>, inbox: &Inbox<'_>) -> Prospect {
    let Some(known) = known else { return Prospect::Unknown };
    let floor = inbox.floor().unwrap_or(known.floor);
    if lies_below(request, floor) || known.authors.uncovered().len() > MAX_NAMED_AUTHORS {
        return Prospect::None;
    }
    Prospect::Good
}

/// Only SQL can give the page, or the inbox is read again.
fn refused(refusal: &Refusal, inbox: &mut Inbox<'_>, progress: &mut Progress) {
    let outcome = match refusal {
        Refusal::Changed => {
            progress.missed(Miss::Changed, 1);
            "changed"
        }
        Refusal::Unbelieved(why) => {
            progress.missed(Miss::Changed, 1);
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
