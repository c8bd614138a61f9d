//! What a manifest takes out of `cargo test` has nothing to run.

use super::Rule;
use crate::tidy::tree::{Finding, SourceFile, Tree};

pub const RUN: Rule = Rule {
    remedy: "remove `test = false` or `doctest = false` from the manifest, or move what it keeps from running",
    check: |tree| {
        tree.files.iter().filter(|file| file.path.ends_with("Cargo.toml")).flat_map(|it| left_out(tree, it)).collect()
    },
    broken_by: &[
        &[("a/Cargo.toml", "[lib]\ntest = false"), ("a/src/b.rs", "#[test]\nfn t() {}")],
        &[("a/Cargo.toml", "[lib]\ntest = false"), ("a/src/b.rs", "#[tokio::test]\nasync fn t() {}")],
        &[("Cargo.toml", "[lib]\ndoctest = false"), ("src/b.rs", "/// ```\n/// f();\n/// ```\nfn f() {}")],
        &[("a/Cargo.toml", "[lib]\ndoctest = false"), ("a/src/lib.rs", "#![doc = include_str!(\"../README.md\")]")],
        &[("a/Cargo.toml", "[[bin]]\ntest = false"), ("a/src/main.rs", "#[test]\nfn t() {}")],
        &[("a/Cargo.toml", "[[bin]]\ntest = false"), ("a/src/b.rs", "#[test]\nfn t() {}")],
    ],
    kept_by: &[
        &[("a/Cargo.toml", "[lib]\ntest = false"), ("a/src/b.rs", "fn t() {}"), ("src/b.rs", "#[test]\nfn t() {}")],
        &[("a/Cargo.toml", "[lib]\ndoctest = false"), ("a/src/b.rs", "/// ```ignore\n/// f();\n/// ```\nfn f() {}")],
        &[
            ("Cargo.toml", "[[bin]]\ntest = false"),
            ("src/lib.rs", "#[test]\nfn t() {}"),
            ("src/main.rs", "fn main() {}"),
        ],
        &[("a/Cargo.toml", "[lib]\nname = \"a\""), ("a/src/b.rs", "#[test]\nfn t() {}")],
    ],
};

/// What `cargo test` does not run of this package, although it is written as a test or an example.
fn left_out(tree: &Tree, manifest: &SourceFile) -> Vec<Finding> {
    let sources = manifest.path.replace("Cargo.toml", "src/");
    let (library, program) = (format!("{sources}lib.rs"), format!("{sources}main.rs"));
    let has_library = tree.files.iter().any(|file| file.path == library);
    let of_program = |path: &str| path == program || !has_library && path.starts_with(&sources);
    let of_library = |path: &str| path.starts_with(&sources) && path != program;
    let mut findings = Vec::new();
    let mut section = "";
    for line in manifest.text.lines() {
        let find = |is_of: &dyn Fn(&str) -> bool, what: fn(&SourceFile) -> Vec<Finding>| {
            tree.files.iter().filter(|file| is_of(&file.path)).flat_map(what).collect::<Vec<_>>()
        };
        match (section, line.replace(' ', "").as_str()) {
            (_, header) if header.starts_with('[') => section = line.trim(),
            ("[lib]", "test=false") => findings.extend(find(&of_library, tests)),
            ("[lib]", "doctest=false") => findings.extend(find(&of_library, examples)),
            ("[[bin]]", "test=false") => findings.extend(find(&of_program, tests)),
            _ => {}
        }
    }
    findings
}

fn tests(file: &SourceFile) -> Vec<Finding> {
    let is_test = |line: &str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    file.lines_where(|line| is_test(line.trim()).then(|| "a test that is not run".to_owned()))
}

/// What rustdoc would run, and pages in the documentation, which may have something to run.
fn examples(file: &SourceFile) -> Vec<Finding> {
    let mut is_open = false;
    file.lines_where(|line| {
        let line = line.trim();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or_default();
        let runs = text.trim().strip_prefix("```").is_some_and(|language| {
            is_open = !is_open;
            is_open && ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&language)
        });
        (runs || line.starts_with("#![doc")).then(|| "an example that is not run".to_owned())
    })
}
