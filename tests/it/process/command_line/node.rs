//! Tests `tidefeed serve` and `tidefeed work`, from their first log line to their end.

use anyhow::{Context as _, Result, ensure};
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::{
    CommandLine,
    process::{LIMIT, Node, Peer, until},
};

fn embedded() -> Result<CommandLine> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    Ok(it.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0"))
}

#[tokio::test]
async fn the_demo_account_reads_a_page_and_the_node_stops_cleanly() -> Result<()> {
    let it = embedded()?;
    it.done(&["migrate"]).await?;
    it.done(&["seed", "--users", "80"]).await?;
    let (mut node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let signed_in =
        r#"mutation { signIn(input: { handle: "demo", password: "demo-tidefeed" }) { token userErrors { message } } }"#;
    let answer = peer.query(None, signed_in).await?;
    let token = answer["data"]["signIn"]["token"].as_str().with_context(|| answer.to_string())?.to_owned();
    let page = "{ viewer { followingCount } timeline(first: 20) { edges { node { text author { name } } } pageInfo { hasNextPage } } }";
    let answer = peer.query(Some(&token), page).await?;
    ensure!(answer["data"]["timeline"]["edges"].as_array().map(Vec::len) == Some(20), "{answer}");
    ensure!(answer["data"]["timeline"]["pageInfo"]["hasNextPage"] == true, "{answer}");
    ensure!(answer["data"]["viewer"]["followingCount"] == 50, "{answer}");
    for path in ["readyz", "healthz", "metrics"] {
        let (status, text) = peer.get(path).await?;
        ensure!(status == 200, "/{path}: {status} {text}");
    }
    node.signal("TERM").await?;
    node.said("Stopping.").await?;
    node.said("Stopped.").await?;
    ensure!(node.code().await? == Some(0));
    Ok(())
}

#[tokio::test]
async fn a_node_serves_its_schema_unless_clients_may_not_ask_for_it() -> Result<()> {
    let it = embedded()?;
    let (_node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let (status, body) = peer.get("schema.graphql").await?;
    ensure!(
        status == 200 && body == include_str!("../../../../schema.graphql"),
        "{status} {}",
        body.get(..200).unwrap_or(&body)
    );
    let silent = embedded()?.with("TIDEFEED__GRAPHQL__INTROSPECTION", "false");
    let (_node, peer) = Node::listening(&silent, &["serve"], "Serving the API.").await?;
    let (status, body) = peer.get("schema.graphql").await?;
    ensure!(status == 404 && body.contains("Set graphql.introspection = true"), "{status} {body}");
    Ok(())
}

#[tokio::test]
async fn every_answer_of_a_node_has_its_id_and_safe_headers() -> Result<()> {
    let it = embedded()?;
    let (_node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    let http = reqwest::Client::new();
    for path in ["", "graphiql/", "graphql", "graphql/ws", "schema.graphql", "healthz", "metrics", "nowhere"] {
        let url = format!("http://{}/{path}", peer.address());
        let answer = http.get(url).header("x-request-id", "find-me").send().await?;
        for (name, value) in [
            ("x-request-id", "find-me"),
            ("x-content-type-options", "nosniff"),
            // A page of another origin may learn that the service is there, and nothing else.
            ("cross-origin-resource-policy", if path == "healthz" { "cross-origin" } else { "same-origin" }),
        ] {
            let found = answer.headers().get(name);
            ensure!(found.is_some_and(|found| found == value), "/{path}: {name}: {found:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn serving_creates_missing_tables_and_keeps_the_secret() -> Result<()> {
    let it = embedded()?;
    let mut first = Node::start(&it, &["serve"])?;
    ensure!(first.said("Serving the API.").await?["workers"] == true);
    ensure!(!it.done(&["doctor"]).await?.contains("warn secret"));
    let secret = std::fs::read_to_string(it.path().join("data/secret"))?;
    first.signal("INT").await?;
    first.said("Stopped.").await?;
    ensure!(first.code().await? == Some(0));
    for signal in ["TERM", "HUP"] {
        let mut next = Node::start(&it, &["serve"])?;
        next.said("Serving the API.").await?;
        next.signal(signal).await?;
        next.said("Stopped.").await?;
        ensure!(next.code().await? == Some(0), "{signal}");
    }
    ensure!(std::fs::read_to_string(it.path().join("data/secret"))? == secret);
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn settings_that_are_too_open_are_logged_and_listed() -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let it = embedded()?.with("TIDEFEED__SERVER__TRUSTED_PROXIES", "10.0.0.0/8, 0.0.0.0/0");
    it.done(&["migrate"]).await?;
    std::fs::write(it.path().join("data/secret"), "x".repeat(64))?;
    std::fs::set_permissions(it.path().join("data/secret"), std::fs::Permissions::from_mode(0o644))?;
    let mut node = Node::start(&it, &["serve"])?;
    ensure!(node.said("A setting is more open than it should be.").await?["subject"] == "secret");
    let second = node.said("A setting is more open than it should be.").await?;
    ensure!(second["subject"] == "server.trusted_proxies", "{second}");
    let doctor = it.done(&["doctor"]).await?;
    for part in ["warn secret: other users of this machine may read", "(mode 644)", "0.0.0.0/0 trusts every address"] {
        ensure!(doctor.contains(part), "{part} is not in {doctor:?}");
    }
    Ok(())
}

#[tokio::test]
async fn missing_rights_to_create_tables_are_reported() -> Result<()> {
    let it = embedded()?.with("TIDEFEED__STORE__MIGRATE_AT_START", "false");
    let ended = it.run(&["serve"]).await?;
    ensure!(ended.code == Some(1) && ended.err.contains("run `tidefeed migrate`"), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_taken_port_is_reported_with_the_key_to_set() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0").await?;
    let it = embedded()?.with("TIDEFEED__SERVER__LISTEN", &taken.local_addr()?.to_string());
    // The port is bound before Redis is contacted.
    let it = it.with("TIDEFEED__REDIS__URL", "redis://127.0.0.1:1");
    for command in [&["serve"][..], &["serve", "--no-workers"], &["work"]] {
        let ended = it.run(command).await?;
        ensure!(
            ended.code == Some(1) && ended.err.contains("(server.listen, or `serve --port`)"),
            "{command:?}: {ended:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn half_a_node_without_redis_is_refused_before_anything_is_made() -> Result<()> {
    let it = embedded()?;
    for command in [&["serve", "--no-workers"][..], &["work"]] {
        let ended = it.run(command).await?;
        ensure!(ended.code == Some(2) && ended.err.contains("redis.urls: must be set"), "{command:?}: {ended:?}");
        ensure!(ended.err.contains(&format!("`tidefeed {}`", command.join(" "))), "{ended:?}");
        ensure!(!it.path().join("data").exists(), "{command:?} has made a database");
    }
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_database_and_the_files_beside_it_are_their_owners_alone() -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let it = embedded()?;
    let (_node, peer) = Node::listening(&it, &["serve"], "Serving the API.").await?;
    ensure!(peer.get("readyz").await?.0 == 200);
    let files = ["tidefeed.db", "tidefeed.db-wal", "tidefeed.db-shm", "secret"];
    for file in files {
        let mode = std::fs::metadata(it.path().join("data").join(file)).context(file)?.permissions().mode() & 0o777;
        ensure!(mode == 0o600, "{file}: {mode:o}");
    }
    Ok(())
}

#[tokio::test]
async fn silent_connections_take_no_room_for_long_and_never_the_operators() -> Result<()> {
    let it = embedded()?.with("TIDEFEED__SERVER__MAX_CONNECTIONS", "20");
    let it =
        it.with("TIDEFEED__SERVER__MAX_CONNECTIONS_PER_ADDRESS", "0").with("TIDEFEED__SERVER__HEAD_TIMEOUT_MS", "3000");
    let mut node = Node::start(&it, &["serve"])?;
    let address = node.said("Serving the API.").await?["address"].as_str().context("no address")?.to_owned();
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(&address).await?);
    }
    let peer = Peer::at(&address)?;
    ensure!(peer.get("healthz").await?.0 == 200);
    let has_room = async || peer.get("graphql?query=%7B__typename%7D").await.is_ok_and(|(status, _)| status == 200);
    until("the silent ones are hung up on", async || Ok(has_room().await)).await?;
    ensure!(peer.metric("tidefeed_connections").await?.is_some_and(|open| open <= 20.0));
    for mut stream in silent {
        let mut received = Vec::new();
        let ended = timeout(LIMIT, stream.read_to_end(&mut received)).await?;
        ensure!(received.is_empty(), "{ended:?} {received:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_port_of_the_command_line_comes_before_the_configured_one() -> Result<()> {
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let it = embedded()?.with("TIDEFEED__SERVER__LISTEN", &taken.local_addr()?.to_string());
    for arguments in [["serve", "--port", "0"], ["serve", "--listen", "127.0.0.1:0"]] {
        let node = Node::start(&it, &arguments)?.said("Serving the API.").await?;
        ensure!(node["address"].as_str().is_some_and(|address| address.starts_with("127.0.0.1:")), "{node}");
    }
    let refused = it.run(&["serve"]).await?;
    ensure!(refused.code == Some(1) && refused.err.contains("`serve --port`"), "{refused:?}");
    Ok(())
}
