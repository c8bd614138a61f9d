//! Sets up a small world on SQLite behind the whole API, called in process.

use std::{sync::Arc, time::Duration};

use crate::{
    benched::{Benched, open_store, use_cases},
    harness::settings,
};
use anyhow::{Context as _, Result, ensure};
use axum::{
    Router,
    body::{Body, Bytes},
    http::{Request, header},
};
use graphql_transport::http::HttpSettings;
use serde_json::{Value, json};
use tidefeed::{
    accounts::{Client, PasswordSettings, Passwords, SessionSettings},
    api::graphql::FeedShare,
    app::{ApiRuntime, ApiSettings, api_router},
    domain::{
        ContentId, MediaKind, Reaction, UserId,
        account::profile::Registration,
        content::{Draft, Media},
    },
    live::Hub,
    rng::SharedRng,
    store::{
        Inboxes, Seeding,
        seeding::{SeedAuthor, SeedContent, SeedFollow, SeedReaction},
        sql::SqlStore,
    },
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

const NOW: i64 = 1_790_000_000_000;
const AUTHORS: i64 = 50;
const CONTENTS_OF_EACH: i64 = 10;
const READER: i64 = 1_000_000;
const PASSWORD: &str = "correct horse battery";

/// The query of a page of the demo.
pub const PAGE: &str = "query Page($first: Int!, $after: String) { timeline(first: $first, after: $after) { \
    edges { cursor node { ...card repostOf { ...card } inReplyTo { id author { handle } } } } \
    pageInfo { hasNextPage endCursor } } } \
    fragment card on Content { id kind text createdAt media { kind url width height alt } \
    likeCount replyCount repostCount viewerHasLiked viewerHasBookmarked \
    author { id handle name avatarUrl viewerIsFollowing } }";

/// A world with its API. The folder is removed when this value is dropped.
pub struct World {
    router: Router,
    /// Token of the reader, who follows 50 authors.
    pub token: String,
    /// The store behind it.
    pub store: SqlStore,
    /// Source of the live feeds' events.
    pub hub: Arc<Hub<FeedShare>>,
    _folder: tempfile::TempDir,
}

impl World {
    /// A world with one reader.
    pub async fn open() -> Result<Self> {
        Self::with_readers(1).await
    }

    /// A world with this many readers, who follow 50 authors each. [`Self::token`] is the first reader's.
    pub async fn with_readers(readers: i64) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let store = open_store(format!("sqlite://{}/bench.db", folder.path().display()), 2).await?;
        seed(&store, readers).await?;
        let (router, hub) = router(&store)?;
        let mut world = Self { router, token: String::new(), store, hub, _folder: folder };
        world.token = world.sign_in(0).await?;
        Ok(world)
    }

    /// A token of this reader, counted from 0.
    pub async fn sign_in(&self, reader: i64) -> Result<String> {
        let sign_in = "mutation($input: SignInInput!) { signIn(input: $input) { token userErrors { message } } }";
        let input = json!({ "handle": format!("user{}", READER + reader), "password": PASSWORD });
        let answer = self.ask(&request(None, sign_in, &json!({ "input": input }))).await?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let token = answer["data"]["signIn"]["token"].as_str();
        Ok(token.with_context(|| format!("no token: {answer}"))?.to_owned())
    }

    /// The router of the whole API.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// The answer's bytes; fails if it has errors.
    pub async fn ask(&self, asked: &Asked) -> Result<Bytes> {
        answer(self.router.clone(), asked).await
    }
}

/// A request that can be sent again.
pub struct Asked {
    token: Option<String>,
    body: Bytes,
}

/// Prepares a request that can be sent repeatedly.
pub fn request(token: Option<&str>, query: &str, variables: &Value) -> Asked {
    let body = json!({ "query": query, "variables": variables }).to_string().into();
    Asked { token: token.map(str::to_owned), body }
}

