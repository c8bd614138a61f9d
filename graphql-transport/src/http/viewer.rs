//! The viewer of a request: its bearer token, and the traits with which a service verifies it.

use std::{net::IpAddr, time::Duration};

use async_graphql::Request;
use async_trait::async_trait;
use axum::http::{
    Extensions, HeaderMap, HeaderValue,
    header::{AUTHORIZATION, USER_AGENT},
};
use ipnet::IpNet;
use serde_json::{Map, Value as Json};

use super::{address, request_id::RequestId};
use crate::{memory::Clients, payer::Payer};

/// The service's type for a viewer.
pub trait Viewer: Clone + Send + Sync + 'static {
    /// Who pays for the viewer's operations. Viewers with the same payer share a bucket of points.
    fn payer(&self) -> Payer;
}

/// Verifies bearer tokens. `V`: the service's type for a viewer.
#[async_trait]
pub trait Authenticate<V: Viewer>: Send + Sync + 'static {
    /// The viewer of `token`; `None` if it is valid without a viewer. `act_as`: on whose behalf the client asks, if the
    /// request says so ([`Self::act_as`]).
    ///
    /// Not called for requests without a token, which are anonymous.
    async fn authenticate(&self, token: &str, act_as: Option<&str>) -> Result<Option<V>, AuthenticateError>;

    /// The header, and the entry of `connection_init`, that says on whose behalf a client asks; in lower case.
    fn act_as(&self) -> Option<&'static str> {
        None
    }

    /// Who pays for operations with `token`, as far as it is known at once and without a wait; `None` otherwise.
    ///
    /// Decides only whether there is room for another operation of theirs, before [`Self::authenticate`] is asked.
    fn presumed(&self, token: &str) -> Option<Payer> {
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
    /// The token is good, but does not allow to act as somebody. The client sees the message.
    #[error("{0}")]
    Forbidden(String),
    /// There is nobody to act as. The client sees the message.
    #[error("{0}")]
    NoSuchViewer(String),
    /// Tokens cannot be verified now. The message is logged, not shown.
    #[error("the token could not be checked: {0}")]
    Unavailable(String),
}

/// Attaches the request data that resolvers need: loaders, the viewer, the request id.
///
/// Called once for every operation that has passed the guard.
pub trait Attach<V: Viewer>: Send + Sync + 'static {
    /// `request` with its data.
    fn attach(&self, request: Request, context: &RequestContext<V>) -> Request;
}

impl<V: Viewer, F> Attach<V> for F
where
    F: Fn(Request, &RequestContext<V>) -> Request + Send + Sync + 'static,
{
    fn attach(&self, request: Request, context: &RequestContext<V>) -> Request {
        self(request, context)
    }
}

/// The viewer, the client and the request of an operation.
#[derive(Debug, Clone)]
pub struct RequestContext<V> {
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

impl<V: Viewer> RequestContext<V> {
    /// The clients whose memory is counted: the address and the viewer.
    pub(super) fn holders(&self) -> Clients {
        let viewer = self.viewer.as_ref().map(Viewer::payer);
        [Some(Payer::of_address(self.client.address)), viewer]
    }

    /// The client that is charged.
    pub(super) fn payer(&self) -> Payer {
        let address = self.client.address;
        self.viewer.as_ref().map_or_else(|| Payer::of_address(address), Viewer::payer)
    }
}

/// The viewer of a request to a route that is not the transport's own; `None` if it has no token.
pub async fn viewer_of<V: Viewer>(
    headers: &HeaderMap,
    authenticate: &dyn Authenticate<V>,
) -> Result<Option<V>, AuthenticateError> {
    Credentials::of_headers(headers, authenticate.act_as()).viewer(authenticate).await
}

/// The value of an entry that is not null.
fn entry<'a>(map: &'a Map<String, Json>, name: &str) -> Option<&'a Json> {
    map.iter().find(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_null()).map(|(_, value)| value)
}

/// The credentials in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    token: Token,
    act_as: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Anonymous,
    Bearer(String),
    /// There is an authorization, but not a bearer token.
    Unreadable,
}

impl Credentials {
    /// `act_as`: the header's name.
    pub(super) fn of_headers(headers: &HeaderMap, act_as: Option<&str>) -> Self {
        // A name that is not UTF-8 is nobody's.
        let text = |value: &HeaderValue| str::from_utf8(value.as_bytes()).unwrap_or_default().to_owned();
        let act_as = act_as.and_then(|name| headers.get(name)).map(text);
        Self { token: Token::of_headers(headers), act_as }
    }

    /// These, or what the payload of a WebSocket's `connection_init` has in their place: its entries `authorization`
    /// and `act_as` or, without them, those in its entry `headers`, as some clients send it. Case does not matter.
    pub(super) fn or_of_init(&self, payload: &Map<String, Json>, act_as: Option<&str>) -> Self {
        let headers = entry(payload, "headers").and_then(Json::as_object);
        let named = |name| entry(payload, name).or_else(|| headers.and_then(|it| entry(it, name)));
        let token = named("authorization").map(|value| value.as_str().map_or(Token::Unreadable, Token::of_text));
        let act_as = act_as.and_then(named).map(|value| value.as_str().unwrap_or_default().to_owned());
        Self { token: token.unwrap_or_else(|| self.token.clone()), act_as: act_as.or_else(|| self.act_as.clone()) }
    }

    /// Who asks with these from `address`, as far as it is known at once.
    pub(super) fn presumed_payer<V: Viewer>(
        &self,
        authenticate: &dyn Authenticate<V>,
        address: Option<IpAddr>,
    ) -> Option<Payer> {
        match &self.token {
            Token::Bearer(token) => authenticate.presumed(token),
            Token::Anonymous | Token::Unreadable => Some(Payer::of_address(address)),
        }
    }

    /// Verifies the token, if there is one.
    pub(super) async fn viewer<V: Viewer>(
        self,
        authenticate: &dyn Authenticate<V>,
    ) -> Result<Option<V>, AuthenticateError> {
        match self.token {
            Token::Anonymous if self.act_as.is_some() => Err(AuthenticateError::Forbidden(
                "Only who sends a token may act as somebody. Send one, or leave out as whom you act.".to_owned(),
            )),
            Token::Anonymous => Ok(None),
            Token::Bearer(token) => authenticate.authenticate(&token, self.act_as.as_deref()).await,
            Token::Unreadable => Err(AuthenticateError::Invalid(
                "The authorization is not of the form \"Bearer <token>\". Sign in for a token.".to_owned(),
            )),
        }
    }
}

impl Token {
    fn of_headers(headers: &HeaderMap) -> Self {
        let Some(value) = headers.get(AUTHORIZATION) else { return Self::Anonymous };
        value.to_str().map_or(Self::Unreadable, Self::of_text)
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
}
