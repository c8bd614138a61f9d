//! Tests what each operation on an outside inbox adds, refuses and claims.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use super::*;
use crate::{
    ContentId, UserId,
    timeline::outside::fence::{BucketToken, Generation, NodeId},
};

const KEEP: usize = 10;

fn fence(epoch: i64) -> Fence {
    Fence { token: BucketToken { node: NodeId::of([7; 20]), epoch }, generation: Generation(1) }
}

fn at(time: i64) -> Position {
    Position::bound(time, time)
}

fn opened() -> OutsideInbox {
    OutsideInbox::open(fence(1), Revision(1))
}

fn claim(times: &[i64], floor: Position, nonce: i64) -> Claim {
    let rows = times.iter().copied().map(at).collect();
    Claim { rows, floor, basis: Basis(5), nonce: Nonce(nonce) }
}

/// The revision that operations with these nonces make of the first.
fn after(first: i64, nonces: &[i64]) -> Revision {
    nonces.iter().fold(Revision(first), |revision, nonce| Revision::after(Some(revision), Nonce(*nonce)))
}

fn all(inbox: &OutsideInbox) -> Vec<i64> {
    let window = Window { direction: Direction::Older, bound: None, limit: usize::MAX };
    inbox.slice(&window).rows.iter().map(|row| row.publish_time()).collect()
}

#[test]
fn a_delivery_adds_below_the_floor_and_before_any_claim() {
    let mut inbox = opened();
    assert_eq!(inbox.deliver(fence(1), at(3), KEEP, Nonce(2)), Delivered::Added);
    assert_eq!(inbox.header, Header::opened(fence(1), Revision(1)), "a row changes neither claim nor revision");
    assert!(inbox.claim(Revision(1), &claim(&[9, 8], at(8), 3), KEEP));
    assert_eq!(inbox.deliver(fence(1), at(2), KEEP, Nonce(4)), Delivered::Added);
    assert_eq!((all(&inbox), inbox.header.floor, inbox.header.revision), (vec![9, 8, 3, 2], at(8), after(1, &[3])));
}

#[test]
fn a_delivery_for_another_fence_is_skipped() {
    let mut inbox = opened();
    assert_eq!(inbox.deliver(fence(2), at(3), KEEP, Nonce(2)), Delivered::Skipped);
    assert_eq!(inbox, opened());
}

#[test]
fn an_inbox_is_trimmed_above_a_tenth_more_than_is_kept() {
    let mut inbox = opened();
    assert!(inbox.claim(Revision(1), &claim(&(1..=11).collect::<Vec<_>>(), Position::OLDEST, 2), KEEP));
    assert_eq!((all(&inbox).len(), inbox.header.floor, inbox.header.revision), (11, Position::OLDEST, after(1, &[2])));
    inbox.deliver(fence(1), at(12), KEEP, Nonce(3));
    assert_eq!((all(&inbox).len(), inbox.header.floor, inbox.header.revision), (KEEP, at(3), after(1, &[2, 3])));
}

#[test]
fn trimming_never_lowers_the_floor() {
    let mut inbox = opened();
    for time in 1..=12 {
        inbox.deliver(fence(1), at(time), KEEP, Nonce(2));
    }
    assert_eq!((inbox.header.floor, inbox.header.revision), (Position::NEWEST, after(1, &[2])));
    assert!(!inbox.claim(Revision(1), &claim(&[1], Position::OLDEST, 9), KEEP), "rows went since it was opened");
}

