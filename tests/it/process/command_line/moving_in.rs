//! Tests `tidefeed import`: what it reads, writes, reports and leaves behind, and the examples of its document.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio::{
    io::AsyncWriteExt as _,
    process::Command,
    time::{sleep, timeout},
};

use super::{
    CommandLine, Ended,
    process::{LIMIT, until},
};

pub const HEADER: &str = r#"{"type":"header","data":{"format":"tidefeed","version":1}}"#;

/// The example of this name in docs/moving-in.md.
pub async fn example(language: &str, name: &str) -> Result<String> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/moving-in.md");
    let text = tokio::fs::read_to_string(document).await?;
    let (_, rest) = text.split_once(&format!("```{language} {name}\n")).context("no such example")?;
    Ok(rest.split_once("```").context("no end")?.0.to_owned())
}

pub async fn put(it: &CommandLine, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf> {
    let path = it.path().join(name);
    tokio::fs::write(&path, bytes).await?;
    Ok(path)
}

/// Runs a command with something on its standard input.
pub async fn fed(it: &CommandLine, arguments: &[&str], input: &[u8]) -> Result<Ended> {
    let mut process =
        it.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stdin = process.stdin.take().context("no standard input")?;
    stdin.write_all(input).await?;
    drop(stdin);
    Ok(Ended::of(&timeout(LIMIT, process.wait_with_output()).await??))
}

async fn files(it: &CommandLine) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folder = tokio::fs::read_dir(it.path()).await?;
    while let Some(entry) = folder.next_entry().await? {
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[tokio::test]
async fn the_file_of_the_document_is_plain_and_sorts_to_itself() -> Result<()> {
    let it = CommandLine::embedded()?;
    let text = example("json", "product.ndjson").await?;
    put(&it, "product.ndjson", &text).await?;
    let checked = it.run(&["import", "check", "product.ndjson"]).await?;
    ensure!(checked.code == Some(0), "{checked:?}");
    ensure!(checked.out.lines().count() == 1 && checked.out.starts_with(r#"{"summary":{"lines":11,"#), "{checked:?}");
    ensure!(
        checked.err.contains("Checked 11 lines: content 3, follow 1, mute 1, reaction 1, read_marker 1, tombstone 1,")
    );
    ensure!(checked.err.contains("SHA-256: "), "{checked:?}");
    it.done(&["import", "sort", "product.ndjson", "--to", "sorted.ndjson"]).await?;
    ensure!(tokio::fs::read_to_string(it.path().join("sorted.ndjson")).await? == text);
    let piped = fed(&it, &["import", "sort", "-", "--to", "-"], text.as_bytes()).await?;
    ensure!(piped.code == Some(0) && piped.out == text && piped.err.contains(r#"{"summary""#), "{piped:?}");
    let again = it.run(&["import", "sort", "product.ndjson", "--to", "sorted.ndjson"]).await?;
    ensure!(again.code == Some(1) && again.err.contains("`sorted.ndjson` exists"), "{again:?}");
    Ok(())
}

#[tokio::test]
async fn attributes_are_checked_by_the_schemas_of_the_configuration() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__CONTENT__SCHEMAS", "schemas");
    it.done(&["migrate"]).await?;
    tokio::fs::create_dir(it.path().join("schemas")).await?;
    put(&it, "schemas/acme.walk.json", r#"{"properties":{"km":{"type":"integer"}},"required":["city"]}"#).await?;
    put(&it, "product.ndjson", example("json", "product.ndjson").await?).await?;
    let refusal = r#"{"line":4,"type":"content","externalId":"p-1","outcome":"refused","code":"INVALID","field":["data","attributes"],"message":"`city` must be there. At `/km`: this must be an integer, not a number."}"#;
    for command in [["import", "check"], ["import", "load"]] {
        let ended = it.run(&[command[0], command[1], "product.ndjson"]).await?;
        ensure!(ended.code == Some(3) && ended.out.lines().next() == Some(refusal), "{command:?}: {ended:?}");
        ensure!(ended.out.contains(r#""line":5"#), "what refers to it is refused, too: {ended:?}");
    }
    Ok(())
}

#[tokio::test]
async fn refused_lines_are_reported_and_end_with_code_three() -> Result<()> {
    let it = CommandLine::embedded()?;
    let content =
        r#"{"type":"content","data":{"externalId":"p-9","author":"8","text":"x","createdAt":"2020-01-01T00:00:00Z"}}"#;
    let user = r#"{"type":"user","data":{"externalId":"7"}}"#;
    put(&it, "a.ndjson", format!("{HEADER}\n{user}\n{content}\n")).await?;
    let checked = it.run(&["import", "check", "a.ndjson"]).await?;
    ensure!(checked.code == Some(3) && checked.out == example("json", "report.ndjson").await?, "{checked:?}");
    it.done(&["import", "check", "a.ndjson", "--part"]).await?;
    let quiet = it.run(&["import", "check", "a.ndjson", "--report", "report"]).await?;
    ensure!(quiet.code == Some(3) && quiet.out.is_empty(), "{quiet:?}");
    ensure!(tokio::fs::read_to_string(it.path().join("report")).await? == checked.out);
    put(&it, "b.ndjson", format!("{HEADER}\n{content}\n{user}\nnonsense\n")).await?;
    let sorted = it.run(&["import", "sort", "b.ndjson", "--to", "c.ndjson"]).await?;
    ensure!(sorted.code == Some(3) && sorted.out.contains(r#"{"line":4,"outcome":"refused","code":"INVALID""#));
    let lines = tokio::fs::read_to_string(it.path().join("c.ndjson")).await?;
    ensure!(lines.lines().nth(1) == Some(user) && lines.lines().count() == 3, "{lines}");
    Ok(())
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_said_in_one_sentence() -> Result<()> {
    let it = CommandLine::embedded()?;
    put(&it, "empty", "").await?;
    put(&it, "other", "{}\n").await?;
    put(&it, "damaged", b"\x1f\x8b\x08\x00\x00").await?;
    put(&it, "wide", [0xff, 0xfe, b'{', 0]).await?;
    for (name, said) in [
        ("empty", "the file is empty"),
        ("other", "line 1 is not the header of this format"),
        ("damaged", "cut off or damaged"),
        ("wide", "UTF-16"),
        ("missing", "missing"),
        (".", "directory"),
    ] {
        let ended = it.run(&["import", "check", name]).await?;
        let one_line = ended.err.trim_end().lines().count() == 1 && ended.err.starts_with("error: ");
        ensure!(ended.code == Some(1) && one_line && ended.err.contains(said), "{name}: {ended:?}");
        let ended = it.run(&["import", "sort", name, "--to", "new"]).await?;
        ensure!(ended.code == Some(1) && !it.path().join("new").exists(), "{name}: {ended:?}");
    }
    Ok(())
}

#[tokio::test]
async fn gzip_of_a_pipe_is_read() -> Result<()> {
    let it = CommandLine::embedded()?;
    let path = put(&it, "a.ndjson", example("json", "product.ndjson").await?).await?;
    let packed = Command::new("gzip").arg("-c").arg(path).output().await?;
    let checked = fed(&it, &["import", "check", "-"], &packed.stdout).await?;
    ensure!(checked.code == Some(0), "{checked:?}");
    Ok(())
}

/// Follows, of which each takes some hundred bytes.
fn many(count: u32) -> String {
    let follows = (0..count).map(|number| {
        let id = format!("{number:0>200}");
        format!("{{\"type\":\"follow\",\"data\":{{\"follower\":\"{id}\",\"author\":\"a\"}}}}\n")
    });
    std::iter::once(format!("{HEADER}\n")).chain(follows).collect()
}

#[tokio::test]
async fn a_full_disk_leaves_no_file_that_is_half() -> Result<()> {
    let it = CommandLine::embedded()?.surviving_file_limits();
    put(&it, "a.ndjson", many(2_000)).await?;
    let mut command = Command::new("prlimit");
    let inner = it.command(&["import", "sort", "a.ndjson", "--to", "b.ndjson"]);
    let inner = inner.as_std();
    command.arg("--fsize=100000").arg(inner.get_program()).args(inner.get_args()).current_dir(it.path());
    let ended = Ended::of(&command.env_clear().output().await?);
    ensure!(ended.code == Some(1) && ended.err.contains("`b.ndjson` cannot be written: File too large"), "{ended:?}");
    ensure!(files(&it).await? == ["a.ndjson"], "{:?}", files(&it).await?);
    Ok(())
}

/// Whether the process has a handler of its own for SIGINT.
async fn catches_interrupts(pid: &str) -> Result<bool> {
    let status = tokio::fs::read_to_string(format!("/proc/{pid}/status")).await?;
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).context("no SigCgt")?;
    Ok(u64::from_str_radix(caught.trim(), 16)? & 0b10 != 0)
}

#[tokio::test]
async fn an_idle_check_ends_at_once_when_interrupted() -> Result<()> {
    let it = CommandLine::embedded()?;
    for arguments in [["import", "check", "-"].as_slice(), &["import", "sort", "-", "--to", "new"]] {
        let mut process = it.command(arguments).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut stdin = process.stdin.take().context("no standard input")?;
        stdin.write_all(format!("{HEADER}\n").as_bytes()).await?;
        let pid = process.id().context("it has ended")?.to_string();
        until("it watches signals", async || catches_interrupts(&pid).await).await?;
        ensure!(Command::new("kill").args(["-INT", &pid]).status().await?.success());
        let ended = timeout(Duration::from_secs(20), process.wait()).await.context("it goes on")??;
        ensure!(ended.code() == Some(130), "{ended:?}");
        drop(stdin);
    }
    ensure!(files(&it).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_file_that_grows_while_it_is_read_is_an_error() -> Result<()> {
    let it = CommandLine::embedded()?;
    let path = put(&it, "a.ndjson", many(60_000)).await?;
    let mut process = it.command(&["import", "sort", "a.ndjson", "--to", "b.ndjson"]).stderr(Stdio::piped()).spawn()?;
    while process.try_wait()?.is_none() {
        let mut file = tokio::fs::OpenOptions::new().append(true).open(&path).await?;
        file.write_all(b"\n").await?;
        file.flush().await?;
        sleep(Duration::from_millis(5)).await;
    }
    let ended = Ended::of(&timeout(LIMIT, process.wait_with_output()).await??);
    ensure!(ended.code == Some(1) && ended.err.contains("has changed while it was read"), "{ended:?}");
    ensure!(files(&it).await? == ["a.ndjson"]);
    Ok(())
}

/// Lines of the form that `GetStream` publishes.
const GETSTREAM_EXPORT: &str = include_str!("../../../fixtures/getstream/export.ndjson");
/// What the filter makes of them.
const GETSTREAM_LINES: &str = include_str!("../../../fixtures/getstream/lines.ndjson");

/// Texts that stand between `begin` and the next quotation mark, one of each line that has one.
fn quoted<'a>(text: &'a str, begin: &'a str) -> Vec<&'a str> {
    text.lines().filter_map(|line| line.split_once(begin)?.1.split('"').next()).collect()
}

#[tokio::test]
async fn an_export_of_getstream_goes_through_the_documents_filter() -> Result<()> {
    let it = CommandLine::embedded()?;
    put(&it, "getstream.jq", example("jq", "getstream.jq").await?).await?;
    put(&it, "export.ndjson", GETSTREAM_EXPORT).await?;
    let mut jq = Command::new("jq");
    let made = jq.args(["-c", "-n", "-f", "getstream.jq", "export.ndjson"]).current_dir(it.path()).output().await;
    let made = Ended::of(&made.context("scripts/install-servers.sh installs jq")?);
    ensure!(made.code == Some(0) && made.out == GETSTREAM_LINES, "{made:?}");
    let left_out = [
        r#"["DEBUG:",{"left_out":{"user: deleted_at":1,"feed_group":2,"feed":5,"poll":1,"#,
        r#""attachment: type file":1,"activity: visibility private":1,"activity: visibility tag":1,"#,
        r#""activity: expires_at":1,"activity: in no public feed":3,"follow: of oneself":1,"#,
        r#""follow: status pending":1,"follow: status rejected":1,"comment: status hidden":1,"reaction: type laugh":1}}]"#,
    ];
    ensure!(made.err.trim_end() == left_out.concat(), "{}", made.err);

    put(&it, "unsorted.ndjson", &made.out).await?;
    let sorted = it.run(&["import", "sort", "unsorted.ndjson", "--to", "product.ndjson"]).await?;
    let unknown = r#"{"line":27,"outcome":"refused","code":"INVALID","field":["type"],"#;
    ensure!(sorted.code == Some(3) && sorted.out.starts_with(unknown), "{sorted:?}");
    ensure!(sorted.out.lines().count() == 2, "a line of a story, and the summary: {sorted:?}");

    let checked = it.run(&["import", "check", "product.ndjson"]).await?;
    ensure!(checked.code == Some(3) && quoted(&checked.out, r#""code":""#) == ["NOT_FOUND"; 6], "{checked:?}");
    let fields = ["author", "replyTo", "repostOf", "author", "content", "other"];
    ensure!(quoted(&checked.out, r#""field":["data",""#) == fields, "{checked:?}");
    ensure!(quoted(&checked.out, r#""externalId":""#) == ["of-deleted-user", "c-4", "private-shared"], "{checked:?}");
    let taken = r#""records":{"block":1,"content":5,"follow":1,"mute":1,"reaction":5,"tombstone":2,"user":4}"#;
    ensure!(checked.out.contains(taken), "{checked:?}");
    Ok(())
}

#[tokio::test]
async fn tables_become_a_file_that_is_plain() -> Result<()> {
    let it = CommandLine::embedded()?;
    for name in ["posts.csv", "follows.csv"] {
        put(&it, name, example("csv", name).await?).await?;
    }
    let convert = ["import", "convert", "--from", "csv", "--posts", "posts.csv", "--follows", "follows.csv"];
    it.done(&[convert.as_slice(), &["--to", "new"]].concat()).await?;
    let checked = it.done(&["import", "check", "new"]).await?;
    ensure!(checked.contains(r#""content":2,"follow":1,"user":2"#), "{checked}");
    let none = it.run(&["import", "convert", "--from", "csv", "--to", "x"]).await?;
    ensure!(none.code == Some(1) && none.err.contains("needs a table"), "{none:?}");
    let other = it.run(&[convert.as_slice(), &["--mutes", "m.csv", "--to", "x"]].concat()).await?;
    ensure!(other.code == Some(1) && other.err.contains("--mutes does not go with --from csv"), "{other:?}");
    let missing = it.run(&["import", "convert", "--from", "mastodon", "--to", "x"]).await?;
    ensure!(missing.code == Some(2) && missing.err.contains("--archive"), "{missing:?}");
    Ok(())
}

#[tokio::test]
async fn an_archive_of_mastodon_becomes_a_file_that_is_plain() -> Result<()> {
    let it = CommandLine::embedded()?;
    let public = "https://www.w3.org/ns/activitystreams#Public";
    tokio::fs::create_dir(it.path().join("archive")).await?;
    let actor = r#"{"id":"https://social.example/users/mara","preferredUsername":"mara","name":"Mara"}"#;
    put(&it, "archive/actor.json", actor).await?;
    let post = |to: &str, id: u8| {
        format!(
            r#"{{"type":"Create","object":{{"id":"https://social.example/{id}","to":["{to}"],"published":"2019-05-02T08:00:00Z","content":"<p>Low tide</p>"}}}}"#
        )
    };
    let items = [post(public, 1), post("https://social.example/users/mara/followers", 2)].join(",");
    put(&it, "archive/outbox.json", format!(r#"{{"orderedItems":[{items}]}}"#)).await?;
    put(&it, "following.csv", "Account address,Show boosts\nbob@other.example,true\n").await?;
    let convert = ["import", "convert", "--from", "mastodon", "--archive", "archive", "--follows", "following.csv"];
    let made = it.run(&[convert.as_slice(), &["--to", "new"]].concat()).await?;
    let left_out = r#"{"file":"outbox.json","line":2,"type":"content","externalId":"https://social.example/2","outcome":"refused","code":"NOT_ALLOWED""#;
    ensure!(made.code == Some(3) && made.out.starts_with(left_out), "{made:?}");
    let checked = it.done(&["import", "check", "new"]).await?;
    ensure!(checked.contains(r#""content":1,"follow":1,"user":2"#), "{checked}");
    Ok(())
}
