//! The API over a house: accounts, schema and transport put together into one router.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::Router;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{AppError, House, Ports};
use crate::{
    api::{
        auth::{AccountsService, PasswordSettings, Passwords, TokenKey, Tokens, Viewer},
        graphql::{Services, attach, build_schema},
        http::{self, Authenticate, AuthenticateError, HttpSettings, Scope, Transport},
    },
    clock::SharedClock,
    draw::Draw,
};

/// What the API is configured by.
#[derive(Clone)]
pub struct ApiSettings {
    /// Bounds of the transport.
    pub http: HttpSettings,
    /// Signs tokens; at least 32 bytes.
    pub secret: Vec<u8>,
    /// How long a token is good for.
    pub token_ttl: Duration,
    /// What hashing a password costs.
    pub passwords: PasswordSettings,
    /// Whether anybody may register.
    pub open_registration: bool,
    /// Whether clients may ask for the schema.
    pub introspection: bool,
}

/// What of the process the API runs in.
#[derive(Clone)]
pub struct ApiRuntime {
    /// Now.
    pub clock: SharedClock,
    /// Ids, salts, tokens.
    pub draw: Draw,
    /// Cancelled when no new work is welcome: sockets complete and close.
    pub stop: CancellationToken,
    /// Counts sockets and loaders' batches.
    pub tasks: TaskTracker,
}

/// `/graphql`, `/graphql/ws` and the pages. Makes a password hash once, which takes as long as a sign-in.
pub fn router(house: &House, ports: &Ports, settings: &ApiSettings, runtime: ApiRuntime) -> Result<Router, AppError> {
    let key = TokenKey::try_new("1", &settings.secret).map_err(AppError::Secret)?;
    let tokens = Arc::new(Tokens::new(key, settings.token_ttl, runtime.clock.clone()));
    let passwords = Passwords::try_new(settings.passwords, runtime.draw.clone()).map_err(AppError::Passwords)?;
    let accounts = AccountsService::new(
        ports.accounts.clone(),
        Arc::new(passwords),
        tokens.clone(),
        runtime.clock.clone(),
        runtime.draw.clone(),
    )
    .with_registration(settings.open_registration);
    let introspection = settings.introspection;
    let transport = Transport {
        schema: build_schema(Arc::new(services(house, ports, accounts, &runtime))),
        authenticate: Arc::new(Bearer(tokens)),
        attach: Arc::new(move |request, scope: &Scope<Viewer>| {
            let request = attach(request, scope.viewer, scope.request_id.as_str());
            if introspection { request } else { request.disable_introspection() }
        }),
        settings: settings.http.clone(),
        draw: runtime.draw,
        stop: runtime.stop,
        sockets: runtime.tasks,
    };
    Ok(http::router(transport))
}

fn services(house: &House, ports: &Ports, accounts: AccountsService, runtime: &ApiRuntime) -> Services {
    Services {
        sign_in: Arc::new(accounts),
        timelines: house.reader.clone(),
        read_marker: house.read_marker.clone(),
        publisher: house.publisher.clone(),
        following: house.following.clone(),
        live: house.live.clone(),
        accounts: ports.accounts.clone(),
        contents: ports.contents.clone(),
        follows: ports.follows.clone(),
        follow_lists: ports.follow_lists.clone(),
        reactions: ports.reactions.clone(),
        clock: runtime.clock.clone(),
        tasks: runtime.tasks.clone(),
    }
}

/// Tokens of local accounts.
struct Bearer(Arc<Tokens>);

#[async_trait]
impl Authenticate<Viewer> for Bearer {
    async fn authenticate(&self, token: &str) -> Result<Option<Viewer>, AuthenticateError> {
        self.0.verify(token).map(Some).map_err(|error| AuthenticateError::Invalid(error.to_string()))
    }
}
