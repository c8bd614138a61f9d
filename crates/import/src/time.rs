//! Times as the file has them: RFC 3339, written in UTC with milliseconds.

use chrono::{DateTime, SecondsFormat, Utc};

/// The moment that `text` says, in ms UTC; `None` if it is not RFC 3339. Parts of a millisecond are dropped.
pub fn parse(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis())
}

/// A moment in ms UTC, such as `2026-11-21T09:30:00.000Z`.
pub fn rfc3339(ms: i64) -> String {
    let time = DateTime::<Utc>::from_timestamp_millis(ms).unwrap_or(DateTime::<Utc>::MAX_UTC);
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_with_any_offset_and_written_in_utc() {
        let written = |text| parse(text).map(rfc3339);
        assert_eq!(written("2019-05-01T10:00:00.1239+02:00").as_deref(), Some("2019-05-01T08:00:00.123Z"));
        assert_eq!(written("1970-01-01T00:00:00Z").as_deref(), Some("1970-01-01T00:00:00.000Z"));
        for bad in ["2019-05-01", "2019-05-01T10:00:00", "yesterday", "1556697600", ""] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
