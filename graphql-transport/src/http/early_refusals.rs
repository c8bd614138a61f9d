//! Refuses operations for which there is no room before a request passes any layer: a node that has more to do than it
//! can must spend little on what it refuses.
//!
//! It decides nothing that the handler would decide otherwise, and leaves every request to it that it does not refuse.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody as _},
    http::{
        HeaderMap, HeaderValue, Method, Request, Response,
        header::{ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CONTENT_ENCODING, ORIGIN, VARY},
    },
};
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use super::{
    accept::Media,
    address,
    admission::Overloaded,
    handler::is_json,
    mask,
    middleware::FOR_PROGRAMS,
    outcome::{Outcome, respond},
    params::Params,
    request_id::RequestId,
    state::Core,
    viewer::{Credentials, Viewer},
};
use crate::execution::PreparedExecutor;

/// The path of operations.
const PATH: &str = "/graphql";
/// Longest body that is looked at here.
const BODY_BYTES: u64 = 16 * 1024;

/// Decides on requests before the layers of a router. Clones share it.
#[derive(Clone)]
pub struct EarlyRefusals {
    core: Arc<dyn Refuse>,
    note: fn(Duration),
}

impl EarlyRefusals {
    pub(super) fn new(core: Arc<dyn Refuse>) -> Self {
        Self { core, note: |_| () }
    }

    /// Calls `note` for each refusal with the time that it took. The layers of a router do not see it.
    #[must_use]
    pub fn noted_by(self, note: fn(Duration)) -> Self {
        Self { note, ..self }
    }

    /// The refusal of a request whose operation has no room, and how long to hold it back. Reads of the body only what
    /// has arrived, and puts it back if there is no refusal. To be called from the service's future: a body that came
    /// with its head is there by then.
    pub(super) fn refusal(&self, request: &mut Request<Body>) -> Option<(Response<Body>, Option<Duration>)> {
        if !self.core.may_refuse() {
            return None;
        }
        let began = Instant::now();
        let refusal = self.core.refusal(request)?;
        (self.note)(began.elapsed());
        Some(refusal)
    }
}

/// What refuses, whatever its schema.
pub(super) trait Refuse: Send + Sync {
    /// Whether operations of some kind have no room.
    fn may_refuse(&self) -> bool;

    fn refusal(&self, request: &mut Request<Body>) -> Option<(Response<Body>, Option<Duration>)>;
}

impl<E: PreparedExecutor, V: Viewer> Refuse for Core<E, V> {
    fn may_refuse(&self) -> bool {
        self.engine.admission.may_refuse()
    }

    fn refusal(&self, request: &mut Request<Body>) -> Option<(Response<Body>, Option<Duration>)> {
        let headers = request.headers();
        let is_post = request.method() == Method::POST && request.uri().path() == PATH;
        if !is_post || !is_json(headers) || headers.contains_key(CONTENT_ENCODING) {
            return None;
        }
        let media = Media::of_headers(headers)?;
        let address = address::of_request(request.extensions(), headers, &self.settings.trusted_proxies);
        let client = Credentials::of_headers(headers).presumed_payer(&*self.authenticate, address)?;
        let body = arrived(request)?;
        let params = Params::of_body(&body).ok()?;
        let Overloaded { mut refused, held_back } = self.engine.refuse_early(&params, client).err()?;
        let id = RequestId::of_request(request, &self.entropy);
        mask::mask(&mut refused.errors, &id);
        let mut response = respond(Outcome::Refused(refused), media, &id, self.settings.request.answer_bytes);
        let origin = request
            .headers()
            .get(ORIGIN)
            .filter(|origin| origin.to_str().is_ok_and(|origin| self.settings.allowed_origins.allow(origin)));
        surround(response.headers_mut(), origin);
        tracing::debug!(request_id = %id, status = response.status().as_u16(), "An operation was refused: no room.");
        Some((response, held_back))
    }
}

/// The body, if all of it has arrived. It stays in the request.
fn arrived(request: &mut Request<Body>) -> Option<Bytes> {
    let length = request.body().size_hint().exact().filter(|length| *length <= BODY_BYTES)?;
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Some(frame)) = Pin::new(request.body_mut()).poll_frame(&mut cx) else { return None };
    let part = frame.map(|frame| frame.into_data().unwrap_or_default());
    let whole = part.as_ref().ok().filter(|part| part.len() as u64 == length).cloned();
    let body = request.body_mut();
    *body = match &whole {
        Some(whole) => Body::from(whole.clone()),
        None => Body::from_stream(stream::iter([part]).chain(std::mem::take(body).into_data_stream())),
    };
    whole
}

/// Adds the headers that the layers of the router would add. `origin`: that of an allowed page of another host.
fn surround(headers: &mut HeaderMap, origin: Option<&HeaderValue>) {
    headers.append(VARY, HeaderValue::from_static("origin"));
    headers.extend(FOR_PROGRAMS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("x-request-id,retry-after,date"));
}
