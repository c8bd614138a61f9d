//! A bounded JSON object whose meaning the product defines, kept as canonical text.

use std::fmt;

use serde_json::{Map, Value};

use super::{
    limits::{MAX_JSON_BYTES, MAX_JSON_DEPTH},
    text::has_nul,
};

/// A JSON object of at most [`MAX_JSON_BYTES`] as canonical text: the names of each object in the order of their bytes,
/// no white space, and numbers as `serde_json` writes them. Two objects are equal if their texts are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JsonObject(Box<str>);

/// Why an object is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJsonObject {
    /// Another JSON value, or no JSON.
    #[error("this must be a JSON object")]
    NoObject,
    /// More than [`MAX_JSON_BYTES`].
    #[error("the object has more than {MAX_JSON_BYTES} bytes as JSON without white space")]
    TooLong,
    /// More than [`MAX_JSON_DEPTH`].
    #[error("objects and lists are nested more than {MAX_JSON_DEPTH} deep")]
    TooDeep,
    /// A name or a text with U+0000.
    #[error("names and texts cannot have the character U+0000")]
    Nul,
}

impl JsonObject {
    /// Checks the object. Reports the first fault.
    pub fn try_new(value: &Value) -> Result<Self, InvalidJsonObject> {
        let Value::Object(object) = value else { return Err(InvalidJsonObject::NoObject) };
        let mut text = String::new();
        write_object(object, 1, &mut text)?;
        Ok(Self(text.into_boxed_str()))
    }

    /// Reads a text with such an object, canonical or not.
    pub fn parse(text: &str) -> Result<Self, InvalidJsonObject> {
        let value = serde_json::from_str(text).map_err(|_| InvalidJsonObject::NoObject)?;
        Self::try_new(&value)
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JsonObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes a value that lies below `depth` objects and lists. Stops as soon as the text is too long.
fn write(value: &Value, depth: usize, text: &mut String) -> Result<(), InvalidJsonObject> {
    match value {
        Value::Object(object) => return write_object(object, depth + 1, text),
        Value::Array(list) => return write_list(list, depth + 1, text),
        Value::String(string) => return write_string(string, text),
        Value::Null => text.push_str("null"),
        Value::Bool(bool) => text.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number.to_string()),
    }
    bounded(text)
}

/// Sorts the names, because a crate may give `serde_json`'s objects the order of insertion.
fn write_object(object: &Map<String, Value>, depth: usize, text: &mut String) -> Result<(), InvalidJsonObject> {
    check_depth(depth)?;
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    text.push('{');
    for (place, (name, value)) in members.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        write_string(name, text)?;
        text.push(':');
        write(value, depth, text)?;
    }
    text.push('}');
    bounded(text)
}

fn write_list(list: &[Value], depth: usize, text: &mut String) -> Result<(), InvalidJsonObject> {
    check_depth(depth)?;
    text.push('[');
    for (place, value) in list.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        write(value, depth, text)?;
    }
    text.push(']');
    bounded(text)
}

fn write_string(string: &str, text: &mut String) -> Result<(), InvalidJsonObject> {
    if string.len() > MAX_JSON_BYTES {
        return Err(InvalidJsonObject::TooLong);
    }
    if has_nul(string) {
        return Err(InvalidJsonObject::Nul);
    }
    text.push_str(&Value::from(string).to_string());
    bounded(text)
}

const fn check_depth(depth: usize) -> Result<(), InvalidJsonObject> {
    if depth > MAX_JSON_DEPTH { Err(InvalidJsonObject::TooDeep) } else { Ok(()) }
}

const fn bounded(text: &str) -> Result<(), InvalidJsonObject> {
    if text.len() > MAX_JSON_BYTES { Err(InvalidJsonObject::TooLong) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("JSON has no others", |number| number.is_finite()).prop_map(Value::from),
            "[^\0]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[^\0]{0,4}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_canonical_text_says_the_same_and_is_canonical(
            members in prop::collection::vec(("[^\0]{0,4}", values()), 0..6),
        ) {
            let members: std::collections::BTreeMap<_, _> = members.into_iter().collect();
            let value = Value::Object(members.clone().into_iter().collect());
            let object = JsonObject::try_new(&value).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Value>(object.as_str()).unwrap(), &value);
            prop_assert_eq!(&JsonObject::parse(object.as_str()).unwrap(), &object);
            let backwards = Value::Object(members.into_iter().rev().collect());
            prop_assert_eq!(JsonObject::try_new(&backwards).unwrap(), object);
        }
    }

    #[test]
    fn equal_objects_have_one_text_however_they_are_written() {
        let written =
            JsonObject::parse(" {\"b\": [1, 1.50, \"\\u00e9\\/\"],\n\"a\":{\"z\":null,\"y\":true}} ").unwrap();
        assert_eq!(written.as_str(), "{\"a\":{\"y\":true,\"z\":null},\"b\":[1,1.5,\"é/\"]}");
    }

    #[test]
    fn only_objects_are_taken() {
        for text in ["[]", "1", "null", "\"{}\"", "", "{", "{} {}"] {
            assert_eq!(JsonObject::parse(text), Err(InvalidJsonObject::NoObject), "{text}");
        }
        assert_eq!(JsonObject::parse("{}").unwrap().to_string(), "{}");
    }

    #[test]
    fn the_bound_is_on_the_bytes_of_the_canonical_text() {
        let of = |bytes: usize| JsonObject::try_new(&json!({ "a": "x".repeat(bytes - 8) }));
        assert_eq!(of(MAX_JSON_BYTES).unwrap().as_str().len(), MAX_JSON_BYTES);
        assert_eq!(of(MAX_JSON_BYTES + 1), Err(InvalidJsonObject::TooLong));
        let escaped = json!({ "a": "\u{1}".repeat(MAX_JSON_BYTES / 2) });
        assert_eq!(JsonObject::try_new(&escaped), Err(InvalidJsonObject::TooLong));
    }

    #[test]
    fn depth_counts_objects_and_lists() {
        let of =
            |depth: usize| JsonObject::parse(&format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1)));
        assert!(of(MAX_JSON_DEPTH).is_ok());
        assert_eq!(of(MAX_JSON_DEPTH + 1), Err(InvalidJsonObject::TooDeep));
    }

    #[test]
    fn nul_is_refused_in_names_and_in_texts() {
        for text in ["{\"a\\u0000\":1}", "{\"a\":[\"\\u0000\"]}"] {
            assert_eq!(JsonObject::parse(text), Err(InvalidJsonObject::Nul), "{text}");
        }
    }
}
