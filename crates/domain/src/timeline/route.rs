//! Decides what a page reads next: one way, in a bounded number of statements.
//!
//! A page is made of *candidates*, one statement, if the node knows whose contents the timeline shows. Where they do
//! not suffice, it is read by its definition: the outboxes of all followed authors, first in a stretch of time that
//! probably holds the page, then whole. `read` does what is decided here.

/// Most statements that the entries of one page cost: candidates count as one, whatever the store makes of them. The
/// last one reads the page by its definition, which always suffices.
pub const MOST_STATEMENTS: u8 = 3;

/// What a node knows about the page before it reads on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Whether candidates may give the page.
    pub prospect: Prospect,
    /// Whether earlier pages suggest a stretch.
    pub has_stretch: bool,
}

/// Whether candidates may give a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prospect {
    /// The authors of the reader's timeline are not remembered.
    Unknown,
    /// They are, and the inbox may reach far enough.
    Good,
    /// The page lies below the floor, or more authors are uncovered than a statement names.
    None,
}

/// Why candidates gave no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miss {
    /// The authors had another version than the remembered ones.
    Outdated,
    /// More was in flight than is looked through.
    Crowded,
    /// Too few of the rows are shown.
    FewShown,
    /// The inbox outside SQL has changed during the read.
    Changed,
    /// The inbox, or a cached outbox, does not reach far enough.
    Short,
}

/// The next thing to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The authors of the reader's timeline. After [`Miss::Outdated`], the same candidates are judged by them.
    Learn,
    /// The candidates.
    Candidates,
    /// The outboxes of all followed authors in a stretch of time.
    Stretch,
    /// The outboxes of all followed authors.
    Definition,
}

/// How far the read of one page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    statements: u8,
    has_learned: bool,
    has_tried_stretch: bool,
    was_crowded: bool,
    miss: Option<Miss>,
}

impl Progress {
    /// At the beginning of a page; `was_crowded`: too much was in flight for the pages before it.
    pub fn begin(was_crowded: bool) -> Self {
        Self { was_crowded, ..Self::default() }
    }

    /// The next step. With each step noted, a page takes at most [`MOST_STATEMENTS`].
    pub fn next(self, known: Known) -> Step {
        if self.left() <= 1 {
            return Step::Definition;
        }
        match (known.prospect, self.miss) {
            (Prospect::Unknown, _) | (_, Some(Miss::Outdated)) => {
                if self.has_learned {
                    Step::Definition
                } else {
                    Step::Learn
                }
            }
            (Prospect::None, _) | (_, Some(Miss::Short)) => self.by_definition(known),
            (Prospect::Good, None | Some(Miss::FewShown | Miss::Changed | Miss::Crowded)) => Step::Candidates,
        }
    }

    const fn by_definition(self, known: Known) -> Step {
        if known.has_stretch && !self.has_tried_stretch { Step::Stretch } else { Step::Definition }
    }

    /// Notes that the authors were read.
    pub fn learned(&mut self) {
        self.statements += 1;
        self.has_learned = true;
    }

    /// Notes that candidates were read, in `statements`, and gave no page.
    pub fn missed(&mut self, miss: Miss, statements: u8) {
        self.statements = self.statements.saturating_add(statements);
        // A second look past what is in flight says that there is no end of it.
        let is_hopeless = miss == Miss::Crowded && self.was_crowded;
        self.was_crowded |= miss == Miss::Crowded;
        self.miss = Some(if is_hopeless { Miss::Short } else { miss });
    }

    /// Notes that the stretch did not hold the page.
    pub fn missed_stretch(&mut self) {
        self.statements += 1;
        self.has_tried_stretch = true;
        self.miss = Some(Miss::Short);
    }

    /// Whether the authors were read for this page.
    pub const fn has_learned(self) -> bool {
        self.has_learned
    }

    /// Whether contents in flight are to be looked up by followed author.
    pub const fn is_crowded(self) -> bool {
        self.was_crowded
    }

