//! The API over a house: accounts, schema and transport put together into one router.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::Router;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{AppError, House, Ports};
use crate::{
    api::{
        auth::{
            AccountStores, AccountsService, Caller, Liveness, PasswordSettings, Passwords, SessionSettings,
            SessionsService, TokenKey, Tokens, Viewer,
        },
        gate::Shape,
        graphql::{Services, attach, build_schema, schema_sdl},
        http::{self, Authenticate, AuthenticateError, Client, HttpSettings, Scope, Transport},
    },
    clock::SharedClock,
    draw::Draw,
};

/// What somebody is told whose session was ended.
const SESSION_ENDED: &str = "The session has ended. Sign in again.";

/// What the API is configured by.
#[derive(Clone)]
pub struct ApiSettings {
    /// Bounds of the transport.
    pub http: HttpSettings,
    /// Signs tokens; at least 32 bytes.
    pub secret: Vec<u8>,
    /// Secrets that signed tokens before; each at least 32 bytes.
    pub former_secrets: Vec<Vec<u8>>,
    /// How long an access token is good for.
    pub token_ttl: Duration,
    /// How long sessions last, and how soon their end is known.
    pub sessions: SessionSettings,
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
    let tokens = Arc::new(tokens(settings, &runtime)?);
    let ambient = (runtime.clock.clone(), runtime.draw.clone());
    let (kept, voice) = (ports.sessions.clone(), ports.announcements.clone());
    let sessions = Arc::new(SessionsService::new(kept, voice, tokens.clone(), settings.sessions, ambient.clone()));
    let liveness = sessions.liveness();
    let (watched, announcements) = (liveness.clone(), ports.announcements.listen());
    let watching = async move { watched.run(announcements).await };
    runtime.tasks.spawn(runtime.stop.clone().run_until_cancelled_owned(watching));
    let passwords = Passwords::try_new(settings.passwords, runtime.draw.clone()).map_err(AppError::Passwords)?;
    let stores = AccountStores { accounts: ports.accounts.clone(), attempts: ports.attempts.clone() };
    let accounts = AccountsService::new(stores, Arc::new(passwords), sessions.clone(), ambient)
        .open_to(settings.open_registration, true);
    let transport = Transport {
        schema: build_schema(Arc::new(services(house, ports, (accounts, sessions), &runtime))),
        shape: Shape::of_sdl(&schema_sdl()).map_err(AppError::Schema)?,
        authenticate: Arc::new(Bearer { tokens, liveness }),
        attach: Arc::new(|request, scope: &Scope<Viewer>| {
            let Client { address, agent } = scope.client.clone();
            attach(request, scope.viewer, scope.request_id.as_str()).data(Caller { address, agent })
        }),
        settings: settings.http.clone(),
        clock: runtime.clock,
        draw: runtime.draw,
        stop: runtime.stop,
        sockets: runtime.tasks,
    };
    http::router(transport).map_err(AppError::Manifest)
}

fn tokens(settings: &ApiSettings, runtime: &ApiRuntime) -> Result<Tokens, AppError> {
    let key = |secret: &Vec<u8>| TokenKey::try_new(secret).map_err(AppError::Secret);
    let tokens = Tokens::new(key(&settings.secret)?, settings.token_ttl, runtime.clock.clone());
    settings.former_secrets.iter().try_fold(tokens, |tokens, secret| Ok(tokens.with_former_key(key(secret)?)))
}

fn services(
    house: &House,
    ports: &Ports,
    (accounts, sessions): (AccountsService, Arc<SessionsService>),
    runtime: &ApiRuntime,
) -> Services {
    Services {
        accounts_service: Arc::new(accounts),
        sessions,
        profiles: ports.profiles.clone(),
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

/// Tokens of local accounts: signed, in time, and of a session that lives.
struct Bearer {
    tokens: Arc<Tokens>,
    liveness: Arc<Liveness>,
}

#[async_trait]
impl Authenticate<Viewer> for Bearer {
    async fn authenticate(&self, token: &str) -> Result<Option<Viewer>, AuthenticateError> {
        let viewer = self.tokens.verify(token).map_err(|error| AuthenticateError::Invalid(error.to_string()))?;
        let Some(session) = viewer.session else { return Ok(Some(viewer)) };
        match self.liveness.is_alive(session).await {
            Ok(true) => Ok(Some(viewer)),
            Ok(false) => Err(AuthenticateError::Invalid(SESSION_ENDED.to_owned())),
            Err(error) => Err(AuthenticateError::Unavailable(error.with_causes())),
        }
    }

    async fn until_revoked(&self, viewer: &Viewer) {
        match viewer.session {
            Some(session) => self.liveness.clone().until_ended(session).await,
            None => std::future::pending().await,
        }
    }
}
