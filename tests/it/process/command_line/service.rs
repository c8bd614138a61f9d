//! Tests `tidefeed service`, with a node that uses its keys.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{
    CommandLine,
    moving_in::HEADER,
    process::{Node, Peer},
};
use crate::binary::lines::Exchange;

const KEY: &str = "tfs_0123456789abcdef0123456789abcdef";

#[tokio::test]
async fn a_service_lives_from_its_first_key_to_its_revocation() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0");
    let it = it.with("TIDEFEED__SERVICE__KEY", KEY).with("TIDEFEED__AUTH__REVOCATION_S", "0");
    let it = it.with("TIDEFEED__LOG__FILTER", "trace").with("TIDEFEED__LOG__FORMAT", "json");
    ensure!(it.run(&["service", "list"]).await?.err.contains("run `tidefeed migrate`"));
    it.done(&["migrate"]).await?;
    ensure!(it.done(&["service", "list"]).await?.contains("There are no keys."));
    let made = it.run(&["service", "add", "night", "--scope", "read,act_as", "--expires", "90d"]).await?;
    let key = made.out.trim();
    ensure!(made.code == Some(0) && key.starts_with("tfs_") && key.len() == 47, "{made:?}");
    ensure!(!made.err.contains(key) && made.err.contains("not shown again"), "{made:?}");
    ensure!(it.run(&["service", "add", "night", "--scope", "read"]).await?.err.contains("service rotate night"));
    ensure!(it.run(&["service", "add", "configured", "--scope", "read"]).await?.code == Some(1));
    let unknown = it.run(&["service", "add", "other", "--scope", "read,tweets"]).await?;
    ensure!(unknown.code == Some(2) && unknown.err.contains("no scope `tweets`"), "{unknown:?}");
    ensure!(
        unknown.err.contains("act_as,read,contents,follows,reactions,users,tokens,delete_users,import"),
        "{unknown:?}"
    );
    let (node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let read = "{ user(handle: \"nobody\") { id } }";
    for key in [key, KEY] {
        ensure!(peer.query(Some(key), read).await?["errors"].is_null());
    }
    let rotated = it.done(&["service", "rotate", "night"]).await?;
    for key in [key, rotated.trim()] {
        ensure!(peer.query(Some(key), read).await?["errors"].is_null(), "both are good");
    }
    let listed = it.done(&["service", "list"]).await?;
    ensure!(listed.lines().count() == 2 && listed.contains("night: good until") && listed.contains("act_as,read"));
    ensure!(!listed.contains("last used never"), "{listed}");
    ensure!(it.done(&["service", "revoke", "night"]).await?.contains("Every node refuses them"));
    ensure!(it.run(&["service", "revoke", "night"]).await?.err.contains("tidefeed service list"));
    for key in [key, rotated.trim()] {
        ensure!(peer.query(Some(key), read).await?["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED");
    }
    ensure!(peer.query(Some(KEY), read).await?["errors"].is_null(), "the configured one stays");
    let log = it.done(&["service", "log", "--service", "night"]).await?;
    ensure!(log.lines().count() == 1 && log.ends_with(" night - OK user\n"), "{log}");
    let shown = it.done(&["config"]).await?;
    ensure!(shown.contains("key = \"(hidden)\"") && !shown.contains(KEY), "{shown}");
    let lines = node.log().concat();
    for secret in [KEY, key, rotated.trim()] {
        ensure!(!lines.contains(secret), "a key is in the log of the node");
    }
    Ok(())
}

#[tokio::test]
async fn a_malformed_configured_key_or_scope_is_refused_with_a_remedy() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__SERVICE__KEY", "short");
    let refused = it.run(&["serve"]).await?;
    ensure!(refused.code == Some(2) && refused.err.contains("service.key") && refused.err.contains("openssl rand"));
    ensure!(!refused.err.contains("\"short\""), "{refused:?}");
    let it = CommandLine::embedded()?.with("TIDEFEED__SERVICE__SCOPES", "read,tweets");
    let refused = it.run(&["serve"]).await.context("no answer")?;
    ensure!(refused.code == Some(2) && refused.err.contains("no scope `tweets`"), "{refused:?}");
    Ok(())
}

