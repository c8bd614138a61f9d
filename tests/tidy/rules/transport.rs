//! What holds for `graphql-transport` alone: no file imports itself through others, and nothing is of the product.

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;
use crate::tidy::rust::{Rust, module_of};
use crate::tidy::tree::{Finding, SourceFile, Tree};

const SOURCES: &str = "graphql-transport/src/";

pub const CYCLES: Rule = Rule {
    remedy: "move what both files need into a third one, name it by the file that has it and not by a re-export, or hand it in as a \
             parameter",
    check: cycles,
    broken_by: &[
        &[
            ("graphql-transport/src/a.rs", "use crate::b::B;"),
            ("graphql-transport/src/b.rs", "use super::a::A;"),
            ("graphql-transport/src/lib.rs", "mod a; mod b;"),
        ],
        &[
            ("graphql-transport/src/a/mod.rs", "mod b; pub use self::b::B; pub struct A;"),
            ("graphql-transport/src/a/b.rs", "use super::A; pub struct B;"),
        ],
        &[
            ("graphql-transport/src/a.rs", "fn f() { crate::b::f(); }"),
            ("graphql-transport/src/b.rs", "use crate::c::C;"),
            ("graphql-transport/src/c.rs", "use crate::{a::A, d::D};"),
            ("graphql-transport/src/d.rs", "//! D."),
        ],
    ],
    kept_by: &[
        &[
            ("graphql-transport/src/a.rs", "use crate::{b::B, c::C};"),
            ("graphql-transport/src/b.rs", "use crate::c::C; #[cfg(test)] mod tests { use crate::a::A; }"),
            ("graphql-transport/src/c.rs", "//! C."),
        ],
        &[
            ("graphql-transport/src/a/mod.rs", "mod b; pub use self::b::B;"),
            ("graphql-transport/src/a/b.rs", "use crate::c::C; pub(super) struct B;"),
            ("graphql-transport/src/c.rs", "//! C."),
        ],
    ],
};

pub const PRODUCT: Rule = Rule {
    remedy: "say it in the words of GraphQL and HTTP; what only this product has comes in as a parameter",
    check: |tree| {
        let own = tree.files.iter().filter(|file| file.path.starts_with("graphql-transport/"));
        own.flat_map(|file| file.lines_where(word_of_the_product)).collect()
    },
    broken_by: &[
        &[("graphql-transport/README.md", "The Timeline is read.")],
        &[("graphql-transport/src/a.rs", "const NAME: &str = \"tidefeed_sockets\";")],
        &[("graphql-transport/tests/a.rs", "// As newFeed does.")],
    ],
    kept_by: &[&[("graphql-transport/src/a.rs", "//! Sockets."), ("src/api/mod.rs", "//! The timeline of Tidefeed.")]],
};

const WORDS: [&str; 7] = ["tidefeed", "timeline", "inbox", "outbox", "newfeed", "follower", "crate::config"];

fn word_of_the_product(line: &str) -> Option<String> {
    let line = line.to_lowercase();
    WORDS.iter().find(|word| line.contains(*word)).map(|word| format!("`{word}`"))
}

/// The files that each file imports something of, by path.
type Imports<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn cycles(tree: &Tree) -> Vec<Finding> {
    let sources = || tree.rust().filter(|(file, _)| file.path.starts_with(SOURCES) && file.is_product());
    let modules: BTreeMap<Vec<String>, &str> =
        sources().map(|(file, _)| (module_of(&file.path), file.path.as_str())).collect();
    let imports: Imports = sources().map(|(file, rust)| (file.path.as_str(), imported(file, rust, &modules))).collect();
    let goes_round = |(file, _): (&SourceFile, &Rust)| {
        let through = imports[file.path.as_str()].iter().find(|next| leads_to(&imports, next, &file.path))?;
        Some(file.finding(1, format!("imports itself through `{through}`")))
    };
    sources().filter_map(goes_round).collect()
}

fn imported<'a>(file: &SourceFile, rust: &Rust, modules: &BTreeMap<Vec<String>, &'a str>) -> BTreeSet<&'a str> {
    let module = module_of(&file.path);
    // `pub(super)` reads as a path to the module around this one.
    let around = &module[..module.len() - 1];
    let paths = rust.paths.iter().filter(|path| path.segments[0] == "crate" && path.segments != around);
    let paths = paths.filter(|path| !rust.is_test_code(path.line));
    let owners = paths.filter_map(|path| {
        (1..=path.segments.len()).rev().find_map(|length| modules.get(&path.segments[..length])).copied()
    });
    owners.filter(|owner| *owner != file.path).collect()
}

fn leads_to(imports: &Imports, from: &str, aim: &str) -> bool {
    let (mut waiting, mut seen) = (vec![from], BTreeSet::new());
    while let Some(path) = waiting.pop() {
        if path == aim {
            return true;
        }
        if seen.insert(path) {
            waiting.extend(imports.get(path).into_iter().flatten());
        }
    }
    false
}
