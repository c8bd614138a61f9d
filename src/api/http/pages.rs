//! The web pages: the demo at `/` and the playground at `/graphiql/`, out of the binary.
//!
//! Apart from the API, which does without them. It refuses to know what is on the pages; `build.rs` collects them.

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::{Next, from_fn},
    response::{Redirect, Response},
    routing::get,
};
use memory_serve::{Asset, CacheControl, MemoryServe};

/// What `build.rs` has found.
static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Whether the pages were built; if not, there is one page that says how.
const BUILT: bool = matches!(env!("TIDEFEED_PAGES").as_bytes(), b"built");

/// Whether assets are sent as brotli or gzip. Compressing takes minutes in a build without optimisation, and such a build
/// serves its own machine.
const COMPRESS: bool = !cfg!(debug_assertions);

/// What a page may load: its own assets, pictures and videos of any secure origin, and this server's API. Styles may be
/// inline and workers may be blobs because the playground's editor makes them so.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data: blob: https:; media-src 'self' https:; font-src 'self' data:; connect-src 'self'; \
     worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The pages' routes.
pub(super) fn router() -> Router {
    serve(ASSETS, BUILT, COMPRESS)
}

fn serve(assets: &'static [Asset], built: bool, compress: bool) -> Router {
    let graphiql = if built { "/graphiql/index.html" } else { "/index.html" };
    MemoryServe::new(assets)
        .index_file(Some("/index.html"))
        .add_alias("/graphiql/", graphiql)
        .html_cache_control(CacheControl::NoCache)
        .cache_control(CacheControl::NoCache)
        .enable_brotli(compress)
        .enable_gzip(compress)
        .into_router()
        .route("/graphiql", get(async || Redirect::permanent("/graphiql/")))
        .route_layer(from_fn(with_headers))
}

async fn with_headers(request: Request, next: Next) -> Response {
    let is_hashed = is_hashed(request.uri().path());
    let mut response = next.run(request).await;
    let is_asset = matches!(response.status(), StatusCode::OK | StatusCode::NOT_MODIFIED);
    secure(response.headers_mut());
    if is_asset && is_hashed {
        let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, for_ever);
    }
    response
}

fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Whether the name holds a hash of the contents, as Vite writes it: `/assets/index-DiwrgTda.js`. Then it never changes.
fn is_hashed(path: &str) -> bool {
    let Some(file) = path.strip_prefix("/assets/").and_then(|path| path.rsplit('/').next()) else {
        return false;
    };
    let stem = file.split('.').next().unwrap_or_default();
    let hash = stem.len().checked_sub(HASH_CHARS + 1).and_then(|dash| stem.get(dash..)).unwrap_or_default();
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    hash.starts_with('-') && hash.bytes().all(is_safe)
}

/// Characters of a hash in Vite's file names.
const HASH_CHARS: usize = 8;

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use axum::body::Body;
    use tower::ServiceExt as _;

    use super::*;

    static FIXTURE: &[Asset] = &[
        asset("/index.html", "text/html", b"<!doctype html>demo"),
        asset("/graphiql/index.html", "text/html", b"<!doctype html>graphiql"),
        asset("/assets/index-DiwrgTda.js", "text/javascript", b"export {}"),
        asset("/favicon.svg", "image/svg+xml", b"<svg/>"),
    ];

    const fn asset(route: &'static str, content_type: &'static str, bytes: &'static [u8]) -> Asset {
        Asset {
            route,
            path: "",
            etag: route,
            content_type,
            bytes: Some(bytes),
            is_compressed: false,
            should_compress: true,
        }
    }

    async fn fetch(router: Router, path: &str, if_none_match: &str) -> (StatusCode, HeaderMap, String) {
        let request = Request::get(path).header(header::IF_NONE_MATCH, if_none_match).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        (parts.status, parts.headers, String::from_utf8_lossy(&bytes).into_owned())
    }

    #[tokio::test]
    async fn both_pages_are_served_and_never_kept_without_asking() {
        for (path, text) in [("/", "demo"), ("/index.html", "demo"), ("/graphiql/", "graphiql")] {
            let (status, headers, body) = fetch(serve(FIXTURE, true, false), path, "").await;
            assert_eq!(
                (status, headers[header::CACHE_CONTROL].to_str().unwrap()),
                (StatusCode::OK, "no-cache"),
                "{path}"
            );
            assert!(body.ends_with(text) && headers.contains_key(header::ETAG), "{path}: {body}");
        }
    }

    #[tokio::test]
    async fn graphiql_without_its_slash_is_sent_there() {
        let (status, headers, _) = fetch(serve(FIXTURE, true, false), "/graphiql", "").await;
        assert_eq!(
            (status, &headers[header::LOCATION]),
            (StatusCode::PERMANENT_REDIRECT, &HeaderValue::from_static("/graphiql/"))
        );
    }

    #[tokio::test]
    async fn only_names_with_a_hash_are_kept_for_ever() {
        let (_, headers, _) = fetch(serve(FIXTURE, true, false), "/assets/index-DiwrgTda.js", "").await;
        assert!(headers[header::CACHE_CONTROL].to_str().unwrap().ends_with("immutable"));
        let (_, headers, _) = fetch(serve(FIXTURE, true, false), "/favicon.svg", "").await;
        assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
        for path in ["/assets/index.js", "/assets/a-b.js", "/x/index-DiwrgTda.js", "/assets/é-Diwrg da.js", "/assets/"]
        {
            assert!(!is_hashed(path), "{path}");
        }
    }

    #[tokio::test]
    async fn what_the_client_has_is_not_sent_again() {
        let (status, headers, body) =
            fetch(serve(FIXTURE, true, false), "/assets/index-DiwrgTda.js", "\"/assets/index-DiwrgTda.js\"").await;
        assert_eq!((status, body.as_str()), (StatusCode::NOT_MODIFIED, ""));
        assert!(headers.contains_key(header::CONTENT_SECURITY_POLICY));
    }

    #[tokio::test]
    async fn assets_are_compressed_for_who_can_read_it() {
        for (accepted, sent) in [("br, gzip", Some("br")), ("gzip", Some("gzip")), ("identity", None)] {
            let request = Request::get("/assets/index-DiwrgTda.js").header(header::ACCEPT_ENCODING, accepted);
            let router = serve(FIXTURE, true, true);
            let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let encoding = response.headers().get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap());
            assert_eq!(encoding, sent, "{accepted}");
        }
    }

    #[tokio::test]
    async fn pages_cannot_be_framed_and_load_only_their_own_scripts() {
        let (_, headers, _) = fetch(serve(FIXTURE, true, false), "/", "").await;
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[header::REFERRER_POLICY], "same-origin");
    }

    #[tokio::test]
    async fn unbuilt_pages_say_how_to_build_them() {
        static UNBUILT: &[Asset] =
            &[asset("/index.html", "text/html", include_bytes!("../../../web-demo/unbuilt/index.html"))];
        for path in ["/", "/graphiql/"] {
            let (status, _, body) = fetch(serve(UNBUILT, false, false), path, "").await;
            assert!(status == StatusCode::OK && body.contains("make web"), "{path}: {status}");
        }
    }

    #[tokio::test]
    async fn the_binary_has_pages() {
        let (status, _, body) = fetch(router(), "/", "").await;
        assert_eq!(status, StatusCode::OK);
        assert!(body.contains("<!doctype html>"), "{body}");
    }
}
