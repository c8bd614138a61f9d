//! Decides what a page reads next: one way, in a bounded number of statements.
//!
//! A page is made of *candidates*, one statement, if the node knows whose contents the timeline shows. Where they do
//! not suffice, it is read by its definition: the outboxes of all followed authors, first in a stretch of time that
//! probably holds the page, then whole. `read` does what is decided here.

/// Most statements that the entries of one page cost: candidates count as one, whatever the store makes of them. The
/// last one reads the page by its definition, which always suffices.
pub const MOST_STATEMENTS: u8 = 3;

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
    /// The authors or the reactions had another version than the remembered ones.
    Outdated,
    /// More was in flight than is looked through.
    Crowded,
    /// Too few of the rows are shown.
    FewShown,
    /// The inbox outside SQL has changed during the read, or is not believed.
    Refused,
    /// What was read does not reach far enough, or lacks an author. More of the same would not help.
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

    /// The next step; `has_stretch`: earlier pages suggest a stretch. With each step noted, a page takes at most
    /// [`MOST_STATEMENTS`].
    pub fn next(self, prospect: Prospect, has_stretch: bool) -> Step {
        if self.left() <= 1 {
            return Step::Definition;
        }
        match (prospect, self.miss) {
            // There is nothing to remember of the reader.
            (Prospect::Unknown, _) if self.has_learned => Step::Definition,
            (Prospect::Unknown, _) | (_, Some(Miss::Outdated)) => Step::Learn,
            (Prospect::None, _) | (_, Some(Miss::Short)) if has_stretch && !self.has_tried_stretch => Step::Stretch,
            (Prospect::None, _) | (_, Some(Miss::Short)) => Step::Definition,
            (Prospect::Good, None | Some(Miss::FewShown | Miss::Refused | Miss::Crowded)) => Step::Candidates,
        }
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

    fn prospect() -> impl Strategy<Value = Prospect> {
        prop_oneof![Just(Prospect::Unknown), Just(Prospect::Good), Just(Prospect::None)]
    }

    fn miss() -> impl Strategy<Value = Miss> {
        prop_oneof![
            Just(Miss::Outdated),
            Just(Miss::Crowded),
            Just(Miss::FewShown),
            Just(Miss::Refused),
            Just(Miss::Short)
        ]
    }

    proptest! {
        /// Whatever is known and whatever the statements give, the last one is the definition.
        #[test]
        fn a_page_takes_at_most_three_statements(
            answers in prop::collection::vec((prospect(), any::<bool>(), miss(), 1_u8..3), 3)
        ) {
            let (mut progress, mut statements) = (Progress::default(), 0);
            for (prospect, has_stretch, miss, cached) in answers {
                statements += 1;
                match progress.next(prospect, has_stretch) {
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
        fn candidates_are_read_only_where_they_may_give_the_page(
            prospect in prospect(), has_stretch in any::<bool>(), before in prop::option::of(miss())
        ) {
            let mut progress = Progress::default();
            if let Some(miss) = before {
                progress.missed(miss, 1);
            }
            if progress.next(prospect, has_stretch) == Step::Candidates {
                prop_assert_eq!(prospect, Prospect::Good);
            }
        }
    }

    #[test]
    fn a_known_reader_takes_one_statement_and_a_new_one_two() {
        let mut progress = Progress::default();
        assert_eq!(progress.next(Prospect::Good, true), Step::Candidates);
        assert_eq!(progress.next(Prospect::Unknown, true), Step::Learn);
        progress.learned();
        assert_eq!(progress.next(Prospect::Good, true), Step::Candidates);
        assert_eq!(progress.next(Prospect::Unknown, true), Step::Definition, "there is nobody to remember");
    }

    #[test]
    fn a_page_below_the_floor_tries_a_stretch_first() {
        let mut progress = Progress::default();
        assert_eq!(progress.next(Prospect::None, true), Step::Stretch);
        assert_eq!(progress.next(Prospect::None, false), Step::Definition);
        progress.missed_stretch();
        assert_eq!(progress.next(Prospect::None, true), Step::Definition);
        let mut learned = Progress::default();
        learned.learned();
        assert_eq!(learned.next(Prospect::None, true), Step::Stretch);
        let mut short = learned;
        short.missed(Miss::Short, 1);
        assert_eq!(short.next(Prospect::Good, true), Step::Definition, "one statement is left");
    }

    #[test]
    fn authors_are_read_again_once() {
        let mut progress = Progress::default();
        progress.missed(Miss::Outdated, 1);
        assert_eq!(progress.next(Prospect::Good, true), Step::Learn);
        progress.learned();
        assert_eq!(progress.next(Prospect::Good, true), Step::Definition, "one statement is left");
    }

    #[test]
    fn what_is_in_flight_is_looked_up_by_author_once() {
        let mut progress = Progress::default();
        progress.missed(Miss::Crowded, 1);
        assert!(progress.is_crowded());
        assert_eq!(progress.next(Prospect::Good, false), Step::Candidates);
        let mut again = progress;
        again.missed(Miss::Crowded, 1);
        assert_eq!(again.next(Prospect::Good, false), Step::Definition);
    }
}
