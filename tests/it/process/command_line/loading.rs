//! Tests `tidefeed import load` as people run it: once and again, killed, interrupted, cancelled, and twice at once.

use std::{fmt::Write as _, path::PathBuf, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, getpriority_process};
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
    time::{sleep, timeout},
};

use super::{
    CommandLine, Ended,
    moving_in::{HEADER, example, fed, put},
    process::{LIMIT, Node, send_signal},
};
use crate::servers::{Backend, on_each_backend};

const USERS: usize = 20;
const POSTS: usize = 1_000;
const LINES: u64 = 2_121;

/// Users, posts that answer each other, follows, reactions, and a line that is refused.
fn file() -> String {
    let mut text = format!("{HEADER}\n");
    let mut line = |kind: &str, data: &str| {
        let _ = writeln!(text, r#"{{"type":"{kind}","data":{{{data}}}}}"#);
    };
    for user in 0..USERS {
        line("user", &format!(r#""externalId":"u{user}","handle":"user_{user}""#));
    }
    for post in 0..POSTS {
        let to = if post == 0 { String::new() } else { format!(r#","replyTo":"p{}""#, post / 2) };
        let at = format!("2020-01-01T00:00:{:02}Z", post % 60);
        line(
            "content",
            &format!(r#""externalId":"p{post}","author":"u{}","text":"low tide","createdAt":"{at}"{to}"#, post % USERS),
        );
    }
    for follow in 0..99 {
        line(
            "follow",
            &format!(r#""follower":"u{}","author":"u{}""#, follow % USERS, (follow + 1 + follow / USERS) % USERS),
        );
    }
    line("follow", r#""follower":"u0","author":"nobody""#);
    for like in 0..POSTS {
        line("reaction", &format!(r#""user":"u{}","content":"p{like}","kind":"LIKE""#, like % USERS));
    }
    text
}

/// With tables, and the file in `a.ndjson`.
async fn service(it: CommandLine) -> Result<CommandLine> {
    it.done(&["migrate"]).await?;
    put(&it, "a.ndjson", file()).await?;
    Ok(it)
}

/// Loads one line after the other, which takes a while.
fn slowly(it: &CommandLine) -> Result<Child> {
    let mut command = it.command(&["import", "load", "a.ndjson", "--batch", "1"]);
    Ok(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
}

/// The line that the import has come to; 0 before it is begun.
async fn line(it: &CommandLine) -> Result<u64> {
    let listed = it.done(&["import", "list"]).await?;
    let Some((_, rest)) = listed.split_once(", line ") else { return Ok(0) };
    rest.split_once(' ').context("no number")?.0.parse().context("no number")
}

/// Each look is a process.
async fn until_line(it: &CommandLine, at_least: u64) -> Result<()> {
    let looking = async {
        while line(it).await? < at_least {
            sleep(Duration::from_millis(150)).await;
        }
        Ok(())
    };
    timeout(LIMIT, looking).await.context("the import does not come to the line")?
}

async fn ended(process: Child) -> Result<Ended> {
    Ok(Ended::of(&timeout(LIMIT, process.wait_with_output()).await??))
}

#[tokio::test]
async fn a_file_is_loaded_once_and_the_second_time_changes_nothing() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__LOG__FORMAT", "json");
    let path = put(&it, "product.ndjson", example("json", "product.ndjson").await?).await?;
    let early = it.run(&["import", "load", "product.ndjson"]).await?;
    ensure!(early.code == Some(1) && early.err.contains("run `tidefeed migrate`"), "{early:?}");
    it.done(&["migrate"]).await?;
    ensure!(it.done(&["import", "list"]).await?.starts_with("Nothing was imported yet."));
    let loaded = it.run(&["import", "load", "product.ndjson"]).await?;
    ensure!(loaded.code == Some(0) && loaded.out.lines().count() == 1, "{loaded:?}");
    ensure!(loaded.err.contains("Loaded `product.ndjson`, 11 lines: 10 new, 0 changed, 0 as they were."), "{loaded:?}");
    let packed = Command::new("gzip").arg("-nk").arg(&path).status().await?;
    ensure!(packed.success());
    for name in ["product.ndjson", "product.ndjson.gz"] {
        let again = it.run(&["import", "load", name]).await?;
        ensure!(again.code == Some(0) && again.out.contains(r#""outcomes":{"unchanged":10}"#), "{again:?}");
        ensure!(again.err.contains("10 as they were. Nothing has changed."), "{again:?}");
    }
    let listed = it.done(&["import", "list"]).await?;
    ensure!(listed.lines().count() == 2 && listed.contains(": finished, line 11 of 11: 0 new"), "{listed}");
    let (mut node, peer) = Node::listening(&it, &["serve", "--port", "0"], "Serving the API.").await?;
    let asked = r#"{ user(handle: "mara") { contents { edges { node { text } } } } }"#;
    let answer = peer.query(None, asked).await?;
    ensure!(answer.to_string().contains("Low tide at six."), "{answer}");
    node.signal("TERM").await?;
    ensure!(node.code().await? == Some(0));
    Ok(())
}

#[tokio::test]
async fn users_of_a_former_issuer_are_adopted_by_the_new_one() -> Result<()> {
    let it = CommandLine::embedded()?;
    put(&it, "product.ndjson", example("json", "product.ndjson").await?).await?;
    it.done(&["migrate"]).await?;
    it.done(&["import", "load", "product.ndjson"]).await?;
    let refused = it.run(&["issuer", "adopt", "--from", "product"]).await?;
    ensure!(refused.code == Some(1) && refused.err.contains("is the configured issuer"), "{refused:?}");

    let it = it
        .with("TIDEFEED__LOG__FORMAT", "json")
        .with("TIDEFEED__ISSUER__URL", "https://id.example")
        .with("TIDEFEED__ISSUER__AUDIENCE", "feed")
        .with("TIDEFEED__ISSUER__JWKS_URL", "http://127.0.0.1:9/jwks");
    let remedy = "tidefeed issuer adopt --from product";
    let doctor = it.run(&["doctor"]).await?;
    ensure!(doctor.code == Some(1) && doctor.out.contains(remedy), "{doctor:?}");
    put(&it, "other.ndjson", format!("{HEADER}\n")).await?;
    let loaded = it.run(&["import", "load", "other.ndjson"]).await?;
    ensure!(loaded.code == Some(0) && loaded.err.contains(remedy), "{loaded:?}");
    let (mut node, _) = Node::listening(&it, &["serve", "--port", "0"], "Serving the API.").await?;
    ensure!(node.log().iter().any(|line| line.contains(remedy)), "the node says nothing");
    node.signal("TERM").await?;
    ensure!(node.code().await? == Some(0));

    let user = r#"{"type":"user","data":{"externalId":"42","name":"Another"}}"#;
    let adopt = ["issuer", "adopt", "--from", "product"];
    let adopted = it.run(&adopt).await?;
    ensure!(
        adopted.code == Some(0) && adopted.err.contains("have their ids of `https://id.example` now"),
        "{adopted:?}"
    );
    ensure!(it.run(&adopt).await?.code == Some(0), "it may be repeated");
    ensure!(it.run(&["doctor"]).await?.code == Some(0));
    let again = it.run(&["import", "load", "product.ndjson"]).await?;
    ensure!(again.code == Some(0) && again.out.contains(r#""outcomes":{"unchanged":10}"#), "{again:?}");
    put(&it, "changed.ndjson", format!("{HEADER}\n{user}\n")).await?;
    let changed = it.run(&["import", "load", "changed.ndjson"]).await?;
    ensure!(changed.err.contains("0 new, 1 changed"), "{changed:?}");

    let it = it.with("TIDEFEED__ISSUER__URL", "https://other.example");
    ensure!(it.run(&["import", "load", "changed.ndjson"]).await?.err.contains("1 new"), "another user of the same id");
    let adopted = it.run(&["issuer", "adopt", "--from", "https://id.example"]).await?;
    ensure!(adopted.code == Some(3) && adopted.out.contains(": another user has the id 42"), "{adopted:?}");
    ensure!(adopted.err.contains("1 are left as they were"), "{adopted:?}");
    Ok(())
}

#[tokio::test]
async fn lines_that_are_not_plain_are_reported_with_their_file() -> Result<()> {
    let it = CommandLine::embedded()?;
    it.done(&["migrate"]).await?;
    let content = |text: &str| {
        format!(
            r#"{{"type":"content","data":{{"externalId":"p","author":"1","text":"{text}","createdAt":"2020-01-01T00:00:00Z"}}}}"#
        )
    };
    let user = |more: &str| format!(r#"{{"type":"user","data":{{"externalId":"1"{more}}}}}"#);
    put(&it, "a", format!("{HEADER}\n{}\n{}\nnonsense\n", user(""), content("x"))).await?;
    let gone = r#"{"type":"tombstone","data":{"content":"p"}}"#;
    let lines = [HEADER, &user(r#","name":"Ann""#), &content("y"), gone, &content("x")];
    put(&it, "b", lines.join("\n")).await?;
    let loaded = it.run(&["import", "load", "a", "b", "--report", "report"]).await?;
    ensure!(loaded.code == Some(3) && loaded.out.is_empty(), "{loaded:?}");
    let report = tokio::fs::read_to_string(it.path().join("report")).await?;
    let said: Vec<Value> = report.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let outcome = |it: &Value| format!("{} {} {} {}", it["file"], it["line"], it["outcome"], it["code"]);
    let outcomes: Vec<String> = said.iter().map(outcome).collect();
    let expected = [
        r#""`a`" 4 "refused" "INVALID""#,
        r#""`b`" 3 "conflict" "CONFLICT""#,
        r#""`b`" 5 "conflict" "CONFLICT""#,
        "null null null null",
    ];
    ensure!(outcomes == expected, "{outcomes:#?}");
    ensure!(said[3]["summary"]["outcomes"]["updated"] == 2, "the name and the tombstone: {}", said[3]);
    let piped = fed(&it, &["import", "load", "-"], format!("{HEADER}\n{}\n", user("")).as_bytes()).await?;
    ensure!(piped.code == Some(0) && piped.err.contains("Loaded standard input, 2 lines: 0 new"), "{piped:?}");
    for (name, text, said) in [("c", "", "`c`: the file is empty"), ("d", "{}\n", "`d`: line 1 is not the header")] {
        put(&it, name, text).await?;
        let ended = it.run(&["import", "load", "a", name]).await?;
        ensure!(ended.code == Some(1) && ended.err.to_lowercase().contains(said), "{ended:?}");
    }
    Ok(())
}

/// Killed, interrupted and cancelled once each, it goes on each time; then all lines were loaded once.
async fn goes_on_after_it_was_killed(it: CommandLine) -> Result<()> {
    let it = service(it).await?;
    let mut process = slowly(&it)?;
    until_line(&it, 10).await?;
    let second = it.command(&["import", "load", "a.ndjson"]).stderr(Stdio::piped()).spawn()?;
    let second = ended(second).await?;
    let refused = "another process loads `a.ndjson`, and has come to line";
    ensure!(second.code == Some(1) && second.err.to_lowercase().contains(refused), "{second:?}");
    process.kill().await?;
    let killed_at = line(&it).await?;
    ensure!(killed_at < LINES - 100, "it was killed at line {killed_at}");
    let process = slowly(&it)?;
    until_line(&it, killed_at + 1).await?;
    send_signal("INT", process.id().context("it has ended")?).await?;
    let interrupted = ended(process).await?;
    ensure!(
        interrupted.code == Some(130) && interrupted.err.contains("The same command goes on from there."),
        "{interrupted:?}"
    );
    let process = slowly(&it)?;
    let at = line(&it).await?;
    until_line(&it, at + 5).await?;
    let listed = it.done(&["import", "list"]).await?;
    let id = listed.split_once(':').context("no id")?.0;
    it.done(&["import", "cancel", id]).await?;
    let cancelled = ended(process).await?;
    ensure!(cancelled.code == Some(1) && cancelled.err.contains("somebody has cancelled the import"), "{cancelled:?}");
    let rest = it.run(&["import", "load", "a.ndjson"]).await?;
    ensure!(rest.code == Some(3) && rest.err.contains("goes on after line"), "{rest:?}");
    ensure!(rest.err.contains("2121 lines: 2119 new, 0 changed, 0 as they were, 1 refused"), "{rest:?}");
    let again = it.run(&["import", "load", "a.ndjson"]).await?;
    ensure!(again.code == Some(3) && again.out.contains(r#""outcomes":{"refused":1,"unchanged":2119}"#), "{again:?}");
    ensure!(
        again.out.contains(
            r#""line":1121,"type":"follow","outcome":"refused","code":"NOT_FOUND","field":["data","author"]"#
        )
    );
    let audited = it.done(&["audit"]).await?;
    ensure!(audited.contains("0 counters wrong"), "{audited}");
    let other = it.run(&["import", "cancel", id]).await?;
    ensure!(other.code == Some(1) && other.err.contains("does not run"), "{other:?}");
    Ok(())
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_loaded_is_an_error() -> Result<()> {
    let it = service(CommandLine::embedded()?).await?;
    let process = slowly(&it)?;
    until_line(&it, 5).await?;
    let path: PathBuf = it.path().join("a.ndjson");
    let mut file = tokio::fs::OpenOptions::new().append(true).open(&path).await?;
    file.write_all(b"{}\n").await?;
    file.flush().await?;
    let changed = ended(process).await?;
    let said = "the same command goes on from there: the file has changed while it was read";
    ensure!(changed.code == Some(1) && changed.err.contains(said), "{changed:?}");
    let whole = it.run(&["import", "load", "a.ndjson"]).await?;
    ensure!(whole.code == Some(3) && whole.err.contains("Loading `a.ndjson`, 2122 lines"), "another file: {whole:?}");
    Ok(())
}

#[tokio::test]
async fn a_load_gives_way_to_other_processes() -> Result<()> {
    let it = service(CommandLine::embedded()?).await?;
    let own = getpriority_process(None)?;
    for (arguments, more) in [(["--batch", "1"].as_slice(), 10), (&["--batch", "1", "--full-speed"], 0)] {
        let mut command = it.command(&["import", "load", "a.ndjson"]);
        let mut process = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        until_line(&it, 2).await?;
        let id = i32::try_from(process.id().context("it has ended")?)?;
        let seen = getpriority_process(Pid::from_raw(id))?;
        process.kill().await?;
        ensure!(seen == (own + more).min(19), "{arguments:?}: {seen}, not {own} and {more} more");
    }
    Ok(())
}

#[tokio::test]
async fn a_full_disk_is_said_and_loses_nothing() -> Result<()> {
    let it = service(CommandLine::embedded()?).await?.surviving_file_limits();
    let mut command = Command::new("prlimit");
    let inner = it.command(&["import", "load", "a.ndjson", "--batch", "20"]);
    let inner = inner.as_std();
    command.arg("--fsize=700000").arg(inner.get_program()).args(inner.get_args()).current_dir(it.path());
    let full = timeout(Duration::from_mins(2), command.env_clear().output()).await??;
    let full = Ended::of(&full);
    ensure!(full.code == Some(1) && full.err.contains("goes on from there: the store takes no writes"), "{full:?}");
    let rest = it.run(&["import", "load", "a.ndjson"]).await?;
    ensure!(rest.code == Some(3) && rest.err.contains("2119 new, 0 changed, 0 as they were"), "{rest:?}");
    Ok(())
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn a_killed_load_goes_on_where_it_was(backend: Backend) -> Result<()> {
        if backend == Backend::Sqlite {
            return goes_on_after_it_was_killed(CommandLine::embedded()?).await;
        }
        let database = backend.empty_database().await?;
        goes_on_after_it_was_killed(CommandLine::on(&database.url)?).await
    }
}
