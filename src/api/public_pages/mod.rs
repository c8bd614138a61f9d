//! Pages with addresses of their own: profiles, posts and the app's other paths, as `api.public_pages` allows. Each
//! has its title and its status, and those that anybody may read have what previews and search engines show of them.
//!
//! Pages apart from `pages.rs`, which serves files and asks no store.

mod facts;
mod html;
mod place;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Query, Request, State},
    http::{Extensions, HeaderMap, Method, StatusCode, header},
    middleware::from_fn,
    response::{IntoResponse as _, Response},
    routing::{any, get},
};
use graphql_transport::http::Manifest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::{
    facts::{Asker, Facts, Found},
    html::{Preview, Subject},
    place::Place,
};
use super::pages::{self, NO_SUCH_PATH};
use crate::store::{Accounts, Contents};

/// What the pages are made of.
pub struct PublicPages {
    /// The API's own routes. Pages ask there as clients without a token do, so they show what anybody may read, and
    /// take part in the limits of the client that opens them.
    pub api: Router,
    /// Tells deleted contents from those that never were.
    pub contents: Arc<dyn Contents>,
    /// Tells deleted accounts from handles that nobody ever had.
    pub accounts: Arc<dyn Accounts>,
    /// Where clients reach the service, without a slash at its end.
    pub base_url: String,
}

impl PublicPages {
    fn asker<'a>(&'a self, headers: &'a HeaderMap, extensions: &'a Extensions) -> Asker<'a> {
        Asker { api: self.api.clone(), contents: &*self.contents, accounts: &*self.accounts, headers, extensions }
    }
}

/// `manifest` with the documents that the pages run, which a server of trusted documents then runs, too.
pub fn with_documents(manifest: Manifest) -> Manifest {
    facts::DOCUMENTS.into_iter().fold(manifest, |manifest, (id, text)| manifest.with(id, text))
}

/// Every path that no other route has, `/robots.txt` and `/oembed`.
pub fn router(pages: PublicPages) -> Router {
    Router::new()
        .route("/", any(page))
        .route("/{*path}", any(page))
        .route("/robots.txt", get(async || ROBOTS))
        .route("/oembed", get(oembed))
        .route_layer(from_fn(pages::with_headers))
        .with_state(Arc::new(pages))
}

/// Only what costs robots and us something for nothing: pages that are of no use to them say so themselves.
const ROBOTS: &str = "User-agent: *\nDisallow: /graphql\nDisallow: /graphiql\nDisallow: /export\n";

async fn page(State(pages): State<Arc<PublicPages>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let path = parts.uri.path();
    let place = Place::parse(path);
    let is_page = accepts_html(&parts.headers);
    if !matches!(parts.method, Method::GET | Method::HEAD) || (place.is_none() && !is_page) {
        return (StatusCode::NOT_FOUND, NO_SUCH_PATH).into_response();
    }
    let root = place::root_of(path);
    let found = match &place {
        Some(place) => pages.asker(&parts.headers, &parts.extensions).find(place).await,
        None => Found::Missing,
    };
    let status = found.status();
    let body = html::page(&preview(&pages.base_url, place.as_ref(), &found), &root);
    let content_type = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    if status != StatusCode::OK {
        return (status, content_type, [(header::CACHE_CONTROL, "no-store")], found.retry_after(), body)
            .into_response();
    }
    // Asked again each time, so that nothing is shown of what has been deleted meanwhile.
    let etag = format!("W/\"{}\"", pages::etag_of(body.as_bytes()));
    let kept = [(header::CACHE_CONTROL, "no-cache".to_owned()), (header::ETAG, etag.clone())];
    if pages::has(&parts.headers, &etag) {
        return (StatusCode::NOT_MODIFIED, kept).into_response();
    }
    (content_type, kept, body).into_response()
}

/// Programs that ask for a path that does not exist get a line of text.
fn accepts_html(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).is_some_and(|it| it.contains("text/html"))
}

fn preview<'a>(base_url: &'a str, place: Option<&'a Place>, found: &'a Found) -> Preview<'a> {
    let subject = match found {
        Found::There(facts) => Subject::Facts(facts),
        Found::Itself(title) => Subject::App(title),
        Found::Missing | Found::Gone(_) | Found::Away { .. } => Subject::Refusal(found.explanation()),
    };
    Preview { base_url, subject, path: place.and_then(|place| place.canonical(found.facts().and_then(Facts::post_id))) }
}

#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    url: String,
    #[serde(default)]
    format: Option<String>,
}

/// What other sites show of a link to a post or a profile (oembed.com): a link, so that nothing of ours runs there.
async fn oembed(State(pages): State<Arc<PublicPages>>, Query(link): Query<Link>, request: Request) -> Response {
    if link.format.is_some_and(|format| format != "json") {
        return (StatusCode::NOT_IMPLEMENTED, "The only format is json.\n").into_response();
    }
    let path = link.url.strip_prefix(&pages.base_url).and_then(|path| path.split(['?', '#']).next());
    let found = match path.and_then(Place::parse) {
        Some(place) => pages.asker(request.headers(), request.extensions()).find(&place).await,
        None => Found::Missing,
    };
    if let Some(facts) = found.facts() {
        let embedded = embedded(&pages.base_url, facts);
        return ([(header::CACHE_CONTROL, "no-cache")], Json(embedded)).into_response();
    }
    let status = if found.status().is_success() { StatusCode::NOT_FOUND } else { found.status() };
    let text = "There is no post and no profile at this address that could be shown.\n";
    (status, [(header::CACHE_CONTROL, "no-store")], found.retry_after(), text).into_response()
}

fn embedded(base_url: &str, facts: &Facts) -> Value {
    let mut link = Map::from_iter([
        ("version".to_owned(), json!("1.0")),
        ("type".to_owned(), json!("link")),
        ("title".to_owned(), json!(facts.title())),
        ("provider_name".to_owned(), json!(html::SITE)),
        ("provider_url".to_owned(), json!(format!("{base_url}/"))),
    ]);
    if let Some(author) = facts.author() {
        link.insert("author_name".to_owned(), json!(author.name));
        link.insert("author_url".to_owned(), json!(format!("{base_url}/@{}", author.handle)));
    }
    if let Some((picture, (width, height))) = facts.picture().and_then(|it| Some((it, it.size()?))) {
        link.insert("thumbnail_url".to_owned(), json!(picture.url));
        link.insert("thumbnail_width".to_owned(), json!(width));
        link.insert("thumbnail_height".to_owned(), json!(height));
    }
    Value::Object(link)
}
