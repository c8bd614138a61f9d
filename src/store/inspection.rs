//! Findings about a server for `tidefeed doctor`.

use async_trait::async_trait;

/// How a finding is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it should be.
    Fine,
    /// Works, but will cost something, or surprise somebody.
    Doubtful,
    /// Tidefeed cannot work with this.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How it is to be taken.
    pub verdict: Verdict,
    /// What was looked at, in a word or two.
    pub subject: String,
    /// What was seen.
    pub seen: String,
    /// What to do next; empty if nothing.
    pub remedy: String,
}

impl Finding {
    /// All is well.
    pub fn fine(subject: &str, seen: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fine, subject: subject.to_owned(), seen: seen.into(), remedy: String::new() }
    }

    /// Works, but.
    pub fn doubtful(subject: &str, seen: impl Into<String>, remedy: &str) -> Self {
        Self { verdict: Verdict::Doubtful, subject: subject.to_owned(), seen: seen.into(), remedy: remedy.to_owned() }
    }

    /// Does not work.
    pub fn broken(subject: &str, seen: impl Into<String>, remedy: &str) -> Self {
        Self { verdict: Verdict::Broken, subject: subject.to_owned(), seen: seen.into(), remedy: remedy.to_owned() }
    }
}

/// A server that can be looked at.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// Everything worth telling; a question that fails is a finding itself.
    async fn inspect(&self) -> Vec<Finding>;
}
