//! `POST /bulk`: any number of mutations of a service, one a line, with a result for each while it runs
//! (docs/services.md).

mod lines;
mod operations;
mod outcome;
mod run;

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use graphql_transport::http::{Charges, Manifest, Viewer as _, read_while_answering};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use self::{lines::Lines, run::Bulk};
use super::service_lines::{AnswerWriter, Entrance, Stopped};
use crate::{clock::SharedClock, telemetry::metrics::REFUSED};

const PATH: &str = "/bulk";
/// Bytes of a short body.
const SHORT_BYTES: usize = 256 * 1024;
const SHORT_WITHIN: Duration = Duration::from_secs(30);

/// What bulks need.
pub struct BulkRuntime {
    /// The API's own routes.
    pub api: Router,
    /// Whom it lets in.
    pub entrance: Entrance,
    /// The services' points.
    pub charges: Charges,
    /// Counts the bulks under way.
    pub tasks: TaskTracker,
    /// The clock.
    pub clock: SharedClock,
    /// The most bulks that run at once on this node; 0: none.
    pub at_once: usize,
}

struct Shared {
    runtime: BulkRuntime,
    documents: Arc<HashMap<&'static str, String>>,
    room: Arc<Semaphore>,
}

/// `manifest` with the documents that lines run, which a server of trusted documents then runs, too.
pub fn with_documents(manifest: Manifest) -> Manifest {
    operations::documents()
        .into_iter()
        .fold(manifest, |manifest, (name, text)| manifest.with(&format!("bulk-{name}"), &text))
}

/// `POST /bulk`.
pub fn router(runtime: BulkRuntime) -> Router {
    let (documents, room) = (Arc::new(operations::documents()), Arc::new(Semaphore::new(runtime.at_once)));
    Router::new().route(PATH, post(bulk)).with_state(Arc::new(Shared { runtime, documents, room }))
}

async fn bulk(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let mut response = begin(&shared, request).await.unwrap_or_else(IntoResponse::into_response);
    // The answer may end before the client has sent its whole request. The connection cannot serve another one then.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

async fn begin(shared: &Shared, request: Request) -> Result<Response, Stopped> {
    let Shared { runtime, documents, room } = shared;
    if runtime.at_once == 0 {
        let message = "Bulks are off on this server. Set service.max_bulks to allow them.";
        return Err(Stopped::new(StatusCode::NOT_FOUND, "NOT_FOUND", message));
    }
    let asker = runtime.entrance.service(request.headers()).await?;
    expect_plain(request.headers())?;
    let Ok(permit) = Arc::clone(room).try_acquire_owned() else {
        metrics::counter!(REFUSED, "bound" => "bulks").increment(1);
        return Err(Stopped::busy("As many bulks run on this node as may. Try again after the time in Retry-After."));
    };
    read_while_answering(request.extensions());
    let request = read_if_short(request).await?;
    let payer = asker.principal.payer();
    let closing = runtime.entrance.closing(asker.principal);
    let (parts, body) = request.into_parts();
    let (answer, response) = AnswerWriter::begin();
    let (api, charges, documents) = (runtime.api.clone(), runtime.charges.clone(), Arc::clone(documents));
    let clock = runtime.clock.clone();
    let lines = Lines::of(body);
    let bulk = Bulk { api, documents, parts, payer, charges, lines, answer, closing, clock, published_ms: i64::MIN };
    let run = async move {
        bulk.run().await;
        drop(permit);
    };
    runtime.tasks.spawn(run.in_current_span());
    Ok(response)
}

/// A short body is there before the answer begins, for clients and proxies that send no more once it has begun.
async fn read_if_short(request: Request) -> Result<Request, Stopped> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    if length.is_none_or(|length: usize| length > SHORT_BYTES) {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    match timeout(SHORT_WITHIN, to_bytes(body, SHORT_BYTES)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_)) => Err(Stopped::malformed("The body could not be read to its end.")),
        Err(_) => {
            let message = "The body has not come within 30 seconds. Send it again.";
            Err(Stopped::new(StatusCode::REQUEST_TIMEOUT, "TIMED_OUT", message))
        }
    }
}

fn expect_plain(headers: &HeaderMap) -> Result<(), Stopped> {
    let is_plain =
        headers.get(header::CONTENT_ENCODING).is_none_or(|it| it.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_plain {
        return Ok(());
    }
    let message = "A body with a Content-Encoding is not read here. Send the lines as they are.";
    Err(Stopped::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "BAD_USER_INPUT", message))
}
