//! Everything that the text of a page's statement depends on, and the texts that were built. A page differs from the
//! next by its values, so its text is built once.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use quick_cache::sync::Cache;

use super::{
    super::{dialect::Dialect, fragment::Fragment, rows::padded},
    candidates::{Asked, Named},
    placeholders::{Filling, Placeholder},
    shown::Timeline,
    side::PageShape,
};
use crate::domain::timeline::candidates::{Ask, Pulled};

/// Texts that are kept, of one to some kilobytes each. A service uses some dozen shapes.
const TEXTS: usize = 1_024;

/// The shape of a statement. Lists count as long as they are after filling up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum StatementShape {
    /// The candidates of a page.
    Candidates(PageShape, Asked),
    /// The candidates of a page of an inbox outside, with the numbers of listed contents.
    OutsideCandidates(PageShape, [usize; 2], Asked),
    /// A page by its definition, with or without facts; to an early end, of so many authors.
    Definition(PageShape, bool, Option<usize>),
    /// The facts of so many cards.
    CardFacts(usize),
}

impl StatementShape {
    /// The statement's text and its placeholders.
    pub(super) fn statement(self, dialect: Dialect) -> Fragment<Placeholder> {
        let timeline = Timeline { dialect };
        match self {
            Self::Candidates(page, asked) => timeline.candidates(page, asked),
            Self::OutsideCandidates(page, listed, asked) => timeline.outside_candidates(page, listed, asked),
            Self::Definition(page, with_facts, to_an_end) => timeline.definition(page, with_facts, to_an_end),
            Self::CardFacts(contents) => timeline.card_facts(contents),
        }
    }

    /// Text and values of one run.
    pub(super) fn filled(self, dialect: Dialect, filling: &Filling) -> Fragment {
        self.statement(dialect).filled(filling)
    }
}

/// A fragment whose placeholders can be filled.
pub(super) trait Filled {
    /// With the values of one run.
    fn filled(self, filling: &Filling) -> Fragment;
}

impl Filled for Fragment<Placeholder> {
    fn filled(self, filling: &Filling) -> Fragment {
        Fragment { values: filling.values(&self.values), text: self.text }
    }
}

/// The length of a list of so many ids once it is filled up; an empty one stays empty.
pub(super) const fn listed(ids: usize) -> usize {
    if ids == 0 { 0 } else { padded(ids) }
}

/// What the text of a statement of candidates depends on.
pub(super) fn asked(ask: &Ask<'_>) -> Asked {
    let named = match ask.pulled {
        Pulled::Contents(authors) => Named::Contents(listed(authors.len())),
        Pulled::Versions(authors) => Named::Versions(listed(authors.len())),
    };
    Asked { wanted: ask.wanted, named, many_in_flight: ask.many_in_flight }
}

/// A text that is kept.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// SQL.
    pub(super) sql: Arc<str>,
    /// In the order of the text's `?`.
    pub(super) placeholders: Arc<[Placeholder]>,
}

/// The texts of pages. Clones share them.
#[derive(Clone, Debug)]
pub(in super::super) struct PageTexts(Arc<Texts>);

#[derive(Debug)]
struct Texts {
    kept: Cache<StatementShape, Text>,
    built: AtomicU64,
}

impl Default for PageTexts {
    fn default() -> Self {
        Self(Arc::new(Texts { kept: Cache::new(TEXTS), built: AtomicU64::new(0) }))
    }
}

impl PageTexts {
    /// The text of this shape, built if it is not kept.
    pub(super) fn of(&self, dialect: Dialect, shape: StatementShape) -> Text {
        if let Some(kept) = self.0.kept.get(&shape) {
            return kept;
        }
        let Fragment { text, values } = shape.statement(dialect);
        let text = Text { sql: text.into(), placeholders: values.into() };
        self.0.built.fetch_add(1, Ordering::Relaxed);
        self.0.kept.insert(shape, text.clone());
        text
    }

    /// Texts built so far.
    pub(in super::super) fn built(&self) -> u64 {
        self.0.built.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::{super::candidates::Named, *};
    use crate::domain::{ContentKind, Direction, Kinds, timeline::candidates::Wanted};

    const ENGINES: [Dialect; 2] = [Dialect::Sqlite, Dialect::Mysql];

    fn pages() -> Vec<PageShape> {
        let mut pages = Vec::new();
        for direction in [Direction::Older, Direction::Newer] {
            for is_bounded in [false, true] {
                for kinds in [Kinds::ALL, Kinds::try_new([ContentKind::Post, ContentKind::Reply]).unwrap()] {
                    pages.push(PageShape { direction, is_bounded, kinds });
                }
            }
        }
        pages
    }

    fn shapes() -> Vec<StatementShape> {
        let mut shapes = vec![StatementShape::CardFacts(1), StatementShape::CardFacts(16)];
        let counters = Wanted { original_authors: false, ..Wanted::ALL };
        for page in pages() {
            for wanted in [Wanted::ALL, counters, Wanted { reactions: false, ..counters }, Wanted::ENTRIES] {
                for named in [Named::Contents(0), Named::Contents(4), Named::Versions(2)] {
                    for many_in_flight in [false, true] {
                        let asked = Asked { wanted, named, many_in_flight };
                        shapes.push(StatementShape::Candidates(page, asked));
                        shapes.extend(
                            [[0, 0], [8, 2]].map(|listed| StatementShape::OutsideCandidates(page, listed, asked)),
                        );
                    }
                }
            }
            for with_facts in [false, true] {
                shapes.extend([None, Some(4)].map(|to_an_end| StatementShape::Definition(page, with_facts, to_an_end)));
            }
        }
        shapes
    }

    #[test]
    fn each_question_mark_has_a_placeholder() {
        for dialect in ENGINES {
            for shape in shapes() {
                let Fragment { text, values } = shape.statement(dialect);
                assert_eq!(text.matches('?').count(), values.len(), "{shape:?}: {text}");
            }
        }
    }

    #[test]
    fn a_text_is_built_once() {
        let texts = PageTexts::default();
        for (round, built) in [(1, shapes().len()), (2, shapes().len())] {
            for shape in shapes() {
                assert_eq!(*texts.of(Dialect::Sqlite, shape).sql, *shape.statement(Dialect::Sqlite).text);
            }
            assert_eq!(texts.built(), built as u64, "round {round}");
        }
    }
}
