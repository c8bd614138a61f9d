//! The worlds that docs/broken-rules.md keeps: for each rule one that shows it broken. Tests replay them. `make sim`
//! hunts for them anew.

use std::{collections::BTreeMap, fmt::Debug, fs, path::Path};

use crate::stories::from_environment;

/// What to do if a kept world does not show its rule broken.
pub const REMEDY: &str =
    "A change of the simulation changes its worlds. `KEEP=1 make sim` hunts for others and keeps them.";

/// One table of the page.
pub struct Table {
    heading: &'static str,
    page: String,
    /// Cells by the rule's name, which is the first.
    rows: BTreeMap<String, Vec<String>>,
}

impl Table {
    /// The table under this heading.
    pub fn under(heading: &'static str) -> Self {
        let page = fs::read_to_string(path()).unwrap();
        let title = format!("## {heading}");
        let section = page.lines().skip_while(|line| *line != title).skip(1).take_while(|line| !line.starts_with('#'));
        let rows = section.filter(|line| is_row(line)).map(|line| {
            let cells: Vec<String> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            (cells[0].clone(), cells)
        });
        let rows: BTreeMap<_, _> = rows.collect();
        assert!(!rows.is_empty(), "docs/broken-rules.md has no rows under `{title}`");
        Self { heading, page, rows }
    }

    /// The cells of a rule's row.
    pub fn row(&self, rule: impl Debug) -> Option<&[String]> {
        self.rows.get(&format!("{rule:?}")).map(Vec::as_slice)
    }

    /// Compares the rows of a hunt with those that are kept. With KEEP, writes them instead, in the order of `rules`.
    pub fn settle(mut self, rules: &[impl Debug], hunted: Vec<Vec<String>>) {
        if from_environment("KEEP").is_none() {
            let others = hunted.iter().filter(|row| self.rows.get(&row[0]) != Some(row)).map(|row| line(row));
            let others: Vec<String> = others.collect();
            assert!(others.is_empty(), "docs/broken-rules.md lacks these rows:\n{}\n{REMEDY}", others.join("\n"));
            return;
        }
        self.rows.extend(hunted.into_iter().map(|row| (row[0].clone(), row)));
        let lines: Vec<String> = rules.iter().filter_map(|rule| self.row(rule).map(line)).collect();
        fs::write(path(), self.with_rows(&lines)).unwrap();
    }

    /// The page, with these lines in the place of the table's rows.
    fn with_rows(&self, rows: &[String]) -> String {
        let (title, mut is_within, mut page) = (format!("## {}", self.heading), false, String::new());
        for line in self.page.lines() {
            is_within = line == title || (is_within && !line.starts_with('#'));
            if is_within && is_row(line) {
                continue;
            }
            page.push_str(line);
            page.push('\n');
            if is_within && line.starts_with("|---") {
                page.extend(rows.iter().map(|row| format!("{row}\n")));
            }
        }
        page
    }
}

/// A row as the page has it.
pub fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// The rules whose names contain RULE, or all.
pub fn chosen<R: Copy + Debug>(rules: &[R]) -> Vec<R> {
    let only = std::env::var("RULE").unwrap_or_default();
    rules.iter().copied().filter(|rule| format!("{rule:?}").contains(&only)).collect()
}

fn is_row(line: &str) -> bool {
    line.starts_with("| ") && !line.starts_with("| broken rule |")
}

fn path() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/broken-rules.md"))
}
