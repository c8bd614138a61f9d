//! Reads typed values one by one and collects every problem, instead of stopping at the first.

use std::{fmt::Display, ops::RangeInclusive};

use figment::{Figment, value::Value};

use super::{
    problem::{ConfigError, Problem},
    sources::defaults,
    values::Millis,
};

/// An alias of `redis.urls` for a single address.
pub const URL_ALIAS: &str = "redis.url";
/// Keys whose values are never shown.
pub const SECRETS: [&str; 5] =
    ["auth.secret", "auth.former_secrets", "cassandra.password", "redis.sentinel_password", "service.key"];
/// In milliseconds.
pub const MINUTE_MS: u32 = 60_000;
/// In milliseconds.
pub const DAY_MS: u32 = 24 * 60 * MINUTE_MS;
/// A known key is suggested only if it is at least this similar (Jaro-Winkler, 0 to 1).
const LIKENESS: f64 = 0.8;

/// The merged values, and the problems so far.
pub struct Reader {
    figment: Figment,
    defaults: Value,
    problems: Vec<Problem>,
}

impl Reader {
    pub fn new(figment: Figment, problems: Vec<Problem>) -> Self {
        Self { figment, defaults: defaults(), problems }
    }

    /// Whether there are no problems yet. Only then do checks across fields make sense.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// The value, if there are no problems.
    pub fn finish<T>(self, value: T) -> Result<T, ConfigError> {
        if self.problems.is_empty() { Ok(value) } else { Err(ConfigError { problems: self.problems }) }
    }

    /// Refuses keys that the defaults do not have.
    pub fn check_keys(&mut self) {
        let known = keys(&self.defaults);
        let given = self.figment.extract::<Value>().map(|tree| keys(&tree)).unwrap_or_default();
        for key in given.into_iter().filter(|key| !known.contains(key) && key != URL_ALIAS) {
            let expected = unknown(&key, &known);
            let from = origin(&self.figment, &key);
            self.problems.push(Problem { key, given: None, from, expected });
        }
    }

    /// A whole number in `range`.
    pub fn whole<T>(&mut self, key: &str, range: RangeInclusive<T>) -> T
    where
        T: TryFrom<i128> + PartialOrd + Display + Default + Copy,
    {
        let fits = |value: &Value| value.to_i128().and_then(|n| T::try_from(n).ok()).filter(|n| range.contains(n));
        let expected = || format!("expected a whole number from {} to {}", range.start(), range.end());
        self.read(key, fits, expected)
    }

    /// Whole milliseconds, `least` to `most`.
    pub fn millis(&mut self, key: &str, least: u32, most: u32) -> Millis {
        Millis::new(self.whole(key, least..=most))
    }

    /// `true` or `false`.
    pub fn flag(&mut self, key: &str) -> bool {
        self.read(key, Value::to_bool, || "expected true or false".to_owned())
    }

    /// A text.
    pub fn text(&mut self, key: &str) -> String {
        self.read(key, |value| value.as_str().map(str::to_owned), || "expected a text in quotes".to_owned())
    }

    /// A text that `parse` understands; its error says what is expected.
    pub fn parsed<T: Default>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> T {
        let text = self.text(key);
        parse(&text).unwrap_or_else(|expected| {
            self.refuse(key, expected);
            T::default()
        })
    }

    /// A list of texts, or a single one.
    pub fn list(&mut self, key: &str) -> Vec<String> {
        let read = |value: &Value| match value {
            Value::String(_, text) => Some(vec![text.clone()]),
            Value::Array(_, items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        self.read(key, read, || "expected a list of texts, such as [\"a\", \"b\"]".to_owned())
    }

    /// Whether the key is set, rather than its default.
    pub fn is_set(&self, key: &str) -> bool {
        self.figment.contains(key)
    }

    /// Records that the key's value is not what is `expected`.
    pub fn refuse(&mut self, key: &str, expected: String) {
        let value = self.figment.find_value(key).ok();
        let given = value.filter(|_| !SECRETS.contains(&key)).map(|value| written(&value));
        self.problems.push(Problem { key: key.to_owned(), given, from: origin(&self.figment, key), expected });
    }

    fn read<T: Default>(&mut self, key: &str, fits: impl Fn(&Value) -> Option<T>, expected: impl Fn() -> String) -> T {
        // `check_keys` has reported sections that are not tables.
        let Ok(value) = self.figment.find_value(key) else { return T::default() };
        fits(&value).unwrap_or_else(|| {
            self.refuse(key, expected());
            T::default()
        })
    }
}

/// The origin of a value: `default`, the path of a file, or a variable.
pub fn origin(figment: &Figment, key: &str) -> String {
    figment.find_metadata(key).map_or_else(String::new, |metadata| metadata.name.to_string())
}

/// A value as in a configuration file; addresses without their passwords.
pub fn written(value: &Value) -> String {
    match value {
        Value::String(_, text) => toml::Value::from(super::address::without_password(text)).to_string(),
        Value::Array(_, items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::Num(_, number) => number.to_i128().map_or_else(|| format!("{:?}", number.to_f64()), |n| n.to_string()),
        Value::Bool(_, flag) => flag.to_string(),
        _ => "{..}".to_owned(),
    }
}

/// `section.key` of every leaf.
pub fn keys(tree: &Value) -> Vec<String> {
    let Some(sections) = tree.as_dict() else { return Vec::new() };
    let mut keys = Vec::new();
    for (section, value) in sections {
        match value.as_dict() {
            Some(inner) => keys.extend(inner.keys().map(|key| format!("{section}.{key}"))),
            None => keys.push(section.clone()),
        }
    }
    keys
}

fn unknown(key: &str, known: &[String]) -> String {
    if known.iter().any(|other| other.starts_with(&format!("{key}."))) {
        return format!("is a section: write [{key}], and keys below it");
    }
    let like = |other: &&String| strsim::jaro_winkler(key, other);
    let best = known.iter().max_by(|a, b| like(a).total_cmp(&like(b))).filter(|best| like(best) >= LIKENESS);
    match best {
        Some(best) => format!("there is no such key; did you mean {best}?"),
        None => "there is no such key".to_owned(),
    }
}
