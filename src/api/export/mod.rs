//! `GET /export?token=..`: the export of an account as one JSON file, for links of `exportViewer`.

mod body;
mod file;
mod refusal;
mod rows;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, State, rejection::QueryRejection},
    http::{Extensions, HeaderMap, HeaderValue, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use graphql_transport::{
    http::{Charges, Client},
    payer::{self, Payer},
};
use ipnet::IpNet;
use serde::Deserialize;
use tokio_util::task::TaskTracker;

use self::{file::File, refusal::refusal};
use crate::{
    accounts::export::{ExportError, Exports},
    api::graphql::EXPORT_PATH,
    domain::limits::EXPORT_POINTS,
};

/// What exports need beside the accounts.
#[derive(Clone)]
pub struct ExportRuntime {
    /// Counts the exports under way.
    pub tasks: TaskTracker,
    /// The viewers' points.
    pub charges: Charges,
    /// Networks of proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Arc<[IpNet]>,
    /// Where clients reach the service, without a slash at its end.
    pub base_url: Arc<str>,
}

#[derive(Clone)]
struct Shared {
    exports: Arc<Exports>,
    runtime: ExportRuntime,
}

/// Any other query counts as one without a token, which is refused like an invalid one.
#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    token: String,
}

/// `GET /export`.
pub fn router(exports: Arc<Exports>, runtime: ExportRuntime) -> Router {
    Router::new().route(EXPORT_PATH, get(export)).with_state(Shared { exports, runtime })
}

async fn export(
    State(shared): State<Shared>,
    link: Result<Query<Link>, QueryRejection>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    let token = link.map(|Query(link)| link.token).unwrap_or_default();
    let client = Client::of(&headers, &extensions, &shared.runtime.trusted_proxies);
    let mut response = match open(&shared, &token, &client).await {
        Ok(response) => response,
        Err(error) => refusal(&error),
    };
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Everything that can be refused is refused before the file begins. A link's viewer pays for it, also if another opens
/// it.
async fn open(shared: &Shared, token: &str, client: &Client) -> Result<Response, ExportError> {
    let Shared { exports, runtime } = shared;
    let viewer = exports.viewer_of(token)?;
    let payer = Payer::Viewer(viewer.id.get().unsigned_abs());
    runtime.charges.charge(payer, EXPORT_POINTS).map_err(ExportError::TooManyPoints)?;
    let export = exports.open(viewer, client.address.map(payer::network)).await?;
    let owner = export.owner().await?;
    let name = format!("attachment; filename=\"tidefeed-{}.json\"", owner.profile.handle.as_str());
    let waiting = Arc::clone(exports);
    let are_others_waiting = move || waiting.are_waited_for();
    let body = body::written_by(
        File::of(export, &owner, Arc::clone(&runtime.base_url))?.pieces(),
        are_others_waiting,
        &runtime.tasks,
    );
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, body).into_response())
}
