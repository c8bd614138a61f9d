//! The web pages: the demo at `/` and the playground at `/graphiql/`, out of the binary.
//!
//! The API does not need them. `build.rs` collects the files, each with the compressed forms that `scripts/web.sh` has
//! made: the best compression takes too long to run at each request.

use axum::{
    Router,
    body::Bytes,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};

/// A file of the pages.
#[derive(Debug)]
struct Asset {
    /// Its path, with a slash before it.
    route: &'static str,
    content_type: &'static str,
    /// A hash of the bytes, in hexadecimal.
    etag: &'static str,
    bytes: &'static [u8],
    /// The same, compressed; `None` for what is too small or compressed by itself.
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

/// What `build.rs` has found.
static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Whether the pages were built; if not, there is one page that says how.
const BUILT: bool = matches!(env!("TIDEFEED_PAGES").as_bytes(), b"built");

/// What a page may load: its own assets, pictures and videos of any secure origin, and this server's API. Styles may
/// be inline and workers may be blobs because the playground's editor makes them so.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data: blob: https:; media-src 'self' https:; font-src 'self' data:; connect-src 'self'; \
     worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The pages' routes.
pub fn router() -> Router {
    serve(ASSETS, BUILT)
}

fn serve(assets: &'static [Asset], built: bool) -> Router {
    let graphiql = if built { "/graphiql/index.html" } else { "/index.html" };
    let mut router = Router::new().route("/graphiql", get(async || Redirect::permanent("/graphiql/")));
    for asset in assets {
        let answer = async move |headers: HeaderMap| asset.answer(&headers);
        router = router.route(asset.route, get(answer));
        for (alias, meant) in [("/", "/index.html"), ("/graphiql/", graphiql)] {
            if asset.route == meant {
                router = router.route(alias, get(answer));
            }
        }
    }
    router.route_layer(from_fn(with_headers))
}

impl Asset {
    /// 304 if the client has it, else the form that is the smallest of those that it takes. Each form has a tag of its
    /// own.
    fn answer(&self, asked: &HeaderMap) -> Response {
        let forms = [("br", self.brotli), ("gzip", self.gzip)];
        let weighed = forms.into_iter().filter_map(|(coding, bytes)| Some((coding, bytes?, weight(asked, coding))));
        // Of equals the first: `max_by` takes the last.
        let best = weighed.rev().filter(|(.., weight)| *weight > 0.0).max_by(|a, b| a.2.total_cmp(&b.2));
        let (coding, bytes) = best.map_or((None, self.bytes), |(coding, bytes, _)| (Some(coding), bytes));
        let etag = format!("\"{}{}\"", self.etag, coding.map(|coding| format!("-{coding}")).unwrap_or_default());
        let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
        let is_known = known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag);
        let headers = [
            (header::CACHE_CONTROL, "no-cache".to_owned()),
            (header::ETAG, etag),
            (header::VARY, "accept-encoding".to_owned()),
        ];
        if is_known {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let coding = coding.map(|coding| [(header::CONTENT_ENCODING, coding)]);
        (headers, [(header::CONTENT_TYPE, self.content_type)], coding, Bytes::from_static(bytes)).into_response()
    }
}

/// How much a client wants a coding of RFC 9110, 12.5.3: 0 is not at all.
fn weight(asked: &HeaderMap, coding: &str) -> f32 {
    let lines = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut named = lines.flat_map(|line| line.split(',')).filter_map(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(1.0, |q| q.parse().unwrap_or(0.0));
        name.trim().eq_ignore_ascii_case(coding).then_some(weight)
    });
    named.next_back().unwrap_or(0.0)
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

/// Whether the name holds a hash of the contents, as Vite writes it: `/assets/index-DiwrgTda.js`. Then it never
/// changes.
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
        Asset { route, etag: route, content_type, bytes, brotli: Some(b"small"), gzip: Some(b"smaller") }
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
            let (status, headers, body) = fetch(serve(FIXTURE, true), path, "").await;
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
        let (status, headers, _) = fetch(serve(FIXTURE, true), "/graphiql", "").await;
        assert_eq!(
            (status, &headers[header::LOCATION]),
            (StatusCode::PERMANENT_REDIRECT, &HeaderValue::from_static("/graphiql/"))
        );
    }

    #[tokio::test]
    async fn only_names_with_a_hash_are_kept_for_ever() {
        let (_, headers, _) = fetch(serve(FIXTURE, true), "/assets/index-DiwrgTda.js", "").await;
        assert!(headers[header::CACHE_CONTROL].to_str().unwrap().ends_with("immutable"));
        let (_, headers, _) = fetch(serve(FIXTURE, true), "/favicon.svg", "").await;
        assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
        for path in ["/assets/index.js", "/assets/a-b.js", "/x/index-DiwrgTda.js", "/assets/é-Diwrg da.js", "/assets/"]
        {
            assert!(!is_hashed(path), "{path}");
        }
    }

    #[tokio::test]
    async fn what_the_client_has_is_not_sent_again() {
        let (status, headers, body) =
            fetch(serve(FIXTURE, true), "/assets/index-DiwrgTda.js", "\"/assets/index-DiwrgTda.js\"").await;
        assert_eq!((status, body.as_str()), (StatusCode::NOT_MODIFIED, ""));
        assert!(headers.contains_key(header::CONTENT_SECURITY_POLICY));
    }

    #[tokio::test]
    async fn assets_are_compressed_for_who_can_read_it() {
        for (accepted, sent, text) in [
            ("br, gzip", Some("br"), "small"),
            ("gzip, deflate, br, zstd", Some("br"), "small"),
            ("gzip", Some("gzip"), "smaller"),
            ("br;q=0.1, gzip;q=0.9", Some("gzip"), "smaller"),
            ("br; q=0, GZIP", Some("gzip"), "smaller"),
            ("br;q=0", None, "export {}"),
            ("identity", None, "export {}"),
        ] {
            let request = Request::get("/assets/index-DiwrgTda.js").header(header::ACCEPT_ENCODING, accepted);
            let response = serve(FIXTURE, true).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let (parts, body) = response.into_parts();
            let encoding = parts.headers.get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap());
            assert_eq!(encoding, sent, "{accepted}");
            let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            assert_eq!(bytes, text, "{accepted}");
            assert_eq!(parts.headers[header::VARY], "accept-encoding");
            let etag =
                format!("\"/assets/index-DiwrgTda.js{}\"", sent.map(|sent| format!("-{sent}")).unwrap_or_default());
            assert_eq!(parts.headers[header::ETAG], etag.as_str(), "{accepted}");
        }
    }

    #[test]
    fn brotli_is_smaller_than_gzip_and_gzip_than_the_file() {
        let compressed = ASSETS.iter().filter_map(|asset| Some((asset, asset.brotli?, asset.gzip?)));
        for (asset, brotli, gzip) in compressed.clone() {
            let (brotli, gzip, plain) = (brotli.len(), gzip.len(), asset.bytes.len());
            assert!(brotli < gzip && gzip < plain, "{}: {brotli} of {gzip} of {plain} bytes", asset.route);
        }
        let scripts = ASSETS
            .iter()
            .filter(|asset| asset.content_type.starts_with("text/javascript") && asset.bytes.len() > 1_024);
        assert!(scripts.clone().all(|asset| asset.brotli.is_some() && asset.gzip.is_some()));
        assert!(!BUILT || scripts.count() > 0 && compressed.count() > 5, "built without its compressed forms");
    }

    #[tokio::test]
    async fn pages_cannot_be_framed_and_load_only_their_own_scripts() {
        let (_, headers, _) = fetch(serve(FIXTURE, true), "/", "").await;
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[header::REFERRER_POLICY], "same-origin");
    }

    #[tokio::test]
    async fn unbuilt_pages_say_how_to_build_them() {
        static UNBUILT: &[Asset] =
            &[asset("/index.html", "text/html", include_bytes!("../../web-demo/unbuilt/index.html"))];
        for path in ["/", "/graphiql/"] {
            let (status, _, body) = fetch(serve(UNBUILT, false), path, "").await;
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
