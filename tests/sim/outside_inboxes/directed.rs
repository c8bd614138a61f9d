//! Sequences made by hand that show the rules which random walks do not.

use tidefeed::domain::{EdgeMode, Position};

use super::{
    building::Build,
    covering::{Clean, Cover},
    delivering::Deliver,
    events::Admit,
    primary::{Content, Delivery, Edge},
    rules::Rule,
    world::World,
};

/// Worlds of a sequence: where scripts are led differs.
const WORLDS: u64 = 64;
/// Reads at the end of a sequence, each of another window.
const READS: usize = 64;
/// The one reader and the one author.
const PAIR: (usize, usize) = (0, 0);

/// A world of one reader in the outside tier and one author, whose edge has this mode.
fn world(seed: u64, broken: [Option<Rule>; 2], mode: EdgeMode) -> World {
    let mut world = World::new(seed, broken[0]);
    world.also_broken = broken[1];
    (world.readers, world.authors, world.keep) = (1, 1, 4);
    world.primary.edges.insert(PAIR, Edge { mode, incarnation: 1 });
    admit(&mut world);
    while !world.primary.readers[0].outside {
        world.change_tier(true);
    }
    world
}

fn admit(world: &mut World) {
    while world.primary.tokens[0].is_none() {
        if let Some(admission) = Admit::begin(world) {
            admission.step(world);
        }
    }
}

/// Publishes a content and delivers it.
fn publish(world: &mut World, id: i64) {
    let position = Position::bound(id, id);
    world.primary.contents.insert(position, Content { author: PAIR.1, removed: false });
    world.primary.deliveries.insert(position, Delivery { author: PAIR.1, through: 0, attempt: 0 });
    while let Some(mut delivery) = Deliver::begin(world) {
        while let Some(next) = delivery.step(world) {
            delivery = next;
        }
    }
}

/// Builds the inbox, however often the script is led elsewhere.
fn build(world: &mut World) {
    while world.primary.fence(0).is_some() && !claims(world) {
        let mut left = Build::begin(world);
        while let Some(build) = left {
            left = build.step(world);
        }
    }
}

fn claims(world: &World) -> bool {
    let inbox = world.nodes.each[0].inboxes.get(&0);
    inbox.is_some_and(|inbox| inbox.header.basis == Some(world.primary.readers[0].basis))
}

fn edge(world: &mut World) -> &mut Edge {
    world.primary.edges.get_mut(&PAIR).unwrap()
}

/// Runs a covering from its begin to its end; it ends at once if the script is led elsewhere.
fn cover(world: &mut World) {
    while edge(world).mode == EdgeMode::Fill {
        let covering = Cover::begin(world);
        finish_cover(world, covering);
    }
}

fn finish_cover(world: &mut World, mut left: Option<Cover>) {
    while let Some(covering) = left {
        left = covering.step(world);
    }
}

/// How many worlds show a wrong page at the end of the sequence.
fn wrong(sequence: impl Fn(&mut World), mode: EdgeMode, broken: [Option<Rule>; 2]) -> usize {
    let shows = |seed| {
        let mut world = world(seed, broken, mode);
        sequence(&mut world);
        assert!(claims(&world), "no page can be believed");
        for _ in 0..READS {
            world.read_at_once();
        }
        assert!(world.tally.believed > 0, "no page was believed");
        world.wrong.is_some()
    };
    (0..WORLDS).filter(|seed| shows(*seed)).count()
}

/// An unfollowed author's rows are found. Before they go, the author is followed again and covered.
fn follow_again_while_cleaning(world: &mut World) {
    build(world);
    publish(world, 1);
    world.primary.edges.remove(&PAIR);
    world.renew_authors(PAIR.0);
    let found = loop {
        if let Some(clean) = Clean::begin(world) {
            break clean.step(world);
        }
    };
    world.primary.edges.insert(PAIR, Edge { mode: EdgeMode::Fill, incarnation: 2 });
    world.renew_authors(PAIR.0);
    cover(world);
    let removed = found.and_then(|clean| clean.step(world));
    assert!(removed.is_none(), "a script is one step");
    // Without the rows, or with a claim that SQL no longer knows, the inbox is built again.
    build(world);
}

/// While the bucket has no token, covering passes over the inbox. SQL loses the giving up, and with it that the
/// contents were read.
fn cover_while_given_up(world: &mut World, contents_before: i64) {
    for id in 1..=contents_before {
        publish(world, id);
    }
    build(world);
    for id in contents_before + 1..=2 {
        publish(world, id);
    }
    *edge(world) = Edge { mode: EdgeMode::Fill, incarnation: 2 };
    world.past = vec![world.primary.clone()];
    world.primary.tokens[0] = None;
    let covering = Cover::begin(world);
    world.lose_commits();
    finish_cover(world, covering);
    // What was in vain is done again.
    cover(world);
}

/// An edge is covered, and the node remembers it as `Push`. SQL loses the covering.
fn lose_a_covering_that_is_remembered(world: &mut World) {
    build(world);
    world.past = vec![world.primary.clone()];
    *edge(world) = Edge { mode: EdgeMode::Fill, incarnation: 2 };
    cover(world);
    world.remembered[PAIR.0] = None;
    world.authors(PAIR.0);
    world.lose_commits();
    publish(world, 1);
}

#[test]
fn a_remembered_edge_whose_covering_sql_has_lost_is_pulled() {
    let wrong = |rule| wrong(lose_a_covering_that_is_remembered, EdgeMode::Pull, [rule, None]);
    assert_eq!(wrong(None), 0);
    assert!(wrong(Some(Rule::CoverKeepsVersion)) > 0);
}

#[test]
fn an_author_followed_again_keeps_rows_that_a_cleaning_had_found() {
    let wrong = |rule| wrong(follow_again_while_cleaning, EdgeMode::Push, [rule, None]);
    assert_eq!(wrong(None), 0);
    assert!(wrong(Some(Rule::CleanOfAnyRevision)) > 0);
}

#[test]
fn a_covering_whose_reading_sql_has_lost_trusts_no_edge() {
    let wrong = |rule| wrong(|world| cover_while_given_up(world, 1), EdgeMode::Pull, [rule, None]);
    assert_eq!(wrong(None), 0);
    assert!(wrong(Some(Rule::CoverKeepsIncarnation)) > 0);
}

/// Whoever makes a pulled edge trusted covers it first, so that a build could pass over it. Its rows matter only where
/// another rule is broken as well.
#[test]
fn a_build_reads_pulled_authors_in_case_a_lost_covering_counts() {
    let wrong = |rules| wrong(|world| cover_while_given_up(world, 2), EdgeMode::Pull, rules);
    assert_eq!(wrong([Some(Rule::CoverKeepsIncarnation), None]), 0, "the build has read both contents");
    assert_eq!(wrong([Some(Rule::BuildWithoutPulled), None]), 0, "the covering is done again");
    assert!(wrong([Some(Rule::BuildWithoutPulled), Some(Rule::CoverKeepsIncarnation)]) > 0);
}
