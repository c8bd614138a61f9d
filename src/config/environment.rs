//! Environment variables. Only this file reads them.

use figment::{util::nest, value::Value};

use super::source::Source;

/// The prefix of all variables. Sections and keys follow, joined by two underscores.
pub const PREFIX: &str = "TIDEFEED__";

/// What variables begin with whose author forgot an underscore.
const SHORT_PREFIX: &str = "TIDEFEED_";

/// The configuring variables by name, and others that begin like them. They are passed in, so that tests need not touch
/// the process.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<(String, String)>);

impl Environment {
    /// The variables of the process.
    #[expect(clippy::disallowed_methods, reason = "this is the one reader of the environment")]
    pub fn of_the_process() -> Self {
        let all = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        Self::of(all)
    }

    /// The configuring ones among `variables`, in order of their names.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut ours: Vec<_> = variables.into_iter().filter(|(name, _)| name.starts_with(SHORT_PREFIX)).collect();
        ours.sort();
        Self(ours)
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = Variable<'_>> {
        self.0.iter().filter(|(name, _)| name.starts_with(PREFIX)).map(|(name, text)| Variable { name, text })
    }

    /// Variables that nothing reads although they name a key, and the names that are read instead. What the project's
    /// scripts have for themselves, such as `TIDEFEED_URL`, names none.
    pub(super) fn misspelt(&self, known: &[String]) -> Vec<(&str, String)> {
        let plain = |text: &str| text.trim_start_matches('_').replace("__", "_").to_lowercase();
        let meant = |name: &str| known.iter().find(|key| plain(name) == key.replace('.', "_"));
        let others = self.0.iter().filter(|(name, _)| !name.starts_with(PREFIX));
        others
            .filter_map(|(name, _)| Some((name.as_str(), meant(name.strip_prefix(SHORT_PREFIX)?)?)))
            .map(|(name, key)| (name, format!("{PREFIX}{}", key.replace('.', "__").to_uppercase())))
            .collect()
    }
}

/// One variable as the source of one value.
pub struct Variable<'a> {
    name: &'a str,
    text: &'a str,
}

impl Variable<'_> {
    /// `section.key`.
    pub fn key(&self) -> String {
        self.name.trim_start_matches(PREFIX).to_lowercase().replace("__", ".")
    }

    /// The value, read with the type of the default: digits stay a text where a text is expected.
    fn value(&self, default: Option<&Value>) -> Value {
        match default {
            Some(Value::Num(..)) => self.text.trim().parse::<i64>().map_or_else(|_| self.text.into(), Value::from),
            Some(Value::Bool(..)) => self.text.trim().parse::<bool>().map_or_else(|_| self.text.into(), Value::from),
            Some(Value::Array(..)) => list(self.text),
            _ => self.text.into(),
        }
    }

    /// The source of this one value.
    pub fn source(&self, defaults: &Value) -> Source {
        let key = self.key();
        let tree = nest(&key, self.value(defaults.find_ref(&key)));
        Source { name: format!("environment {}", self.name), values: tree.into_dict().unwrap_or_default() }
    }
}

/// `["a", "b"]` as in the file, or `a, b`.
fn list(text: &str) -> Value {
    #[derive(serde::Deserialize)]
    struct Line {
        list: Vec<String>,
    }
    if text.trim_start().starts_with('[') {
        return toml::from_str::<Line>(&format!("list = {text}")).map_or_else(|_| text.into(), |line| line.list.into());
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    items.map(str::to_owned).collect::<Vec<_>>().into()
}
