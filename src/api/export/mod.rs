//! `GET /export?token=..`: the export of an account as one JSON file, for links of `exportViewer`.

mod body;
mod file;
mod refusal;
mod rows;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, State, rejection::QueryRejection},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
    routing::get,
};
use serde::Deserialize;
use tokio_util::task::TaskTracker;

use self::{file::File, refusal::refusal};
use crate::{
    accounts::export::{ExportError, Exports},
    api::graphql::EXPORT_PATH,
};

#[derive(Clone)]
struct Shared {
    exports: Arc<Exports>,
    tasks: TaskTracker,
}

/// Any other query counts as one without a token, which is refused like an invalid one.
#[derive(Deserialize)]
struct Link {
    #[serde(default)]
    token: String,
}

/// `GET /export`. `tasks` counts the exports under way.
pub fn router(exports: Arc<Exports>, tasks: TaskTracker) -> Router {
    Router::new().route(EXPORT_PATH, get(export)).with_state(Shared { exports, tasks })
}

async fn export(State(shared): State<Shared>, link: Result<Query<Link>, QueryRejection>) -> Response {
    let token = link.map(|Query(link)| link.token).unwrap_or_default();
    let mut response = match open(&shared, &token).await {
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

/// Everything that can be refused is refused before the file begins.
async fn open(shared: &Shared, token: &str) -> Result<Response, ExportError> {
    let export = shared.exports.open(token).await?;
    let owner = export.owner().await?;
    let name = format!("attachment; filename=\"tidefeed-{}.json\"", owner.profile.handle.as_str());
    let body = body::written_by(File::of(export, &owner)?.pieces(), &shared.tasks);
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, body).into_response())
}
