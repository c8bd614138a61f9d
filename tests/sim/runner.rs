//! Runs worlds from their seeds: one, many, or until one fails.

use std::{
    fmt::{self, Write as _},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use tokio::runtime::Builder;

use crate::{
    checks::Failure,
    world::{Way, World},
};

/// What a world came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub seed: u64,
    pub sums: Sums,
    pub failure: Option<Failure>,
    pub trace: String,
}

/// What happened, in numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sums {
    pub seeds: u64,
    pub publishes: u64,
    pub removals: u64,
    pub follows: u64,
    pub unfollows: u64,
    pub exclusions: u64,
    pub pages: u64,
    pub checked: u64,
    pub entries: u64,
    pub reactions: u64,
    pub cards: u64,
    pub outside: u64,
    /// Statements that replicas have served.
    pub on_replicas: u64,
    /// Statements that the primary had to serve in their place.
    pub off_replicas: u64,
    pub steps: u64,
    pub faults: u64,
    pub unanswered: u64,
    pub audits: u64,
    pub events: u64,
    pub mismatches: u64,
}

impl Sums {
    /// What clients did.
    pub const fn operations(&self) -> u64 {
        self.publishes + self.removals + self.follows + self.unfollows + self.exclusions + self.reactions + self.pages
    }

    pub fn add(&mut self, more: &Self) {
        let pairs = [
            (&mut self.seeds, more.seeds),
            (&mut self.publishes, more.publishes),
            (&mut self.removals, more.removals),
            (&mut self.follows, more.follows),
            (&mut self.unfollows, more.unfollows),
            (&mut self.exclusions, more.exclusions),
            (&mut self.pages, more.pages),
            (&mut self.checked, more.checked),
            (&mut self.entries, more.entries),
            (&mut self.reactions, more.reactions),
            (&mut self.cards, more.cards),
            (&mut self.outside, more.outside),
            (&mut self.on_replicas, more.on_replicas),
            (&mut self.off_replicas, more.off_replicas),
            (&mut self.steps, more.steps),
            (&mut self.faults, more.faults),
            (&mut self.unanswered, more.unanswered),
            (&mut self.audits, more.audits),
            (&mut self.events, more.events),
            (&mut self.mismatches, more.mismatches),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
    }

    fn of(world: &World) -> Self {
        let (counts, base) = (&world.shared.counts, world.shared.primary_store.base());
        let of = |counter: &AtomicU64| counter.load(Relaxed);
        Self {
            seeds: 1,
            publishes: of(&counts.publishes),
            removals: of(&counts.removals),
            follows: of(&counts.follows),
            unfollows: of(&counts.unfollows),
            exclusions: of(&counts.exclusions),
            pages: of(&counts.pages),
            checked: of(&counts.checked),
            entries: of(&counts.entries),
            reactions: of(&counts.reactions),
            cards: of(&counts.cards),
            outside: base.claimed,
            on_replicas: base.replication.served,
            off_replicas: base.replication.missed,
            steps: of(&counts.steps),
            faults: world.shared.injector.faults(),
            unanswered: of(&counts.unanswered),
            audits: of(&counts.audits),
            events: of(&counts.events),
            mismatches: 0,
        }
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, publishes, removals, follows, unfollows, exclusions, pages, .. } = self;
        let operations = self.operations();
        write!(
            f,
            "{operations} operations in {seeds} worlds ({publishes} publishes, {removals} removals, {follows} follows, "
        )?;
        write!(
            f,
            "{unfollows} unfollows, {exclusions} mutes, hides and blocks, {pages} pages), {} steps of workers, {} faults, ",
            self.steps, self.faults
        )?;
        write!(f, "{} operations without an answer, {} pages checked ", self.unanswered, self.checked)?;
        let Self { entries, reactions, cards, outside, on_replicas, off_replicas, audits, events, mismatches, .. } =
            self;
        write!(
            f,
            "({entries} entries, {cards} cards from memory, {outside} inboxes outside SQL, {on_replicas} statements on \
             replicas and {off_replicas} not), {reactions} reactions and new names, {events} live events, {audits} audits, {mismatches} mismatches"
        )
    }
}

/// One world, from its seed to its rest.
pub fn run(seed: u64, operations: usize, way: Way) -> Outcome {
    // Tokio's time stands still but for `World::let_checks_come`; nothing else of its runtime is used.
    let time =
        Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime without sockets");
    let _within = time.enter();
    let mut world = World::found(seed, operations, way);
    world.run_story();
    if !world.has_failed() {
        world.come_to_rest(&time);
    }
    let failure = world.shared.primary_store.base().checks.failure.clone();
    let sums = Sums { mismatches: u64::from(failure.is_some()), ..Sums::of(&world) };
    Outcome { seed, sums, failure, trace: world.shared.injector.trace() }
}

/// The failure in words, with the way to see it again.
pub fn report(outcome: &Outcome, operations: usize) -> String {
    let mut text = String::new();
    if let Some(Failure { what, detail }) = &outcome.failure {
        let _ = writeln!(text, "seed {} ({operations} operations): {what}\n{detail}", outcome.seed);
    }
    text
}
