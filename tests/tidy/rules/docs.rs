//! Documents that lead somewhere: links to documents, and names of tests to tests.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use super::Rule;
use crate::tidy::tree::{Finding, SourceFile, Tree, extension};

pub const LINKS: Rule = Rule {
    remedy: "correct the link, or write the document that it promises",
    check: |tree| {
        let documents = tree.files.iter().filter(|file| extension(&file.path) == "md");
        documents.flat_map(|file| dead_links(tree, file)).collect()
    },
    broken_by: &[
        &[("README.md", "See [how](docs/how.md).")],
        &[("docs/a.md", "See [the other](b.md#part)."), ("b.md", "# Elsewhere")],
        &[("README.md", "![picture](docs/picture.png)")],
        &[("README.md", "[how]: docs/how.md")],
    ],
    kept_by: &[
        &[("README.md", "See [a](docs/a.md#top) and [docs](docs/)."), ("docs/a.md", "[up](../README.md) [here](#top)")],
        &[(
            "README.md",
            "[out](https://example.org/x) <mailto:a@example.org>\n```\n[no](link.md)\n```\n`[no](link.md)`",
        )],
    ],
};

pub const PROOFS: Rule = Rule {
    remedy: "name the test as it is called now, or write the test that the document promises",
    check: |tree| {
        let documents = tree.files.iter().filter(|file| extension(&file.path) == "md");
        let functions = tree.rust().flat_map(|(file, _)| functions(&file.text)).collect();
        documents.flat_map(|file| missing_tests(tree, &functions, file)).collect()
    },
    broken_by: &[
        &[("docs/a.md", "Shown by `a_page_is_never_empty_here`."), ("tests/it/a.rs", "#[test] fn a_page_is_full() {}")],
        &[
            ("ARCHITECTURE.md", "| rule | `gone.feed`, `conformance::inboxes` |"),
            ("tests/it/store/conformance/inboxes.rs", ""),
        ],
        &[("docs/a.md", "`kept.feed`, `conformance::inboxes`"), ("tests/fixtures/kept.feed", "")],
        &[("README.md", "`tests/it/store/explain.rs`")],
        &[("docs/a.md", "`most_of_each_and_all`"), ("config/default.toml", "# most_of_each_and_all = 1\n")],
    ],
    kept_by: &[
        &[
            ("docs/a.md", "`a_page_is_never_empty_here`, `kept.feed`, `conformance::inboxes`, `tests/it/a.rs`"),
            ("tests/it/a.rs", "on_each_backend! { async fn a_page_is_never_empty_here(backend: Backend) {} }"),
            ("tests/fixtures/kept.feed", ""),
            ("tests/it/store/conformance/inboxes/mod.rs", "//! Inboxes."),
        ],
        &[(
            "docs/a.md",
            "`event_content_meta_change`, `TIDEFEED__SECTION__KEY`, `tidefeed_live_events_missed_total`, `tests/fixtures/*.feed`",
        )],
        &[("docs/a.md", "`most_of_each_and_all`"), ("config/default.toml", "[a]\nmost_of_each_and_all = 1\n")],
    ],
};

/// A name of so many words is a sentence, hence a test's.
const WORDS_OF_A_SENTENCE: usize = 5;
/// What names of measurements begin with.
const METRICS: &str = "tidefeed_";

/// The names of all functions, those inside macros, too.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.split("fn ").skip(1).filter_map(|rest| rest.split_once('(')).map(|(name, _)| name)
}

fn missing_tests(tree: &Tree, functions: &HashSet<&str>, file: &SourceFile) -> Vec<Finding> {
    file.lines_where(|line| {
        let mut spans = line.split('`').skip(1).step_by(2);
        spans.find(|span| !is_there(tree, functions, span)).map(|span| format!("there is no test `{span}`"))
    })
}

/// Whether the test that a document names in backticks exists. True of everything that does not look like a test.
fn is_there(tree: &Tree, functions: &HashSet<&str>, name: &str) -> bool {
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_./".contains(c));
    if let Some(suite) = name.strip_prefix("conformance::").filter(|suite| plain(suite)) {
        let suite = format!("tests/it/store/conformance/{suite}");
        return exists(tree, Path::new(&suite)) || exists(tree, Path::new(&format!("{suite}.rs")));
    }
    if !plain(name) {
        return true;
    }
    if name.starts_with("tests/") {
        return exists(tree, Path::new(name));
    }
    if extension(name) == "feed" {
        return exists(tree, &Path::new("tests/fixtures").join(name));
    }
    let in_letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let words = name.split('_').filter(|word| !word.is_empty()).count();
    let is_sentence = in_letters && words >= WORDS_OF_A_SENTENCE && !name.starts_with(METRICS);
    !is_sentence || is_key(tree, name) || functions.contains(name)
}

/// Whether the configuration has a key of this name.
fn is_key(tree: &Tree, name: &str) -> bool {
    let mut lines = tree.files.iter().filter(|file| file.path == "config/default.toml").flat_map(|it| it.text.lines());
    lines.any(|line| line.split_once(" = ").is_some_and(|(key, _)| key == name))
}

fn dead_links(tree: &Tree, file: &SourceFile) -> Vec<Finding> {
    let mut in_code = false;
    file.lines_where(|line| {
        in_code ^= line.trim_start().starts_with("```");
        let mut targets = targets(line).filter(|target| !in_code && !resolves(tree, &file.path, target));
        targets.next().map(|target| format!("`{target}` leads nowhere"))
    })
}

/// The targets of `[text](target)` and `[name]: target` on a line, code spans left out.
fn targets(line: &str) -> impl Iterator<Item = String> {
    let prose: String = line.split('`').step_by(2).collect();
    let inline = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()).map(str::to_owned);
    let reference =
        prose.starts_with('[').then(|| prose.split_once("]: ")).flatten().map(|(_, target)| target.trim().to_owned());
    inline.chain(reference).collect::<Vec<_>>().into_iter()
}

fn resolves(tree: &Tree, from: &str, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or_default();
    if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let aim = plain(&Path::new(from).parent().unwrap_or(Path::new("")).join(target));
    exists(tree, &aim)
}

/// Whether a file or folder is in the tree, or on disk beside the files that it has read.
pub(super) fn exists(tree: &Tree, aim: &Path) -> bool {
    let in_tree = tree.files.iter().any(|file| Path::new(&file.path).starts_with(aim));
    in_tree || (tree.is_repository && Path::new(env!("CARGO_MANIFEST_DIR")).join(aim).exists())
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut steps = PathBuf::new();
    for step in path.components() {
        match step {
            Component::ParentDir => {
                steps.pop();
            }
            Component::Normal(step) => steps.push(step),
            _ => {}
        }
    }
    steps
}