/// The answer of `router`.
pub async fn answer(router: Router, asked: &Asked) -> Result<Bytes> {
    let mut request = Request::post("/graphql").header(header::CONTENT_TYPE, "application/json");
    if let Some(token) = &asked.token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let response = router.oneshot(request.body(Body::from(asked.body.clone()))?).await?;
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 24).await?;
    // Errors come first in an answer.
    ensure!(!bytes.starts_with(b"{\"errors\":"), "{}", String::from_utf8_lossy(&bytes));
    Ok(bytes)
}

async fn seed(store: &SqlStore, readers: i64) -> Result<()> {
    let readers = || READER..READER + readers;
    let authors: Vec<SeedAuthor> = (1..=AUTHORS).chain(readers()).map(author).collect::<Result<_>>()?;
    store.add_authors(&authors).await?;
    let passwords = Passwords::try_new(passwords(), SharedRng::from_seed(2))?;
    let hash = passwords.hash(&passwords.turn(Client::Network(None)).await?, PASSWORD.to_owned()).await?;
    for reader in readers() {
        let reader = UserId::try_new(reader)?;
        let follow = |id: i64| {
            Ok(SeedFollow { follower: reader, author: UserId::try_new(id)?, incarnation: id, followed_at: NOW })
        };
        store.add_follows(&(1..=AUTHORS).map(follow).collect::<Result<Vec<_>>>()?).await?;
        store.open_accounts(&[reader], &hash).await?;
        store.mark_seen(&[reader], NOW).await?;
        store.extend(reader, 300).await?;
    }
    Ok(())
}

/// Contents a minute apart, all authors in turn; every third with a picture. The reader has none.
fn author(id: i64) -> Result<SeedAuthor> {
    let count = if id >= READER { 0 } else { CONTENTS_OF_EACH };
    let content = |number: i64| {
        let place = number * AUTHORS + id;
        let picture = Media {
            kind: MediaKind::Picture,
            url: format!("https://pictures.example.org/{place}.webp"),
            width: Some(1_600),
            height: Some(900),
            alt: "A coast in the evening".to_owned(),
        };
        let media = if place % 3 == 0 { vec![picture] } else { Vec::new() };
        let text = "The tide comes in twice a day, and nobody has ever asked it to wait for them. ".repeat(2);
        Ok(SeedContent {
            id: ContentId::try_new(place)?,
            draft: Draft::try_new(&text, media, None)?,
            publish_time: NOW - place * 60_000,
            reactions: vec![SeedReaction {
                user: UserId::try_new(1 + place % AUTHORS)?,
                reaction: Reaction::Like,
                at: NOW,
            }],
        })
    };
    Ok(SeedAuthor {
        id: UserId::try_new(id)?,
        registration: Registration::try_new(&format!("user{id}"), "Somebody Somewhere", "", None)?,
        created_at: NOW,
        last_seen: NOW,
        incarnation: id,
        contents: (0..count).map(content).collect::<Result<_>>()?,
    })
}

fn passwords() -> PasswordSettings {
    PasswordSettings { memory_kib: 64, iterations: 1, ..PasswordSettings::default() }
}

fn router(store: &SqlStore) -> Result<(Router, Arc<Hub<FeedShare>>)> {
    let Benched { use_cases, ports, ambient } = use_cases(store, settings(), NOW);
    let api = ApiSettings {
        base_url: "https://feed.example".to_owned(),
        http: HttpSettings::default(),
        secret: b"a secret of a benchmark, long enough to sign".to_vec(),
        former_secrets: Vec::new(),
        token_ttl: Duration::from_hours(24),
        sessions: SessionSettings::default(),
        passwords: passwords(),
        open_registration: true,
        registrations_per_hour: 0,
        public_pages: false,
        shows_external_ids: true,
        content_schemas: Arc::default(),
        issuer: None,
        max_bulks: 2,
        max_import_bytes: 0,
        service_key: None,
    };
    let runtime = ApiRuntime { ambient, stop: CancellationToken::new(), tasks: TaskTracker::new() };
    let hub = use_cases.hub.clone();
    Ok((api_router(Arc::new(use_cases), &ports, &api, runtime)?, hub))
}
