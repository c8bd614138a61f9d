//! Tests that the checker accepts correct histories and refuses every kind of wrong one. Each test breaks one thing of
//! a correct page.

use tidefeed::domain::{Direction, Position};

use super::check;
use crate::history::{Act, Content, History, Original, Read, Relation, Seen, Span};

const READER: usize = 0;
const AUTHOR: usize = 1;
const OTHER: usize = 2;
const WHILE_READ: Span = Span { begin: 100, end: 110 };

fn certain(begin: u64, end: u64) -> Act {
    Act { span: Span { begin, end }, certain: true }
}

fn unknown(begin: u64, end: u64) -> Act {
    Act { certain: false, ..certain(begin, end) }
}

fn position(number: i64) -> Position {
    Position::bound(1_000 + number, number)
}

fn publish(history: &mut History, author: usize, number: i64, published: Span) {
    let content = Content { published, text: number.to_string(), original: None, deletes: Vec::new() };
    history.published(author, position(number), content);
}

/// The other one reposts what the author has published.
fn repost(history: &mut History, number: i64, original: i64) {
    let original = Some(Original { author: AUTHOR, position: position(original) });
    let content =
        Content { published: Span { begin: 10, end: 20 }, text: String::new(), original, deletes: Vec::new() };
    history.published(OTHER, position(number), content);
}

/// The reader follows the author, not the other; five contents of the author, and one of the other in their midst.
fn world() -> History {
    let mut history = History::new(3);
    history.switch((READER, AUTHOR), Relation::Follow).on.push(certain(1, 2));
    for number in [1, 2, 3, 5, 6] {
        publish(&mut history, AUTHOR, number, Span { begin: 10, end: 20 });
    }
    publish(&mut history, OTHER, 4, Span { begin: 10, end: 20 });
    for user in [AUTHOR, OTHER] {
        history.renamed(user, "ann".to_owned(), Span { begin: 0, end: 0 });
    }
    history
}

fn seen_by(number: i64, name: &str) -> Seen {
    Seen { position: position(number), text: Some(number.to_string()), subject: number, by: Some(name.to_owned()) }
}

fn seen(numbers: &[i64]) -> Vec<Seen> {
    numbers.iter().map(|it| seen_by(*it, "ann")).collect()
}

/// A page on which these are reposts: each with its original.
fn showing(mut read: Read, reposts: &[(i64, i64)]) -> Read {
    for entry in &mut read.seen {
        if let Some((_, original)) = reposts.iter().find(|(repost, _)| position(*repost) == entry.position) {
            (entry.text, entry.subject) = (Some(String::new()), *original);
        }
    }
    read
}

/// A page towards the past.
fn page(after: Option<i64>, size: usize, numbers: &[i64], (has_newer, has_older): (bool, bool)) -> Read {
    let bound = after.map(position);
    let (reader, span, direction) = (READER, WHILE_READ, Direction::Older);
    Read { reader, span, direction, bound, size, seen: seen(numbers), has_older, has_newer }
}

/// A page towards now.
fn back(before: Option<i64>, size: usize, numbers: &[i64], ends: (bool, bool)) -> Read {
    Read { direction: Direction::Newer, ..page(before, size, numbers, ends) }
}

#[track_caller]
fn passes(history: &History, read: &Read) {
    assert_eq!(check(history, read), Ok(()));
}

#[track_caller]
fn is_refused(history: &History, read: &Read, why: &str) {
    let mismatch = check(history, read).err().unwrap_or_default();
    assert!(mismatch.contains(why), "{mismatch:?} does not say `{why}`");
}

#[test]
fn pages_that_are_right_pass() {
    let history = world();
    passes(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, false)));
    passes(&history, &page(None, 5, &[6, 5, 3, 2, 1], (false, false)));
    passes(&history, &page(None, 2, &[6, 5], (false, true)));
    passes(&history, &page(Some(5), 2, &[3, 2], (true, true)));
    passes(&history, &page(Some(1), 2, &[], (true, false)));
    passes(&history, &back(Some(2), 2, &[5, 3], (true, true)));
    passes(&history, &back(None, 3, &[3, 2, 1], (true, false)));
    passes(&history, &back(Some(6), 3, &[], (false, true)));
}

