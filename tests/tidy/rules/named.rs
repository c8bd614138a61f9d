//! What documents name and list is there: code in backticks, and the rules that the simulation breaks.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Rule, docs::exists};
use crate::tidy::tree::{Finding, SourceFile, Tree, extension};

pub const CODE: Rule = Rule {
    remedy: "name the type, method, module or file as it is called now",
    check: |tree| {
        // What changed once is called as it was then.
        let is_current = |file: &&SourceFile| {
            extension(&file.path) == "md" && file.path != "CHANGELOG.md" && !file.path.starts_with("docs/decisions/")
        };
        let words: Vec<BTreeSet<&str>> = tree.rust().map(|(file, _)| words(&file.path, &file.text)).collect();
        let found = tree.files.iter().filter(is_current).flat_map(|file| {
            file.lines_where(|line| {
                let mut spans = line.split('`').skip(1).step_by(2);
                let gone = spans.find(|span| !is_there(tree, &file.path, &words, span));
                gone.map(|span| format!("there is no `{span}`"))
            })
        });
        found.collect()
    },
    broken_by: &[
        &[
            ("docs/a.md", "By `Fate::before_commit`."),
            ("tests/sim/fault.rs", "impl Injector { fn before_commit() {} }"),
        ],
        &[("docs/a.md", "See `read::pulling`."), ("src/read/mod.rs", "//! Pages.")],
        &[("docs/a.md", "See `src/read/pulling.rs`."), ("src/read/mod.rs", "//! Pages.")],
        &[("docs/a.md", "See `graphql/batches.rs`."), ("src/read/mod.rs", "//! Pages.")],
    ],
    kept_by: &[
        &[("docs/a.md", "By `Injector::before_commit`."), ("a.rs", "impl Injector { fn before_commit() {} }")],
        &[
            ("docs/a.md", "`read::pulling`, `read/pulling.rs`, `std::task`, `~/.cargo/bin`"),
            ("src/read/pulling.rs", "//!"),
        ],
        &[("CHANGELOG.md", "`Fate::before_commit` is gone.")],
    ],
};

pub const BROKEN_RULES: Rule = Rule {
    remedy: "run `KEEP=1 make sim`, which breaks each rule and keeps a world that shows it in docs/broken-rules.md",
    check: |tree| {
        let page = tree.files.iter().find(|file| file.path == PAGE);
        page.map_or_else(Vec::new, |page| TABLES.iter().filter_map(|table| differing(tree, page, table)).collect())
    },
    broken_by: &[
        &[
            ("docs/broken-rules.md", "## Rules of the coverage protocol\n| One | P1 |\n## Rules of OUTSIDE"),
            ("tests/sim/rules.rs", "rules! {\n    One \"P1\" \"a\";\n    Two \"P1\" \"b\";\n}"),
        ],
        &[
            ("docs/broken-rules.md", "## Rules of the coverage protocol\n## Rules of OUTSIDE\n| Old | S |"),
            ("tests/sim/outside_inboxes/rules.rs", "rules! {\n}"),
        ],
    ],
    kept_by: &[&[
        ("docs/broken-rules.md", "## Rules of the coverage protocol\n| broken rule | of |\n|---|---|\n| One | P1 |"),
        ("tests/sim/rules.rs", "rules! {\n    One \"P1\" \"a\";\n}"),
    ]],
};

const PAGE: &str = "docs/broken-rules.md";
/// The headings of the tables, and the files that declare their rules.
const TABLES: [(&str, &str); 2] = [
    ("Rules of the coverage protocol", "tests/sim/rules.rs"),
    ("Rules of OUTSIDE", "tests/sim/outside_inboxes/rules.rs"),
];
/// Where paths begin that lead to files of ours.
const FOLDERS: [&str; 9] =
    ["src", "tests", "docs", "scripts", "config", "bench", "migration", "graphql-transport", "clients"];
/// Folders that a build makes.
const MADE: [&str; 1] = ["src/gql/"];
/// Crates of others, by which documents name what is theirs.
const OTHERS: [&str; 8] = ["std", "tokio", "axum", "clippy", "async_graphql", "sea_orm", "tower_http", "thiserror"];

/// The words of a Rust file, with the steps of its path.
fn words<'a>(path: &'a str, text: &'a str) -> BTreeSet<&'a str> {
    let split = |text: &'a str| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    split(text).chain(split(path)).collect()
}

/// Whether the code that a span names exists; true of whatever names none.
fn is_there(tree: &Tree, from: &str, words: &[BTreeSet<&str>], span: &str) -> bool {
    let is_name = |step: &str| step.starts_with(|c: char| c.is_ascii_alphabetic()) && is_plain(step, "_");
    let span = span.trim_end_matches("()");
    if span.contains("::") {
        let steps: Vec<&str> = span.split("::").collect();
        let [.., owner, name] = steps.as_slice() else { return true };
        let is_path = steps.iter().all(|step| is_name(step)) && !OTHERS.contains(&steps[0]);
        return !is_path || words.iter().any(|words| words.contains(owner) && words.contains(name));
    }
    let is_source = matches!(extension(span), "rs" | "sh" | "toml" | "md") && span.contains('/');
    let is_ours = FOLDERS.contains(&span.split('/').next().unwrap_or_default()) && span.contains('/');
    let suffix = format!("/{}", span.trim_end_matches('/'));
    let is_file = |file: &SourceFile| format!("/{}", file.path).ends_with(&suffix);
    let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(span);
    let is_judged = (is_source || (is_ours && !span.contains('.'))) && is_plain(span, "_-./") && !span.contains("..");
    let is_judged = is_judged && !span.starts_with("./") && !MADE.contains(&span);
    !is_judged || tree.files.iter().any(is_file) || exists(tree, Path::new(span)) || exists(tree, &beside)
}

fn is_plain(text: &str, marks: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
}

/// What a table's first column has and the code has not, or the other way round.
fn differing(tree: &Tree, page: &SourceFile, (heading, source): &(&str, &str)) -> Option<Finding> {
    let source = tree.files.iter().find(|file| file.path == *source)?;
    let body = source.text.split("\nrules! {").nth(1).or_else(|| source.text.strip_prefix("rules! {"))?;
    let declared = body.lines().take_while(|line| *line != "}").filter_map(|line| line.trim().split_once(" \""));
    let declared: Vec<&str> = declared.map(|(name, _)| name).collect();
    let section = page.text.lines().skip_while(|line| line.trim_start_matches('#').trim() != *heading).skip(1);
    let rows = section.take_while(|line| !line.starts_with('#')).filter(|line| line.starts_with("| "));
    let listed = rows.filter_map(|row| row.split('|').nth(1)).map(str::trim).filter(|name| *name != "broken rule");
    let listed: Vec<&str> = listed.collect();
    let alone = declared.iter().find(|name| !listed.contains(name)).or(listed.iter().find(|it| !declared.contains(it)));
    alone.map(|name| page.finding(1, format!("`{name}` is in the table or in {}, and not in both", source.path)))
}
