//! The streams that are reserved or open on this node.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{body::Bytes, extract::Request, http::HeaderName};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio_util::sync::CancellationToken;

use crate::http::{
    codes::BAD_USER_INPUT,
    outcome::{Reason, Refused},
};

/// The header in which requests name their stream.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-graphql-event-stream-token");

/// The reserved and open streams of this node, by token.
#[derive(Default)]
pub struct Streams(Mutex<HashMap<String, Arc<Reserved>>>);

impl Streams {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut HashMap<String, Arc<Reserved>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn get(&self, token: &str) -> Result<Arc<Reserved>, Refused> {
        let found = self.with(|streams| streams.get(token).cloned());
        found.ok_or_else(|| {
            let message = "There is no stream with this token, or none any more. Reserve one by PUT.";
            Refused::new(Reason::NotFound, BAD_USER_INPUT, message)
        })
    }
}

/// One stream.
pub struct Reserved {
    pub(super) events: Sender<Bytes>,
    /// `None` once the stream is opened.
    pub(super) queue: Mutex<Option<Receiver<Bytes>>>,
    pub(super) operations: Mutex<HashMap<String, CancellationToken>>,
    pub(super) opened: CancellationToken,
    pub(super) ended: CancellationToken,
}

impl Reserved {
    pub(super) fn operations<T>(&self, act: impl FnOnce(&mut HashMap<String, CancellationToken>) -> T) -> T {
        act(&mut self.operations.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn take_queue(&self) -> Option<Receiver<Bytes>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The token of a request's stream, from a header or, for a browser's `EventSource`, from the URL.
pub fn token_of(request: &Request) -> Option<String> {
    let given = request.headers().get(TOKEN_HEADER).map(|value| value.to_str().unwrap_or_default().to_owned());
    given.or_else(|| parameter(request, "token"))
}

/// The URL's parameter with this name.
pub(super) fn parameter(request: &Request, name: &str) -> Option<String> {
    let pairs = url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