#[test]
fn a_page_that_leaves_something_out_is_refused() {
    let history = world();
    is_refused(&history, &page(None, 9, &[6, 5, 2, 1], (false, false)), "1003/3 is missing");
    is_refused(&history, &page(None, 2, &[5, 3], (false, true)), "1006/6 is missing");
    is_refused(&history, &page(None, 9, &[6, 5, 3], (false, false)), "is missing");
    is_refused(&history, &page(Some(3), 3, &[], (true, false)), "is missing");
    is_refused(&history, &back(Some(2), 2, &[6, 5], (false, true)), "1003/3 is missing");
}

#[test]
fn a_page_that_shows_too_much_is_refused() {
    let mut history = world();
    is_refused(&history, &page(None, 9, &[6, 5, 4, 3, 2, 1], (false, false)), "by 2, who is not followed");
    is_refused(&history, &page(None, 9, &[7, 6, 5, 3, 2, 1], (false, false)), "1007/7 is nobody's");
    is_refused(&history, &page(None, 2, &[6, 5, 3], (false, true)), "3 entries on a page of 2");
    publish(&mut history, AUTHOR, 7, Span { begin: 110, end: 120 });
    is_refused(&history, &page(None, 9, &[7, 6, 5, 3, 2, 1], (false, false)), "is not published yet");
    history.deleted(AUTHOR, position(3), certain(90, 100));
    is_refused(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, false)), "deleted already");
    let mut read = page(None, 9, &[6, 5, 2, 1], (false, false));
    passes(&history, &read);
    read.seen[0].text = Some("something else".to_owned());
    is_refused(&history, &read, "says");
    read.seen[0].text = None;
    is_refused(&history, &read, "says None");
}

#[test]
fn a_page_in_disorder_is_refused() {
    let history = world();
    is_refused(&history, &page(None, 9, &[6, 3, 5, 2, 1], (false, false)), "stands before");
    is_refused(&history, &page(None, 9, &[6, 5, 5, 3, 2, 1], (false, false)), "stands before");
    is_refused(&history, &page(Some(5), 3, &[5, 3, 2], (true, true)), "wrong side");
    is_refused(&history, &back(Some(5), 3, &[6, 5], (false, true)), "wrong side");
}

#[test]
fn a_page_that_is_wrong_about_its_ends_is_refused() {
    let history = world();
    is_refused(&history, &page(None, 2, &[6, 5], (false, false)), "hasNextPage is false");
    is_refused(&history, &page(None, 5, &[6, 5, 3, 2, 1], (false, true)), "hasNextPage is true");
    is_refused(&history, &page(None, 9, &[6, 5, 3, 2, 1], (true, false)), "hasPreviousPage is true");
    is_refused(&history, &page(Some(3), 9, &[2, 1], (false, false)), "hasPreviousPage is false");
    is_refused(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, true)), "hasNextPage is true");
    is_refused(&history, &back(Some(2), 2, &[5, 3], (false, true)), "hasPreviousPage is false");
    is_refused(&history, &back(Some(2), 2, &[5, 3], (true, false)), "hasNextPage is false");
    is_refused(&history, &back(None, 9, &[6, 5, 3, 2, 1], (false, true)), "hasNextPage is true");
}

#[test]
fn a_page_may_show_or_miss_a_concurrent_change() {
    let mut history = world();
    publish(&mut history, AUTHOR, 7, Span { begin: 90, end: 101 });
    history.deleted(AUTHOR, position(1), certain(99, 105));
    for numbers in [&[7, 6, 5, 3, 2, 1][..], &[6, 5, 3, 2, 1], &[7, 6, 5, 3, 2], &[6, 5, 3, 2]] {
        passes(&history, &page(None, 9, numbers, (false, false)));
    }
    history.switch((READER, AUTHOR), Relation::Follow).off.push(certain(105, 120));
    passes(&history, &page(None, 9, &[], (false, false)));
    passes(&history, &page(None, 9, &[6, 3, 2], (false, false)));
}

