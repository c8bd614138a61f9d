//! Breaks each rule in turn and counts the worlds until a check fails.

use std::fmt;

use crate::{rules::Rule, runner, world::Way};

/// Client operations of each world's story.
const STORY: usize = 120;

/// What became of a world with a broken rule.
pub struct Found {
    pub rule: Rule,
    /// Whether only what clients see counted.
    pub as_clients_see: bool,
    /// Worlds until then, and what was wrong in the last; `None` if nothing was in as many as there were.
    pub after: Option<(u64, &'static str)>,
}

/// Breaks the rule in world after world, `most` of them, from `seed` on.
pub fn hunt(rule: Rule, as_clients_see: bool, seed: u64, most: u64) -> Found {
    let way = Way { broken: Some(rule), as_clients_see, traced: false };
    let after = (0..most).find_map(|n| {
        let failure = runner::run(seed.wrapping_add(n), STORY, way).failure?;
        Some((n + 1, failure.what))
    });
    Found { rule, as_clients_see, after }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = if self.as_clients_see { "clients" } else { "rows, too" };
        let rule = self.rule;
        match self.after {
            Some((worlds, what)) => {
                write!(f, "| {rule:?} | {} | {} | {seen} | {worlds} | {what} |", rule.place(), rule.words())
            }
            None => write!(f, "| {rule:?} | {} | {} | {seen} | - | NOTHING |", rule.place(), rule.words()),
        }
    }
}
