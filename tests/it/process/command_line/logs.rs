//! Tests the log lines of a request: every line has the request's id, whichever module logs it.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use futures_util::{SinkExt as _, StreamExt as _, future::join_all};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

use super::{
    CommandLine,
    process::{LIMIT, Node, Peer},
};
use crate::servers::{connect_sql, execute};

/// Only warnings, and the line that the node listens. The filter does not name the spans that carry the ids.
const QUIET: &str = "warn,tidefeed::cli=info";
const READ: &str = "{ user(handle: \"ann\") { contents(first: 1) { nodes { likeCount } } } }";

fn quiet() -> Result<CommandLine> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json").with("TIDEFEED__LOG__FILTER", QUIET);
    Ok(it.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0"))
}

/// The token of a user who has published a content.
async fn ann(peer: &Peer) -> Result<String> {
    let input = "{ handle: \"ann\", name: \"Ann\", password: \"correct horse battery\" }";
    let registered = peer.query(None, &format!("mutation {{ registerUser(input: {input}) {{ token }} }}")).await?;
    let token = registered["data"]["registerUser"]["token"].as_str().with_context(|| registered.to_string())?;
    let published = peer
        .query(Some(token), "mutation { publishContent(input: { text: \"x\" }) { timelineEdge { cursor } } }")
        .await?;
    ensure!(published["data"]["publishContent"]["timelineEdge"].is_object(), "{published}");
    Ok(token.to_owned())
}

/// Sends a query over a WebSocket that begins with this payload. Returns the payload of the answer.
async fn over_a_socket(address: &str, init: Value) -> Result<Value> {
    let mut request = format!("ws://{address}/graphql/ws").into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
    let (mut socket, _) = connect_async(request).await?;
    for frame in [
        json!({ "type": "connection_init", "payload": init }),
        json!({ "id": "1", "type": "subscribe", "payload": { "query": READ } }),
    ] {
        socket.send(Message::text(frame.to_string())).await?;
    }
    while let Some(message) = timeout(LIMIT, socket.next()).await.context("nothing came")? {
        let Message::Text(text) = message? else { continue };
        let message: Value = serde_json::from_str(&text)?;
        if message["type"] == "next" {
            return Ok(message["payload"].clone());
        }
    }
    anyhow::bail!("the socket was closed without an answer")
}

#[tokio::test]
async fn every_log_line_has_its_request_id_under_any_filter() -> Result<()> {
    let it = quiet()?;
    let mut node = Node::start(&it, &["serve"])?;
    let address = node.said("Serving the API.").await?["address"].as_str().context("no address")?.to_owned();
    let peer = Peer::at(&address)?;
    ann(&peer).await?;
    let store = connect_sql(&format!("sqlite://{}", it.path().join("data/tidefeed.db").display())).await?;
    execute(&store, "DROP TABLE counters").await?;

    let mut ids = BTreeSet::new();
    for answer in [peer.query(None, READ).await?, peer.stream(READ).await?, over_a_socket(&address, json!({})).await?] {
        let extensions = &answer["errors"][0]["extensions"];
        ensure!(extensions["code"] == "INTERNAL_SERVER_ERROR", "{answer:#}");
        ids.insert(extensions["requestId"].as_str().with_context(|| answer.to_string())?.to_owned());
    }
    ensure!(ids.len() == 3, "each operation has an id of its own: {ids:?}");
    let mut logged = BTreeSet::new();
    while logged.len() < ids.len() {
        let line = node.said("A request failed.").await?;
        logged.insert(line["span"]["request_id"].as_str().with_context(|| line.to_string())?.to_owned());
    }
    ensure!(logged == ids, "{logged:?} {ids:?}");
    for line in node.log() {
        let line: Value = serde_json::from_str(&line)?;
        let speaks_of_requests = ["tidefeed::api", "graphql_transport::http"];
        let of_a_request =
            line["target"].as_str().is_some_and(|target| speaks_of_requests.iter().any(|it| target.starts_with(it)));
        ensure!(!of_a_request || line["span"]["request_id"].is_string(), "of no request: {line}");
    }
    Ok(())
}

#[tokio::test]
async fn a_log_line_about_a_wait_has_its_request_id() -> Result<()> {
    let it = quiet()?.with("TIDEFEED__STORE__ACQUIRE_TIMEOUT_MS", "60000");
    let (mut node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let token = ann(&peer).await?;
    let store = connect_sql(&format!("sqlite://{}", it.path().join("data/tidefeed.db").display())).await?;
    execute(&store, "BEGIN IMMEDIATE").await?;
    // One waits for the lock of the file and holds the only connection that writes. The others wait for that.
    let publish = "mutation { publishContent(input: { text: \"y\" }) { timelineEdge { node { id } } } }";
    let publishing = join_all((0..4).map(|_| peer.query(Some(&token), publish)));
    let waited = async {
        loop {
            let line = node.said("Waited long for a connection").await?;
            if let Some(id) = line["span"]["request_id"].as_str() {
                break anyhow::Ok((line["target"].clone(), id.to_owned()));
            }
        }
    };
    let ended = async {
        let waited = waited.await;
        execute(&store, "ROLLBACK").await?;
        waited
    };
    let (answers, ended) = tokio::join!(publishing, ended);
    let (target, id) = ended?;
    ensure!(target == "sql_driver::connection_permits" && id.len() == 32, "{target} {id}");
    for answer in answers {
        ensure!(answer?["data"]["publishContent"].is_object());
    }
    Ok(())
}

#[tokio::test]
async fn no_log_line_contains_the_token_of_an_export_link() -> Result<()> {
    let it = quiet()?.with("TIDEFEED__LOG__FILTER", "trace");
    let (node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let token = ann(&peer).await?;
    let payload = peer.query(Some(&token), "mutation { exportViewer { url } }").await?;
    let path =
        payload["data"]["exportViewer"]["url"].as_str().with_context(|| payload.to_string())?.trim_start_matches('/');
    let (status, file) = peer.get(path).await?;
    ensure!(status == 200 && file.contains("\"complete\":true"), "{status} {file}");
    ensure!(peer.get(&format!("{path}x")).await?.0 == 401);
    let secret = path.rsplit('.').next().context("no signature")?;
    let leaks: Vec<_> = node.log().into_iter().filter(|line| line.contains(secret)).collect();
    ensure!(node.log().len() > 10 && leaks.is_empty(), "{leaks:#?}");
    Ok(())
}

#[tokio::test]
async fn no_log_line_contains_a_token_or_a_password() -> Result<()> {
    let filter = "trace,tungstenite=trace,tungstenite::protocol::frame=trace";
    let it = quiet()?.with("TIDEFEED__LOG__FILTER", filter);
    let (node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let token = ann(&peer).await?;
    let authorization = format!("Bearer {token}");
    over_a_socket(peer.address(), json!({ "authorization": &authorization })).await?;
    over_a_socket(peer.address(), json!({ "headers": { "Authorization": &authorization } })).await?;
    let secret = token.rsplit('.').next().context("no signature")?;
    let log = node.log();
    let leaks: Vec<_> =
        log.iter().filter(|line| line.contains(secret) || line.contains("correct horse battery")).collect();
    ensure!(log.iter().any(|line| line.contains("TRACE")) && leaks.is_empty(), "{leaks:#?}");
    Ok(())
}
