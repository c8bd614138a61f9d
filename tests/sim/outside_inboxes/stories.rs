//! The tests: walks with fixed seeds, every broken rule, and the long forms of both.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    sync::{Mutex, PoisonError},
    thread,
};

use super::{rules::Rule, walk::walk, world::Tally};
use crate::stories::from_environment;

/// Walks at a time in a long run.
const THREADS: usize = 2;
/// Walks of the short test.
const SHORT: u64 = 1_500;
/// For each broken rule the first seed whose walk shows it, from the long run's table.
const SEEN: &[(Rule, u64)] = &[
    (Rule::EpochStays, 101),
    (Rule::AnyNodeAnswers, 170),
    (Rule::IdentityIsRemembered, 7071),
    (Rule::ReplicaAnswers, 74),
    (Rule::GenerationStays, 3080),
    (Rule::AnyTokenIsBelieved, 260),
    (Rule::AnyGenerationIsBelieved, 1150),
    (Rule::AnyBasisIsBelieved, 1702),
    (Rule::AfterIsNotRead, 493),
    (Rule::RowsAreNotCompared, 26733),
    (Rule::DeliveredBeforeCommit, 3411),
    (Rule::FillIsSkipped, 3901),
    (Rule::BelowFloorIsSkipped, 83002),
    (Rule::UnclaimedIsSkipped, 3587),
    (Rule::ProgressBeforeRows, 164),
    (Rule::TrimKeepsFloor, 41),
    (Rule::TrimLowersFloor, 111_398),
    (Rule::TrimKeepsRevision, 571),
    (Rule::OpeningKeepsRevision, 4616),
    (Rule::BuildReadsBeforeOpening, 8604),
    (Rule::BuildOfPushedOnly, 1565),
    (Rule::ClaimOfAnyRevision, 571),
    (Rule::ExtendOfAnyBasis, 28209),
    (Rule::CutCoverKeepsFloor, 186),
    (Rule::CoverKeepsRevision, 6126),
    (Rule::CoverOfAnyIncarnation, 9500),
    (Rule::HeaderInAKeyOfItsOwn, 260),
];

impl Tally {
    fn add(&mut self, other: &Self) {
        self.walks += other.walks;
        self.reads += other.reads;
        self.believed += other.believed;
        self.changed += other.changed;
        self.sql_losses += other.sql_losses;
    }
}

/// Walks from `seed` on, and the seeds of those with a wrong page.
fn walk_many(seed: u64, walks: u64) -> (Tally, Vec<(u64, String)>) {
    let (next, sums) = (AtomicU64::new(0), Mutex::new((Tally::default(), Vec::new())));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let (mut tally, mut wrong) = (Tally::default(), Vec::new());
                while let n = next.fetch_add(1, Relaxed)
                    && n < walks
                {
                    let (walked, found) = walk(seed.wrapping_add(n), None);
                    tally.add(&walked);
                    wrong.extend(found.map(|what| (seed.wrapping_add(n), what)));
                }
                let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
                sums.0.add(&tally);
                sums.1.extend(wrong);
            });
        }
    });
    sums.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// After how many walks, from seed 0 on, the broken rule shows a wrong page.
fn hunt(rule: Rule, most: u64) -> Option<u64> {
    (0..most).find(|seed| walk(*seed, Some(rule)).1.is_some()).map(|seed| seed + 1)
}

fn every_believed_page_is_the_oracles(walks: u64) {
    let (tally, wrong) = walk_many(from_environment("SEED").unwrap_or(1), walks);
    println!("{tally:?}");
    assert!(tally.believed > walks, "too few pages were believed to say anything: {tally:?}");
    assert!(wrong.is_empty(), "wrong pages, by seed: {:?}", &wrong[..wrong.len().min(5)]);
}

#[test]
fn every_believed_page_of_an_outside_inbox_is_the_oracles() {
    every_believed_page_is_the_oracles(SHORT);
}

#[test]
#[ignore = "the long run: `make sim`"]
fn every_believed_page_is_the_oracles_for_very_long() {
    every_believed_page_is_the_oracles(from_environment("WALKS").unwrap_or(1_000_000));
}

#[test]
fn every_broken_rule_of_outside_inboxes_is_seen() {
    let unseen: Vec<&(Rule, u64)> = SEEN.iter().filter(|(rule, seed)| walk(*seed, Some(*rule)).1.is_none()).collect();
    assert!(unseen.is_empty(), "no wrong page; `the_table_of_broken_outside_rules` finds other seeds: {unseen:?}");
    let missing = Rule::ALL.iter().filter(|rule| !rule.is_rare() && SEEN.iter().all(|(seen, _)| seen != *rule));
    assert_eq!(missing.count(), 0, "each rule needs a seed that shows it");
}

#[test]
#[ignore = "the long run: `make sim`"]
fn the_table_of_broken_outside_rules() {
    let most = from_environment("WALKS").unwrap_or(1_000_000);
    println!("| broken rule | of | what is done instead | walks |\n|---|---|---|---|");
    let only = std::env::var("RULE").unwrap_or_default();
    let mut unseen = Vec::new();
    for rule in Rule::ALL.iter().filter(|rule| format!("{rule:?}").contains(&only)) {
        let walks = hunt(*rule, most);
        let after = walks.map_or_else(|| format!("> {most}"), |walks| walks.to_string());
        println!("| {rule:?} | {} | {} | {after} |", rule.place(), rule.words());
        if walks.is_none() && !rule.is_rare() {
            unseen.push(rule);
        }
    }
    assert!(unseen.is_empty(), "no wrong page in {most} walks: {unseen:?}");
}

#[test]
#[ignore = "one walk, SEED, with its whole story"]
fn one_walk_of_outside_inboxes() {
    let only = std::env::var("RULE").unwrap_or_default();
    let rule = Rule::ALL.iter().copied().find(|rule| format!("{rule:?}") == only);
    super::walk::tell(from_environment("SEED").unwrap_or(1), rule);
}
