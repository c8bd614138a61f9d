//! Numbers, times and JSON as GraphQL values.
//!
//! GraphQL's `Int` has 32 bits and Tidefeed's numbers have 64.

use std::borrow::Cow;

use async_graphql::{
    ContextSelectionSet, InputType, InputValueError, InputValueResult, OutputType, Positioned, Scalar, ScalarType,
    ServerResult, Value, parser::types::Field, registry::Registry,
};
use axum::body::Bytes;
use chrono::{DateTime, SecondsFormat, Utc};
use graphql_transport::{
    guard::{OperationId, ScalarCheck},
    written::SharedDocument,
};

use super::errors::ErrorCode;
use crate::domain::json::JsonObject;

/// A count as `Int`, clamped to 0 and the largest `Int`.
pub fn count(number: i64) -> i32 {
    i32::try_from(number.max(0)).unwrap_or(i32::MAX)
}

/// A moment in ms UTC, as [`Timestamp`] shows it.
pub fn rfc3339(ms: i64) -> String {
    let time = DateTime::<Utc>::from_timestamp_millis(ms).unwrap_or(DateTime::<Utc>::MAX_UTC);
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The message for values that are not RFC 3339 strings (`BAD_USER_INPUT`).
const NO_MOMENT: &str = "a moment is a string such as \"2026-11-21T09:30:00.000Z\", with a time and its offset";

/// Gives the error of a refused value its code, so that the client reads what is wrong.
fn refused<T: InputType>(error: InputValueError<T>) -> InputValueError<T> {
    error.with_extension("code", ErrorCode::BadUserInput.as_str())
}

/// What each scalar of this schema takes, for the guard: a value that does not fit is the request's fault, and not that
/// of a field.
pub const SCALARS: [(&str, ScalarCheck); 2] = [
    ("DateTime", |value| moment(value).map(drop).ok_or(NO_MOMENT)),
    ("JSON", |value| json(value).map(drop).ok_or(NO_JSON)),
];

/// The moment that a value says, in ms UTC.
fn moment(value: &Value) -> Option<i64> {
    let Value::String(text) = value else { return None };
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis())
}

/// Milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp(pub i64);

/// A moment: RFC 3339, in UTC, with milliseconds, such as `2026-11-21T09:30:00.000Z`.
#[Scalar(name = "DateTime", specified_by_url = "https://www.rfc-editor.org/rfc/rfc3339#section-5.6")]
impl ScalarType for Timestamp {
    fn parse(value: Value) -> InputValueResult<Self> {
        moment(&value).map(Self).ok_or_else(|| refused(InputValueError::custom(NO_MOMENT)))
    }

    fn to_value(&self) -> Value {
        Value::String(rfc3339(self.0))
    }
}

/// The message for values that JSON does not have (`BAD_USER_INPUT`).
const NO_JSON: &str = "JSON has objects, lists, texts, numbers, true, false and null, and no bare words";

/// The JSON that a value says. `None` if a word in it is a member of an enum.
fn json(value: &Value) -> Option<serde_json::Value> {
    Some(match value {
        Value::Null => serde_json::Value::Null,
        Value::Number(number) => serde_json::Value::Number(number.clone()),
        Value::String(text) => serde_json::Value::String(text.clone()),
        Value::Boolean(flag) => serde_json::Value::Bool(*flag),
        Value::List(items) => items.iter().map(json).collect::<Option<_>>()?,
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| Some((name.to_string(), json(value)?)));
            serde_json::Value::Object(fields.collect::<Option<_>>()?)
        }
        Value::Enum(_) | Value::Binary(_) => return None,
    })
}

/// A value of JSON, as clients send it.
#[derive(Debug, Clone, PartialEq)]
pub struct Json(pub serde_json::Value);

/// JSON, as it is. What the product says of a content is an object of at most 8192 bytes without white space, nested at
/// most 16 deep.
#[Scalar(name = "JSON", specified_by_url = "https://www.rfc-editor.org/rfc/rfc8259")]
impl ScalarType for Json {
    fn parse(value: Value) -> InputValueResult<Self> {
        json(&value).map(Self).ok_or_else(|| refused(InputValueError::custom(NO_JSON)))
    }

    fn to_value(&self) -> Value {
        Value::from_json(self.0.clone()).unwrap_or_default()
    }
}

/// An object as JSON, which clients see as [`Json`]. It is inserted as it is stored: read, it takes many times its
/// bytes.
pub struct JsonText<'a>(pub &'a JsonObject);

impl OutputType for JsonText<'_> {
    fn type_name() -> Cow<'static, str> {
        <Json as OutputType>::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <Json as OutputType>::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, _: &Positioned<Field>) -> ServerResult<Value> {
        let is_written = ctx.data_opt::<OperationId>().is_some() || ctx.data_opt::<SharedDocument>().is_some();
        if is_written {
            return Ok(Value::Binary(Bytes::copy_from_slice(self.0.as_str().as_bytes())));
        }
        Ok(serde_json::from_str(self.0.as_str()).unwrap_or_default())
    }
}

/// An `Int` argument whose range this code checks, so that the message is ours. The guard refuses more than 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnyInt(pub i64);

impl AnyInt {
    /// The nearest `i32`.
    pub fn saturating(self) -> i32 {
        i32::try_from(self.0).unwrap_or(if self.0 < 0 { i32::MIN } else { i32::MAX })
    }
}

impl InputType for AnyInt {
    type RawValueType = Self;

    fn type_name() -> Cow<'static, str> {
        <i32 as InputType>::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <i32 as InputType>::create_type_info(registry)
    }

    fn parse(value: Option<Value>) -> InputValueResult<Self> {
        match value.unwrap_or_default() {
            Value::Number(number) => {
                number.as_i64().map(Self).ok_or_else(|| refused(InputValueError::custom("not an integer")))
            }
            value => Err(refused(InputValueError::expected_type(value))),
        }
    }

    fn to_value(&self) -> Value {
        Value::Number(self.0.into())
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_beyond_an_int_is_shown_as_the_largest() {
        assert_eq!([count(-1), count(0), count(7), count(i64::MAX)], [0, 0, 7, i32::MAX]);
    }

    #[test]
    fn an_invalid_time_is_refused_with_the_expected_format() {
        let words = format!("Failed to parse \"DateTime\": {NO_MOMENT}");
        let list = Value::List(vec![Value::from("2026-11-21T09:30:00Z")]);
        for value in [Value::from(1_795_253_400_007_i64), Value::from(true), list, Value::from("2026-11-21")] {
            let refused = <Timestamp as ScalarType>::parse(value.clone()).err();
            let error = refused.map(|error| error.into_server_error(async_graphql::Pos::default()));
            let code = error.as_ref().and_then(|error| error.extensions.as_ref()?.get("code").cloned());
            assert_eq!(code, Some(Value::from("BAD_USER_INPUT")), "{value}");
            assert_eq!(error.map(|error| error.message).as_ref(), Some(&words), "{value}");
        }
    }

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        let written = |ms| ScalarType::to_value(&Timestamp(ms));
        assert_eq!(written(0), Value::from("1970-01-01T00:00:00.000Z"));
        assert_eq!(written(1_795_253_400_007), Value::from("2026-11-21T09:30:00.007Z"));
        assert!(matches!(written(i64::MAX), Value::String(_)), "a time beyond the calendar does not break the answer");
    }
}
