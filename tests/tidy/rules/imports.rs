//! No file imports itself through others.

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;
use crate::tidy::rust::{NamedPath, Rust, module_of};
use crate::tidy::tree::{Finding, SourceFile, Tree, crate_of};

/// A member that is one type, its permits and its state, in three files that know each other.
const ONE_TYPE: &str = "crates/fair-queue/src/";

pub const CYCLES: Rule = Rule {
    remedy: "move what both files need into a third one, or hand it in as a parameter",
    check: |tree| {
        let crates: BTreeSet<&str> = tree.files.iter().filter_map(|file| crate_of(&file.path)).collect();
        let crates = crates.into_iter().filter(|sources| *sources != ONE_TYPE);
        let sources = std::iter::once("src/").chain(crates);
        sources.flat_map(|sources| cycles(tree, sources, ReExports::AreFollowed)).collect()
    },
    broken_by: &[
        &[("src/a.rs", "use crate::b::B;"), ("src/b.rs", "use super::a::A;"), ("src/lib.rs", "mod a; mod b;")],
        &[
            ("src/a/mod.rs", "mod b; pub use self::b::B; pub struct A; fn f() { b::g(); B::new(); }"),
            ("src/a/b.rs", "use super::A; pub struct B;"),
        ],
        &[
            ("src/a.rs", "fn f() { crate::b::f(); }"),
            ("src/b.rs", "use crate::c::C;"),
            ("src/c/mod.rs", "mod c; pub use c::C;"),
            ("src/c/c.rs", "use crate::{a::A, d::D};"),
            ("src/d.rs", "//! D."),
        ],
    ],
    kept_by: &[
        &[
            ("src/a.rs", "use crate::{b::B, c::C};"),
            ("src/b.rs", "use crate::c::C; #[cfg(test)] mod tests { use crate::a::A; }"),
            ("src/c.rs", "//! C."),
        ],
        &[
            ("src/a/mod.rs", "mod b; mod c; pub use self::{b::B, c::C};"),
            ("src/a/b.rs", "use super::C; pub(super) struct B;"),
            ("src/a/c.rs", "//! C."),
        ],
        &[("src/api/graphql/objects/a.rs", "use super::b::B;"), ("src/api/graphql/objects/b.rs", "use super::a::A;")],
    ],
};

/// GraphQL's object types are mutually recursive by nature, and async-graphql makes them of Rust types: `Content` names
/// `User` (its author), and `User` names `Content` (through the connections of their contents).
const MUTUAL: &str = "src/api/graphql/objects/";

/// What a path means that leads through a `pub use`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ReExports {
    /// An import of the file that re-exports, which imports what it re-exports.
    AreImports,
    /// An import of the file that defines the name.
    AreFollowed,
}

/// The files that each file imports something of, by path.
type Imports<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;
/// The files under `sources`, by module, with what they re-export.
type Modules<'a> = BTreeMap<Vec<String>, (&'a str, BTreeMap<&'a str, &'a NamedPath>)>;

/// Every file under `sources` that imports itself through others.
pub fn cycles(tree: &Tree, sources: &str, re_exports: ReExports) -> Vec<Finding> {
    let files = || {
        tree.rust()
            .filter(|(file, _)| file.path.starts_with(sources) && file.is_product() && !file.path.ends_with("main.rs"))
    };
    let modules: Modules = files()
        .map(|(file, rust)| {
            let exported = rust.paths.iter().filter(|_| re_exports == ReExports::AreFollowed);
            let exported = exported.filter_map(|path| Some((path.exported_as.as_deref()?, path))).collect();
            (module_of(&file.path), (file.path.as_str(), exported))
        })
        .collect();
    let imports: Imports =
        files().map(|(file, rust)| (file.path.as_str(), imported(file, rust, &modules, re_exports))).collect();
    let goes_round = |(file, _): (&SourceFile, &Rust)| {
        let through = imports[file.path.as_str()].iter().find(|next| leads_to(&imports, next, &file.path))?;
        Some(file.finding(1, format!("imports itself through `{through}`")))
    };
    files().filter_map(goes_round).collect()
}

fn imported<'a>(file: &SourceFile, rust: &Rust, modules: &Modules<'a>, re_exports: ReExports) -> BTreeSet<&'a str> {
    let module = module_of(&file.path);
    // `pub(super)` reads as a path to the module that contains this one.
    let parent = &module[..module.len() - 1];
    let is_mutual = |owner: &str| file.path.starts_with(MUTUAL) && owner.starts_with(MUTUAL);
    let paths = rust.paths.iter().filter(|path| path.segments != parent && !rust.is_test_code(path.line));
    let paths = paths.filter(|path| re_exports == ReExports::AreImports || path.exported_as.is_none());
    let owners = paths.filter_map(|path| owner_of(&inside(&path.segments, &module, modules), modules, 8));
    owners.filter(|owner| *owner != file.path && !is_mutual(owner)).collect()
}

/// From the crate's root: `child::f` in a file that has the module `child` is below that file.
fn inside(segments: &[String], module: &[String], modules: &Modules<'_>) -> Vec<String> {
    let below: Vec<String> = module.iter().chain(segments).cloned().collect();
    if modules.contains_key(&below[..=module.len()]) { below } else { segments.to_vec() }
}

/// The file that defines what `segments` lead to, after at most `hops` re-exports.
fn owner_of<'a>(segments: &[String], modules: &Modules<'a>, hops: usize) -> Option<&'a str> {
    if segments[0] != "crate" {
        return None;
    }
    let found = (1..=segments.len()).rev().find_map(|length| Some((length, modules.get(&segments[..length])?)));
    let (length, (path, exported)) = found?;
    let Some(target) = segments.get(length).and_then(|name| exported.get(name.as_str())).filter(|_| hops > 0) else {
        return Some(path);
    };
    let target = inside(&target.segments, &segments[..length], modules);
    let further: Vec<String> = target.iter().chain(&segments[length + 1..]).cloned().collect();
    owner_of(&further, modules, hops - 1)
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
