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
