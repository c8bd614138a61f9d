//! The viewer of a request: its bearer token, and the traits with which a service verifies it.

use std::{net::IpAddr, time::Duration};

use async_graphql::Request;
use async_trait::async_trait;
use axum::http::{
    Extensions, HeaderMap,
    header::{AUTHORIZATION, USER_AGENT},
};
use headers::{Authorization, HeaderMapExt as _, authorization::Bearer};
use ipnet::IpNet;
use serde_json::{Map, Value as Json};

use super::{address, request_id::RequestId};
use crate::{memory::Clients, payer::Payer};

/// The service's type for a viewer.
pub trait Viewer: Clone + Send + Sync + 'static {
    /// Identifies the viewer. Viewers with the same number share a bucket of points.
    fn number(&self) -> u64;
}

/// Verifies bearer tokens. `V`: the service's type for a viewer.
#[async_trait]
pub trait Authenticate<V: Viewer>: Send + Sync + 'static {
    /// The viewer of `token`; `None` if it is valid without a viewer.
    ///
    /// Not called for requests without a token, which are anonymous.
    async fn authenticate(&self, token: &str) -> Result<Option<V>, AuthenticateError>;

    /// The number of the viewer whom `token` names, as far as it is known at once and without a wait; `None` otherwise.
    ///
    /// Decides only whether there is room for another operation of theirs, before [`Self::authenticate`] is asked.
    fn presumed(&self, token: &str) -> Option<u64> {
        let _ = token;
        None
    }

    /// How long `viewer`'s token stays valid; `None` for ever.
    fn good_for(&self, viewer: &V) -> Option<Duration> {
        let _ = viewer;
        None
    }

    /// Completes when `viewer`'s sign-in is revoked; their sockets are then closed. Never completes if that is
    /// impossible.
    async fn until_revoked(&self, viewer: &V) {
        let _ = viewer;
        std::future::pending::<()>().await;
    }
}

/// Why a token has no viewer.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// The token is malformed, expired or revoked. The client sees the message.
    #[error("{0}")]
    Invalid(String),
    /// Tokens cannot be verified now. The message is logged, not shown.
    #[error("the token could not be checked: {0}")]
    Unavailable(String),
}

/// Attaches the request data that resolvers need: loaders, the viewer, the request id.
///
/// Called once for every operation that has passed the guard.
pub trait Attach<V: Viewer>: Send + Sync + 'static {
    /// `request` with its data.
    fn attach(&self, request: Request, scope: &Scope<V>) -> Request;
}

impl<V: Viewer, F> Attach<V> for F
where
    F: Fn(Request, &Scope<V>) -> Request + Send + Sync + 'static,
{
    fn attach(&self, request: Request, scope: &Scope<V>) -> Request {
        self(request, scope)
    }
}

/// The viewer, the client and the request of an operation.
#[derive(Debug, Clone)]
pub struct Scope<V> {
    /// The viewer; `None` if anonymous.
    pub viewer: Option<V>,
    /// The id in the response and in log lines.
    pub request_id: RequestId,
    /// The client.
    pub client: Client,
}

/// What is known of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Its address, behind trusted proxies; `None` if unknown.
    pub address: Option<IpAddr>,
    /// Its `User-Agent`, unchecked.
    pub agent: String,
}

impl Client {
    /// The client of a request. `proxies`: networks whose `X-Forwarded-For` is trusted.
    pub fn of(headers: &HeaderMap, extensions: &Extensions, proxies: &[IpNet]) -> Self {
        let address = address::of_request(extensions, headers, proxies);
        let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        Self { address, agent }
    }

    /// The clients whose memory is counted while the viewer is unknown.
    pub(super) fn holders(&self) -> Clients {
        [Some(Payer::of_address(self.address)), None]
    }
}

impl<V: Viewer> Scope<V> {
    /// The clients whose memory is counted: the address and the viewer.
    pub(super) fn holders(&self) -> Clients {
        let viewer = self.viewer.as_ref().map(|viewer| Payer::Viewer(viewer.number()));
        [Some(Payer::of_address(self.client.address)), viewer]
    }

    /// The client that is charged.
    pub(super) fn payer(&self) -> Payer {
        let address = self.client.address;
        self.viewer.as_ref().map_or_else(|| Payer::of_address(address), |viewer| Payer::Viewer(viewer.number()))
    }
}

/// The value of an entry that is not null.
fn entry<'a>(map: &'a Map<String, Json>, name: &str) -> Option<&'a Json> {
    map.iter().find(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_null()).map(|(_, value)| value)
}

/// The credentials in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    Anonymous,
    Bearer(String),
    /// There is an authorization, but not a bearer token.
    Unreadable,
}

impl Credentials {
    pub(super) fn of_headers(headers: &HeaderMap) -> Self {
        if !headers.contains_key(AUTHORIZATION) {
            return Self::Anonymous;
        }
        match headers.typed_try_get::<Authorization<Bearer>>() {
            Ok(Some(bearer)) => Self::of_token(bearer.token()),
            _ => Self::Unreadable,
        }
    }

    /// Those in the payload of a WebSocket's `connection_init`, if there are any: its entry `authorization` or, without
    /// that, the one in its entry `headers`, as some clients send it. Case does not matter.
    pub(super) fn of_init(payload: &Map<String, Json>) -> Option<Self> {
        let headers = || entry(payload, "headers").and_then(Json::as_object);
        match entry(payload, "authorization").or_else(|| headers().and_then(|it| entry(it, "authorization")))? {
            Json::String(text) => Some(Self::of_text(text)),
            _ => Some(Self::Unreadable),
        }
    }

    fn of_text(text: &str) -> Self {
        match text.trim().split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Self::of_token(token),
            _ => Self::Unreadable,
        }
    }

    fn of_token(token: &str) -> Self {
        let token = token.trim();
        if token.is_empty() { Self::Unreadable } else { Self::Bearer(token.to_owned()) }
    }

    /// Who asks with these from `address`, as far as it is known at once.
    pub(super) fn presumed_payer<V: Viewer>(
        &self,
        authenticate: &dyn Authenticate<V>,
        address: Option<IpAddr>,
    ) -> Option<Payer> {
        match self {
            Self::Bearer(token) => authenticate.presumed(token).map(Payer::Viewer),
            Self::Anonymous | Self::Unreadable => Some(Payer::of_address(address)),
        }
    }

    /// Verifies the token, if there is one.
    pub(super) async fn viewer<V: Viewer>(
        self,
        authenticate: &dyn Authenticate<V>,
    ) -> Result<Option<V>, AuthenticateError> {
        match self {
            Self::Anonymous => Ok(None),
            Self::Bearer(token) => authenticate.authenticate(&token).await,
            Self::Unreadable => Err(AuthenticateError::Invalid(
                "The authorization is not of the form \"Bearer <token>\". Sign in for a token.".to_owned(),
            )),
        }
    }
}
