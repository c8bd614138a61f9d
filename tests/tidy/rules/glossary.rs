//! The glossary explains the terms that the documents introduce and the domain is named by.

use std::collections::BTreeSet;

use super::Rule;
use crate::tidy::tree::{Finding, SourceFile, Tree, extension};

const GLOSSARY: &str = "docs/glossary.md";
/// Names of modules that every programmer knows.
const PLAIN: [&str; 7] = ["backoff", "ids", "limits", "people", "tests", "text", "worked_example"];

pub const ITALICS: Rule = Rule {
    remedy: "give the term a row in docs/glossary.md; italics introduce terms and are no emphasis",
    check: |tree| {
        let terms = terms(tree);
        let pages = tree.files.iter().filter(|file| introduces_terms(&file.path));
        pages.flat_map(|file| unexplained_of(file, &terms)).collect()
    },
    broken_by: &[
        &[("docs/a.md", "Its *floor* rises."), (GLOSSARY, "| term | meaning |\n|---|---|\n| inbox | its floor |")],
        &[("README.md", "A post is *pushed*, or *pulled*."), (GLOSSARY, "| pushed | into an inbox |")],
        &[("docs/a.md", "An *inbox* is *not* an outbox."), (GLOSSARY, "| inbox, outbox | lists |")],
    ],
    kept_by: &[
        &[
            ("docs/a.md", "An *entry*, two *Tiers* and **bold**; 2 * 3 * 4, `*a*`\n```\n*code*\n```"),
            (GLOSSARY, "| run, entry | a line |\n| tier (`src`) | a place |"),
        ],
        &[("docs/decisions/a.md", "It is *not* so."), (GLOSSARY, "")],
    ],
};

pub const MODULES: Rule = Rule {
    remedy: "give the word a row in docs/glossary.md: the domain is named in the words that it explains",
    check: |tree| {
        let words: BTreeSet<String> = terms(tree).iter().flat_map(|term| term.split(' ')).map(stem).collect();
        let modules = tree.files.iter().filter_map(|file| Some((file, module(&file.path)?)));
        let unexplained = modules.filter(|(_, name)| !PLAIN.contains(name) && !words.contains(&stem(name)));
        unexplained.map(|(file, name)| file.finding(1, format!("`{name}`"))).collect()
    },
    broken_by: &[
        &[("crates/domain/src/timeline/merge.rs", "//! Merges."), (GLOSSARY, "| timeline | what is merged |")],
        &[("crates/domain/src/delivery/mod.rs", "//! Deliveries."), (GLOSSARY, "| inbox | rows |")],
    ],
    kept_by: &[&[
        ("crates/domain/src/timeline/folding.rs", "//! Folds."),
        ("crates/domain/src/ids.rs", "//! Ids."),
        ("src/read/known.rs", "//! Another layer."),
        (GLOSSARY, "| fold | show the newest |"),
    ]],
};

/// The terms of the glossary's first column, in lower case, without what stands in brackets.
fn terms(tree: &Tree) -> BTreeSet<String> {
    let page = tree.files.iter().find(|file| file.path == GLOSSARY).map_or("", |file| file.text.as_str());
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let names = cells.flat_map(|cell| cell.split(',')).filter_map(|name| name.split('(').next());
    names.map(|name| name.trim().to_lowercase()).collect()
}

fn introduces_terms(path: &str) -> bool {
    let is_guide = path.strip_prefix("docs/").is_some_and(|page| !page.contains('/'));
    ["ARCHITECTURE.md", "README.md"].contains(&path) || is_guide && extension(path) == "md"
}

/// A block of code holds no prose.
fn unexplained_of(page: &SourceFile, terms: &BTreeSet<String>) -> Vec<Finding> {
    let mut in_code = false;
    page.lines_where(|line| {
        in_code ^= line.trim_start().starts_with("```");
        unexplained(line, terms).filter(|_| !in_code)
    })
}

/// The first term in italics that no row of the glossary explains.
fn unexplained(line: &str, terms: &BTreeSet<String>) -> Option<String> {
    let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let italics = prose.replace("**", "");
    let mut parts = italics.split('*').skip(1).step_by(2);
    let is_term = |part: &&str| !part.is_empty() && !part.starts_with(' ') && !part.ends_with(' ');
    let is_explained = |part: &str| terms.iter().any(|term| stem(term) == stem(part));
    parts.find(|part| is_term(part) && !is_explained(part)).map(|part| format!("*{part}*"))
}

/// The last step of a module's path below `crates/domain/src`.
fn module(path: &str) -> Option<&str> {
    let path = path.strip_prefix("crates/domain/src/")?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.rsplit('/').next().filter(|name| !["mod", "lib"].contains(name))
}

/// A word without the endings of plurals and gerunds.
fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let singular = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
    let word = singular.unwrap_or_else(|| word.strip_suffix('s').unwrap_or(&word).to_owned());
    word.strip_suffix("ing").unwrap_or(&word).to_owned()
}
