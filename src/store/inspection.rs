//! Findings about a server for `tidefeed doctor`.

use async_trait::async_trait;

use super::StoreError;

/// How to judge a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// In order.
    Fine,
    /// Works, but at a cost or with surprises.
    Doubtful,
    /// Tidefeed cannot work like this.
    Broken,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// The subject, in a word or two.
    pub subject: String,
    /// The observation.
    pub seen: String,
    /// What to do next; empty if there is nothing to do.
    pub remedy: String,
}

impl Finding {
    /// A finding that is in order.
    pub fn fine(subject: &str, seen: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fine, subject: subject.to_owned(), seen: seen.into(), remedy: String::new() }
    }

    /// A finding that deserves attention.
    pub fn doubtful(subject: &str, seen: impl Into<String>, remedy: &str) -> Self {
        Self { verdict: Verdict::Doubtful, subject: subject.to_owned(), seen: seen.into(), remedy: remedy.to_owned() }
    }

    /// A finding that must be fixed.
    pub fn broken(subject: &str, seen: impl Into<String>, remedy: &str) -> Self {
        Self { verdict: Verdict::Broken, subject: subject.to_owned(), seen: seen.into(), remedy: remedy.to_owned() }
    }
}

/// A server that `doctor` can inspect.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// Findings about the server and its settings. A failing question is a finding itself.
    async fn inspect(&self) -> Vec<Finding>;

    /// Findings that need the tables: whether they take writes, and what waits in them. Ask only once all migrations
    /// have run.
    async fn inspect_tables(&self) -> Vec<Finding>;

    /// Findings about a restored backup: whether it is whole, and how much is in it. Ask only once all migrations have
    /// run. Reads everything, without a time limit of its own.
    async fn inspect_backup(&self, now_ms: i64) -> Vec<Finding>;

    /// The time of the server's clock, in ms since 1970; `None` if the store has no clock of its own.
    async fn server_time_ms(&self) -> Result<Option<i64>, StoreError>;
}