    /// The statements that the page may still take.
    pub const fn left(self) -> u8 {
        MOST_STATEMENTS.saturating_sub(self.statements)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: Known = Known { prospect: Prospect::Good, has_stretch: true };
    const FORGOTTEN: Known = Known { prospect: Prospect::Unknown, ..KNOWN };

    fn known() -> impl Strategy<Value = Known> {
        let prospect = prop_oneof![Just(Prospect::Unknown), Just(Prospect::Good), Just(Prospect::None)];
        (prospect, any::<bool>()).prop_map(|(prospect, has_stretch)| Known { prospect, has_stretch })
    }

    fn miss() -> impl Strategy<Value = Miss> {
        prop_oneof![
            Just(Miss::Outdated),
            Just(Miss::Crowded),
            Just(Miss::FewShown),
            Just(Miss::Changed),
            Just(Miss::Short)
        ]
    }

    proptest! {
        /// Whatever is known and whatever the statements give, the last one is the definition.
        #[test]
        fn a_page_takes_at_most_three_statements(answers in prop::collection::vec((known(), miss(), 1_u8..3), 3)) {
            let (mut progress, mut statements) = (Progress::default(), 0);
            for (known, miss, cached) in answers {
                statements += 1;
                match progress.next(known) {
                    Step::Definition => break,
                    Step::Learn => progress.learned(),
                    Step::Stretch => progress.missed_stretch(),
                    Step::Candidates => {
                        let taken = cached.min(progress.left() - 1);
                        statements += taken - 1;
                        progress.missed(miss, taken);
                    }
                }
            }
            prop_assert!(statements <= MOST_STATEMENTS);
            prop_assert!(progress.left() >= 1, "the definition has its place");
        }

        #[test]
        fn candidates_are_read_only_where_they_may_give_the_page(known in known(), before in prop::option::of(miss())) {
            let mut progress = Progress::default();
            if let Some(miss) = before {
                progress.missed(miss, 1);
            }
            if progress.next(known) == Step::Candidates {
                prop_assert_eq!(known.prospect, Prospect::Good);
            }
        }
    }

    #[test]
    fn a_known_reader_takes_one_statement_and_a_new_one_two() {
        let mut progress = Progress::default();
        assert_eq!(progress.next(KNOWN), Step::Candidates);
        assert_eq!(progress.next(FORGOTTEN), Step::Learn);
        progress.learned();
        assert_eq!(progress.next(KNOWN), Step::Candidates);
        assert_eq!(progress.next(FORGOTTEN), Step::Definition, "there is nobody to remember");
    }

    #[test]
    fn a_page_below_the_floor_tries_a_stretch_first() {
        let below = Known { prospect: Prospect::None, ..KNOWN };
        let mut progress = Progress::default();
        assert_eq!(progress.next(below), Step::Stretch);
        assert_eq!(progress.next(Known { has_stretch: false, ..below }), Step::Definition);
        progress.missed_stretch();
        assert_eq!(progress.next(below), Step::Definition);
        let mut learned = Progress::default();
        learned.learned();
        assert_eq!(learned.next(below), Step::Stretch);
        let mut short = learned;
        short.missed(Miss::Short, 1);
        assert_eq!(short.next(KNOWN), Step::Definition, "one statement is left");
    }

    #[test]
    fn authors_are_read_again_once() {
        let mut progress = Progress::default();
        progress.missed(Miss::Outdated, 1);
        assert_eq!(progress.next(KNOWN), Step::Learn);
        progress.learned();
        assert_eq!(progress.next(KNOWN), Step::Definition);
    }

    #[test]
    fn what_is_in_flight_is_looked_up_by_author_once() {
        let mut progress = Progress::default();
        progress.missed(Miss::Crowded, 1);
        assert!(progress.is_crowded());
        assert_eq!(progress.next(KNOWN), Step::Candidates);
        let mut again = progress;
        again.missed(Miss::Crowded, 1);
        assert_eq!(again.next(KNOWN), Step::Definition);
    }
}
