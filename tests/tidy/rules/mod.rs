//! The rules, by what they are about.

pub mod docs;
pub mod engine;
pub mod glossary;
pub mod imports;
pub mod layers;
pub mod mission;
pub mod named;
pub mod prose;
pub mod references;
pub mod replicas;
pub mod resolvers;
pub mod sizes;
pub mod targets;
pub mod transport;
pub mod walks;
pub mod words;

use super::tree::{Finding, Tree};

/// Files in memory: (path, text).
pub type Files = &'static [(&'static str, &'static str)];

/// One rule of the repository.
pub struct Rule {
    /// What to do about a finding.
    pub remedy: &'static str,
    /// Everything in the tree that breaks the rule.
    pub check: fn(&Tree) -> Vec<Finding>,
    /// Small trees, each of which breaks the rule.
    pub broken_by: &'static [Files],
    /// Small trees that look suspicious and keep the rule.
    pub kept_by: &'static [Files],
}
