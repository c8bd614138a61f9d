//! `POST /import`: loads the file with which a product moves in, as `tidefeed import load` does (docs/moving-in.md).

mod body;
mod job;
mod runtime;

use std::{fs::File, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::post,
};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use self::job::Job;
pub use self::runtime::ImportRuntime;
use super::service_lines::{AnswerWriter, Asker, Stopped};
use crate::{domain::account::service::Scope, telemetry::metrics::REFUSED};

const PATH: &str = "/import";

struct Shared {
    runtime: ImportRuntime,
    /// One at a time: an import takes what a store has left.
    room: Arc<Semaphore>,
}

/// `POST /import`.
pub fn router(runtime: ImportRuntime) -> Router {
    let room = Arc::new(Semaphore::new(1));
    Router::new().route(PATH, post(import)).with_state(Arc::new(Shared { runtime, room }))
}

async fn import(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match begin(&shared, request).await {
        Ok(response) => response,
        Err(stopped) => {
            let mut response = stopped.into_response();
            // The rest of the body is not read.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

/// Everything that can be refused is refused before the answer begins, but for what only the whole file says.
async fn begin(shared: &Shared, request: Request) -> Result<Response, Stopped> {
    let Shared { runtime, room } = shared;
    if runtime.most_bytes == 0 {
        let message = "Imports over HTTP are off on this server. Set service.max_import_bytes to allow them.";
        return Err(Stopped::new(StatusCode::NOT_FOUND, "NOT_FOUND", message));
    }
    let (parts, body) = request.into_parts();
    let asker = runtime.entrance.service(&parts.headers).await?;
    if let Err(stopped) = permitted(&asker) {
        runtime.log.note_read(runtime.line(&asker, "import", stopped.code())).await;
        return Err(stopped);
    }
    expect_file(&parts.headers, runtime.most_bytes)?;
    let Ok(permit) = Arc::clone(room).try_acquire_owned() else {
        metrics::counter!(REFUSED, "bound" => "imports").increment(1);
        let message = "This node loads another file. Try again after the time in Retry-After.";
        return Err(Stopped::busy(message));
    };
    let mut closing = runtime.entrance.closing(asker.principal.clone());
    let file: File = tokio::select! {
        stopped = &mut closing => return Err(stopped),
        kept = body::kept(body, runtime.most_bytes) => kept?,
    };
    let (answer, response) = AnswerWriter::begin();
    let job = Job { file, answer, closing, asker, runtime: runtime.clone() };
    let run = async move {
        job.run().await;
        drop(permit);
    };
    runtime.tasks.spawn(run.in_current_span());
    Ok(response)
}

fn permitted(asker: &Asker) -> Result<(), Stopped> {
    if !asker.key.scopes.contain(Scope::Import) {
        let message = format!("The key of `{}` lacks the scope import. Use one that has it.", asker.key.service);
        return Err(Stopped::new(StatusCode::FORBIDDEN, "FORBIDDEN", message));
    }
    if asker.user.is_some() {
        return Err(Stopped::malformed("A file is loaded for all users. Leave the header tidefeed-act-as out."));
    }
    Ok(())
}

fn expect_file(headers: &HeaderMap, most_bytes: u64) -> Result<(), Stopped> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
    if encoding.is_some_and(|it| ![&b"identity"[..], b"gzip"].iter().any(|known| it.eq_ignore_ascii_case(known))) {
        let message = "The file may be plain, or packed with gzip. Send it in one of these forms.";
        return Err(Stopped::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "BAD_USER_INPUT", message));
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > most_bytes) { Err(body::too_long(most_bytes)) } else { Ok(()) }
}
