//! Plans a search by text, author and time: the sources, the rarest one first, and the pages that they give.
//!
//! Terms lead to candidates, newest first; the text of a candidate decides. A page reads a bounded number of blocks,
//! so it may be short although more follows.

use std::cmp::Reverse;

use super::{
    folding::work,
    terms::{Form, Phrase, Term, Text},
};
use crate::{
    ids::UserId,
    limits::{MAX_PROBES, MAX_SEARCH_CHARS},
    timeline::{
        page::PageSize,
        position::{Entry, Position},
    },
};

/// The conditions of a search; a content must meet all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    phrase: Option<Phrase>,
    author: Option<UserId>,
    from: Option<i64>,
    to: Option<i64>,
}

/// Why a search is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSearch {
    /// Neither text nor author.
    #[error("give `text`, `author` or both")]
    Nothing,
    /// More than [`MAX_SEARCH_CHARS`].
    #[error("`text` has {0} characters; the limit is {MAX_SEARCH_CHARS}")]
    TextTooLong(usize),
    /// The text has only punctuation and the like.
    #[error("`text` needs at least one letter, digit or pictograph")]
    NothingInText,
    /// The span is empty.
    #[error("`from` must be earlier than `to`")]
    EmptySpan,
}

/// A span of time, read from its newest end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Milliseconds UTC, inclusive.
    pub from: Option<i64>,
    /// Exclusive.
    pub below: Option<Position>,
}

/// A list of contents in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The contents that have a term.
    Term(Term),
    /// An author's contents.
    Author(UserId),
}

/// How to find candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The source that is read, newest first.
    pub along: Source,
    /// Terms that candidates must have, too; at most [`MAX_PROBES`].
    pub having: Vec<Term>,
    /// The author, if the search names one. Then the viewer sees what the author's page shows; otherwise what
    /// timelines show.
    pub author: Option<UserId>,
}

/// A content that may match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its entry.
    pub entry: Entry,
    /// Its text.
    pub text: String,
}

/// The candidates of one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// Newest first.
    pub rows: Vec<Candidate>,
    /// Every candidate down to this position, inclusive, is included; `None`: down to the end of the span.
    pub reached: Option<Position>,
}

/// A page of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// Whether there is more, or the rest has not been read.
    pub has_older: bool,
    /// Where to read on; `None` only at the end.
    pub end: Option<Position>,
}

impl Search {
    /// `from` (inclusive) and `to` (exclusive) are ms UTC. A blank `text` counts as absent.
    pub fn try_new(
        text: Option<&str>,
        author: Option<UserId>,
        from: Option<i64>,
        to: Option<i64>,
    ) -> Result<Self, InvalidSearch> {
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        if let Some(chars) = text.map(|text| text.chars().count()).filter(|chars| *chars > MAX_SEARCH_CHARS) {
            return Err(InvalidSearch::TextTooLong(chars));
        }
        let phrase = text.map(|text| Phrase::of(text).ok_or(InvalidSearch::NothingInText)).transpose()?;
        if phrase.is_none() && author.is_none() {
            return Err(InvalidSearch::Nothing);
        }
        if from.zip(to).is_some_and(|(from, to)| from >= to) {
            return Err(InvalidSearch::EmptySpan);
        }
        Ok(Self { phrase, author, from, to })
    }

    /// The span of a page that follows `after`.
    pub fn span(&self, after: Option<Position>) -> Span {
        let to = self.to.map(|to| Position::bound(to, 0));
        Span { from: self.from, below: after.into_iter().chain(to).min() }
    }

    /// All sources that could lead to candidates which are indexed by these rules; never empty for the current ones.
    pub fn sources(&self, form: Form) -> Vec<Source> {
        let terms = self.phrase.iter().flat_map(|phrase| phrase.terms(form)).map(|term| Source::Term(*term));
        self.author.map(Source::Author).into_iter().chain(terms).collect()
    }

    /// Whether contents that are indexed by the former rules have other terms.
    pub fn has_former_terms(&self) -> bool {
        self.phrase.as_ref().is_some_and(|phrase| !phrase.terms(Form::Former).is_empty())
    }

    /// Whether it looks for words, and so needs the index.
    pub const fn has_words(&self) -> bool {
        self.phrase.is_some()
    }

    /// The author, if the search names one.
    pub const fn author(&self) -> Option<UserId> {
        self.author
    }

