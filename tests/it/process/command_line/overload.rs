//! Tests a node that already runs and queues as many changes as its limits allow.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    CommandLine,
    process::{Node, Peer, until},
};

/// One change runs and one waits. No limit ends them while the test holds the database.
const SETTINGS: [(&str, &str); 8] = [
    ("LOG__FORMAT", "json"),
    ("SERVER__LISTEN", "127.0.0.1:0"),
    ("ADMISSION__MUTATIONS", "1"),
    ("ADMISSION__MUTATIONS_WAITING", "1"),
    ("ADMISSION__MUTATIONS_WAIT_MS", "300000"),
    ("SERVER__REQUEST_TIMEOUT_MS", "300000"),
    ("STORE__STATEMENT_TIMEOUT_MS", "300000"),
    ("REDIS__REDELIVERY_MS", "400000"),
];

async fn publish(peer: &Peer, token: &str, text: &str) -> Result<Value> {
    let publish = format!(r#"mutation {{ publishContent(input: {{ text: "{text}" }}) {{ userErrors {{ code }} }} }}"#);
    peer.query(Some(token), &publish).await
}

/// Waits until so many changes are counted under `name`.
async fn counted(peer: &Peer, name: &str, count: f64) -> Result<()> {
    let name = format!("tidefeed_operations_{name}");
    until(&name, async || Ok(peer.metric(&name).await?.is_some_and(|value| value >= count))).await
}

#[tokio::test]
async fn an_overloaded_node_refuses_mutations_at_once_and_stays_healthy() -> Result<()> {
    let named = SETTINGS.map(|(name, value)| (format!("TIDEFEED__{name}"), value));
    let command = named.iter().fold(CommandLine::embedded()?, |command, (name, value)| command.with(name, value));
    let command = command.with("TIDEFEED__DELIVERY__LEASE_MS", "300000");
    let (_node, peer) = Node::listening(&command, &["serve"], "Serving the API.").await?;
    let input = r#"{ handle: "ann", name: "Ann", password: "correct horse battery" }"#;
    let answer = peer.query(None, &format!("mutation {{ registerUser(input: {input}) {{ token }} }}")).await?;
    let token = answer["data"]["registerUser"]["token"].as_str().with_context(|| answer.to_string())?;

    let database = rusqlite::Connection::open(command.path().join("data/tidefeed.db"))?;
    database.busy_timeout(std::time::Duration::from_mins(1))?;
    database.execute_batch("BEGIN IMMEDIATE")?;
    let meanwhile = async {
        counted(&peer, r#"waiting{kind="mutation"}"#, 1.0).await?;
        let refused = publish(&peer, token, "refused").await?;
        let extensions = &refused["errors"][0]["extensions"];
        ensure!((&extensions["code"], &extensions["retryAfter"]) == (&json!("OVERLOADED"), &json!(1)), "{refused}");
        counted(&peer, r#"refused_total{kind="mutation",reason="full"}"#, 1.0).await?;
        for path in ["healthz", "readyz"] {
            let (status, body) = peer.get(path).await?;
            ensure!(status == 200, "{path}: {status} {body}");
        }
        let page = peer.query(Some(token), "{ timeline { edges { node { text } } } }").await?;
        ensure!(page["data"]["timeline"]["edges"] == json!([]), "{page}");
        database.execute_batch("COMMIT")?;
        Ok::<_, anyhow::Error>(())
    };
    let (one, other, ended) = tokio::join!(publish(&peer, token, "one"), publish(&peer, token, "other"), meanwhile);
    ended?;
    for done in [one?, other?] {
        ensure!(done["data"]["publishContent"]["userErrors"] == json!([]), "{done}");
    }
    let page = peer.query(Some(token), "{ timeline { edges { node { text } } } }").await?;
    let mut texts: Vec<_> = page["data"]["timeline"]["edges"].as_array().context("no page")?.iter().collect();
    texts.sort_unstable_by_key(|edge| edge["node"]["text"].to_string());
    let texts: Vec<_> = texts.iter().map(|edge| &edge["node"]["text"]).collect();
    ensure!(texts == ["one", "other"], "{page}");
    Ok(())
}
