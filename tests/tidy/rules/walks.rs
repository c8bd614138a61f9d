//! The walks of ARCHITECTURE.md, each with the files that it leads through: few enough to be read.

use super::Rule;
use crate::tidy::tree::{Finding, SourceFile, Tree};

const WALKS: &str = "ARCHITECTURE.md";
/// A paragraph that lists the files of a walk begins so.
const BEGINS: &str = "Files: ";
/// Files of a walk at most.
const MOST: usize = 30;

pub const SHORT: Rule = Rule {
    remedy: "list the files of the walk as they are called now, and name in a step what leads to each; a walk that needs more \
             than 30 files needs fewer layers",
    check: |tree| tree.files.iter().filter(|file| file.path == WALKS).flat_map(|file| faults(tree, file)).collect(),
    broken_by: &[
        &[(WALKS, "Files: `src/read/mod.rs`,\n`src/gone.rs`."), ("src/read/mod.rs", "")],
        &[(WALKS, "## Reading\n`other`\n\nFiles: `src/read/pulling.rs`."), ("src/read/pulling.rs", "")],
        &[(
            WALKS,
            "Files: `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` \
             `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a` `a`",
        )],
    ],
    kept_by: &[&[(WALKS, "`gone` `read::page`\n\nFiles: `src/read/mod.rs`.\n\n`gone`"), ("src/read/mod.rs", "")]],
};

fn faults(tree: &Tree, file: &SourceFile) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut files: Option<usize> = None;
    let mut walk = String::new();
    for (index, line) in file.text.lines().enumerate() {
        if line.starts_with("## ") {
            walk.clear();
        } else if files.is_none() && !line.starts_with(BEGINS) {
            walk.push_str(line);
            walk.push('\n');
        }
        if line.starts_with(BEGINS) {
            files = Some(0);
        } else if line.is_empty() {
            files = None;
        }
        let Some(count) = &mut files else { continue };
        for path in line.split('`').skip(1).step_by(2) {
            *count += 1;
            if *count > MOST {
                found.push(file.finding(index + 1, format!("more than {MOST} files")));
            } else if !tree.files.iter().any(|file| file.path == path) {
                found.push(file.finding(index + 1, format!("there is no `{path}`")));
            } else if !is_named(&walk, path) {
                found.push(file.finding(index + 1, format!("no step of the walk leads to `{path}`")));
            }
        }
    }
    found
}

/// Whether the walk names the file: its stem, or its folder's if it is `mod.rs`, or a type that is called like it.
fn is_named(walk: &str, path: &str) -> bool {
    let mut steps = path.trim_end_matches(".rs").rsplit('/').filter(|step| *step != "mod");
    let stem = steps.next().unwrap_or_default();
    let plain = |word: &str| word.replace('_', "").to_lowercase();
    let code = walk.split('`').skip(1).step_by(2);
    let mut words = code.flat_map(|span| span.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    words.any(|word| plain(word) == plain(stem) || plain(word) == format!("{}s", plain(stem)))
}
