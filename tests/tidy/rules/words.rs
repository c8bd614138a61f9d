//! What is written: openings, names, remarks, attributes, paths of a machine.

use super::Rule;
use crate::tidy::tree::{Finding, SourceFile, extension};

pub const OPENING: Rule = Rule {
    remedy: "open the file with `//!`: what it does",
    check: |tree| tree.rust().filter_map(|(file, _)| without_opening(file)).collect(),
    broken_by: &[
        &[("src/read/mod.rs", "use std::fmt;")],
        &[("tests/it/main.rs", "// A plain comment\n//! Too late.")],
        &[("src/read/mod.rs", "//!\nuse std::fmt;")],
    ],
    kept_by: &[&[("src/read/mod.rs", "//! The engine.")], &[("README.md", "# Tidefeed")]],
};

pub const REMARKS: Rule = Rule {
    remedy: "do it now, or open an issue; code holds no list of wishes",
    check: |tree| tree.files.iter().filter(|file| is_code(file)).flat_map(|file| file.lines_where(remark)).collect(),
    broken_by: &[
        &[("src/a.rs", concat!("//! A.\n// TO", "DO: later"))],
        &[("scripts/a.sh", concat!("# FIX", "ME"))],
        &[("web-demo/src/a.tsx", concat!("{/* XX", "X */}"))],
    ],
    kept_by: &[&[("src/a.rs", concat!("const MASTO", "DON: u8 = 1; // XXXL"))]],
};

pub const NAMES: Rule = Rule {
    remedy: "name the thing by what it is or does (see `Words` in ARCHITECTURE.md): not manager, helper, utils, common, data, info",
    check: |tree| tree.rust().flat_map(|(file, _)| vague_names(file)).collect(),
    broken_by: &[
        &[("src/utils.rs", "//! Anything.")],
        &[("src/common/mod.rs", "//! Anything.")],
        &[("src/a.rs", "struct FeedManager;")],
        &[("src/a.rs", "mod test_helpers {}")],
        &[("src/a.rs", "enum UserData {}")],
        &[("src/a.rs", "trait Info {}")],
    ],
    kept_by: &[
        &[("src/api/page.rs", "struct PageInfo;")],
        &[("src/a.rs", "struct Database; mod metadata {} fn data_folder() {}")],
    ],
};

pub const TERMS: Rule = Rule {
    remedy: "use the field's term (docs/glossary.md): each word that is refused names the one that replaced it",
    check: |tree| tree.rust().flat_map(|(file, _)| private_names(file)).collect(),
    broken_by: &[
        &[("src/house.rs", "//! Anything.")],
        &[("src/a.rs", "struct TestHouse;")],
        &[("src/a.rs", "enum NudgeKind {}")],
        &[("src/twins/mod.rs", "//! Anything.")],
    ],
    kept_by: &[&[("src/services.rs", "struct Warehouse; trait Truthful {}")]],
};

pub const ALLOWS: Rule = Rule {
    remedy: "`#[expect(lint, reason = \"...\")]`, as small as possible",
    check: |tree| tree.rust().flat_map(|(file, _)| file.lines_where(allowance)).collect(),
    broken_by: &[
        &[("src/a.rs", concat!("#[al", "low(dead_code)]\nfn f() {}"))],
        &[("src/a.rs", concat!("#![al", "low(clippy::all)]"))],
        &[("src/a.rs", concat!("#[cfg_attr(test, al", "low(dead_code))]\nfn f() {}"))],
    ],
    kept_by: &[&[("src/a.rs", "#[expect(dead_code, reason = \"shown\")]\nfn f() { allow(1); }")]],
};

pub const SENTENCES: Rule = Rule {
    remedy: "name the test by what it shows, in at least three words: `an_unfollowed_author_is_gone_before_removal_has_run`",
    check: |tree| tree.rust().flat_map(|(file, _)| short_tests(file)).collect(),
    broken_by: &[
        &[("src/a.rs", "#[cfg(test)] mod tests { #[test] fn merge() {} }")],
        &[("tests/it/a.rs", "#[tokio::test(start_paused = true)] async fn test_follow() {}")],
    ],
    kept_by: &[&[("tests/it/a.rs", "#[test] fn a_page_is_full() {} fn page() {}")]],
};

pub const MACHINE_PATHS: Rule = Rule {
    remedy: "write the path from the repository's root, or take it from the configuration",
    check: |tree| tree.files.iter().flat_map(|file| file.lines_where(machine_path)).collect(),
    broken_by: &[
        &[("docs/a.md", concat!("see `/ho", "me/ann/tidefeed`"))],
        &[("src/a.rs", concat!("const P: &str = \"/ro", "ot/x\";"))],
        &[("scripts/a.sh", concat!("cd /wo", "rk/x"))],
        &[("config/a.toml", concat!("file = \"/Us", "ers/ann/x\""))],
    ],
    kept_by: &[&[
        ("scripts/a.sh", "cd \"$home/root/usr\"; /usr/bin/chromium"),
        ("docs/a.md", "https://example.org/home/a and ./work/b"),
    ]],
};