#[test]
fn covering_raises_the_floor_only_if_the_author_has_more() {
    let mut inbox = opened();
    assert!(inbox.claim(Revision(1), &claim(&[9, 4], at(4), 2), KEEP));
    let whole = Cover { rows: vec![at(7), at(1)], floor: Position::OLDEST, nonce: Nonce(3) };
    assert!(inbox.cover(fence(1), &whole, KEEP));
    assert_eq!((inbox.header.floor, inbox.header.revision), (at(4), after(1, &[2, 3])));
    let cut = Cover { rows: vec![at(8), at(6)], floor: at(6), nonce: Nonce(4) };
    assert!(inbox.cover(fence(1), &cut, KEEP));
    assert_eq!(
        (all(&inbox), inbox.header.floor, inbox.header.revision),
        (vec![9, 8, 7, 6, 4, 1], at(6), after(1, &[2, 3, 4]))
    );
    assert!(!inbox.cover(fence(2), &cut, KEEP));
}

#[test]
fn rows_are_removed_at_the_expected_revision_only() {
    let mut inbox = opened();
    assert!(inbox.claim(Revision(1), &claim(&[9, 8], at(8), 2), KEEP));
    let cleared = Cleared { rows: vec![at(9)], basis: Basis(6), nonce: Nonce(3) };
    assert!(!inbox.remove(Revision(1), &cleared));
    assert!(inbox.remove(after(1, &[2]), &cleared));
    assert_eq!((all(&inbox), inbox.header.revision, inbox.header.basis), (vec![8], after(1, &[2, 3]), Some(Basis(6))));
}

#[test]
fn fewer_than_were_asked_for_are_all_there_are() {
    assert_eq!(floor_of_newest(&[at(5), at(3), at(4)], 3), at(3));
    assert_eq!(floor_of_newest(&[at(5)], 3), Position::OLDEST);
    assert_eq!(floor_of_newest(&[], 3), Position::OLDEST);
    assert_eq!(floor_of_newest(&[], 0), Position::NEWEST);
}

#[test]
fn a_slice_proves_no_more_than_its_rows_and_its_floor() {
    let author = UserId::try_new(1).unwrap();
    let entry = |time| Entry { publish_time: time, content: ContentId::try_new(time).unwrap(), author };
    let mut inbox = opened();
    assert!(inbox.claim(Revision(1), &claim(&[9, 7, 5, 3], at(5), 2), KEEP));
    let run = |direction, bound: Option<i64>, limit, shown: &[i64]| {
        let window = Window { direction, bound: bound.map(at), limit };
        inbox.slice(&window).run(&window, shown.iter().copied().map(entry).collect())
    };
    let older = run(Direction::Older, None, 2, &[9]);
    assert_eq!((older.entries(), older.reaches()), (&[entry(9)][..], at(7)), "the filtered row counts as looked at");
    let deep = run(Direction::Older, Some(7), 4, &[5, 3]);
    assert_eq!((deep.entries(), deep.reaches()), (&[entry(5)][..], at(5)), "nothing below the floor");
    let newer = run(Direction::Newer, Some(5), 4, &[7, 9]);
    assert!(newer.is_exhausted() && newer.entries() == [entry(7), entry(9)]);
    let below = run(Direction::Newer, Some(3), 4, &[5, 7, 9]);
    assert_eq!((below.entries(), below.reaches()), (&[][..], at(3)), "it starts below the floor");
}

#[test]
fn an_inclusive_window_begins_at_its_bound() {
    let mut inbox = opened();
    assert!(inbox.claim(Revision(1), &claim(&[9, 7, 5], Position::OLDEST, 2), KEEP));
    let rows = |direction, bound| inbox.slice(&Window::from(bound, direction, 2)).rows;
    assert_eq!(rows(Direction::Older, at(7)), [at(7), at(5)]);
    assert_eq!(rows(Direction::Newer, at(7)), [at(7), at(9)]);
    assert_eq!(rows(Direction::Newer, Position::bound(7, 0)), [at(7), at(9)]);
    assert_eq!(rows(Direction::Older, Position::bound(7, i64::MAX)), [at(7), at(5)]);
    assert_eq!(rows(Direction::Newer, Position::OLDEST), [at(5), at(7)]);
    assert_eq!(rows(Direction::Older, Position::NEWEST), [at(9), at(7)]);
}
