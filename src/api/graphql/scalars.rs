//! Numbers and times as GraphQL values.
//!
//! GraphQL's `Int` has 32 bits and Tidefeed's numbers have 64.

use std::borrow::Cow;

use async_graphql::{InputType, InputValueError, InputValueResult, Scalar, ScalarType, Value, registry::Registry};
use chrono::{DateTime, SecondsFormat, Utc};
use graphql_transport::guard::ScalarCheck;

use super::errors::ErrorCode;

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
pub const SCALARS: [(&str, ScalarCheck); 1] = [("DateTime", |value| moment(value).map(drop).ok_or(NO_MOMENT))];

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
