//! A server with the API on its own port, used as by a client: GraphQL over HTTP with a bearer token.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use graphql_transport::http::{HttpSettings, SocketLimits};
use serde_json::{Value, json};
use tidefeed::{
    accounts::{PasswordSettings, SessionSettings},
    app::{ApiRuntime, ApiSettings, api_router},
};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    binary::process::{LIMIT, http_client},
    harness::TestApp,
};

/// Longer than any test takes.
const TOKEN_TTL: Duration = Duration::from_hours(365 * 24);

/// Use cases with their API on a port.
pub struct ApiServer {
    pub app: Arc<TestApp>,
    pub address: std::net::SocketAddr,
    pub http: reqwest::Client,
    /// Every watcher of a feed on this server holds a clone.
    pub watchers: Arc<()>,
    stop: CancellationToken,
}

impl ApiServer {
    pub async fn start(app: Arc<TestApp>) -> Result<Self> {
        Self::start_with(app, &settings()).await
    }

    pub async fn start_with(app: Arc<TestApp>, settings: &ApiSettings) -> Result<Self> {
        let stop = CancellationToken::new();
        let runtime = ApiRuntime { ambient: app.ambient(), stop: stop.clone(), tasks: TaskTracker::new() };
        let router = api_router(app.use_cases.clone(), &app.ports, settings, runtime)?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (hub, announcements) = (app.hub.clone(), app.ports.announcements.listen());
        let ended = stop.clone();
        tokio::spawn(async move {
            let router = router.into_make_service_with_connect_info::<std::net::SocketAddr>();
            let serving = axum::serve(listener, router).with_graceful_shutdown(ended.clone().cancelled_owned());
            let listening = ended.run_until_cancelled(hub.run(announcements));
            let _ = tokio::join!(serving, listening);
        });
        Ok(Self { app, address, http: http_client(LIMIT)?, watchers: Arc::default(), stop })
    }

    /// The whole body of the answer, with or without errors.
    pub async fn post(&self, token: Option<&str>, query: &str, variables: Value) -> Result<Value> {
        self.post_as((token, None), query, variables).await
    }

    /// As [`Self::post`], for a service that acts as a user.
    pub async fn post_as(
        &self,
        (token, act_as): (Option<&str>, Option<&str>),
        query: &str,
        variables: Value,
    ) -> Result<Value> {
        let mut request = self.http.post(format!("http://{}/graphql", self.address));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(user) = act_as {
            request = request.header("tidefeed-act-as", user);
        }
        let response = request.json(&json!({ "query": query, "variables": variables })).send().await?;
        response.json().await.context("an answer that is no JSON")
    }

    /// Status and lines of the answer to a body that is sent to a path of services.
    pub async fn post_lines(
        &self,
        path: &str,
        (token, act_as): (Option<&str>, Option<&str>),
        body: Vec<u8>,
    ) -> Result<(u16, Vec<Value>)> {
        let mut request = self.http.post(format!("http://{}/{path}", self.address));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(user) = act_as {
            request = request.header("tidefeed-act-as", user);
        }
        let response = request.body(body).send().await?;
        let (status, text) = (response.status().as_u16(), response.text().await?);
        let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        Ok((status, lines.with_context(|| text.clone())?))
    }

    /// The answer's data; errors and user errors fail.
    pub async fn data(&self, token: &str, query: &str, variables: Value) -> Result<Value> {
        let answer = self.post(Some(token), query, variables).await?;
        if answer.get("errors").is_some() {
            bail!("{answer:#}");
        }
        let data = answer.get("data").context("neither data nor errors")?;
        for (_, payload) in data.as_object().context("data is no object")? {
            let faults = payload.get("userErrors").and_then(Value::as_array);
            ensure!(faults.is_none_or(Vec::is_empty), "{answer:#}");
        }
        Ok(data.clone())
    }

    /// Registers a user; returns their id and token.
    pub async fn register(&self, handle: &str) -> Result<(String, String)> {
        let query = "mutation($input: RegisterUserInput!) { \
                     registerUser(input: $input) { user { id } token userErrors { message } } }";
        let input = json!({ "handle": handle, "name": handle, "password": "correct horse battery" });
        let answer = self.post(None, query, json!({ "input": input })).await?;
        let data = &answer["data"];
        let text =
            |value: &Value| value.as_str().map(str::to_owned).with_context(|| format!("not registered: {answer:#}"));
        Ok((text(&data["registerUser"]["user"]["id"])?, text(&data["registerUser"]["token"])?))
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Longer than a client of the tests is silent, even on a busy machine.
const LONG: Duration = Duration::from_mins(10);

/// The default settings, except that hashing is quick and slow clients are tolerated.
pub fn settings() -> ApiSettings {
    let socket = SocketLimits { init_time: LONG, pong_time: LONG, send_time: LONG, ..SocketLimits::default() };
    ApiSettings {
        base_url: "https://feed.example".to_owned(),
        http: HttpSettings { socket, ..HttpSettings::default() },
        secret: b"a secret of tests, long enough to sign with".to_vec(),
        former_secrets: Vec::new(),
        token_ttl: TOKEN_TTL,
        sessions: SessionSettings::default(),
        passwords: PasswordSettings { memory_kib: 64, iterations: 1, ..PasswordSettings::default() },
        open_registration: true,
        registrations_per_hour: 0,
        public_pages: false,
        shows_external_ids: true,
        content_schemas: Arc::default(),
        issuer: None,
        max_bulks: 2,
        max_import_bytes: 1 << 20,
        service_key: None,
    }
}
