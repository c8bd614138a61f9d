//! `tidefeed import list` and `tidefeed import cancel`.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};

use crate::{
    api::graphql::rfc3339,
    app::open_store,
    cli::{completion::Completion, print},
    clock::{Clock as _, SystemClock},
    config::Config,
    store::{
        Imports, Schema as _,
        imports::{Import, ImportCounts, ImportState},
    },
};

/// Digits of a digest that are shown.
const SHOWN: usize = 12;
/// Digits of a digest that are needed.
const NEEDED: usize = 6;
/// Imports that are listed.
const LISTED: u64 = 1_000;

/// The name of an import, for people.
pub fn id(digest: &str) -> &str {
    digest.get(..SHOWN).unwrap_or(digest)
}

/// What became of lines.
pub fn counts(counts: &ImportCounts) -> String {
    let ImportCounts { created, updated, unchanged, refused } = counts;
    let mut text = format!("{created} new, {updated} changed, {unchanged} as they were");
    if *refused > 0 {
        let _ = write!(text, ", {refused} refused");
    }
    text
}

pub async fn list(config: &Config) -> anyhow::Result<Completion> {
    let imports = open(config).await?.imports(LISTED).await.context("the imports cannot be listed")?;
    if imports.is_empty() {
        print::line("Nothing was imported yet. `tidefeed import load FILE` loads a file.")?;
    }
    for import in imports {
        let state = match import.state {
            ImportState::Running => "unfinished",
            ImportState::Finished => "finished",
            ImportState::Cancelled => "cancelled",
        };
        let Import { file, through_line, started_at, updated_at, .. } = &import;
        print::line(format!(
            "{}: {state}, line {through_line} of {}: {}; begun {}, last batch {}",
            id(&file.digest),
            file.lines,
            counts(&import.counts),
            rfc3339(*started_at),
            rfc3339(*updated_at),
        ))?;
    }
    Ok(Completion::Done)
}

pub async fn cancel(given: &str, config: &Config) -> anyhow::Result<Completion> {
    if given.len() < NEEDED {
        bail!("`{given}` is too short: give at least {NEEDED} digits of what `tidefeed import list` shows");
    }
    let store = open(config).await?;
    let imports = store.imports(LISTED).await.context("the imports cannot be listed")?;
    let given = given.to_ascii_lowercase();
    let mut named = imports.into_iter().filter(|import| import.file.digest.starts_with(&given));
    let import = match (named.next(), named.next()) {
        (Some(import), None) => import,
        (None, _) => bail!("there is no import `{given}`: `tidefeed import list` shows which there are"),
        (Some(_), Some(_)) => bail!("`{given}` is not one import alone: give more digits"),
    };
    let now_ms = SystemClock.now_ms();
    if !store.cancel(&import.file.digest, now_ms).await.context("the import cannot be cancelled")? {
        bail!("the import `{given}` does not run: it is finished, or was cancelled before");
    }
    let line = import.through_line;
    print::line(format!("Cancelled after line {line} or a batch later. Loading the file again goes on from there."))?;
    Ok(Completion::Done)
}

async fn open(config: &Config) -> anyhow::Result<impl Imports> {
    let store = open_store(config).await?;
    if !store.pending().await?.is_empty() {
        bail!("tables are missing or old: run `tidefeed migrate`");
    }
    Ok(store)
}
