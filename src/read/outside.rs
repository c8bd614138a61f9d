//! Pages of readers whose inboxes lie outside SQL. A page that cannot be believed is read as for everybody else, so
//! this module decides costs and never a page.

use super::{TimelineReader, count, outcome::Raw, outside_inbox::Tried};
use crate::{
    domain::{PageRequest, UserId},
    store::StoreError,
    telemetry::metrics::OUTSIDE_READS,
};

/// Rows that are asked for beyond the page's need: some are of authors who are no longer followed, or removed.
const SPARE_ROWS: usize = 8;
/// By how much a slice grows in which too few rows are shown.
const WIDENING: usize = 8;
/// Tries for one page: the inbox changed in between, or the slice was too short.
const TRIES: usize = 2;

impl TimelineReader {
    /// The page, if the reader has an inbox outside SQL that suffices for it and is believed.
    pub(super) async fn read_outside(&self, reader: UserId, request: &PageRequest) -> Result<Option<Raw>, StoreError> {
        let Some(outside) = self.outside.as_ref().filter(|outside| !outside.is_away()) else { return Ok(None) };
        let mut rows = request.need() + SPARE_ROWS;
        for _ in 0..TRIES {
            let outcome = match outside.attempt(reader, request, rows).await? {
                Tried::Page(raw) => {
                    metrics::counter!(OUTSIDE_READS, "outcome" => "believed").increment(1);
                    count("outside");
                    return Ok(Some(raw));
                }
                Tried::Changed => "changed",
                Tried::Short => {
                    rows *= WIDENING;
                    "short"
                }
                Tried::No(why) => {
                    metrics::counter!(OUTSIDE_READS, "outcome" => why).increment(1);
                    return Ok(None);
                }
            };
            metrics::counter!(OUTSIDE_READS, "outcome" => outcome).increment(1);
        }
        Ok(None)
    }
}
