//! The API over a house: accounts, schema and transport put together into one router.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::Router;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{AppError, House, Ports};
use crate::{
    api::{
        auth::{AccountsService, PasswordSettings, Passwords, TokenKey, Tokens, Viewer},
        gate::Shape,
        graphql::{Services, attach, build_schema, schema_sdl},
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
    let transport = Transport {
        schema: build_schema(Arc::new(services(house, ports, accounts, &runtime))),
        shape: Shape::of_sdl(&schema_sdl()).map_err(AppError::Schema)?,
        authenticate: Arc::new(Bearer(tokens)),
        attach: Arc::new(|request, scope: &Scope<Viewer>| attach(request, scope.viewer, scope.request_id.as_str())),
        settings: settings.http.clone(),
        clock: runtime.clock,
        draw: runtime.draw,
        stop: runtime.stop,
        sockets: runtime.tasks,
    };
    http::router(transport).map_err(AppError::Manifest)
}

fn services(house: &House, ports: &Ports, accounts: AccountsService, runtime: &ApiRuntime) -> Services {
    Services {
        sign_in: Arc::new(accounts),
        timelines: house.reader.clone(),
        read_marker: house.read_marker.clone(),
        publisher: house.publisher.clone(),
        following: house.following.clone(),
        boundaries: house.boundaries.clone(),
        live: house.live.clone(),
        accounts: ports.accounts.clone(),
        contents: ports.contents.clone(),
        follows: ports.follows.clone(),
        follow_lists: ports.follow_lists.clone(),
        reactions: ports.reactions.clone(),
        exclusions: ports.exclusions.clone(),
        clock: runtime.clock.clone(),
        tasks: runtime.tasks.clone(),
    }
}

impl http::Viewer for Viewer {
    fn number(&self) -> u64 {
        self.id.get().unsigned_abs()
    }

    fn good_until_ms(&self) -> Option<i64> {
        Some(self.good_until_ms)
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
