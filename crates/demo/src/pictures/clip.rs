//! The clip and its first frame: files, of which players ask for a range.

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::response::{headers, missing};

/// The name of the clip.
pub const CLIP: &str = "tide";
/// Its width and height in pixels.
pub const CLIP_SIZE: (u16, u16) = (640, 400);

const FILES: [(&str, &str, &[u8]); 2] =
    [("tide.webm", "video/webm", include_bytes!("tide.webm")), ("tide.jpg", "image/jpeg", include_bytes!("tide.jpg"))];

/// The file of that name, or the range of it that is asked for (RFC 9110, 14.2). Some players play nothing without.
pub fn answer(file: &str, asked: &HeaderMap) -> Response {
    let Some((_, kind, bytes)) = FILES.into_iter().find(|(name, ..)| *name == file) else { return missing() };
    let ranges = [(header::ACCEPT_RANGES, "bytes")];
    let range = asked.get(header::RANGE).and_then(|range| range.to_str().ok());
    match range.and_then(|range| part(range, bytes.len())) {
        None => (headers(kind), ranges, bytes).into_response(),
        Some((first, last)) => {
            let place = [(header::CONTENT_RANGE, format!("bytes {first}-{last}/{}", bytes.len()))];
            let part = bytes.get(first..=last).unwrap_or_default();
            (StatusCode::PARTIAL_CONTENT, headers(kind), ranges, place, part).into_response()
        }
    }
}

/// First and last byte of `bytes=5-9`, `bytes=5-` or `bytes=-5`. Any other range is answered with the whole file, as
/// the RFC allows.
fn part(range: &str, length: usize) -> Option<(usize, usize)> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let end = length.checked_sub(1)?;
    let (first, last) = match (from.parse().ok(), to.parse().ok()) {
        (Some(first), Some(last)) => (first, end.min(last)),
        (Some(first), None) if to.is_empty() => (first, end),
        (None, Some(last)) if from.is_empty() => (length.saturating_sub(last), end),
        _ => return None,
    };
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn players_get_the_range_that_they_ask_for() {
        for (range, expected) in [
            ("bytes=0-1", Some((0, 1))),
            ("bytes=5-", Some((5, 9))),
            ("bytes=-3", Some((7, 9))),
            ("bytes=2-99", Some((2, 9))),
            ("bytes=-99", Some((0, 9))),
            ("bytes=10-", None),
            ("bytes=0-1,4-5", None),
            ("lines=0-1", None),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        let asked = HeaderMap::from_iter([(header::RANGE, "bytes=0-3".parse().unwrap())]);
        let some = answer("tide.webm", &asked);
        assert_eq!(some.status(), StatusCode::PARTIAL_CONTENT);
        assert!(some.headers()[header::CONTENT_RANGE].to_str().unwrap().starts_with("bytes 0-3/"));
        assert_eq!(answer("tide.jpg", &HeaderMap::new()).status(), StatusCode::OK);
    }

    #[test]
    fn the_clip_is_small() {
        assert!(FILES.iter().map(|(.., bytes)| bytes.len()).sum::<usize>() < 250_000);
    }
}
