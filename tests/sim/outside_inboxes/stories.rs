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
use crate::{
    campaign,
    kept::{self, Table},
    stories::from_environment,
};

/// Walks at a time in a long run.
const THREADS: usize = 2;
/// Walks of the short test.
const SHORT: u64 = 1_500;
/// The rules' table in docs/broken-rules.md.
const TABLE: &str = "Rules of OUTSIDE";
/// What stands in the place of a seed that no hunt has found.
const NONE: &str = "-";

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

/// Whether the walk shows a wrong page.
fn shows(rule: Rule, seed: u64) -> bool {
    walk(seed, Some(rule), rule.store()).1.is_some()
}

/// Walks from seed 0 on, `most` of them. The row names the first with a wrong page.
fn hunt(rule: Rule, most: u64) -> Vec<String> {
    let seed = (0..most).find(|seed| shows(rule, *seed)).map_or_else(|| NONE.to_owned(), |seed| seed.to_string());
    vec![format!("{rule:?}"), rule.place().to_owned(), rule.words().to_owned(), seed]
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
    let table = Table::under(TABLE);
    let is_seen = |rule: &Rule| {
        let seed = table.row(rule).and_then(|row| row.get(3)?.parse().ok());
        seed.map_or_else(|| rule.is_rare(), |seed| shows(*rule, seed))
    };
    let seen = campaign::two_at_a_time(Rule::ALL, is_seen);
    let unseen: Vec<&Rule> = Rule::ALL.iter().zip(seen).filter(|(_, seen)| !seen).map(|(rule, _)| rule).collect();
    assert!(unseen.is_empty(), "no wrong page: {unseen:?}\n{}", kept::REMEDY);
}

#[test]
#[ignore = "hunts for each broken rule: `make sim`"]
fn the_table_of_broken_outside_rules() {
    let most = from_environment("WALKS").unwrap_or(1_000_000);
    let rules = kept::chosen(Rule::ALL);
    let rows = campaign::two_at_a_time(&rules, |rule| {
        let row = hunt(*rule, most);
        println!("{}", kept::line(&row));
        row
    });
    let unseen: Vec<&Rule> =
        rules.iter().zip(&rows).filter(|(rule, row)| row[3] == NONE && !rule.is_rare()).map(|(rule, _)| rule).collect();
    assert!(unseen.is_empty(), "no wrong page in {most} walks: {unseen:?}");
    Table::under(TABLE).settle(Rule::ALL, rows);
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
