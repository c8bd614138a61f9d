//! What the endpoints share with which services send and get lines of JSON (NDJSON): who asks, refusals, and an answer
//! that is written line by line.

use std::{sync::Arc, time::Duration};

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use graphql_transport::http::{Authenticate, AuthenticateError, viewer_of};
use serde::Serialize;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::streamed::{Piece, body_of};
use crate::{
    accounts::{Principal, Viewer},
    store::service_keys::ServiceKey,
};

/// A client that takes no line for this long counts as gone.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// Seconds after which what was refused because of others may be tried again.
const RETRY_AFTER: u64 = 10;

/// Why a request is refused, or why it ends early: an answer, or the last line of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    #[serde(skip)]
    status: StatusCode,
    /// The last line whose result is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

impl Stopped {
    /// `message`: a sentence that says what to do.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, line: None, code, message: message.into(), retry_after: None }
    }

    /// The request itself is not of the required form.
    pub fn malformed(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_USER_INPUT", message)
    }

    /// Others take the room.
    pub fn busy(message: &str) -> Self {
        let stopped = Self::new(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", message);
        Self { retry_after: Some(RETRY_AFTER), ..stopped }
    }

    /// The key is not good, or not any more.
    pub fn without_key(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message)
    }

    /// This server cannot do it now.
    pub fn failed(message: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "INTERNAL_SERVER_ERROR", message)
    }

    /// The same, after the result of `line`.
    #[must_use]
    pub fn after(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// In the words of the services' log.
    pub const fn code(&self) -> &'static str {
        self.code
    }
}

impl IntoResponse for Stopped {
    fn into_response(self) -> Response {
        let mut response = (self.status, HEADERS, line("stopped", &self)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

const HEADERS: [(header::HeaderName, &str); 2] =
    [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];

/// A line that is an object with one member.
pub fn line(name: &str, value: &impl Serialize) -> String {
    let value = serde_json::to_string(value).unwrap_or_default();
    format!("{{\"{name}\":{value}}}\n")
}

/// A service, and as whom it acts.
pub struct Asker {
    /// Its key.
    pub key: Arc<ServiceKey>,
    /// As whom it acts.
    pub user: Option<Viewer>,
    /// Both.
    pub principal: Principal,
}

/// Whom the endpoints let in, and until when.
#[derive(Clone)]
pub struct Entrance {
    /// Verifies keys.
    pub authenticate: Arc<dyn Authenticate<Principal>>,
    /// Cancelled when the node begins to drain.
    pub draining: CancellationToken,
}

impl Entrance {
    /// The service that asks.
    pub async fn service(&self, headers: &HeaderMap) -> Result<Asker, Stopped> {
        let principal = viewer_of(headers, &*self.authenticate).await.map_err(refused)?;
        match principal {
            Some(Principal::Service(key, user)) => {
                Ok(Asker { key: Arc::clone(&key), user, principal: Principal::Service(key, user) })
            }
            Some(Principal::Viewer(..)) => {
                let message = "This is for services. Send the key of one, which `tidefeed service add` makes.";
                Err(Stopped::new(StatusCode::FORBIDDEN, "FORBIDDEN", message))
            }
            None => {
                let message = "Send the key of a service, as \"Authorization: Bearer tfs_..\".";
                Err(Stopped::without_key(message))
            }
        }
    }

    /// Completes when what the service has begun must end: the node stops, or the key is over, or the user as whom it
    /// acts.
    pub fn closing(&self, principal: Principal) -> BoxFuture<'static, Stopped> {
        let Self { authenticate, draining } = self.clone();
        Box::pin(async move {
            let until = authenticate.good_for(&principal);
            let expired = async {
                match until {
                    Some(left) => sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = draining.cancelled() => {
                    let message = "This node stops. Send the same again to another one, or a little later.";
                    Stopped::new(StatusCode::SERVICE_UNAVAILABLE, "STOPPING", message)
                }
                () = authenticate.until_revoked(&principal) => Stopped::without_key(KEY_OVER),
                () = expired => Stopped::without_key(KEY_OVER),
            }
        })
    }
}

const KEY_OVER: &str = "The service's key has ended, or the user as whom it acts. Send the same again with another.";

fn refused(error: AuthenticateError) -> Stopped {
    match error {
        AuthenticateError::Invalid(message) => Stopped::without_key(message),
        AuthenticateError::Forbidden(message) => Stopped::new(StatusCode::FORBIDDEN, "FORBIDDEN", message),
        AuthenticateError::NoSuchViewer(message) => Stopped::malformed(&message),
        AuthenticateError::Unavailable(cause) => {
            tracing::error!(%cause, "A service's key could not be checked.");
            Stopped::failed("The key cannot be checked at the moment. Try again a little later.")
        }
    }
}

/// Nobody takes what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client has left, or takes nothing")]
pub struct NotTaken;

/// Writes an answer line by line. Dropped without an end, the answer breaks off.
#[derive(Clone)]
pub struct AnswerWriter(mpsc::Sender<Piece>);

impl AnswerWriter {
    /// An answer with status 200.
    pub fn begin() -> (Self, Response) {
        // One line is being sent while the next one is made.
        let (sender, sent) = mpsc::channel(1);
        (Self(sender), (HEADERS, body_of(sent)).into_response())
    }

    /// Sends whole lines when the client has taken the former ones.
    pub async fn send(&self, lines: String) -> Result<(), NotTaken> {
        self.piece(Some(lines)).await
    }

    /// Sends a line if there is room at once.
    pub fn offer(&self, line: String) {
        // Somebody who takes nothing now is told more later.
        let _ = self.0.try_send(Some(line));
    }

    /// Sends the last line.
    pub async fn end(self, line: String) -> Result<(), NotTaken> {
        self.piece(Some(line)).await?;
        self.piece(None).await
    }

    /// Completes when the client has left.
    pub async fn left(&self) {
        self.0.closed().await;
    }

    async fn piece(&self, piece: Piece) -> Result<(), NotTaken> {
        let sent = timeout(STALLED_AFTER, self.0.send(piece)).await;
        if matches!(sent, Ok(Ok(()))) { Ok(()) } else { Err(NotTaken) }
    }
}