#[test]
fn an_unanswered_call_leaves_both_outcomes_open() {
    let mut history = world();
    history.deleted(AUTHOR, position(3), unknown(30, 40));
    passes(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, false)));
    passes(&history, &page(None, 9, &[6, 5, 2, 1], (false, false)));
    history.deleted(AUTHOR, position(3), certain(50, 60));
    is_refused(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, false)), "deleted already");

    history.switch((READER, AUTHOR), Relation::Follow).off.push(unknown(30, 40));
    passes(&history, &page(None, 9, &[6, 5, 2, 1], (false, false)));
    passes(&history, &page(None, 9, &[], (false, false)));
    history.switch((READER, AUTHOR), Relation::Follow).on.push(certain(39, 50));
    passes(&history, &page(None, 9, &[], (false, false)));
    history.switch((READER, AUTHOR), Relation::Follow).on.push(certain(40, 50));
    is_refused(&history, &page(None, 9, &[], (false, false)), "is missing");
}

#[test]
fn an_unfollowed_author_is_gone_until_the_next_follow() {
    let mut history = world();
    history.switch((READER, AUTHOR), Relation::Follow).off.push(certain(80, 99));
    passes(&history, &page(None, 9, &[], (false, false)));
    is_refused(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, false)), "who is not followed");
    history.switch((READER, AUTHOR), Relation::Follow).on.push(certain(109, 130));
    passes(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, false)));
}

#[test]
fn a_muted_or_hiding_author_is_gone_until_the_exclusion_ends() {
    for relation in [Relation::Mute, Relation::Hide] {
        let mut history = world();
        history.switch((READER, AUTHOR), relation).on.push(certain(80, 99));
        passes(&history, &page(None, 9, &[], (false, false)));
        is_refused(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, false)), "or kept out");
        history.switch((READER, AUTHOR), relation).off.push(unknown(100, 130));
        passes(&history, &page(None, 9, &[], (false, false)));
        passes(&history, &page(None, 9, &[6, 5, 3, 2, 1], (false, false)));
        history.switch((READER, AUTHOR), relation).off.push(certain(99, 100));
        is_refused(&history, &page(None, 9, &[], (false, false)), "is missing");
    }
}

#[test]
fn a_repost_folds_what_is_older_and_shows_the_same() {
    let mut history = world();
    history.switch((READER, OTHER), Relation::Follow).on.push(certain(1, 2));
    repost(&mut history, 7, 5);
    let whole = |numbers| showing(page(None, 9, numbers, (false, false)), &[(7, 5)]);
    passes(&history, &whole(&[7, 6, 4, 3, 2, 1]));
    is_refused(&history, &whole(&[7, 6, 5, 4, 3, 2, 1]), "shows what a newer entry");
    is_refused(&history, &whole(&[6, 5, 4, 3, 2, 1]), "1007/7 is missing");
    is_refused(&history, &whole(&[7, 6, 4, 3, 2]), "1001/1 is missing");
    is_refused(&history, &page(None, 9, &[7, 6, 4, 3, 2, 1], (false, false)), "shows 7");
    // Folding is of a page: the next one shows what the last one stood for.
    passes(&history, &showing(page(None, 1, &[7], (false, true)), &[(7, 5)]));
    passes(&history, &page(Some(7), 2, &[6, 5], (true, true)));
    passes(&history, &Read { size: usize::MAX, ..whole(&[7, 6, 5, 4, 3, 2, 1]) });
    // When the repost goes, what it has folded is back.
    history.deleted(OTHER, position(7), certain(30, 40));
    passes(&history, &page(None, 9, &[6, 5, 4, 3, 2, 1], (false, false)));
    is_refused(&history, &page(None, 9, &[6, 4, 3, 2, 1], (false, false)), "1005/5 is missing");
}

