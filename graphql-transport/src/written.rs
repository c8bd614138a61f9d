//! JSON that is written once and inserted into many answers with equal selections.

use std::{
    io::{self, Write},
    sync::Arc,
};

use async_graphql::Value;
use axum::body::Bytes;
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap as _, SerializeSeq as _},
};
use serde_json::ser::Formatter;

/// The text of a subscription's document, shared by equal subscriptions. Resolvers may use values of [`written`] only
/// if the operation's data has this (subscriptions) or an [`crate::guard::OperationId`] (queries and mutations).
#[derive(Debug, Clone)]
pub struct SharedDocument(pub Arc<str>);

/// `value` as JSON, cheap to clone. Clients see the same. `None` if it cannot be written.
pub fn written(value: &Value) -> Option<Value> {
    json(value).map(Value::Binary)
}

/// The JSON of `value`, to be inserted as `Value::Binary`. `None` if it cannot be written.
pub fn json(value: &Value) -> Option<Bytes> {
    let mut json = Vec::new();
    write(&mut json, &Spliced(value)).ok().map(|()| Bytes::from(json.into_boxed_slice()))
}

/// The value that `json` was written from.
pub(crate) fn read(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}

/// Writes `value`, which may contain [`Spliced`], as JSON.
pub(crate) fn write(into: &mut impl Write, value: &impl Serialize) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(into, Splicing))
}

/// Writes bytes as they are: [`json`], or who calls [`crate::metered::insert`], has seen to it that they are JSON. To
/// parse them again, as a `RawValue` demands, would be a tenth of a page. (So a schema cannot have the library's scalar
/// `Binary`.)
#[derive(Clone)]
struct Splicing;

impl Formatter for Splicing {
    fn write_byte_array<W: ?Sized + Write>(&mut self, writer: &mut W, json: &[u8]) -> io::Result<()> {
        writer.write_all(json)
    }
}

/// A value of an answer. [`write`] inserts values of [`written`] unchanged.
pub(crate) struct Spliced<'a>(pub(crate) &'a Value);

impl Serialize for Spliced<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name.as_str(), &Spliced(value))?;
                }
                map.end()
            }
            Value::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(&Spliced(value))?;
                }
                list.end()
            }
            Value::Binary(json) => serializer.serialize_bytes(json),
            plain => plain.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use serde_json::json;

    use super::*;

    fn value(json: serde_json::Value) -> Value {
        Value::from_json(json).unwrap()
    }

    fn text(value: &Value) -> String {
        String::from_utf8(super::json(value).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn spliced_json_equals_freshly_written_json() {
        let inner = json!({ "text": "\"é\" \\ \u{2028}", "counts": [1, -2, 0.5, true, null], "none": {} });
        let Value::Object(mut outer) = value(json!({ "before": 1, "edge": null, "after": ["x"] })) else {
            unreachable!("an object")
        };
        outer.insert(async_graphql::Name::new("edge"), written(&value(inner.clone())).unwrap());
        let plain = serde_json::to_string(&json!({ "before": 1, "edge": inner, "after": ["x"] })).unwrap();
        assert_eq!(text(&Value::Object(outer)), plain);
    }

    #[test]
    fn written_values_can_be_read_again() {
        let value = value(json!({ "text": "\"é\"", "counts": [1, -2, 0.5, true, null], "none": {} }));
        assert_eq!(read(&super::json(&value).unwrap()), value);
    }

    #[test]
    fn spliced_json_may_be_nested() {
        let once = written(&value(json!({ "a": [1] }))).unwrap();
        let twice = written(&Value::List(vec![once.clone(), once])).unwrap();
        assert_eq!(text(&twice), "[{\"a\":[1]},{\"a\":[1]}]");
    }
}