    /// Plans to read the source with the fewest contents and to check the next rarest ones. `None` if some source is
    /// empty.
    pub fn look(&self, mut counted: Vec<(Source, usize)>) -> Option<Look> {
        counted.sort_by_key(|(_, count)| *count);
        let (along, fewest) = *counted.first()?;
        let terms = counted.iter().skip(1).filter_map(|(source, _)| match source {
            Source::Term(term) => Some(*term),
            Source::Author(_) => None,
        });
        (fewest > 0).then(|| Look { along, having: terms.take(MAX_PROBES).collect(), author: self.author })
    }

    /// Whether a text matches.
    pub fn matches(&self, text: &Text) -> bool {
        self.phrase.as_ref().is_none_or(|phrase| phrase.is_in(text))
    }
}

impl Candidates {
    /// Keeps the newest candidates whose texts have at most `bytes` together, at least one. Returns the bytes that are
    /// left; 0 if any candidate has gone.
    pub fn cut(&mut self, bytes: usize) -> usize {
        let mut left = bytes;
        for (index, row) in self.rows.iter().enumerate() {
            match left.checked_sub(work(&row.text)) {
                Some(rest) => left = rest,
                None if index == 0 => left = 0,
                None => {
                    self.rows.truncate(index);
                    self.reached = self.rows.last().map(|row| row.entry.position());
                    return 0;
                }
            }
        }
        left
    }
}

impl Found {
    /// An empty result.
    pub const fn nothing() -> Self {
        Self { entries: Vec::new(), has_older: false, end: None }
    }

    /// One page of the pages that several lists give for the same search: it ends where the first of them does.
    pub fn joined(pages: Vec<Self>, size: PageSize) -> Self {
        let reached = pages.iter().filter(|page| page.has_older).filter_map(|page| page.end).max();
        let entries = pages.into_iter().flat_map(|page| page.entries);
        let mut entries: Vec<Entry> =
            entries.filter(|entry| reached.is_none_or(|end| entry.position() >= end)).collect();
        entries.sort_by_key(|entry| Reverse(entry.position()));
        entries.dedup();
        let is_cut = entries.len() > size.get();
        entries.truncate(size.get());
        let last = entries.last().map(Entry::position);
        let end = if is_cut { last } else { reached.or(last) };
        Self { entries, has_older: is_cut || reached.is_some(), end }
    }

