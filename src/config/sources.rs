//! The sources of values, and their order.

use std::path::PathBuf;

use figment::{Figment, value::Value};

use super::{environment::Environment, problem::Problem, source::Source};

/// The file that is read if none is named.
const DEFAULT_FILE: &str = "tidefeed.toml";

/// The defaults as a commented file.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// A file and the environment, over the compiled-in defaults.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    file: Option<PathBuf>,
    environment: Environment,
}

impl Sources {
    /// `file` if one is named, else ./tidefeed.toml if it exists; then the environment.
    pub fn new(file: Option<PathBuf>, environment: Environment) -> Self {
        let found = || Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists());
        Self { file: file.or_else(found), environment }
    }

    pub(super) const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The merged values, later sources over earlier ones, and the sources that cannot be read.
    pub(super) fn figment(&self) -> (Figment, Vec<Problem>) {
        let mut figment = default_figment();
        let mut unreadable = Vec::new();
        match self.file() {
            Ok(Some(file)) => figment = figment.merge(file),
            Ok(None) => {}
            Err(problem) => unreadable.push(problem),
        }
        let defaults = defaults();
        for variable in self.environment.variables() {
            if !variable.key().is_empty() {
                figment = figment.merge(variable.source(&defaults));
            }
        }
        (figment, unreadable)
    }

    fn file(&self) -> Result<Option<Source>, Problem> {
        let Some(path) = &self.file else { return Ok(None) };
        let name = path.display().to_string();
        let problem = |expected: String| Problem { key: name.clone(), given: None, from: String::new(), expected };
        let text = std::fs::read_to_string(path).map_err(|error| problem(format!("cannot be read: {error}")))?;
        let values = toml::from_str(&text).map_err(|error| problem(format!("is not TOML: {error}")))?;
        Ok(Some(Source { name, values }))
    }
}

/// The compiled-in defaults alone.
pub fn default_figment() -> Figment {
    let values = toml::from_str(DEFAULTS).unwrap_or_default();
    Figment::from(Source { name: "default".to_owned(), values })
}

/// The compiled-in defaults, as a tree.
pub fn defaults() -> Value {
    default_figment().extract::<Value>().unwrap_or_else(|_| Value::from(figment::value::Dict::new()))
}
