//! References to documents that hold: anchors of links and of citations in code, and the page of all tables.

use std::collections::BTreeSet;

use super::Rule;
use crate::tidy::tree::{Finding, SourceFile, Tree, extension};

pub const ANCHORS: Rule = Rule {
    remedy: "cite a heading that the document has, in lower case with dashes, as docs/protocol.md#d1",
    check: |tree| {
        let pages = pages(tree);
        let citing = tree.files.iter().filter(|file| matches!(extension(&file.path), "rs" | "md"));
        citing
            .filter(|file| !file.path.starts_with("tests/tidy/"))
            .flat_map(|file| missing_anchors(&pages, file))
            .collect()
    },
    broken_by: &[
        &[("src/a.rs", "//! See docs/protocol.md#d9."), ("docs/protocol.md", "### D1")],
        &[("docs/a.md", "[rule](b.md#other)"), ("docs/b.md", "# The rule")],
        &[("docs/a.md", "[here](#nowhere)\n# Somewhere")],
    ],
    kept_by: &[
        &[("src/a.rs", "/// docs/protocol.md#d1, one transaction: ..."), ("docs/protocol.md", "### D1")],
        &[
            ("docs/a.md", "[the rule](b.md#the-rule-and-its-reasons) [here](#a-part)\n## A *part*"),
            ("docs/b.md", "## The rule, and its `reasons`"),
        ],
    ],
};

pub const TABLES: Rule = Rule {
    remedy: "describe the table or column in docs/tables.md: its meaning, and who writes it",
    check: |tree| {
        let migrations: Vec<_> = tree.files.iter().filter(|file| file.path.starts_with("migration/src/m")).collect();
        let page = tree.files.iter().find(|file| file.path == "docs/tables.md").map_or("", |file| file.text.as_str());
        let renamed: BTreeSet<&str> = migrations.iter().flat_map(|file| former_names(&file.text)).collect();
        let undescribed = |name: &&str| !renamed.contains(name) && !page.contains(&format!("`{name}`"));
        let in_file = |file: &&SourceFile| {
            let names: BTreeSet<&str> = names(&file.text).collect();
            names.into_iter().filter(undescribed).map(|name| file.finding(1, format!("`{name}`"))).collect::<Vec<_>>()
        };
        migrations.iter().flat_map(in_file).collect()
    },
    broken_by: &[
        &[("migration/src/m1_tables.rs", "name: \"users\", columns: &[big(\"id\")]"), ("docs/tables.md", "`id`")],
        &[("migration/src/m1_tables.rs", "columns: &[chars(\"name\", 60)]"), ("docs/tables.md", "`id`")],
        &[("migration/src/m1_tables.rs", "ALTER TABLE a ADD COLUMN more TEXT"), ("docs/tables.md", "`a`")],
    ],
    kept_by: &[&[
        ("migration/src/m1_tables.rs", "name: \"a\", columns: &[big(\"b\")]; RENAME COLUMN b TO c"),
        ("docs/tables.md", "`a` `c`"),
    ]],
};

/// What stands before the names of tables and columns in a migration.
const DEFINITIONS: [&str; 9] =
    ["name: \"", "ADD COLUMN ", " big(\"", "[big(\"", "small(\"", " int(\"", "chars(\"", "text(\"", "exact(\""];

fn names(migration: &str) -> impl Iterator<Item = &str> {
    DEFINITIONS.iter().flat_map(move |opening| migration.split(opening).skip(1).map(first_word))
}

fn former_names(migration: &str) -> impl Iterator<Item = &str> {
    migration.split("RENAME COLUMN ").skip(1).map(first_word)
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// Each document with the anchors of its headings.
type Pages<'a> = Vec<(&'a str, BTreeSet<String>)>;

fn pages(tree: &Tree) -> Pages<'_> {
    let documents = tree.files.iter().filter(|file| extension(&file.path) == "md");
    let headings = |file: &SourceFile| file.text.lines().filter(|line| line.starts_with('#')).map(slug).collect();
    documents.map(|file| (file.path.as_str(), headings(file))).collect()
}

fn missing_anchors(pages: &Pages, file: &SourceFile) -> Vec<Finding> {
    let is_document = extension(&file.path) == "md";
    file.lines_where(|line| {
        let cited = if is_document { links(line) } else { citations(line) };
        let missing = cited.into_iter().find(|(path, anchor)| !has_anchor(pages, file, path, anchor));
        missing.map(|(path, anchor)| format!("`{path}` has no heading `#{anchor}`"))
    })
}

/// `docs/page.md#anchor` in a line of code.
fn citations(line: &str) -> Vec<(&str, &str)> {
    let starts = line.match_indices("docs/").filter_map(|(at, _)| line.get(at..));
    starts
        .filter_map(|rest| rest.split_once(".md#").map(|(page, anchor)| (page, anchor, rest)))
        .filter_map(cited)
        .collect()
}

fn cited<'a>((page, anchor, rest): (&'a str, &'a str, &'a str)) -> Option<(&'a str, &'a str)> {
    let is_path = page.chars().all(|c| c.is_ascii_alphanumeric() || "/-_".contains(c));
    let end = anchor.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(anchor.len());
    is_path.then(|| Some((rest.get(..page.len() + ".md".len())?, anchor.get(..end)?))).flatten()
}

/// `(page.md#anchor)` and `(#anchor)` in a line of a document.
fn links(line: &str) -> Vec<(&str, &str)> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let anchored = targets.filter_map(|target| target.split_once('#'));
    anchored.filter(|(page, _)| !page.contains("://") && (page.is_empty() || extension(page) == "md")).collect()
}

fn has_anchor(pages: &Pages, from: &SourceFile, page: &str, anchor: &str) -> bool {
    let name = page.rsplit('/').next().unwrap_or_default();
    let has_name = |path: &str| path.rsplit('/').next() == Some(name);
    let is_it = |path: &str| match page {
        "" => path == from.path,
        _ => has_name(path) || path.ends_with(page.trim_start_matches("../")),
    };
    pages.iter().any(|(path, anchors)| is_it(path) && anchors.contains(anchor))
}

/// The anchor that a heading gets: lower case, spaces as dashes, without marks.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
