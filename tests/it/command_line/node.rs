//! `tidefeed serve` and `tidefeed work`, from their first line to their end.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    net::TcpListener,
    process::{Child, ChildStderr, Command},
};

use super::CommandLine;

/// A node that runs, and its log.
struct Node {
    process: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Node {
    fn start(it: &CommandLine, arguments: &[&str]) -> Result<Self> {
        let mut process = it.command(arguments).stderr(Stdio::piped()).spawn()?;
        let stderr = process.stderr.take().context("no standard error")?;
        Ok(Self { process, log: BufReader::new(stderr).lines() })
    }

    /// The first log line that says `message`.
    async fn said(&mut self, message: &str) -> Result<Value> {
        while let Some(line) = self.log.next_line().await? {
            let line: Value = serde_json::from_str(&line).with_context(|| line.clone())?;
            if line["message"].as_str().is_some_and(|said| said.starts_with(message)) {
                return Ok(line);
            }
        }
        anyhow::bail!("the node ended without saying `{message}`")
    }

    async fn signal(&self, name: &str) -> Result<()> {
        let pid = self.process.id().context("the node has ended")?.to_string();
        ensure!(Command::new("kill").args([name, &pid]).status().await?.success());
        Ok(())
    }
}

fn embedded() -> Result<CommandLine> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    Ok(it.with("TIDEFEED__SERVER__LISTEN", "127.0.0.1:0"))
}

async fn query(address: &str, token: Option<&str>, query: &str) -> Result<Value> {
    let mut request = reqwest::Client::new().post(format!("http://{address}/graphql")).json(&json!({ "query": query }));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    Ok(request.send().await?.json().await?)
}

#[tokio::test]
async fn the_demo_account_reads_a_page_of_the_seeded_world_and_the_node_ends_when_asked() -> Result<()> {
    let it = embedded()?;
    it.done(&["migrate"]).await?;
    it.done(&["seed", "--users", "80"]).await?;
    let mut node = Node::start(&it, &["serve"])?;
    let serving = node.said("serving").await?;
    let address = serving["address"].as_str().context("no address")?;
    let signed_in =
        r#"mutation { signIn(input: { handle: "demo", password: "demo-tidefeed" }) { token userErrors { message } } }"#;
    let answer = query(address, None, signed_in).await?;
    let token = answer["data"]["signIn"]["token"].as_str().with_context(|| answer.to_string())?.to_owned();
    let page = "{ viewer { followingCount } timeline(first: 20) { edges { node { text author { name } } } pageInfo { hasNextPage } } }";
    let answer = query(address, Some(&token), page).await?;
    ensure!(answer["data"]["timeline"]["edges"].as_array().map(Vec::len) == Some(20), "{answer}");
    ensure!(answer["data"]["timeline"]["pageInfo"]["hasNextPage"] == true, "{answer}");
    ensure!(answer["data"]["viewer"]["followingCount"] == 50, "{answer}");
    for (path, status) in [("readyz", 200), ("healthz", 200), ("metrics", 200)] {
        let answer = reqwest::get(format!("http://{address}/{path}")).await?;
        ensure!(answer.status() == status, "/{path}: {}", answer.status());
    }
    node.signal("-TERM").await?;
    node.said("leaving").await?;
    node.said("ended").await?;
    ensure!(node.process.wait().await?.code() == Some(0));
    Ok(())
}

#[tokio::test]
async fn a_missing_table_is_made_at_the_start_and_the_secret_is_kept() -> Result<()> {
    let it = embedded()?;
    let mut first = Node::start(&it, &["serve", "--no-workers"])?;
    ensure!(first.said("serving").await?["workers"] == false);
    let secret = std::fs::read_to_string(it.path().join("data/secret"))?;
    first.signal("-INT").await?;
    first.said("ended").await?;
    let mut second = Node::start(&it, &["work"])?;
    second.said("working").await?;
    second.signal("-TERM").await?;
    second.said("ended").await?;
    ensure!(second.process.wait().await?.code() == Some(0));
    ensure!(std::fs::read_to_string(it.path().join("data/secret"))? == secret);
    Ok(())
}

#[tokio::test]
async fn tables_that_may_not_be_made_and_a_taken_port_are_told() -> Result<()> {
    let it = embedded()?.with("TIDEFEED__STORE__MIGRATE_AT_START", "false");
    let ended = it.run(&["work"]).await?;
    ensure!(ended.code == Some(1) && ended.err.contains("run `tidefeed migrate`"), "{ended:?}");
    let taken = TcpListener::bind("127.0.0.1:0").await?;
    let it = it.with("TIDEFEED__SERVER__LISTEN", &taken.local_addr()?.to_string());
    let ended = it.run(&["serve"]).await?;
    ensure!(ended.code == Some(1) && ended.err.contains("(server.listen)"), "{ended:?}");
    Ok(())
}
