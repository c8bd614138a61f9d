//! A client with tokens, and its requests.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tidefeed::{accounts::services::add_key, app::ApiSettings, domain::account::service::Scopes};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use crate::{
    api::server::{ApiServer, settings},
    harness::{CacheBackend, TestApp},
    servers::Backend,
};

pub const PASSWORD: &str = "correct horse battery";
/// Longer than anything takes, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);
const SELECTION: &str =
    "{ user { id handle } token expiresAt refreshToken refreshExpiresAt userErrors { code field } }";

/// A server over its own database, whose access tokens last 15 minutes.
pub async fn server(backend: Backend, cache_backend: CacheBackend) -> Result<ApiServer> {
    ApiServer::start_with(TestApp::start(backend, cache_backend).await?, &short()).await
}

pub fn short() -> ApiSettings {
    ApiSettings { token_ttl: Duration::from_mins(15), ..settings() }
}

/// Another node on the same database.
pub async fn beside(server: &ApiServer, settings: &ApiSettings) -> Result<ApiServer> {
    let app: Arc<TestApp> = server.app.beside().await?;
    app.clock.set(server.app.now_ms());
    ApiServer::start_with(app, settings).await
}

/// The tokens of a sign-in.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub id: String,
    pub access: String,
    pub refresh: String,
}

impl Tokens {
    fn of(payload: &Value) -> Result<Self> {
        let text =
            |key: &str| payload[key].as_str().map(str::to_owned).with_context(|| format!("no {key}: {payload:#}"));
        let id = payload["user"]["id"].as_str().context("no user")?.to_owned();
        Ok(Self { id, access: text("token")?, refresh: text("refreshToken")? })
    }
}

/// A mutation's payload, with or without errors.
pub async fn ask(
    server: &ApiServer,
    token: Option<&str>,
    name: &str,
    kind: &str,
    input: Value,
    selection: &str,
) -> Result<Value> {
    let query = format!("mutation($input: {kind}!) {{ it: {name}(input: $input) {selection} }}");
    let mut answer = server.post(token, &query, json!({ "input": input })).await?;
    if answer.get("errors").is_some() {
        bail!("{answer:#}");
    }
    Ok(answer["data"]["it"].take())
}

pub async fn register(server: &ApiServer, handle: &str) -> Result<Tokens> {
    let input = json!({ "handle": handle, "name": handle, "password": PASSWORD });
    Tokens::of(&ask(server, None, "registerUser", "RegisterUserInput", input, SELECTION).await?)
}

/// The payload of a sign-in, successful or not.
pub async fn try_sign_in(server: &ApiServer, handle: &str, password: &str) -> Result<Value> {
    let selection = SELECTION.replace("userErrors", "retryAt userErrors");
    ask(server, None, "signIn", "SignInInput", json!({ "handle": handle, "password": password }), &selection).await
}

pub async fn sign_in(server: &ApiServer, handle: &str) -> Result<Tokens> {
    Tokens::of(&try_sign_in(server, handle, PASSWORD).await?)
}

/// New tokens; `None` if the session has ended.
pub async fn refresh(server: &ApiServer, token: &str) -> Result<Option<Tokens>> {
    let input = json!({ "refreshToken": token });
    let payload = ask(server, None, "refreshToken", "RefreshTokenInput", input, SELECTION).await?;
    if payload["userErrors"][0]["code"] == "SESSION_ENDED" {
        return Ok(None);
    }
    Tokens::of(&payload).map(Some)
}

/// The handle of the access token's user, or the code of the error.
pub async fn who(server: &ApiServer, token: &str) -> Result<String> {
    let answer = server.post(Some(token), "{ viewer { handle } }", json!({})).await?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let result = text(&answer["data"]["viewer"]["handle"]).or_else(|| text(&answer["errors"][0]["extensions"]["code"]));
    result.with_context(|| format!("{answer:#}"))
}

/// The key of a new service with these scopes.
pub async fn service_key(server: &ApiServer, scopes: Scopes) -> Result<String> {
    let ambient = server.app.ambient();
    let name = format!("service-{:x}", ambient.rng.u64()).parse()?;
    let key = add_key(&*server.app.ports.accounts, (&name, scopes), None, &ambient).await?;
    key.context("the name is taken")
}

/// An acknowledged socket.
pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub async fn open(server: &ApiServer, token: Option<&str>) -> Result<Self> {
        Self::open_as(server, (token, None)).await
    }

    /// As a user, for a service.
    pub async fn open_as(server: &ApiServer, (token, act_as): (Option<&str>, Option<&str>)) -> Result<Self> {
        let mut request = format!("ws://{}/graphql/ws", server.address).into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
        let mut socket = Self(connect_async(request).await?.0);
        let authorization = token.map(|token| format!("Bearer {token}"));
        let payload = json!({ "authorization": authorization, "tidefeed-act-as": act_as });
        socket.say(&json!({ "type": "connection_init", "payload": payload })).await?;
        Ok(socket)
    }

    pub async fn say(&mut self, message: &Value) -> Result<()> {
        Ok(self.0.send(Message::text(message.to_string())).await?)
    }

    /// The next message, or the code with which the server closes.
    pub async fn hear(&mut self) -> Result<Result<Value, u16>> {
        loop {
            match timeout(PATIENCE, self.0.next()).await.context("nothing came")?.context("broken off")?? {
                Message::Text(text) => return Ok(Ok(serde_json::from_str(&text)?)),
                Message::Close(Some(close)) => return Ok(Err(close.code.into())),
                Message::Ping(_) | Message::Pong(_) => {}
                other => bail!("unexpected: {other:?}"),
            }
        }
    }
}
