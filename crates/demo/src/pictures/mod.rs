//! Draws small pictures that never change: landscapes for the posts of the seeded world, portraits for its people, and
//! an avatar and a banner for every user.
//!
//! Nothing is stored: a picture is a few kilobytes of SVG, drawn at each request. The one clip is a file, which
//! `examples/clip.rs` has drawn.

mod choices;
mod clip;
mod coast;
mod colour;
mod landscape;
mod portrait;
mod response;

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use xxhash_rust::xxh3::xxh3_64;

use self::response::{headers, missing};
pub use self::{
    clip::{CLIP, CLIP_SIZE},
    landscape::{HEIGHT, SCENES, WIDTH},
};

/// Characters of a name.
const MAX_NAME_CHARS: usize = 64;

/// `GET /pictures/{number}.svg`, `/portraits/{name}.svg`, `/avatars/{name}.svg` and `/banners/{name}.svg`. A name is a
/// user's id, a number, or anything else of 1 to 64 letters, digits, `-` and `_`. And `/clips/{file}`: the clip, and
/// its first frame as `.jpg`.
pub fn router() -> Router {
    Router::new()
        .route(
            "/pictures/{file}",
            get(async |path: Path<String>, asked: HeaderMap| answer(numbered(&path).map(landscape::draw), &asked)),
        )
        .route(
            "/portraits/{file}",
            get(async |path: Path<String>, asked: HeaderMap| answer(named(&path).map(portrait::draw), &asked)),
        )
        .route(
            "/avatars/{file}",
            get(async |path: Path<String>, asked: HeaderMap| answer(named(&path).map(coast::avatar), &asked)),
        )
        .route(
            "/banners/{file}",
            get(async |path: Path<String>, asked: HeaderMap| answer(named(&path).map(coast::banner), &asked)),
        )
        .route("/clips/{file}", get(async |path: Path<String>, asked: HeaderMap| clip::answer(&path, &asked)))
}

/// Accepts one address for each picture: no "007.svg", no "+7.svg".
fn numbered(file: &str) -> Option<u32> {
    let number = file.strip_suffix(".svg")?.parse::<u32>().ok()?;
    Some(number).filter(|number| format!("{number}.svg") == file)
}

fn named(file: &str) -> Option<&str> {
    let name = file.strip_suffix(".svg")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    Some(name).filter(|name| (1..=MAX_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_plain))
}

fn answer(svg: Option<String>, asked: &HeaderMap) -> Response {
    let Some(svg) = svg else { return missing() };
    // Weak: the server may compress it.
    let tag = format!("W/\"{:016x}\"", xxh3_64(svg.as_bytes()));
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|known| known.trim() == tag);
    let headers = headers("image/svg+xml");
    let tag = [(header::ETAG, tag)];
    if is_known {
        (StatusCode::NOT_MODIFIED, headers, tag).into_response()
    } else {
        (headers, tag, svg).into_response()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use axum::{body::Body, http::Request};
    use tower::ServiceExt as _;

    use super::{response::POLICY, *};

    async fn fetch(path: &str, known: &str) -> (Response, String) {
        let request = Request::get(path).header(header::IF_NONE_MATCH, known).body(Body::empty()).unwrap();
        let (parts, body) = router().oneshot(request).await.unwrap().into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        (Response::from_parts(parts, Body::empty()), String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_picture_is_kept_for_ever_and_runs_nothing() {
        for path in [
            "/pictures/12345.svg",
            "/portraits/U_AAAAAAAAAAE.svg",
            "/avatars/U_AAAAAAAAAAE.svg",
            "/avatars/7.svg",
            "/banners/U_AAAAAAAAAAE.svg",
        ] {
            let (answer, svg) = fetch(path, "").await;
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            let header = |name| answer.headers()[name].to_str().unwrap();
            assert_eq!(header(header::CONTENT_TYPE), "image/svg+xml");
            assert!(header(header::CACHE_CONTROL).ends_with("immutable"));
            assert_eq!(header(header::CONTENT_SECURITY_POLICY), POLICY);
            assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>") && svg.len() < 16_000, "{}", svg.len());
            assert!(!svg.contains("script"));
            let (again, nothing) = fetch(path, header(header::ETAG)).await;
            assert_eq!((again.status(), nothing.as_str()), (StatusCode::NOT_MODIFIED, ""), "{path}");
        }
    }

    #[tokio::test]
    async fn a_picture_has_one_address() {
        let long = format!("/avatars/{}.svg", "a".repeat(MAX_NAME_CHARS + 1));
        for path in [
            "/pictures/007.svg",
            "/pictures/+7.svg",
            "/pictures/7",
            "/pictures/7.png",
            "/pictures/4294967296.svg",
            "/avatars/.svg",
            "/avatars/a%20b.svg",
            "/avatars/a.b.svg",
            "/banners/7.png",
            "/portraits/a.b.svg",
            "/clips/tide.mp4",
            "/clips/tide",
            "/banners/%3Cb%3E.svg",
            &long,
        ] {
            assert_eq!(fetch(path, "").await.0.status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
}
