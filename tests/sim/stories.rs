//! The tests: worlds from SEED on, kept ones, broken ones, and the long run.

use crate::{
    campaign::{self, Campaign},
    kept::{self, Table},
    mutations,
    plan::{self, FIRST_WITH_CARDS, FIRST_WITH_REPLICAS},
    rules::Rule,
    runner,
    world::Way,
};

/// Worlds that once showed something, one a line: seed, operations of its story.
const KEPT: &str = include_str!("seeds.txt");
/// Client operations of a world's story.
const STORY: usize = 200;
/// Client operations of all worlds of a short run.
const SHORT: u64 = 40_000;
/// The same of worlds with replicas.
const SHORT_WITH_REPLICAS: u64 = 4_000;
/// The same for `make test-fast`, which sets `FAST`.
const SHORTEST: u64 = 6_000;
const SHORTEST_WITH_REPLICAS: u64 = 1_000;

pub fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.replace('_', "").parse().expect("a whole number"))
}

fn run_campaign(operations: u64, reports_progress: bool) {
    let campaign = Campaign {
        seed: from_environment("SEED").unwrap_or(FIRST_WITH_CARDS),
        story: STORY,
        operations,
        is_run: |_| true,
        reports_progress,
    };
    println!("seeds from {} on, {STORY} operations each", campaign.seed);
    let (sums, failed) = campaign.run();
    println!("{sums}");
    let share = if campaign.seed < FIRST_WITH_REPLICAS { 50 } else { 100 };
    assert!(sums.outside > operations / share, "too few inboxes outside SQL counted to show anything");
    assert!(sums.cards > operations / 20, "too few cards came from memory to show anything");
    assert!(failed.is_empty(), "worlds went wrong: {:?}", failed.iter().map(|it| it.seed).collect::<Vec<_>>());
}

#[test]
fn every_page_is_the_oracles_whatever_goes_wrong() {
    run_campaign(if from_environment("FAST").is_some() { SHORTEST } else { SHORT }, false);
}

#[test]
#[ignore = "the long run: `make sim`"]
fn every_page_is_the_oracles_for_very_long() {
    run_campaign(from_environment("OPERATIONS").unwrap_or(10_000_000), true);
}

fn run_with_replicas(operations: u64, reports_progress: bool) {
    let seed = from_environment("SEED").unwrap_or(FIRST_WITH_REPLICAS);
    let (story, is_run) = (STORY, plan::has_replicas);
    let (sums, failed) = Campaign { seed, story, operations, is_run, reports_progress }.run();
    println!("{sums}");
    assert!(sums.on_replicas > operations / 4, "too few statements ran on replicas to show anything");
    assert!(failed.is_empty(), "worlds went wrong: {:?}", failed.iter().map(|it| it.seed).collect::<Vec<_>>());
}

#[test]
fn every_page_on_replicas_is_the_oracles() {
    run_with_replicas(
        if from_environment("FAST").is_some() { SHORTEST_WITH_REPLICAS } else { SHORT_WITH_REPLICAS },
        false,
    );
}

#[test]
#[ignore = "a long run of worlds with replicas: OPERATIONS"]
fn every_page_on_replicas_is_the_oracles_for_long() {
    run_with_replicas(from_environment("OPERATIONS").unwrap_or(1_000_000), true);
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

#[test]
#[ignore = "hunts for each broken rule: `make sim`"]
fn the_table_of_broken_rules() {
    let most = from_environment("WORLDS").unwrap_or(20_000);
    let rules = kept::chosen(Rule::ALL);
    let rows = campaign::two_at_a_time(&rules, |rule| {
        let row = mutations::hunt(*rule, most);
        println!("{}", kept::line(&row));
        row
    });
    let unseen = rules.iter().zip(&rows).filter(|(rule, row)| row[4] == mutations::NONE && !rule.is_walked());
    let unseen: Vec<&Rule> = unseen.map(|(rule, _)| rule).collect();
    assert!(unseen.is_empty(), "nothing was wrong in {most} worlds: {unseen:?}");
    Table::under(mutations::TABLE).settle(Rule::ALL, rows);
}

#[test]
fn every_broken_rule_is_seen_to_be_wrong() {
    let unseen = mutations::unseen(&Table::under(mutations::TABLE));
    assert!(unseen.is_empty(), "{}\n{}", unseen.join("\n"), kept::REMEDY);
}
