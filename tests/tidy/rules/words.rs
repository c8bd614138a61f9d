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
        &[("src/a.rs", "fn f() { let told = 1; }")],
        &[("src/a.rs", "impl Changes { fn tell(&self) {} }")],
        &[("src/a.rs", "fn f(crew: u8) {}")],
        &[("src/a.rs", "struct A { eyes: u8 }")],
        &[("src/a.rs", "fn strike() {}")],
        &[("src/a.rs", "const TURNS: u8 = 1;")],
        &[("src/weather.rs", "//! Anything.")],
        &[("src/a.rs", "fn drive() { let around = 1; }")],
    ],
    kept_by: &[
        &[("src/services.rs", "struct Warehouse; trait Truthful {}")],
        &[("tests/it/a.rs", "#[test] fn clients_are_told_of_gaps() { let waker = 1; }")],
    ],
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
    remedy: "name the test by what it shows, in three to twelve words: `an_unfollowed_author_is_gone_before_removal_has_run`",
    check: |tree| tree.rust().flat_map(|(file, _)| unclear_tests(file)).collect(),
    broken_by: &[
        &[("src/a.rs", "#[cfg(test)] mod tests { #[test] fn merge() {} }")],
        &[("tests/it/a.rs", "#[tokio::test(start_paused = true)] async fn test_follow() {}")],
        &[("tests/it/a.rs", "#[test] fn a_page_that_is_asked_for_once_is_read_once_and_not_more() {}")],
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
    ("tell", "report, notify, print, log"),
    ("tells", "reports, notifies, prints, logs"),
    ("heard", "signal"),
    ("stamp", "version"),
    ("stamps", "versions"),
    ("inc", "incarnation"),
    ("turns", "batches, connection permits"),
    ("sabotage", "fault, damage"),
    ("strike", "inject"),
    ("strikes", "injects"),
    ("trouble", "faults"),
    ("boundary", "exclusion"),
    ("roots", "field merging"),
    ("looks", "viewer dependence, reads"),
    ("around", "middleware"),
    ("drive", "runner"),
    ("drives", "runner"),
    ("places", "connection limits"),
    ("weather", "fault rates"),
    ("decided", "exclusion"),
    ("ran", "a noun that says what the value is"),
];

/// Words that are the field's own in the name of a value or a function: `std::task::Waker`, a verb, weighted choice,
/// the root types of a schema.
const OF_TYPES_ONLY: &[&str] = &["waker", "wants", "weights", "roots"];
/// A function with a longer name is the body of a test. Its name is a sentence, which may have any word.
const FUNCTION_WORDS: usize = 4;

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
    let functions = file.rust.iter().flat_map(|rust| &rust.functions);
    let functions = functions.filter(|function| words_of(&function.name).count() <= FUNCTION_WORDS);
    let functions = functions.map(|function| (function.name.as_str(), function.line));
    let locals = file.rust.iter().flat_map(|rust| rust.locals.iter().map(|local| (local.name.as_str(), local.line)));
    let replaced = |name: &str, spared: &[&str]| {
        let words: Vec<String> = words_of(name).collect();
        let ours = PRIVATE.iter().filter(|(ours, _)| !spared.contains(ours));
        ours.copied().find(|(ours, _)| words.iter().any(|word| word == ours))
    };
    let types = of_file.chain(defined).filter_map(|(name, line)| Some((name, line, replaced(name, &[])?)));
    let values = functions.chain(locals);
    let values = values.filter_map(|(name, line)| Some((name, line, replaced(name, OF_TYPES_ONLY)?)));
    let found = types.chain(values);
    found.map(|(name, line, (_, term))| file.finding(line, format!("`{name}`: say {term}"))).collect()
}

/// The words of `snake_case`, `kebab-case`, `CamelCase` and `UPPER_CASE` names, in lower case.
fn words_of(name: &str) -> impl Iterator<Item = String> {
    let is_constant = !name.contains(char::is_lowercase);
    let mut words = vec![String::new()];
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && !is_constant) {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
    }
    words.into_iter()
}

fn unclear_tests(file: &SourceFile) -> Vec<Finding> {
    let tests = file.rust.iter().flat_map(|rust| &rust.functions).filter(|function| function.is_test);
    let judged = tests.filter_map(|test| {
        let words = test.name.split('_').filter(|word| !word.is_empty()).count();
        let fault = match words {
            0..3 => "is no sentence",
            3..=12 => return None,
            _ => "has too many words",
        };
        Some(file.finding(test.line, format!("the test `{}` {fault}", test.name)))
    });
    judged.collect()
}

fn machine_path(line: &str) -> Option<String> {
    let roots = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];
    let begins = |at: usize| line[..at].chars().last().is_none_or(|c| !c.is_alphanumeric() && !"./-_}$*".contains(c));
    let found = roots.iter().find(|root| line.match_indices(**root).any(|(at, _)| begins(at)))?;
    Some(format!("`{found}...` exists on one machine"))
}