#[test]
fn a_repost_of_an_excluded_author_is_not_shown() {
    let mut history = world();
    history.switch((READER, OTHER), Relation::Follow).on.push(certain(1, 2));
    repost(&mut history, 7, 5);
    history.switch((READER, AUTHOR), Relation::Mute).on.push(certain(30, 40));
    passes(&history, &page(None, 9, &[4], (false, false)));
    is_refused(&history, &showing(page(None, 9, &[7, 4], (false, false)), &[(7, 5)]), "somebody who is kept out");
    history.switch((READER, AUTHOR), Relation::Mute).off.push(unknown(50, 60));
    passes(&history, &page(None, 9, &[4], (false, false)));
    passes(&history, &showing(page(None, 9, &[7, 4], (false, false)), &[(7, 5)]));
}

#[test]
fn neither_what_may_be_reposted_nor_its_reposts_are_deleted_meanwhile() {
    let mut history = world();
    let original = Original { author: AUTHOR, position: position(5) };
    repost(&mut history, 7, 5);
    history.begin_repost(original);
    assert!(
        !history.deletable(AUTHOR, 30).contains(&position(5)) && !history.deletable(OTHER, 30).contains(&position(7))
    );
    history.repost_unanswered(original, 50);
    history.end_repost(original);
    assert!(!history.deletable(OTHER, 49).contains(&position(7)) && history.under_way_until() == 50);
    assert!(history.deletable(OTHER, 50).contains(&position(7)));
    history.begin_delete(position(5));
    assert!(!history.originals(AUTHOR).contains(&original));
}

#[test]
fn settled_calls_constrain_later_pages_exactly() {
    let mut history = world();
    history.deleted(AUTHOR, position(3), unknown(30, 40));
    history.switch((READER, OTHER), Relation::Follow).on.push(unknown(30, 40));
    assert_eq!(history.doubtful_deletes(), [(AUTHOR, position(3))]);
    assert_eq!(history.doubtful_relations(90), [((READER, OTHER), Relation::Follow)]);
    history.deleted(AUTHOR, position(3), certain(50, 60));
    history.switch((READER, OTHER), Relation::Follow).on.push(certain(50, 60));
    assert!(history.doubtful_deletes().is_empty() && history.doubtful_relations(90).is_empty());
    history.settle(90);
    passes(&history, &page(None, 9, &[6, 5, 4, 2, 1], (false, false)));
    is_refused(&history, &page(None, 9, &[6, 5, 4, 3, 2, 1], (false, false)), "was deleted long ago");
    is_refused(&history, &page(None, 9, &[6, 5, 2, 1], (false, false)), "1004/4 is missing");
}

#[test]
fn an_author_has_a_name_of_the_time_of_the_page() {
    let mut history = world();
    let by = |name: &str| {
        let mut read = page(None, 9, &[6, 5, 3, 2, 1], (false, false));
        read.seen[2] = seen_by(3, name);
        read
    };
    history.renamed(AUTHOR, "bob".to_owned(), Span { begin: 90, end: 101 });
    history.renamed(AUTHOR, "cat".to_owned(), Span { begin: 109, end: 120 });
    history.renamed(AUTHOR, "dan".to_owned(), Span { begin: 110, end: 120 });
    for name in ["ann", "bob", "cat"] {
        passes(&history, &by(name));
    }
    is_refused(&history, &by("dan"), "which 1 is not called");
    history.renamed(OTHER, "eve".to_owned(), Span { begin: 1, end: 2 });
    is_refused(&history, &by("eve"), "which 1 is not called");
    history.settle(130);
    assert!(history.may_be_called(AUTHOR, "dan", WHILE_READ) && !history.may_be_called(AUTHOR, "cat", WHILE_READ));
}
