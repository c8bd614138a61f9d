//! Why a folder of schemas cannot be used, for the operator.

use std::path::{Path, PathBuf};

/// A folder, or a file of it, that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{}` {seen}: {remedy}", path.display())]
pub struct UnusableSchema {
    path: PathBuf,
    seen: String,
    remedy: String,
}

impl UnusableSchema {
    pub(crate) fn at(path: &Path, Fault { seen, remedy }: Fault) -> Self {
        Self { path: path.to_owned(), seen, remedy }
    }

    /// The path and what was found there.
    pub fn seen(&self) -> String {
        format!("`{}` {}", self.path.display(), self.seen)
    }

    /// What to do.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

/// What was found, as the rest of a sentence that begins with the path, and what to do.
#[derive(Debug)]
pub struct Fault {
    pub seen: String,
    pub remedy: String,
}

impl Fault {
    pub fn new(seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { seen: seen.into(), remedy: remedy.into() }
    }
}
