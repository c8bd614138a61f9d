//! Tests `tidefeed config` and `tidefeed schema`, and the messages for mistakes in the configuration.

use anyhow::{Result, ensure};

use super::CommandLine;

#[tokio::test]
async fn a_bad_configuration_ends_with_code_2_and_tells_every_problem() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__DELIVERY__EXECUTORS", "many");
    std::fs::write(it.path().join("tidefeed.toml"), "[inbox]\nkeap = 3\n[delivery]\nbatch_size = 0\n")?;
    for command in ["serve", "work", "migrate", "seed", "doctor", "config"] {
        let ended = it.run(&[command]).await?;
        ensure!(ended.code == Some(2), "{command}: {ended:?}");
        ensure!(ended.err.starts_with("error: The configuration has 3 problems:"), "{command}: {ended:?}");
        ensure!(ended.err.contains("inbox.keap (") && ended.err.contains("did you mean inbox.keep?"), "{ended:?}");
        ensure!(ended.err.contains("(environment TIDEFEED__DELIVERY__EXECUTORS)"), "{ended:?}");
        ensure!(ended.err.contains("delivery.batch_size = 0"), "{ended:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_named_file_is_read_and_a_missing_one_is_reported() -> Result<()> {
    let it = CommandLine::embedded()?;
    std::fs::write(it.path().join("other.toml"), "[inbox]\nkeep = 77\n")?;
    let shown = it.done(&["config", "--config", "other.toml"]).await?;
    let line = shown.lines().find(|line| line.starts_with("keep = ")).unwrap_or_default();
    ensure!(line.starts_with("keep = 77") && line.ends_with("# other.toml"), "{line}");
    let missing = it.run(&["--config", "none.toml", "config"]).await?;
    ensure!(missing.code == Some(2) && missing.err.contains("none.toml: cannot be read"), "{missing:?}");
    Ok(())
}

#[tokio::test]
async fn the_printed_defaults_are_a_configuration() -> Result<()> {
    let it = CommandLine::embedded()?;
    let defaults = it.done(&["config", "--defaults"]).await?;
    std::fs::write(it.path().join("tidefeed.toml"), defaults)?;
    let shown = it.done(&["config"]).await?;
    ensure!(shown.lines().filter(|line| line.contains(" = ")).all(|line| line.ends_with("# tidefeed.toml")), "{shown}");
    Ok(())
}

#[tokio::test]
async fn a_json_schema_that_cannot_be_used_is_told_with_its_path() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__CONTENT__SCHEMAS", "schemas");
    let header = r#"{"type":"header","data":{"format":"tidefeed","version":1}}"#;
    std::fs::write(it.path().join("a.ndjson"), header)?;
    let missing = "`schemas` cannot be read (No such file or directory (os error 2)): name a folder";
    let remote = "`schemas/run.json` refers to `https://acme.example/km.json`, which is not in it: nothing is fetched";
    for expected in [missing, remote] {
        for command in [&["serve"][..], &["config"], &["import", "check", "-"], &["import", "load", "a.ndjson"]] {
            let ended = it.run(command).await?;
            ensure!(ended.code == Some(1) && ended.err.starts_with("error: "), "{command:?}: {ended:?}");
            ensure!(ended.err.contains("The JSON Schemas (content.schemas) cannot be used"), "{command:?}: {ended:?}");
            ensure!(ended.err.contains(expected), "{command:?}: {ended:?}");
        }
        let doctor = it.run(&["doctor"]).await?;
        let (seen, remedy) = expected.split_once(": ").unwrap_or_default();
        ensure!(doctor.code == Some(1), "{doctor:?}");
        ensure!(doctor.out.contains(&format!("FAIL content schemas: {seen}\n       -> {remedy}")), "{doctor:?}");
        std::fs::create_dir_all(it.path().join("schemas"))?;
        let schema = r#"{"properties":{"km":{"$ref":"https://acme.example/km.json"}}}"#;
        std::fs::write(it.path().join("schemas/run.json"), schema)?;
    }
    Ok(())
}

#[tokio::test]
async fn the_doctor_lists_the_types_that_have_a_schema() -> Result<()> {
    let it = CommandLine::embedded()?;
    it.done(&["migrate"]).await?;
    ensure!(it.done(&["doctor"]).await?.contains("ok   content schemas: content.schemas is not set"));
    let it = it.with("TIDEFEED__CONTENT__SCHEMAS", "schemas");
    std::fs::create_dir(it.path().join("schemas"))?;
    let empty = it.done(&["doctor"]).await?;
    ensure!(empty.contains("warn content schemas: `schemas` has no file that ends in .json"), "{empty}");
    for name in ["run", "acme.walk"] {
        std::fs::write(it.path().join(format!("schemas/{name}.json")), r#"{"type":"object"}"#)?;
    }
    let doctor = it.done(&["doctor"]).await?;
    ensure!(doctor.contains("ok   content schemas: these types have one: acme.walk, run"), "{doctor}");
    ensure!(it.done(&["config"]).await?.contains("schemas = \"schemas\""));
    Ok(())
}

#[tokio::test]
async fn the_schema_needs_no_configuration_and_is_the_committed_one() -> Result<()> {
    let it = CommandLine::embedded()?.with("TIDEFEED__NONSENSE", "1");
    ensure!(it.done(&["schema"]).await? == include_str!("../../../../schema.graphql"), "run `make schema`");
    Ok(())
}

#[tokio::test]
async fn arguments_that_are_not_known_end_with_code_2() -> Result<()> {
    let ended = CommandLine::embedded()?.run(&["sevre"]).await?;
    ensure!(ended.code == Some(2) && ended.err.contains("serve"), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_variable_with_an_underscore_too_few_is_named() -> Result<()> {
    let it = CommandLine::embedded()?
        .with("TIDEFEED_STORE_URL", "sqlite://elsewhere.db")
        .with("TIDEFEED_SERVER__LISTEN", "127.0.0.1:1")
        .with("TIDEFEED_URL", "http://127.0.0.1:8080")
        .with("TIDEFEED_BIN", "target/debug/tidefeed");
    let ended = it.run(&["config"]).await?;
    let warnings = "warning: TIDEFEED_SERVER__LISTEN is not read; the variable of this key is TIDEFEED__SERVER__LISTEN.\n\
                warning: TIDEFEED_STORE_URL is not read; the variable of this key is TIDEFEED__STORE__URL.\n";
    ensure!(ended.code == Some(0) && ended.err == warnings, "{ended:?}");
    Ok(())
}
