//! Tests `tidefeed plan`.

use anyhow::{Result, ensure};
use serde_json::Value as Json;

use super::CommandLine;

#[tokio::test]
async fn a_plan_says_what_is_enough_and_what_it_costs() -> Result<()> {
    let it = CommandLine::embedded()?;
    std::fs::write(it.path().join("prices.toml"), "core = 12.0\nmemory_gib = 2.5\ndisk_gib = 0.08\n")?;
    let plan = it.done(&["plan", "--users", "1000000", "--prices", "prices.toml"]).await?;
    for expected in
        ["At the busiest time, a second:", "search_terms", "SQL primary", "a month", "The first that is enough: "]
    {
        ensure!(plan.contains(expected), "{expected}: {plan}");
    }
    let few: Json = serde_json::from_str(&it.done(&["plan", "--users", "100", "--json"]).await?)?;
    ensure!(few["enough"] == "one process with SQLite", "{few}");
    ensure!(few["layouts"].as_array().is_some_and(|layouts| layouts.len() == 6), "{few}");
    Ok(())
}

#[tokio::test]
async fn too_many_people_end_a_plan_with_code_1() -> Result<()> {
    let ended = CommandLine::embedded()?.run(&["plan", "--users", "1000000000"]).await?;
    ensure!(ended.code == Some(1) && ended.out.contains("None is enough."), "{ended:?}");
    ensure!(ended.out.contains("! SQL primary: "), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_plan_refuses_what_makes_no_sense() -> Result<()> {
    let it = CommandLine::embedded()?;
    let ended = it.run(&["plan", "--daily", "30"]).await?;
    ensure!(ended.code == Some(2) && ended.err.contains("--daily must be a share from 0 to 1"), "{ended:?}");
    std::fs::write(it.path().join("prices.toml"), "core = 12.0\n")?;
    let ended = it.run(&["plan", "--prices", "prices.toml"]).await?;
    ensure!(ended.code == Some(1), "{ended:?}");
    ensure!(ended.err.contains("prices.toml must have core, memory_gib and disk_gib, each a number"), "{ended:?}");
    let ended = it.run(&["plan", "--prices", "none.toml"]).await?;
    ensure!(ended.code == Some(1) && ended.err.contains("none.toml cannot be read"), "{ended:?}");
    Ok(())
}
