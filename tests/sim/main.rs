//! The whole system in one process, on one thread, by a manual clock, from a seed: the real publisher, commands, workers and reader over
//! models of what they stand on. At every await another task may go on, or none; whatever may fail fails. A naive oracle judges every page.

#![recursion_limit = "256"] // futures within futures
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

mod checks;
mod client;
mod dice;
mod fate;
mod nudges;
mod oracle;
mod plan;
mod rest;
mod rules;
mod runner;
mod scheduler;
mod truth;
mod workload;
mod world;

use world::Way;

#[test]
fn a_world_runs_to_its_end() {
    let mut sums = runner::Sums::default();
    for seed in 0..20 {
        let outcome = runner::run(seed, 200, Way::default());
        sums.add(&outcome.sums);
        assert!(outcome.failure.is_none(), "{}", runner::report(&outcome, 200));
    }
    println!("{sums}");
}

#[test]
#[ignore]
fn a_broken_rule_is_noticed() {
    for rule in rules::Rule::ALL {
        let mut line = format!("{:<28} {:<8}", format!("{rule:?}"), rule.place());
        for as_clients_see in [true, false] {
            let way = Way { broken: Some(*rule), as_clients_see, traced: false };
            let found = (0..600).map(|seed| runner::run(seed, 150, way)).enumerate().find(|(_, it)| it.failure.is_some());
            match found {
                Some((n, outcome)) => line += &format!(" | {:>4} {:<50}", n + 1, outcome.failure.unwrap().what),
                None => line += " | none",
            }
        }
        println!("{line}");
    }
}
