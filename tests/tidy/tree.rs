//! The files that the rules look at: the repository's, or a few in memory.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::rust::Rust;

/// Folders that hold nothing of ours, or nothing that a person wrote.
const SKIPPED: &[&str] = &["target", "node_modules", "dist", "data", "test-results", "generated", "gql"];
#[rustfmt::skip]
const READ: &[&str] = &[
    "rs", "md", "toml", "sh", "ts", "tsx", "css", "html", "sql", "yml", "yaml", "graphql", "Makefile", "Dockerfile", "run",
];
/// Hidden folders that people read.
const SHOWN: &[&str] = &[".ci", ".github"];

/// Every file that a rule may judge.
pub struct Tree {
    pub files: Vec<SourceFile>,
    /// Whether the tree lies on disk, where files that no rule reads can be looked for.
    pub is_repository: bool,
}

/// One file, and what is known of it if it is Rust.
pub struct SourceFile {
    /// From the repository's root, with `/`.
    pub path: String,
    pub text: String,
    pub rust: Option<Rust>,
}

/// Something that breaks a rule.
#[derive(Debug)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Tree {
    /// The repository that this test belongs to.
    pub fn of_the_repository() -> io::Result<Self> {
        let mut files = Vec::new();
        walk(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files, is_repository: true })
    }

    /// Files in memory, as (path, text).
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| SourceFile::new((*path).to_owned(), (*text).to_owned())).collect();
        Self { files, is_repository: false }
    }

    /// The Rust files, with what is known of them.
    pub fn rust(&self) -> impl Iterator<Item = (&SourceFile, &Rust)> {
        self.files.iter().filter_map(|file| file.rust.as_ref().map(|rust| (file, rust)))
    }
}

impl SourceFile {
    fn new(path: String, text: String) -> Self {
        let rust = extension(&path).eq("rs").then(|| Rust::read(&path, &text));
        Self { path, text, rust }
    }

    /// Whether the file is part of a product, not of its tests.
    pub fn is_product(&self) -> bool {
        let at_root = ["src/", "graphql-transport/src/", "migration/src/"].iter().any(|it| self.path.starts_with(it));
        (at_root || crate_of(&self.path).is_some())
            && !self.path.ends_with("/tests.rs")
            && !self.path.contains("/tests/")
    }

    /// Each line that a predicate finds fault with.
    pub fn lines_where(&self, mut fault: impl FnMut(&str) -> Option<String>) -> Vec<Finding> {
        let found = |(index, line): (usize, &str)| fault(line).map(|what| self.finding(index + 1, what));
        self.text.lines().enumerate().filter_map(found).collect()
    }

    /// A finding in this file.
    pub fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }
}

/// The sources of a member in `crates/` that a file belongs to: `crates/domain/src/`.
pub fn crate_of(path: &str) -> Option<&str> {
    let (name, inside) = path.strip_prefix("crates/")?.split_once('/')?;
    inside.strip_prefix("src/").and_then(|_| path.get(..("crates//src/".len() + name.len())))
}

/// What follows the last dot of the name, or the name.
pub fn extension(path: &str) -> &str {
    path.rsplit(['.', '/']).next().unwrap_or(path)
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<SourceFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            let hidden = name.starts_with('.') && !SHOWN.contains(&name.as_str());
            if !hidden && !SKIPPED.contains(&name.as_str()) {
                walk(&entry.path(), &format!("{path}/"), files)?;
            }
        } else if READ.contains(&extension(&path)) {
            files.push(SourceFile::new(path, fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}
