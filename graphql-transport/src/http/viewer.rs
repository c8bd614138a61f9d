//! The viewer of a request: its bearer token, and the traits by which a service gives the token a meaning.

use std::{net::IpAddr, time::Duration};

use async_graphql::Request;
use async_trait::async_trait;
use axum::http::{
    Extensions, HeaderMap,
    header::{AUTHORIZATION, USER_AGENT},
};
use axum_extra::headers::{Authorization, HeaderMapExt as _, authorization::Bearer};
use ipnet::IpNet;

use super::{address, request_id::RequestId};
use crate::{memory::Clients, payer::Payer};

/// The caller's type for an authenticated viewer.
pub trait Viewer: Clone + Send + Sync + 'static {
    /// Identifies the viewer. Viewers with the same number share a bucket of points.
    fn number(&self) -> u64;
}

/// Gives bearer tokens a meaning. `V`: the caller's type for an authenticated viewer.
#[async_trait]
pub trait Authenticate<V: Viewer>: Send + Sync + 'static {
    /// The viewer that `token` speaks for; `None` if it is valid and speaks for nobody.
    ///
    /// A request without a token is anonymous and is not asked about.
    async fn authenticate(&self, token: &str) -> Result<Option<V>, AuthenticateError>;

    /// How long `viewer`'s token is good from now on; `None` for ever.
    fn good_for(&self, viewer: &V) -> Option<Duration> {
        let _ = viewer;
        None
    }

    /// Completes when `viewer`'s sign-in was ended by somebody: a socket that they opened is closed then. Never, where
    /// nobody can.
    async fn until_revoked(&self, viewer: &V) {
        let _ = viewer;
        std::future::pending::<()>().await;
    }
}

/// Why a token gives no viewer.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Not a token of this service, expired, or revoked. The text is shown to the client.
    #[error("{0}")]
    Invalid(String),
    /// What decides about tokens cannot be reached. The text is logged, not shown.
    #[error("the token could not be checked: {0}")]
    Unavailable(String),
}

/// Attaches what resolvers look for in a request's data: loaders, the viewer, the request id.
///
/// Called once for every operation, after it has passed the guard.
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
    /// Who asks; `None` when anonymous.
    pub viewer: Option<V>,
    /// The id that the response carries and the log line names.
    pub request_id: RequestId,
    /// From where it comes.
    pub client: Client,
}

/// What a connection tells of its client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Its address, through trusted proxies; `None` if the server was not told.
    pub address: Option<IpAddr>,
    /// What it calls itself; anything.
    pub agent: String,
}

impl Client {
    pub(super) fn of(headers: &HeaderMap, extensions: &Extensions, proxies: &[IpNet]) -> Self {
        let address = address::of_request(extensions, headers, proxies);
        let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        Self { address, agent }
    }

    /// The client that memory is held for until the viewer is known.
    pub(super) fn holders(&self) -> Clients {
        [Some(Payer::of_address(self.address)), None]
    }
}

impl<V: Viewer> Scope<V> {
    /// For whom memory is held: the address, and the viewer if there is one.
    pub(super) fn holders(&self) -> Clients {
        let viewer = self.viewer.as_ref().map(|viewer| Payer::Viewer(viewer.number()));
        [Some(Payer::of_address(self.client.address)), viewer]
    }

    /// Who pays for what is done in it.
    pub(super) fn payer(&self) -> Payer {
        let address = self.client.address;
        self.viewer.as_ref().map_or_else(|| Payer::of_address(address), |viewer| Payer::Viewer(viewer.number()))
    }
}

/// The credentials and the address of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Credentials {
    Anonymous,
    Bearer(String),
    /// Something is there, but it is no bearer token.
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

    /// `text`: the value of an authorization header, as a WebSocket's first message carries it.
    pub(super) fn of_text(text: &str) -> Self {
        match text.trim().split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Self::of_token(token),
            _ => Self::Unreadable,
        }
    }

    fn of_token(token: &str) -> Self {
        let token = token.trim();
        if token.is_empty() { Self::Unreadable } else { Self::Bearer(token.to_owned()) }
    }

    /// Asks `authenticate` if there is a token to ask about.
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
