//! A random walk: how often each thing happens differs from walk to walk, so that rare sequences are common in some.

use super::{
    building::{Build, Extend},
    covering::{Clean, Cover},
    delivering::Deliver,
    events::Admit,
    reading::Read,
    rules::Rule,
    world::{Process, Tally, World},
};

/// Happenings of a walk.
const STEPS: usize = 400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happening {
    Step,
    Publish,
    Deliver,
    Read,
    /// A read that nothing comes between.
    ReadAtOnce,
    Build,
    Extend,
    Cover,
    Clean,
    ChangeEdge,
    Remove,
    Mute,
    Enter,
    Leave,
    Admit,
    GiveUp,
    Kill,
    Replicate,
    Promote,
    Demote,
    Dump,
    RestartFromDump,
    Restart,
    Flush,
    Evict,
    Remember,
    ReplicateSql,
    LoseCommits,
    RunLate,
}

use Happening as H;

/// What happens in every walk, with its usual weight.
const USUAL: &[(Happening, u64)] = &[
    (H::Step, 300),
    (H::Publish, 30),
    (H::Deliver, 40),
    (H::Read, 40),
    (H::ReadAtOnce, 40),
    (H::Build, 12),
    (H::Extend, 8),
    (H::Cover, 16),
    (H::ChangeEdge, 10),
    (H::Enter, 8),
    (H::Admit, 10),
    (H::Remember, 4),
    (H::Replicate, 8),
    (H::Dump, 4),
    (H::ReplicateSql, 8),
];

/// What happens more often in Cassandra, where only a build under a former fence removes rows.
const IN_CASSANDRA: &[(Happening, u64)] =
    &[(H::Build, 20), (H::Enter, 12), (H::Leave, 8), (H::GiveUp, 6), (H::Admit, 12)];

/// How much more often than usual something happens in one walk.
const FACTORS: [u64; 5] = [1, 1, 2, 3, 8];

/// What happens in some walks only.
const FAULTS: &[(Happening, u64)] = &[
    (H::Clean, 10),
    (H::Remove, 4),
    (H::Mute, 3),
    (H::Leave, 4),
    (H::GiveUp, 5),
    (H::Kill, 8),
    (H::Promote, 4),
    (H::Demote, 4),
    (H::RestartFromDump, 3),
    (H::Restart, 2),
    (H::Flush, 1),
    (H::Evict, 4),
    (H::LoseCommits, 5),
    (H::RunLate, 12),
];

/// The store that holds the outside inboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    Redis,
    Cassandra,
}

fn world(seed: u64, broken: Option<Rule>, store: Store) -> World {
    match store {
        Store::Redis => World::new(seed, broken),
        Store::Cassandra => World::in_cassandra(seed, broken),
    }
}

/// What came of a walk: what happened, and the first wrong page.
pub fn walk(seed: u64, broken: Option<Rule>, store: Store) -> (Tally, Option<String>) {
    run(world(seed, broken, store), |_, _| {})
}

/// Runs the walk and prints the state after each step.
pub fn print_steps(seed: u64, broken: Option<Rule>, store: Store) {
    let (_, wrong) = run(world(seed, broken, store), |happening, world| {
        println!("{happening}\n  {:?}\n  {:?}\n  {:?}", world.primary, world.nodes.each, world.processes);
        println!("  {:?}", world.cassandra);
    });
    println!("{wrong:?}");
}

fn run(mut world: World, observe: impl Fn(&str, &World)) -> (Tally, Option<String>) {
    let weights = weights(&mut world);
    let all: u64 = weights.iter().map(|(_, weight)| weight).sum();
    begin_in_order(&mut world);
    for _ in 0..STEPS {
        let mut left = world.rng.below(all);
        let chosen = weights.iter().find(|(_, weight)| {
            let here = left < *weight;
            left = left.saturating_sub(*weight);
            here
        });
        let happening = chosen.map_or(H::Step, |(happening, _)| *happening);
        happen(&mut world, happening);
        observe(&format!("{happening:?}"), &world);
        if world.wrong.is_some() {
            break;
        }
    }
    (world.tally, world.wrong)
}

fn weights(world: &mut World) -> Vec<(Happening, u64)> {
    let usual = USUAL.iter().map(|(happening, weight)| (*happening, weight * world.rng.pick(&FACTORS)));
    let mut weights: Vec<(Happening, u64)> = usual.collect();
    if world.cassandra.is_some() {
        let more = IN_CASSANDRA.iter().map(|(happening, weight)| (*happening, weight * world.rng.pick(&FACTORS)));
        weights.extend(more);
    }
    for (happening, weight) in FAULTS {
        if world.rng.below(3) == 0 {
            weights.push((*happening, weight * world.rng.pick(&FACTORS)));
        }
    }
    weights
}

/// Buckets are admitted, readers are in the outside tier and follow somebody.
fn begin_in_order(world: &mut World) {
    for happening in [H::Admit, H::Admit, H::Admit, H::Enter, H::Enter, H::Enter] {
        happen(world, happening);
    }
    for _ in 0..4 {
        happen(world, H::ChangeEdge);
        happen(world, H::Publish);
        world.step();
    }
}

fn happen(world: &mut World, happening: Happening) {
    match happening {
        H::Step => world.step(),
        H::Publish => world.publish(),
        H::ChangeEdge => world.change_edge(),
        H::Remove => world.remove(),
        H::Mute => world.mute(),
        H::Enter => world.change_tier(true),
        H::Leave => world.change_tier(false),
        H::GiveUp => world.give_up_bucket(),
        H::Kill => world.kill(),
        H::ReadAtOnce => world.read_at_once(),
        H::ReplicateSql => world.replicate_sql(),
        H::LoseCommits => world.lose_commits(),
        H::RunLate => world.run_late(),
        _ => begin_or_fail(world, happening),
    }
}

fn begin_or_fail(world: &mut World, happening: Happening) {
    let process = match happening {
        H::Deliver => Deliver::begin(world).map(Process::Deliver),
        H::Read => Read::begin(world).map(Process::Read),
        H::Build => Build::begin(world).map(Process::Build),
        H::Extend => Extend::begin(world).map(Process::Extend),
        H::Cover => Cover::begin(world).map(Process::Cover),
        H::Clean => Clean::begin(world).map(Process::Clean),
        H::Admit => Admit::begin(world).map(Process::Admit),
        _ => return fail(world, happening),
    };
    world.begin(process);
}

fn fail(world: &mut World, happening: Happening) {
    if let World { cassandra: Some(cassandra), rng, broken, .. } = world {
        if *broken == Some(Rule::HeadersAreDeleted) && matches!(happening, H::Flush | H::Evict) {
            cassandra.lose_headers(rng, happening == H::Flush);
        }
        return;
    }
    let node = world.rng.index(2);
    let (nodes, rng) = (&mut world.nodes, &mut world.rng);
    match happening {
        H::Replicate => nodes.replicate(),
        H::Promote => nodes.promote(rng),
        H::Demote => nodes.demote(),
        H::Dump => nodes.each[node].dump = nodes.each[node].inboxes.clone(),
        H::RestartFromDump => nodes.restart(node, true, rng),
        H::Restart => nodes.restart(node, false, rng),
        H::Flush => nodes.each[node].inboxes.clear(),
        H::Evict => nodes.evict(node, rng),
        _ => nodes.each[node].remembered = (nodes.each[node].is_master, nodes.each[node].id),
    }
}
