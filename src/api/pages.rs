//! Serves the web pages from the binary: the demo at `/` and the playground at `/graphiql/`.
//!
//! The API works without them. `scripts/web.sh` compresses the files, because the best compression is too slow for
//! each request; `build.rs` embeds them in that form.

use std::{
    io::{Read as _, Write as _},
    sync::{LazyLock, OnceLock},
};

use axum::{
    Router,
    body::Bytes,
    extract::{RawQuery, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use sha2::{Digest as _, Sha256};

use super::graphql::schema_sdl;

/// A file of the pages.
#[derive(Debug)]
struct Asset {
    /// Its path, with a leading slash.
    route: &'static str,
    content_type: &'static str,
    /// A hash of the bytes, in hexadecimal.
    etag: &'static str,
    bytes: Packed,
    /// A brotli form, for the files that the demo loads.
    brotli: Option<&'static [u8]>,
}

/// A file in the form in which the binary holds it.
#[derive(Debug)]
enum Packed {
    /// Not compressed: too small, or of a compressed format.
    Plain(&'static [u8]),
    Gzip {
        bytes: &'static [u8],
        /// The unpacked file, once a client without gzip has requested it.
        unpacked: OnceLock<Bytes>,
    },
}

impl Packed {
    /// `bytes` as the binary holds them, gzipped or plain.
    const fn new(bytes: &'static [u8], is_gzip: bool) -> Self {
        if is_gzip { Self::Gzip { bytes, unpacked: OnceLock::new() } } else { Self::Plain(bytes) }
    }

    const fn gzip(&self) -> Option<&'static [u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip { bytes, .. } => Some(bytes),
        }
    }

    /// The plain file. The first call unpacks and keeps it; clients without gzip are rare.
    fn plain(&self) -> Bytes {
        match self {
            Self::Plain(bytes) => Bytes::from_static(bytes),
            Self::Gzip { bytes, unpacked } => unpacked.get_or_init(|| unpack(bytes)).clone(),
        }
    }
}

fn unpack(packed: &[u8]) -> Bytes {
    let mut bytes = Vec::new();
    if let Err(error) = GzDecoder::new(packed).read_to_end(&mut bytes) {
        // `the_packed_pages_are_whole` unpacks every file of the binary.
        tracing::error!(error = &error as &dyn std::error::Error, "A file of the pages cannot be unpacked.");
    }
    bytes.shrink_to_fit();
    bytes.into()
}

// `build.rs` generates `ASSETS`.
include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Whether the pages were built. If not, one page explains how.
const BUILT: bool = matches!(env!("TIDEFEED_PAGES").as_bytes(), b"built");

/// What a page may load: its own assets, pictures and videos of any secure origin, and this server's API. The
/// playground's editor needs inline styles and blob workers.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data: blob: https:; media-src 'self' https:; font-src 'self' data:; connect-src 'self'; \
     worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The schema as a file, which is compressed once.
static SCHEMA: LazyLock<Asset> = LazyLock::new(|| Asset::text("/schema.graphql", schema_sdl()));

/// The answer to a request for the schema.
pub fn schema(asked: &HeaderMap) -> Response {
    SCHEMA.answer(asked)
}

/// The text for programs other than browsers that ask for a path which does not exist.
pub const NO_SUCH_PATH: &str =
    "There is nothing at this path. Send queries to /graphql; its schema is at /schema.graphql.\n";

/// The pages' routes. `/` is not among them with `api.public_pages`, which has a page of its own there.
pub fn router(has_root: bool) -> Router {
    serve(&ASSETS, BUILT, has_root)
}

/// The app's document.
pub fn document() -> String {
    let asset = ASSETS.iter().find(|asset| asset.route == "/index.html");
    asset.map(|asset| String::from_utf8_lossy(&asset.bytes.plain()).into_owned()).unwrap_or_default()
}

fn serve(assets: &'static [Asset], built: bool, has_root: bool) -> Router {
    let graphiql = if built { "/graphiql/index.html" } else { "/index.html" };
    let mut router = Router::new().route("/graphiql", get(to_graphiql));
    for asset in assets {
        let answer = async move |headers: HeaderMap| asset.answer(&headers);
        router = router.route(asset.route, get(answer));
        for (alias, meant) in [("/", "/index.html"), ("/graphiql/", graphiql)] {
            if asset.route == meant && (has_root || alias != "/") {
                router = router.route(alias, get(answer));
            }
        }
    }
    router.route_layer(from_fn(with_headers))
}

/// Sends `/graphiql` to the page with what it is asked to show. The target is relative, so that it is right below any
/// prefix that a proxy strips, and no browser keeps the answer: a permanent one it would keep for ever.
async fn to_graphiql(RawQuery(query): RawQuery) -> Redirect {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Redirect::temporary(&format!("graphiql/{query}"))
}

/// Sends a browser that opens `/graphql` as a page to GraphiQL, with the query that it brings. Programs ask for JSON or
/// for anything.
pub async fn lead_browsers(request: Request, next: Next) -> Response {
    let accepts_page = |headers: &HeaderMap| {
        let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
        accepted.contains("text/html") && !accepted.contains("json")
    };
    if request.method() == Method::GET && request.uri().path() == "/graphql" && accepts_page(request.headers()) {
        return to_graphiql(RawQuery(request.uri().query().map(str::to_owned))).await.into_response();
    }
    next.run(request).await
}

impl Asset {
    /// A text that the binary makes itself. It is never freed.
    fn text(route: &'static str, text: String) -> Self {
        let etag = etag_of(text.as_bytes());
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        let bytes = match gzip.write_all(text.as_bytes()).and_then(|()| gzip.finish()) {
            Ok(packed) => Packed::Gzip { bytes: packed.leak(), unpacked: OnceLock::from(Bytes::from(text)) },
            Err(_) => Packed::Plain(text.leak().as_bytes()),
        };
        Self { route, content_type: "text/plain; charset=utf-8", etag: etag.leak(), bytes, brotli: None }
    }

    /// 304 if the client has the file; otherwise the smallest form that it accepts. Each form has its own tag.
    fn answer(&self, asked: &HeaderMap) -> Response {
        let forms = [("br", self.brotli), ("gzip", self.bytes.gzip())];
        let weighed = forms.into_iter().filter_map(|(coding, bytes)| Some((coding, bytes?, weight(asked, coding))));
        // On ties the first wins, because `max_by` returns the last of the reversed list.
        let best = weighed.rev().filter(|(.., weight)| *weight > 0.0).max_by(|a, b| a.2.total_cmp(&b.2));
        let (coding, packed) = best.map_or((None, None), |(coding, bytes, _)| (Some(coding), Some(bytes)));
        let etag = format!("\"{}{}\"", self.etag, coding.map(|coding| format!("-{coding}")).unwrap_or_default());
        let is_known = has(asked, &etag);
        let headers = [
            (header::CACHE_CONTROL, "no-cache".to_owned()),
            (header::ETAG, etag),
            (header::VARY, "accept-encoding".to_owned()),
        ];
        if is_known {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        let bytes = packed.map_or_else(|| self.bytes.plain(), Bytes::from_static);
        let coding = coding.map(|coding| [(header::CONTENT_ENCODING, coding)]);
        (headers, [(header::CONTENT_TYPE, self.content_type)], coding, bytes).into_response()
    }
}

/// A hash of the bytes, in hexadecimal.
pub fn etag_of(bytes: &[u8]) -> String {
    let nibbles = Sha256::digest(bytes).iter().take(16).flat_map(|byte| [byte >> 4, byte & 15]).collect::<Vec<_>>();
    nibbles.into_iter().filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect()
}

/// Whether the client has the form with this tag, which need not be the same bytes (RFC 9110, 8.8.3.2).
pub fn has(asked: &HeaderMap, etag: &str) -> bool {
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    known.split(',').any(|tag| opaque(tag) == opaque(etag))
}

/// The client's quality value for a coding (RFC 9110, 12.5.3): 0 means never.
fn weight(asked: &HeaderMap, coding: &str) -> f32 {
    let lines = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut named = lines.flat_map(|line| line.split(',')).filter_map(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(1.0, |q| q.parse().unwrap_or(0.0));
        name.trim().eq_ignore_ascii_case(coding).then_some(weight)
    });
    named.next_back().unwrap_or(0.0)
}

/// Adds the headers of a page, and lets names with a hash be kept for ever.
pub async fn with_headers(request: Request, next: Next) -> Response {
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

/// Whether the name holds a hash of the contents, as Vite writes it: `/assets/index-DiwrgTda.js`. Such a file never
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
    use axum::body::{Body, HttpBody};
    use tower::ServiceExt as _;

    use super::*;

    const PATH: &str = "/assets/index-DiwrgTda.js";
    const SCRIPT: &[u8] = b"export {}; // a text of which much is the same, much is the same, much is the same";

    static FIXTURE: [Asset; 4] = [
        asset("/index.html", "text/html", b"<!doctype html>demo"),
        asset("/graphiql/index.html", "text/html", b"<!doctype html>graphiql"),
        asset("/assets/index-DiwrgTda.js", "text/javascript", b"export {}"),
        asset("/favicon.svg", "image/svg+xml", b"<svg/>"),
    ];

    const fn asset(route: &'static str, content_type: &'static str, bytes: &'static [u8]) -> Asset {
        Asset { route, etag: route, content_type, bytes: Packed::Plain(bytes), brotli: None }
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
            let (status, headers, body) = fetch(serve(&FIXTURE, true, true), path, "").await;
            assert_eq!(
                (status, headers[header::CACHE_CONTROL].to_str().unwrap()),
                (StatusCode::OK, "no-cache"),
                "{path}"
            );
            assert!(body.ends_with(text) && headers.contains_key(header::ETAG), "{path}: {body}");
        }
    }

    #[tokio::test]
    async fn graphiql_without_its_slash_is_sent_there_with_its_query() {
        for (path, target) in [
            ("/graphiql", "graphiql/"),
            ("/graphiql?query=%7Bviewer%7Bid%7D%7D", "graphiql/?query=%7Bviewer%7Bid%7D%7D"),
        ] {
            let (status, headers, _) = fetch(serve(&FIXTURE, true, true), path, "").await;
            let expected = (StatusCode::TEMPORARY_REDIRECT, &HeaderValue::from_static(target));
            assert_eq!((status, &headers[header::LOCATION]), expected);
        }
    }

    #[tokio::test]
    async fn only_a_browser_at_the_api_is_sent_to_graphiql() {
        let page = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (method, path, accepted, target) in [
            (Method::GET, "/graphql", page, Some("graphiql/")),
            (Method::GET, "/graphql?query=%7Bviewer%7Bid%7D%7D", page, Some("graphiql/?query=%7Bviewer%7Bid%7D%7D")),
            (Method::GET, "/graphql", "*/*", None),
            (Method::GET, "/graphql", "application/json, text/html", None),
            (Method::POST, "/graphql", page, None),
            (Method::GET, "/graphql/stream", page, None),
        ] {
            let router = Router::new().fallback(async || "the API").layer(from_fn(lead_browsers));
            let request = Request::builder().method(method).uri(path).header(header::ACCEPT, accepted);
            let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let location = response.headers().get(header::LOCATION).map(|location| location.to_str().unwrap());
            assert_eq!(location, target, "{path} {accepted}");
        }
    }

    #[tokio::test]
    async fn only_names_with_a_hash_are_kept_for_ever() {
        let (_, headers, _) = fetch(serve(&FIXTURE, true, true), "/assets/index-DiwrgTda.js", "").await;
        assert!(headers[header::CACHE_CONTROL].to_str().unwrap().ends_with("immutable"));
        let (_, headers, _) = fetch(serve(&FIXTURE, true, true), "/favicon.svg", "").await;
        assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
        for path in ["/assets/index.js", "/assets/a-b.js", "/x/index-DiwrgTda.js", "/assets/é-Diwrg da.js", "/assets/"]
        {
            assert!(!is_hashed(path), "{path}");
        }
    }

    #[tokio::test]
    async fn an_unchanged_page_is_answered_with_304() {
        let (status, headers, body) =
            fetch(serve(&FIXTURE, true, true), "/assets/index-DiwrgTda.js", "\"/assets/index-DiwrgTda.js\"").await;
        assert_eq!((status, body.as_str()), (StatusCode::NOT_MODIFIED, ""));
        assert!(headers.contains_key(header::CONTENT_SECURITY_POLICY));
    }

    /// A script that is in the binary as gzip, and as brotli if `brotli`.
    fn packed(brotli: bool) -> &'static [Asset] {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(SCRIPT).unwrap();
        let bytes = Packed::Gzip { bytes: gzip.finish().unwrap().leak(), unpacked: OnceLock::new() };
        let brotli = brotli.then_some(&b"brotli"[..]);
        Box::leak(Box::new([Asset { route: PATH, etag: PATH, content_type: "text/javascript", bytes, brotli }]))
    }

    #[tokio::test]
    async fn assets_are_compressed_for_clients_that_accept_it() {
        for (has_brotli, accepted, sent) in [
            (true, "br, gzip", Some("br")),
            (true, "gzip, deflate, br, zstd", Some("br")),
            (true, "gzip", Some("gzip")),
            (true, "br;q=0.1, gzip;q=0.9", Some("gzip")),
            (true, "br; q=0, GZIP", Some("gzip")),
            (true, "br;q=0", None),
            (true, "identity", None),
            (false, "gzip, deflate, br, zstd", Some("gzip")),
            (false, "br", None),
        ] {
            let assets = packed(has_brotli);
            let request = Request::get(PATH).header(header::ACCEPT_ENCODING, accepted);
            let response = serve(assets, true, true).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            let (parts, body) = response.into_parts();
            let encoding = parts.headers.get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap());
            assert_eq!(encoding, sent, "{accepted}");
            let expected = match sent {
                Some("br") => b"brotli",
                Some(_) => assets[0].bytes.gzip().unwrap(),
                None => SCRIPT,
            };
            assert_eq!(axum::body::to_bytes(body, 1 << 20).await.unwrap(), expected, "{accepted}");
            assert_eq!(parts.headers[header::VARY], "accept-encoding");
            let etag = format!("\"{PATH}{}\"", sent.map(|sent| format!("-{sent}")).unwrap_or_default());
            assert_eq!(parts.headers[header::ETAG], etag.as_str(), "{accepted}");
        }
    }

    #[test]
    fn the_schema_is_compressed_once_for_all_requests() {
        let gzip = SCHEMA.bytes.gzip().unwrap();
        let (plain, unpacked) = (SCHEMA.bytes.plain(), unpack(gzip));
        assert!(plain == unpacked && plain == schema_sdl() && gzip.len() < plain.len() / 3);
        let asked = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br"))]);
        let answer = schema(&asked);
        assert_eq!(answer.headers()[header::CONTENT_ENCODING], "gzip");
        assert_eq!(HttpBody::size_hint(answer.body()).exact(), Some(gzip.len() as u64));
    }

    #[test]
    fn a_file_is_unpacked_once_however_often_it_is_asked_for() {
        let asset = &packed(false)[0];
        assert_eq!(asset.bytes.plain().as_ptr(), asset.bytes.plain().as_ptr());
    }

    #[test]
    fn the_packed_pages_are_whole() {
        for asset in &ASSETS {
            let Some(gzip) = asset.bytes.gzip() else { continue };
            let plain = asset.bytes.plain();
            let hash = Sha256::digest(&plain);
            let tag = hash.iter().take(16).zip(asset.etag.as_bytes().chunks(2));
            let fits = |byte: &u8, hex: &[u8]| format!("{byte:02x}").as_bytes() == hex;
            assert!(tag.clone().count() == 16 && tag.into_iter().all(|(byte, hex)| fits(byte, hex)), "{}", asset.route);
            let brotli = asset.brotli.map_or(0, <[u8]>::len);
            assert!(brotli < gzip.len() && gzip.len() < plain.len(), "{}", asset.route);
        }
    }

    #[test]
    fn built_scripts_are_packed_and_those_of_the_demo_a_second_time() {
        let scripts = ASSETS.iter().filter(|asset| asset.content_type.starts_with("text/javascript"));
        let is_packed = |asset: &&Asset| asset.bytes.gzip().is_some() || asset.bytes.plain().len() < 1_024;
        assert!(scripts.clone().all(|asset| is_packed(&asset)));
        let (all, twice) = (scripts.clone().count(), scripts.filter(|asset| asset.brotli.is_some()).count());
        assert!(!BUILT || twice > 1 && twice < all, "{twice} of {all} scripts have a second form");
    }

    #[tokio::test]
    async fn pages_cannot_be_framed_and_load_only_their_own_scripts() {
        let (_, headers, _) = fetch(serve(&FIXTURE, true, true), "/", "").await;
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[header::REFERRER_POLICY], "same-origin");
    }

    #[tokio::test]
    async fn unbuilt_pages_say_how_to_build_them() {
        static UNBUILT: [Asset; 1] =
            [asset("/index.html", "text/html", include_bytes!("../../web-demo/unbuilt/index.html"))];
        for path in ["/", "/graphiql/"] {
            let (status, _, body) = fetch(serve(&UNBUILT, false, true), path, "").await;
            assert!(status == StatusCode::OK && body.contains("make web"), "{path}: {status}");
        }
    }

    #[tokio::test]
    async fn the_binary_has_pages() {
        let (status, _, body) = fetch(router(true), "/", "").await;
        assert_eq!(status, StatusCode::OK);
        assert!(body.contains("<!doctype html>"), "{body}");
    }
}
