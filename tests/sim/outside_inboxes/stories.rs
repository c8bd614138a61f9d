//! The tests: walks with fixed seeds, every broken rule, and the long forms of both.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    sync::{Mutex, PoisonError},
    thread,
};

use super::{
    rules::Rule,
    walk::{Store, walk},
    world::Tally,
};
use crate::stories::from_environment;

/// Walks at a time in a long run.
const THREADS: usize = 2;
/// Walks of the short test.
const SHORT: u64 = 1_500;
/// For each broken rule the first seed whose walk shows it, from the long run's table.
const SEEN: &[(Rule, u64)] = &[
    (Rule::EpochStays, 349),
    (Rule::AnyNodeAnswers, 867),
    (Rule::IdentityIsRemembered, 867),
    (Rule::ReplicaAnswers, 1203),
    (Rule::GenerationStays, 41),
    (Rule::AnyTokenIsBelieved, 32),
    (Rule::AnyGenerationIsBelieved, 41),
    (Rule::AnyBasisIsBelieved, 1496),
    (Rule::AfterIsNotRead, 29),
    (Rule::RowsAreNotCompared, 24762),
    (Rule::DeliveredBeforeCommit, 4254),
    (Rule::FillIsSkipped, 5023),
    (Rule::BelowFloorIsSkipped, 743_380),
    (Rule::UnclaimedIsSkipped, 38766),
    (Rule::ProgressBeforeRows, 902),
    (Rule::ProgressOfAnyAttempt, 71864),
    (Rule::TrimKeepsFloor, 74),
    (Rule::TrimLowersFloor, 19456),
    (Rule::TrimKeepsRevision, 1162),
    (Rule::OpeningKeepsRevision, 540),
    (Rule::RevisionIsCounted, 26595),
    (Rule::LateScriptRepeatsRevision, 18228),
    (Rule::LateOpeningRepeatsRevision, 315_450),
    (Rule::BuildReadsBeforeOpening, 17200),
    (Rule::BuildOfPushedOnly, 9),
    (Rule::ClaimOfAnyRevision, 540),
    (Rule::ExtendOfAnyBasis, 7356),
    (Rule::CutCoverKeepsFloor, 653),
    (Rule::CoverKeepsRevision, 2965),
    (Rule::CoverOfAnyIncarnation, 28990),
    (Rule::CleanKeepsBasis, 747_556),
    (Rule::AuthorsOfAnyVersion, 7),
    (Rule::UncoveredIsRemembered, 38),
    (Rule::CoverKeepsVersion, 456_061),
    (Rule::HeaderInAKeyOfItsOwn, 833),
    (Rule::ClaimBeforeRows, 613),
    (Rule::HeaderOfAnyRevision, 18758),
    (Rule::OneAcknowledges, 2700),
    (Rule::RowsGoBeforeHeader, 272_700),
    (Rule::FenceIsUsedAgain, 928),
    (Rule::HeadersAreDeleted, 40870),
    (Rule::RowsAreRemoved, 14650),
];

impl Tally {
    fn add(&mut self, other: &Self) {
        self.walks += other.walks;
        self.reads += other.reads;
        self.believed += other.believed;
        self.by_authors += other.by_authors;
        self.changed += other.changed;
        self.sql_losses += other.sql_losses;
        self.before_header += other.before_header;
    }
}

/// Walks from `seed` on, and the seeds of those with a wrong page.
fn walk_many(seed: u64, walks: u64, store: Store) -> (Tally, Vec<(u64, String)>) {
    let (next, sums) = (AtomicU64::new(0), Mutex::new((Tally::default(), Vec::new())));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let (mut tally, mut wrong) = (Tally::default(), Vec::new());
                while let n = next.fetch_add(1, Relaxed)
                    && n < walks
                {
                    let (walked, found) = walk(seed.wrapping_add(n), None, store);
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
    (0..most).find(|seed| walk(*seed, Some(rule), rule.store()).1.is_some()).map(|seed| seed + 1)
}

fn every_believed_page_is_the_oracles(walks: u64, store: Store) {
    let (tally, wrong) = walk_many(from_environment("SEED").unwrap_or(1), walks, store);
    println!("{store:?}: {tally:?}");
    let is_early = tally.before_header > 0;
    assert_eq!(is_early, store == Store::Cassandra, "rows come before their header in Cassandra alone: {tally:?}");
    let fewest = tally.believed.min(4 * tally.by_authors);
    assert!(fewest > walks, "too few pages were believed to say anything: {tally:?}");
    assert!(wrong.is_empty(), "wrong pages, by seed: {:?}", &wrong[..wrong.len().min(5)]);
}

#[test]
fn every_believed_page_of_an_outside_inbox_is_the_oracles() {
    every_believed_page_is_the_oracles(SHORT, Store::Redis);
}

#[test]
fn every_believed_page_of_an_inbox_in_cassandra_is_the_oracles() {
    every_believed_page_is_the_oracles(SHORT, Store::Cassandra);
}

#[test]
#[ignore = "the long run: `make sim`"]
fn every_believed_page_is_the_oracles_for_very_long() {
    for store in [Store::Redis, Store::Cassandra] {
        every_believed_page_is_the_oracles(from_environment("WALKS").unwrap_or(1_000_000), store);
    }
}

#[test]
fn every_broken_rule_of_outside_inboxes_is_seen() {
    let unseen: Vec<&(Rule, u64)> =
        SEEN.iter().filter(|(rule, seed)| walk(*seed, Some(*rule), rule.store()).1.is_none()).collect();
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
    let in_cassandra = std::env::var_os("CASSANDRA").is_some();
    let store = if in_cassandra { Store::Cassandra } else { rule.map_or(Store::Redis, Rule::store) };
    super::walk::print_steps(from_environment("SEED").unwrap_or(1), rule, store);
}