    /// Adds the candidates of one block. `true` if a page of `size` needs no further block.
    pub fn take(&mut self, search: &Search, look: Candidates, size: PageSize) -> bool {
        let wanted =
            look.rows.into_iter().filter(|candidate| !search.has_words() || search.matches(&Text::of(&candidate.text)));
        self.entries.extend(wanted.map(|candidate| candidate.entry));
        self.entries.sort_by_key(|entry| Reverse(entry.position()));
        if self.entries.len() > size.get() {
            self.entries.truncate(size.get());
            (self.has_older, self.end) = (true, self.entries.last().map(Entry::position));
            return true;
        }
        self.has_older = look.reached.is_some();
        self.end = look.reached.or(self.entries.last().map(Entry::position));
        !self.has_older
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::{ContentId, search::terms::terms_of};

    fn author(id: i64) -> UserId {
        UserId::try_new(id).unwrap()
    }

    fn candidate(at: i64, text: &str) -> Candidate {
        let entry = Entry { publish_time: at, content: ContentId::try_new(at).unwrap(), author: author(1) };
        Candidate { entry, text: text.to_owned() }
    }

    #[test]
    fn a_search_needs_words_or_an_author() {
        let refused = |text, from, to| Search::try_new(text, None, from, to).unwrap_err();
        assert_eq!(refused(None, Some(1), None), InvalidSearch::Nothing);
        assert_eq!(refused(Some("  "), None, None), InvalidSearch::Nothing);
        assert_eq!(refused(Some("?!"), None, None), InvalidSearch::NothingInText);
        assert_eq!(refused(Some("a"), Some(5), Some(5)), InvalidSearch::EmptySpan);
        let long = "潮".repeat(MAX_SEARCH_CHARS + 1);
        assert_eq!(refused(Some(&long), None, None), InvalidSearch::TextTooLong(MAX_SEARCH_CHARS + 1));
        assert!(Search::try_new(Some("\n"), Some(author(1)), None, None).is_ok());
    }

    #[test]
    fn a_page_begins_below_both_cursor_and_end_of_the_span() {
        let search = Search::try_new(Some("a"), None, Some(3), Some(10)).unwrap();
        let below = |after| search.span(after).below;
        assert_eq!(below(None), Some(Position::bound(10, 0)));
        assert_eq!(below(Some(Position::bound(12, 5))), Some(Position::bound(10, 0)));
        assert_eq!(below(Some(Position::bound(9, 5))), Some(Position::bound(9, 5)));
    }

    #[test]
    fn the_rarest_term_leads_and_an_unknown_term_ends_the_search() {
        let search = Search::try_new(Some("the tide"), Some(author(1)), None, None).unwrap();
        let [the, tide] = ["the", "tide"].map(|word| terms_of(word)[0]);
        let sources = search.sources(Form::Current);
        assert_eq!(sources, [Source::Author(author(1)), Source::Term(the), Source::Term(tide)]);
        let look = |counts: [usize; 3]| search.look(sources.iter().copied().zip(counts).collect());
        let by_term = look([40, 500, 3]).unwrap();
        assert_eq!((by_term.along, by_term.having, by_term.author), (Source::Term(tide), vec![the], Some(author(1))));
        let by_author = look([4, 500, 30]).unwrap();
        assert_eq!((by_author.along, by_author.having), (Source::Author(author(1)), vec![tide, the]));
        assert_eq!(look([4, 500, 0]), None);
    }

    #[test]
    fn the_texts_that_a_page_compares_are_bounded_by_their_bytes() {
        let all =
            || Candidates { rows: vec![candidate(9, "1234"), candidate(8, "123"), candidate(7, "12")], reached: None };
        for (bytes, kept, left) in [(9, 3, 0), (10, 3, 1), (8, 2, 0), (4, 1, 0), (1, 1, 0)] {
            let mut candidates = all();
            assert_eq!((candidates.cut(bytes), candidates.rows.len()), (left, kept), "{bytes}");
            let reached = (kept < 3).then(|| candidates.rows[kept - 1].entry.position());
            assert_eq!(candidates.reached, reached, "{bytes}");
        }
    }

    #[test]
    fn joined_pages_end_where_the_first_of_them_does() {
        let size = PageSize::try_new(3).unwrap();
        let page = |ids: &[i64], end: Option<i64>| Found {
            entries: ids.iter().map(|id| candidate(*id, "").entry).collect(),
            has_older: end.is_some(),
            end: end.or(ids.last().copied()).map(|at| Position::bound(at, at)),
        };
        let joined = |pages: &[(&[i64], Option<i64>)]| {
            let found = Found::joined(pages.iter().map(|(ids, end)| page(ids, *end)).collect(), size);
            let ids: Vec<i64> = found.entries.iter().map(|it| it.content.get()).collect();
            (ids, found.has_older, found.end.map(Position::content_number))
        };
        assert_eq!(joined(&[(&[], None), (&[], None)]), (vec![], false, None));
        assert_eq!(joined(&[(&[9, 5], None), (&[8, 5], None)]), (vec![9, 8, 5], false, Some(5)));
        assert_eq!(joined(&[(&[9, 5], None), (&[8], Some(6))]), (vec![9, 8], true, Some(6)));
        assert_eq!(joined(&[(&[9], Some(7)), (&[8, 3], Some(2))]), (vec![9, 8], true, Some(7)));
        assert_eq!(joined(&[(&[9, 8], None), (&[7, 6, 5], Some(5))]), (vec![9, 8, 7], true, Some(7)));
    }

    #[test]
    fn a_page_is_full_or_says_how_far_it_looked() {
        let search = Search::try_new(Some("tide"), None, None, None).unwrap();
        let size = PageSize::try_new(2).unwrap();
        let look = |rows: &[(i64, &str)], reached: Option<i64>| Candidates {
            rows: rows.iter().map(|(at, text)| candidate(*at, text)).collect(),
            reached: reached.map(|at| Position::bound(at, at)),
        };
        let mut found = Found::nothing();
        assert!(!found.take(&search, look(&[(9, "tide"), (8, "tides")], Some(7)), size));
        assert_eq!((found.entries.len(), found.has_older, found.end), (1, true, Some(Position::bound(7, 7))));
        assert!(!found.take(&search, look(&[(6, "Tide!")], Some(5)), size), "whether there is another is not known");
        assert!(found.clone().take(&search, look(&[], None), size));
        assert!(found.take(&search, look(&[(4, "a tide")], Some(3)), size));
        assert_eq!((found.entries.len(), found.has_older, found.end), (2, true, Some(Position::bound(6, 6))));
    }
}
