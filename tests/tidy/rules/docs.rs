//! Documents that lead somewhere.

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
    let in_tree = tree.files.iter().any(|file| Path::new(&file.path).starts_with(&aim));
    in_tree || (tree.is_repository && Path::new(env!("CARGO_MANIFEST_DIR")).join(&aim).exists())
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
