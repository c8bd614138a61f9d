//! The page of demands: each has its row, and each row the tests that show it.

use super::Rule;
use crate::tidy::tree::{Finding, SourceFile, Tree};

const PAGE: &str = "docs/mission.md";
/// Letters of demands, and how many each has.
const DEMANDS: [(char, usize); 4] = [('A', 10), ('B', 8), ('C', 5), ('D', 6)];
/// What a row says that has no test.
const NOT_BUILT: &str = "**Not built";

pub const DEMANDS_SHOWN: Rule = Rule {
    remedy: "name in the demand's row a test that exists, as `path.rs::name`, or say that it is not built",
    check: |tree| {
        let pages = tree.files.iter().filter(|file| file.path == PAGE);
        pages.flat_map(|page| missing(page).into_iter().chain(page.lines_where(|line| fault(tree, line)))).collect()
    },
    broken_by: &[
        &[("docs/mission.md", "| A1 | publishing | exists | `tests/it/a.rs::it_is_so` |"), ("tests/it/a.rs", "")],
        &[("docs/mission.md", "| A1 | publishing | exists | by hand |")],
        &[("docs/mission.md", "Nothing was asked for.")],
    ],
    kept_by: &[&[("docs/other.md", "| A1 | publishing | exists | by hand |")], &[("docs/mission.md", WHOLE), SHOWN]],
};

const SHOWN: (&str, &str) = ("tests/it/a.rs", "async fn it_is_so(backend: Backend) {}");
const WHOLE: &str = "| A1 | `tests/it/a.rs::it_is_so` |\n| A2 | **Not built.** |\n| A3 | **Not built.** |\n\
    | A4 | **Not built.** |\n| A5 | **Not built.** |\n| A6 | **Not built.** |\n| A7 | **Not built.** |\n\
    | A8 | **Not built.** |\n| A9 | **Not built.** |\n| A10 | **Not built.** |\n| B1 | **Not built.** |\n\
    | B2 | **Not built.** |\n| B3 | **Not built.** |\n| B4 | **Not built.** |\n| B5 | **Not built.** |\n\
    | B6 | **Not built.** |\n| B7 | **Not built.** |\n| B8 | **Not built.** |\n| C1 | **Not built.** |\n\
    | C2 | **Not built.** |\n| C3 | **Not built.** |\n| C4 | **Not built.** |\n| C5 | **Not built.** |\n\
    | D1 | **Not built.** |\n| D2 | **Not built.** |\n| D3 | **Not built.** |\n| D4 | **Not built.** |\n\
    | D5 | **Not built.** |\n| D6 | **Not built.** |";

/// Demands without a row.
fn missing(page: &SourceFile) -> Vec<Finding> {
    let all = DEMANDS.iter().flat_map(|(letter, count)| (1..=*count).map(move |number| format!("{letter}{number}")));
    let has = |demand: &String| page.text.lines().any(|line| demand_of(line) == Some(demand.as_str()));
    all.filter(|demand| !has(demand)).map(|demand| page.finding(1, format!("{demand} has no row"))).collect()
}

/// The demand whose row a line is.
fn demand_of(line: &str) -> Option<&str> {
    let first = line.strip_prefix("| ")?.split(' ').next()?;
    let (letter, number) = first.split_at_checked(1)?;
    let known = DEMANDS.iter().any(|(known, _)| letter.starts_with(*known));
    (known && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())).then_some(first)
}

fn fault(tree: &Tree, line: &str) -> Option<String> {
    let demand = demand_of(line)?;
    let cited: Vec<(&str, &str)> =
        line.split('`').skip(1).step_by(2).filter_map(|span| span.split_once(".rs::")).collect();
    if cited.is_empty() && !line.contains(NOT_BUILT) {
        return Some(format!("{demand} names no test"));
    }
    let gone = cited.into_iter().find(|(path, name)| !is_in(tree, path, name));
    gone.map(|(path, name)| format!("{demand}: there is no `{name}` in `{path}.rs`"))
}

fn is_in(tree: &Tree, path: &str, name: &str) -> bool {
    let file = tree.files.iter().find(|file| file.path.strip_suffix(".rs") == Some(path));
    file.is_some_and(|file| file.text.contains(&format!("fn {name}(")))
}
