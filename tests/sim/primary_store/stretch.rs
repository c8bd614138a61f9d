//! Reads a page from a stretch of time, in the model.

use tidefeed::domain::{
    Direction, Entry, PageRequest, Run,
    timeline::{
        authors::TimelineAuthors,
        merge::Snapshot,
        stretch::{OutboxesSnapshot, Stretch},
    },
};

use super::{
    cards::{self, Earlier},
    tables::Tables,
    timelines::{Side, View},
};
use crate::rules::Rule;

/// Rows of a stretch beyond what the page needs; few, so that more of them are common.
const BESIDE: usize = 2;

impl View<'_> {
    /// See `Timelines::stretch`.
    pub fn stretch(
        &self,
        tables: &Tables,
        (request, stretch): (&PageRequest, Stretch),
        authors: &TimelineAuthors,
        earlier: &Earlier,
    ) -> Option<OutboxesSnapshot> {
        let version = tables.counts.get(&self.reader)?.authors_version;
        let is_believed = version == authors.version() || self.primary_store.breaks(Rule::StretchOfAnyVersion);
        if !is_believed || authors.followed().is_empty() {
            return None;
        }
        let Side { direction, bound, .. } = Side::ahead(request);
        let within = |entry: &Entry| match direction {
            Direction::Older => entry.publish_time >= stretch.end_ms,
            Direction::Newer => entry.publish_time <= stretch.end_ms,
        };
        let shown = |side: Side| -> Vec<Entry> {
            let edges = tables.edges(self.reader).filter(|(author, _)| self.shows(tables, *author));
            side.first(edges.flat_map(|(author, _)| self.outbox(tables, author, side)).collect())
        };
        let all = Side { limit: usize::MAX, ..Side::ahead(request) };
        let listed = authors.followed().iter().flat_map(|author| self.outbox(tables, *author, all));
        let mut found: Vec<Entry> = all.first(listed.collect()).into_iter().filter(within).collect();
        let most_rows = stretch.most_rows.min(request.need() + BESIDE);
        let is_cut = found.len() > most_rows;
        // As the index has them: the rows that are read are those of the first authors, and one more, which shows that
        // there is more.
        found.sort_unstable_by_key(|it| (it.author, it.position()));
        found.truncate(most_rows.saturating_add(1));
        let with_facts = |it: &&Entry| match direction {
            Direction::Older => stretch.facts_end_ms.is_some_and(|end_ms| it.publish_time >= end_ms),
            Direction::Newer => stretch.facts_end_ms.is_some_and(|end_ms| it.publish_time <= end_ms),
        };
        let shown_first: Vec<Entry> = found.iter().filter(with_facts).copied().collect();
        let facts = earlier.facts(tables, &shown_first);
        found.truncate(most_rows);
        let ahead = if self.primary_store.breaks(Rule::StretchIsAll) {
            Run::from_limited_query(direction, found, usize::MAX)
        } else if is_cut && !self.primary_store.breaks(Rule::CutStretchIsWhole) {
            Run::unknown(direction, bound)
        } else {
            Run::from_stretch(direction, found, stretch.end_ms)
        };
        let behind = Side::behind(request).map(|side| {
            let nearest = shown(Side { limit: 1, ..side });
            let at_bound: Vec<Entry> = nearest.into_iter().filter(|it| Some(it.position()) == bound).collect();
            match at_bound.is_empty() && !self.primary_store.breaks(Rule::NothingAtBoundIsNothingBehind) {
                true => Run::unknown(side.direction, bound),
                false if at_bound.is_empty() => Run::from_limited_query(side.direction, Vec::new(), 1),
                false => Run::from_limited_query(side.direction, at_bound, 1),
            }
        });
        let snapshot =
            Snapshot { floor: tables.floor(self.reader), ahead: vec![ahead], behind: behind.into_iter().collect() };
        let reactions_version = earlier.reactions_version(cards::reactions_version(tables, self.reader));
        Some(OutboxesSnapshot { snapshot, reactions_version, facts })
    }
}
