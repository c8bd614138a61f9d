//! Open attributes of a profile: bounded keys and values whose meaning the product defines.

use std::collections::BTreeMap;

use crate::limits::{MAX_ATTRIBUTE_KEY_CHARS, MAX_ATTRIBUTE_VALUE_CHARS, MAX_ATTRIBUTES};

/// Values by key, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes(BTreeMap<String, String>);

/// Why attributes are refused. The number is the index of the faulty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAttributes {
    /// More than [`MAX_ATTRIBUTES`].
    #[error("a profile has at most {MAX_ATTRIBUTES} attributes")]
    TooMany,
    /// The key is empty or has other characters.
    #[error("an attribute's key has 1 to {MAX_ATTRIBUTE_KEY_CHARS} of the characters . and _, a to z and 0 to 9")]
    Key(usize),
    /// A key longer than [`MAX_ATTRIBUTE_KEY_CHARS`].
    #[error("an attribute's key has at most {MAX_ATTRIBUTE_KEY_CHARS} characters")]
    KeyTooLong(usize),
    /// A key that occurs twice.
    #[error("each key may occur only once")]
    Twice(usize),
    /// A value with control characters.
    #[error("an attribute's value has no control characters")]
    Value(usize),
    /// A value longer than [`MAX_ATTRIBUTE_VALUE_CHARS`].
    #[error("an attribute's value has at most {MAX_ATTRIBUTE_VALUE_CHARS} characters")]
    ValueTooLong(usize),
}

impl Attributes {
    /// Checks the number, the keys and the values. Reports the first fault.
    pub fn try_new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, InvalidAttributes> {
        let mut attributes = BTreeMap::new();
        for (index, (key, value)) in pairs.into_iter().enumerate() {
            if index >= MAX_ATTRIBUTES {
                return Err(InvalidAttributes::TooMany);
            }
            check(index, &key, &value)?;
            if attributes.insert(key, value).is_some() {
                return Err(InvalidAttributes::Twice(index));
            }
        }
        Ok(Self(attributes))
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn check(index: usize, key: &str, value: &str) -> Result<(), InvalidAttributes> {
    if key.chars().count() > MAX_ATTRIBUTE_KEY_CHARS {
        return Err(InvalidAttributes::KeyTooLong(index));
    }
    let is_known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'.';
    if key.is_empty() || !key.bytes().all(is_known) {
        return Err(InvalidAttributes::Key(index));
    }
    if value.chars().count() > MAX_ATTRIBUTE_VALUE_CHARS {
        return Err(InvalidAttributes::ValueTooLong(index));
    }
    if value.chars().any(char::is_control) { Err(InvalidAttributes::Value(index)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Attributes, InvalidAttributes> {
        Attributes::try_new(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn the_first_faulty_attribute_is_named_by_its_index() {
        assert_eq!(of(&[("a", "1"), ("B", "2")]), Err(InvalidAttributes::Key(1)));
        assert_eq!(of(&[("", "1")]), Err(InvalidAttributes::Key(0)));
        assert_eq!(of(&[("a", "1"), ("a", "2")]), Err(InvalidAttributes::Twice(1)));
        assert_eq!(of(&[("a", &"x".repeat(201))]), Err(InvalidAttributes::ValueTooLong(0)));
        assert_eq!(of(&[(&"x".repeat(33), "")]), Err(InvalidAttributes::KeyTooLong(0)));
        assert_eq!(of(&[("a", "nul\0")]), Err(InvalidAttributes::Value(0)));
        assert_eq!(of(&[("a", "line\nbreak")]), Err(InvalidAttributes::Value(0)));
    }

    #[test]
    fn attributes_are_at_most_sixteen_and_sorted_by_key() {
        let keys: Vec<String> = (0..17).map(|n| format!("k{n}")).collect();
        let pairs: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "ä")).collect();
        assert_eq!(of(&pairs), Err(InvalidAttributes::TooMany));
        let sorted =
            of(&[("b", "2"), ("a", "1")]).map(|it| it.iter().map(|(key, _)| key.to_owned()).collect::<Vec<_>>());
        assert_eq!(sorted, Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(of(&[]).map(|it| it.is_empty()), Ok(true));
    }
}
