//! Chooses the media type of an answer by the `Accept` header.

use axum::http::{HeaderMap, HeaderValue, header::ACCEPT};

/// The media types of GraphQL over HTTP and of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// `application/json`, for older clients: the status is 200 for every well-formed request.
    Json,
    /// `application/graphql-response+json`: the status says whether the operation ran.
    GraphqlResponse,
    /// `text/event-stream`: server-sent events. Wildcards never select it.
    EventStream,
}

impl Media {
    /// The type that the client prefers; `None` if it accepts none.
    ///
    /// Without an `Accept`, or with `*/*`, it is JSON. Among equals, the first one named.
    pub fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let mut ranges = headers.get_all(ACCEPT).iter().flat_map(ranges_of).peekable();
        if ranges.peek().is_none() {
            return Some(Self::Json);
        }
        let mut best: Option<(u16, Self)> = None;
        let ranges: Vec<Range> = ranges.collect();
        for media in ranges.iter().flat_map(|range| range.names).copied() {
            let quality = quality_of(media, &ranges);
            if quality > best.map_or(0, |(quality, _)| quality) {
                best = Some((quality, media));
            }
        }
        best.map(|(_, media)| media)
    }

    /// The `Content-Type` of an answer.
    pub fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json; charset=utf-8",
            Self::GraphqlResponse => "application/graphql-response+json; charset=utf-8",
            Self::EventStream => "text/event-stream; charset=utf-8",
        })
    }
}

/// The types that a wildcard covers.
const BOTH: &[Media] = &[Media::Json, Media::GraphqlResponse];

/// One media range of an `Accept`.
struct Range {
    /// 2 for an exact type, 1 for `application/*`, 0 for `*/*`.
    precision: u8,
    /// The types in the range, JSON first; empty for types that this server does not have.
    names: &'static [Media],
    /// Thousandths.
    quality: u16,
}

/// The quality of the most precise range that covers `media`, so that a type can be excluded beside a wildcard.
fn quality_of(media: Media, ranges: &[Range]) -> u16 {
    let covering = ranges.iter().filter(|range| range.names.contains(&media));
    covering.max_by_key(|range| (range.precision, range.quality)).map_or(0, |range| range.quality)
}

fn ranges_of(value: &HeaderValue) -> impl Iterator<Item = Range> {
    value.to_str().unwrap_or_default().split(',').filter(|part| !part.trim().is_empty()).map(range)
}

fn range(text: &str) -> Range {
    let mut parts = text.split(';').map(str::trim);
    let (precision, names): (u8, &[Media]) = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "application/json" => (2, &[Media::Json]),
        "application/graphql-response+json" => (2, &[Media::GraphqlResponse]),
        "text/event-stream" => (2, &[Media::EventStream]),
        "application/*" => (1, BOTH),
        "*/*" | "*" => (0, BOTH),
        _ => (2, &[]),
    };
    let quality = parts.filter_map(|part| part.split_once('=')).find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    Range { precision, names, quality: quality.map_or(1000, |(_, value)| thousandths(value.trim())) }
}

/// `0.75` becomes 750; malformed values become 0.
fn thousandths(text: &str) -> u16 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{fraction:0<3}");
    let in_form = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, digits.parse::<u16>()) {
        ("0", Ok(thousandths)) if in_form => thousandths,
        ("1", Ok(0)) if in_form => 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(accept: &str) -> Option<Media> {
        let value = HeaderValue::from_str(accept).unwrap_or_else(|_| HeaderValue::from_static(""));
        Media::of_headers(&HeaderMap::from_iter([(ACCEPT, value)]))
    }

    #[test]
    fn the_best_liked_type_is_chosen() {
        use Media::{EventStream, GraphqlResponse, Json};
        for (accept, expected) in [
            ("application/json", Some(Json)),
            ("application/graphql-response+json", Some(GraphqlResponse)),
            (
                "application/graphql-response+json; charset=utf-8, application/json; charset=utf-8",
                Some(GraphqlResponse),
            ),
            ("application/json, application/graphql-response+json", Some(Json)),
            ("application/graphql-response+json;q=0.9, application/json", Some(Json)),
            ("application/json;q=0.5,application/graphql-response+json;Q=0.51", Some(GraphqlResponse)),
            ("*/*", Some(Json)),
            ("application/*;q=0.1", Some(Json)),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Some(Json)),
            ("application/graphql-response+json, */*;q=0.1", Some(GraphqlResponse)),
            ("application/graphql-response+json;q=0.1, */*", Some(Json)),
            ("application/json;q=0, application/graphql-response+json;q=0.001", Some(GraphqlResponse)),
            ("APPLICATION/JSON", Some(Json)),
            ("text/event-stream", Some(EventStream)),
            ("text/event-stream, */*;q=0.1", Some(EventStream)),
            ("application/json, text/event-stream;q=0.9", Some(Json)),
            ("text/*", None),
            ("", Some(Json)),
            (" , ", Some(Json)),
            ("text/html", None),
            ("application/json;q=0", None),
            ("*/*;q=0", None),
            ("application/json;q=2", None),
            ("application/json;q=x", None),
        ] {
            assert_eq!(chosen(accept), expected, "{accept}");
        }
    }

    #[test]
    fn a_wildcard_does_not_bring_back_what_is_excluded() {
        assert_eq!(chosen("application/json;q=0, */*"), Some(Media::GraphqlResponse));
    }
}
