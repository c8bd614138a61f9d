//! Breaks each rule in turn: hunts for the first world that shows it, and replays the world that is kept.

use crate::{campaign, kept::Table, rules::Rule, runner, world::Way};

/// The rules' table in docs/broken-rules.md.
pub const TABLE: &str = "Rules of the coverage protocol";
/// Client operations of a hunted world's story.
const STORY: usize = 120;
/// Worlds in which clients alone may see a broken rule: some are nearly never seen by them.
const BY_CLIENTS: u64 = 1_000;
/// What stands in the place of a seed that no hunt has found.
pub const NONE: &str = "-";

/// What is wrong in a world with a broken rule, judged by what clients see, or by rows too.
fn wrong(rule: Rule, seed: u64, story: usize, as_clients_see: bool) -> Option<&'static str> {
    let way = Way { broken: Some(rule), as_clients_see, traced: false };
    runner::run(seed, story, way).failure.map(|failure| failure.what)
}

/// Breaks the rule in world after world, from seed 0 on, `most` of them. The row names the first that shows it.
pub fn hunt(rule: Rule, most: u64) -> Vec<String> {
    let first = |most, as_clients_see| {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut seeds = (0..).filter(|seed| rule.is_of(*seed)).take(most);
        seeds.find_map(|seed| Some((seed.to_string(), wrong(rule, seed, STORY, as_clients_see)?)))
    };
    let (by_clients, _) = first(most.min(BY_CLIENTS), true).unwrap_or((NONE.to_owned(), ""));
    let (seed, what) = first(most, false).unwrap_or((NONE.to_owned(), "NOTHING"));
    let [place, words, what] = [rule.place(), rule.words(), what].map(str::to_owned);
    vec![format!("{rule:?}"), place, words, by_clients, seed, STORY.to_string(), what]
}

/// The rules that no longer go wrong as their kept worlds say, with the reason.
pub fn unseen(table: &Table) -> Vec<String> {
    let reasons = campaign::two_at_a_time(Rule::ALL, |rule| {
        let replayed = table.row(rule).map_or_else(|| Err("no world is kept".to_owned()), |row| replay(*rule, row));
        replayed.err().map(|reason| format!("{rule:?}: {reason}"))
    });
    reasons.into_iter().flatten().collect()
}

fn replay(rule: Rule, row: &[String]) -> Result<(), String> {
    let [_, _, _, by_clients, seed, story, what] = row else { return Err(format!("a row of other columns: {row:?}")) };
    if seed == NONE && rule.is_walked() {
        return Ok(());
    }
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
    let (seed, story) = (number(seed)?, usize::try_from(number(story)?).unwrap_or(usize::MAX));
    let found = wrong(rule, seed, story, false);
    if found != Some(what.as_str()) {
        return Err(format!("seed {seed}: `{}`, and not `{what}`", found.unwrap_or("NOTHING")));
    }
    if by_clients != NONE && wrong(rule, number(by_clients)?, story, true).is_none() {
        return Err(format!("seed {by_clients}: clients see nothing wrong"));
    }
    Ok(())
}
