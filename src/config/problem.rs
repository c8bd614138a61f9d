//! Problems of a configuration, reported all at once.

use std::fmt;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `section.key`, or the name of a file.
    pub key: String,
    /// The given value as a person would write it; `None` for secrets and missing values.
    pub given: Option<String>,
    /// Where the value comes from; empty if `key` says it.
    pub from: String,
    /// What to write instead.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if let Some(given) = &self.given {
            write!(f, " = {given}")?;
        }
        if !self.from.is_empty() {
            write!(f, " ({})", self.from)?;
        }
        write!(f, ": {}", self.expected)
    }
}

/// Why a configuration is invalid: at least one problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Every problem found, in the order of the keys.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.len() {
            1 => write!(f, "the configuration has a problem:")?,
            many => write!(f, "the configuration has {many} problems:")?,
        }
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        write!(f, "\n`tidefeed config --defaults` prints every key with its meaning.")
    }
}

impl std::error::Error for ConfigError {}