/// A node with the configured key.
fn with_key(it: CommandLine) -> CommandLine {
    let it = it.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0").with("TIDEFEED__SERVICE__KEY", KEY);
    it.with("TIDEFEED__LOG__FILTER", "trace").with("TIDEFEED__LOG__FORMAT", "json")
}

#[tokio::test]
async fn a_bulk_is_read_as_its_results_are_taken() -> Result<()> {
    let few = "262144";
    let it = with_key(CommandLine::embedded()?).with("TIDEFEED__SERVER__MAX_INCOMING_BYTES_PER_ADDRESS", few);
    let (mut node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let authorization = format!("Bearer {KEY}");
    let headers = [("Authorization", authorization.as_str()), ("Accept-Encoding", "gzip")];
    let mut bulk = Exchange::begin(peer.address(), "/bulk", &headers).await?;
    let lines = 8;
    for line in 1..=lines {
        bulk.say_line(&json!({ "op": "nothing", "data": { "text": "x".repeat(60_000) } })).await?;
        let result = bulk.hear().await?.context("no result")?;
        ensure!(result["line"] == line && result["code"] == "INVALID", "{result}");
    }
    node.signal("TERM").await?;
    let last = bulk.rest().await?;
    ensure!(last.len() == 1 && last[0]["stopped"]["code"] == "STOPPING", "{last:?}");
    ensure!(last[0]["stopped"]["line"] == lines, "{last:?}");
    ensure!(node.code().await? == Some(0));
    let leaks: Vec<_> = node.log().into_iter().filter(|line| line.contains(KEY)).collect();
    ensure!(node.log().len() > 10 && leaks.is_empty(), "{leaks:#?}");
    Ok(())
}

#[tokio::test]
async fn an_import_over_http_ends_with_its_node_and_goes_on() -> Result<()> {
    let it = with_key(CommandLine::embedded()?).with("TIDEFEED__SERVICE__SCOPES", "import");
    let mut file = format!("{HEADER}\n");
    for user in 0..200 {
        let _ = writeln!(file, r#"{{"type":"user","data":{{"externalId":"{user}"}}}}"#);
        let _ = writeln!(file, r#"{{"type":"follow","data":{{"follower":"{user}","author":"nobody"}}}}"#);
    }
    let send = async |peer: &Peer| {
        let authorization = format!("Bearer {KEY}");
        let mut exchange = Exchange::begin(peer.address(), "/import", &[("Authorization", &authorization)]).await?;
        exchange.say(&file).await?;
        exchange.end().await?;
        anyhow::Ok(exchange)
    };
    let (mut node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let mut import = send(&peer).await?;
    import.hear().await?;
    node.signal("TERM").await?;
    let last = import.rest().await?.pop().context("no line")?;
    ensure!(last["stopped"]["code"] == "STOPPING" && last["stopped"]["line"].is_u64(), "{last}");
    ensure!(node.code().await? == Some(0));
    let listed = it.done(&["import", "list"]).await?;
    ensure!(listed.contains(&format!(": unfinished, line {} of 401", last["stopped"]["line"])), "{last}: {listed}");
    let (next, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let last = send(&peer).await?.rest().await?.pop().context("no line")?;
    ensure!(last["summary"]["lines"] == 401, "{last}");
    let listed = it.done(&["import", "list"]).await?;
    ensure!(listed.contains("finished, line 401 of 401: 200 new, 0 changed, 0 as they were, 200 refused"), "{listed}");
    let counted = r#"tidefeed_http_requests_total{route="/import",status="200"}"#;
    ensure!(peer.metric(counted).await? == Some(1.0));
    let leaks: Vec<_> = [node.log(), next.log()].concat().into_iter().filter(|line| line.contains(KEY)).collect();
    ensure!(leaks.is_empty(), "{leaks:#?}");
    Ok(())
}
