//! The tests: worlds from SEED on, kept ones, broken ones, and the long run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::{campaign::Campaign, mutations, rules::Rule, runner, world::Way};

/// Worlds that once showed something, one a line: seed, operations of its story.
const KEPT: &str = include_str!("seeds.txt");
/// Client operations of a world's story.
const STORY: usize = 200;
/// Client operations of all worlds of a short run.
const SHORT: u64 = 40_000;
/// The same for `make test-fast`, which sets `FAST`.
const SHORTEST: u64 = 6_000;

pub fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.replace('_', "").parse().expect("a whole number"))
}

fn campaign(operations: u64, reports_progress: bool) {
    let campaign = Campaign { seed: from_environment("SEED").unwrap_or(1), story: STORY, operations, reports_progress };
    println!("seeds from {} on, {STORY} operations each", campaign.seed);
    let (sums, failed) = campaign.run();
    println!("{sums}");
    assert!(failed.is_empty(), "worlds went wrong: {:?}", failed.iter().map(|it| it.seed).collect::<Vec<_>>());
}

#[test]
fn every_page_is_the_oracles_whatever_goes_wrong() {
    campaign(if from_environment("FAST").is_some() { SHORTEST } else { SHORT }, false);
}

#[test]
#[ignore = "the long run: `make sim`"]
fn every_page_is_the_oracles_for_very_long() {
    campaign(from_environment("OPERATIONS").unwrap_or(10_000_000), true);
}

#[test]
fn seeds_that_once_failed_pass() {
    for line in KEPT.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace().map(|word| word.parse::<u64>().unwrap());
        let (seed, operations) = (words.next().unwrap(), usize::try_from(words.next().unwrap()).unwrap());
        let outcome = runner::run(seed, operations, Way::default());
        assert!(outcome.failure.is_none(), "{}", runner::report(&outcome, operations));
    }
}

#[test]
fn a_seed_tells_the_same_story_twice() {
    let trace = |seed| runner::run(seed, 60, Way { traced: true, ..Way::default() }).trace;
    for seed in 0..10 {
        let (once, twice) = (trace(seed), trace(seed));
        assert!(once.lines().count() > 100, "a story without a plot");
        assert!(once == twice, "seed {seed}");
    }
}

#[test]
#[ignore = "one world, with its whole story: SEED, OPERATIONS, RULE"]
fn one_world_tells_its_whole_story() {
    let operations = usize::try_from(from_environment("OPERATIONS").unwrap_or(200)).unwrap();
    let name = std::env::var("RULE").unwrap_or_default();
    let broken = Rule::ALL.iter().copied().find(|rule| format!("{rule:?}") == name);
    let way = Way { broken, as_clients_see: from_environment("CLIENTS").is_some(), traced: true };
    let outcome = runner::run(from_environment("SEED").unwrap_or(0), operations, way);
    println!("{}\n{}{}", outcome.trace, runner::report(&outcome, operations), outcome.sums);
}

/// Worlds in which clients alone may see a broken rule: some are nearly never seen by them.
const BY_CLIENTS: u64 = 1_000;

#[test]
#[ignore = "the whole table: `make sim`"]
fn the_table_of_broken_rules() {
    let most = from_environment("WORLDS").unwrap_or(20_000);
    println!(
        "| broken rule | of | what is done instead | judged by | worlds | what was wrong |\n|---|---|---|---|---|---|"
    );
    let (only, rows) = (std::env::var("RULE").unwrap_or_default(), from_environment("ROWS").is_some());
    let mut unseen = Vec::new();
    for rule in Rule::ALL.iter().filter(|rule| format!("{rule:?}").contains(&only)) {
        for as_clients_see in [true, false].into_iter().filter(|clients| !(rows && *clients)) {
            let worlds = if as_clients_see { most.min(BY_CLIENTS) } else { most };
            let found = mutations::hunt(*rule, as_clients_see, 0, worlds);
            println!("{found}");
            if found.after.is_none() && !as_clients_see {
                unseen.push(rule);
            }
        }
    }
    assert!(unseen.is_empty(), "nothing was wrong in {most} worlds: {unseen:?}");
}

/// Worlds in which a broken rule must be seen.
const BOUND: u64 = 1_000;

#[test]
fn every_broken_rule_is_seen_to_be_wrong() {
    let rules: Vec<Rule> = Rule::ALL.iter().copied().filter(|rule| !rule.is_rare()).collect();
    let next = AtomicUsize::new(0);
    let hunt_each = || {
        let rules = std::iter::from_fn(|| rules.get(next.fetch_add(1, Ordering::Relaxed)));
        rules.filter(|rule| mutations::hunt(**rule, false, 0, BOUND).after.is_none()).collect::<Vec<_>>()
    };
    // By far the longest test here. A world has one thread, so two of them keep two cores busy.
    let unseen = thread::scope(|scope| {
        let other = scope.spawn(hunt_each);
        [hunt_each(), other.join().unwrap()].concat()
    });
    assert!(unseen.is_empty(), "nothing was wrong in {BOUND} worlds: {unseen:?}");
}