const VAGUE: &[&str] = &["manager", "helper", "helpers", "util", "utils", "common", "data", "info"];
/// Names that others have chosen for us.
const GIVEN: &[(&str, &str)] = &[("PageInfo", "Relay's connection specification")];

/// Words that the first release had for itself, and the field's terms.
const PRIVATE: &[(&str, &str)] = &[
    ("house", "use cases, app"),
    ("nudge", "notification"),
    ("nudges", "notification"),
    ("truth", "primary store"),
    ("waker", "reactivator"),
    ("gate", "guard"),
    ("whim", "random policy"),
    ("fate", "fault injector"),
    ("dice", "rng"),
    ("twins", "differential test"),
    ("crew", "clients"),
    ("soups", "fuzz"),
    ("eyes", "viewer dependence"),
    ("wants", "selection"),
    ("weights", "cost hints"),
    ("outlet", "sink"),
    ("tokenless", "public operation"),
    ("doors", "connection limits"),
    ("told", "update, outcome"),
    ("heard", "signal"),
    ("stamp", "version"),
    ("stamps", "versions"),
    ("inc", "incarnation"),
    ("turns", "batches, connection permits"),
];

fn is_code(file: &SourceFile) -> bool {
    ["rs", "sh", "ts", "tsx", "css", "Makefile", "run"].contains(&extension(&file.path))
}

fn without_opening(file: &SourceFile) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or_default();
    let said = first.strip_prefix("//!").is_some_and(|said| said.trim().len() > 3);
    (!said).then(|| file.finding(1, "does not open with `//!`"))
}

fn remark(line: &str) -> Option<String> {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    let mut words = line.split(|c: char| !c.is_alphanumeric());
    words.find(|word| marks.contains(word)).map(|word| format!("`{word}`"))
}

fn allowance(line: &str) -> Option<String> {
    let marks = [concat!("#[al", "low("), concat!("#![al", "low("), concat!(", al", "low(")];
    let attribute = line.trim_start().starts_with('#') && marks.iter().any(|mark| line.contains(mark));
    attribute.then(|| line.trim().to_owned())
}

fn vague_names(file: &SourceFile) -> Vec<Finding> {
    let of_file = file.path.trim_end_matches(".rs").split('/').map(|step| (step, 1));
    let defined = file.rust.iter().flat_map(|rust| rust.names.iter().map(|name| (name.name.as_str(), name.line)));
    let given = |name: &str| GIVEN.iter().any(|(theirs, _)| *theirs == name);
    let vague =
        of_file.chain(defined).filter(|(name, _)| !given(name) && words_of(name).any(|word| VAGUE.contains(&&*word)));
    vague.map(|(name, line)| file.finding(line, format!("`{name}`"))).collect()
}

fn private_names(file: &SourceFile) -> Vec<Finding> {
    let of_file = file.path.trim_end_matches(".rs").split('/').map(|step| (step, 1));
    let defined = file.rust.iter().flat_map(|rust| rust.names.iter().map(|name| (name.name.as_str(), name.line)));
    let replaced = |name: &str| PRIVATE.iter().find(|(ours, _)| words_of(name).any(|word| word == *ours));
    let found = of_file.chain(defined).filter_map(|(name, line)| Some((name, line, replaced(name)?)));
    found.map(|(name, line, (_, term))| file.finding(line, format!("`{name}`: say {term}"))).collect()
}

/// The words of `snake_case`, `kebab-case` and `CamelCase` names, in lower case.
fn words_of(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c.is_uppercase() || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
    }
    words.into_iter()
}

fn short_tests(file: &SourceFile) -> Vec<Finding> {
    let tests = file.rust.iter().flat_map(|rust| &rust.functions).filter(|function| function.is_test);
    let short = tests.filter(|test| test.name.split('_').filter(|word| !word.is_empty()).count() < 3);
    short.map(|test| file.finding(test.line, format!("the test `{}` is no sentence", test.name))).collect()
}

fn machine_path(line: &str) -> Option<String> {
    let roots = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];
    let begins = |at: usize| line[..at].chars().last().is_none_or(|c| !c.is_alphanumeric() && !"./-_}$*".contains(c));
    let found = roots.iter().find(|root| line.match_indices(**root).any(|(at, _)| begins(at)))?;
    Some(format!("`{found}...` exists on one machine"))
}
