//! `tidefeed seed`: writes a believable world of any size, and lets its people act while a node serves it. The crate
//! `demo` decides what it contains and what they do; this module carries it out and shows progress.

mod living;
mod progress;
mod stages;

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{Args, value_parser};
use demo::{Album, Guest, HANDLE, PASSWORD, Plan, World};
use tokio::time::Instant;

use self::stages::{Stages, Written};
use super::{completion::Completion, print};
use crate::{
    accounts::{Client, PasswordSettings, Passwords},
    api::graphql::{OWN, id_of_user},
    app::{open_for_bulk_inserts, open_store},
    clock::{Clock, SystemClock},
    config::{AuthSettings, Config},
    domain::Handle,
    lifecycle::Lifecycle,
    rng::SharedRng,
    store::{Accounts, Schema, StoreError, accounts::PasswordHash},
};

#[derive(Debug, Clone, Args)]
pub struct SeedArguments {
    /// Number of users.
    #[arg(long, default_value_t = 200, value_parser = value_parser!(u64).range(1..=10_000_000))]
    users: u64,
    /// Average number of authors that each user follows.
    #[arg(long, default_value_t = 20, value_parser = value_parser!(u32).range(0..=1_000))]
    follows_per_user: u32,
    /// Average number of contents of each user.
    #[arg(long, default_value_t = 20, value_parser = value_parser!(u32).range(0..=1_000))]
    contents_per_user: u32,
    /// Age of the oldest contents, in days.
    #[arg(long, default_value_t = 21, value_parser = value_parser!(u32).range(1..=1_000))]
    days: u32,
    /// Seed of the random generator. The same seed makes the same world.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// URL of the pictures, with a number in the place of its n in braces. By default `tidefeed serve` draws them, so
    /// that a page contacts no third party. Empty: no pictures.
    #[arg(long, value_name = "https://../{n}.jpg")]
    pictures: Option<String>,
    /// URL of the avatars, with a user's id there. By default `tidefeed serve` draws them. Empty: no avatars.
    #[arg(long, value_name = "https://../{n}.jpg")]
    avatars: Option<String>,
    /// Do nothing if the database has users already.
    #[arg(long, conflicts_with = "add")]
    if_empty: bool,
    /// Add these people to a database that has users.
    #[arg(long)]
    add: bool,
    /// Then serve the database as `tidefeed serve` does, and let its people post, like, follow back and answer you
    /// every 5 to 20 s. Refuses people whom others have written; with `--if-empty`, serves these without touching them.
    #[arg(long, conflicts_with = "add")]
    live: bool,
}

impl SeedArguments {
    fn plan(&self, first_place: u64, now_ms: i64) -> Plan {
        let drawn_at = |given: &Option<String>, folder| {
            let template = given.clone().unwrap_or_else(|| format!("{OWN}/{folder}/{{n}}.svg"));
            Some(template).filter(|url| !url.is_empty())
        };
        let own_clips = || format!("{OWN}/clips/{{n}}.webm");
        let album =
            Album { pictures: drawn_at(&self.pictures, "pictures"), clips: self.pictures.is_none().then(own_clips) };
        Plan {
            seed: self.seed,
            users: self.users,
            first_place,
            follows_per_user: self.follows_per_user,
            contents_per_user: self.contents_per_user,
            days: self.days,
            now_ms,
            album,
            avatars: drawn_at(&self.avatars, "portraits"),
            public_id: |user| id_of_user(user).0,
        }
    }
}

pub async fn run(arguments: SeedArguments, config: &Config) -> anyhow::Result<Completion> {
    if !arguments.live {
        return fill(&arguments, config).await;
    }
    let store = open_store(config).await?;
    let is_filled = store.pending().await.is_ok_and(|it| it.is_empty()) && store.count().await? > 0;
    if !is_filled && fill(&arguments, config).await? == Completion::Interrupted {
        return Ok(Completion::Interrupted);
    }
    living::serve(store, config, arguments.plan(0, 0).album, arguments.if_empty).await
}

async fn fill(arguments: &SeedArguments, config: &Config) -> anyhow::Result<Completion> {
    let store = open_for_bulk_inserts(config).await?;
    let pending = store.pending().await.context("the tables cannot be read")?;
    ensure!(pending.is_empty(), "the tables are not up to date: run `tidefeed migrate` first");
    let there = store.count().await.context("the users cannot be counted")?;
    if there > 0 && arguments.if_empty {
        print::line(format!("The database has {there} users already. Nothing to do."))?;
        return Ok(Completion::Done);
    }
    if there > 0 && !arguments.add {
        bail!("the database has {there} users already: `--add` adds people to them, `--if-empty` leaves it as it is");
    }
    let lifecycle = Lifecycle::new();
    lifecycle.watch_signals(Duration::ZERO).context("signals cannot be watched")?;
    let world = World::new(arguments.plan(there, SystemClock.now_ms()));
    let has_guest = store.by_handle(&Handle::try_new(HANDLE)?).await?.is_some();
    let guest = (!has_guest).then(|| Guest::of(&world)).transpose()?;
    let password = hash(&config.auth).await?;
    let started = Instant::now();
    let stages = Stages { store: &store, world: &world, guest: guest.as_ref(), interrupted: lifecycle.draining() };
    let written = stages.run(&password).await;
    lifecycle.stop();
    let written = written.map_err(|error| {
        let next = next_step(&error);
        error.context(format!("not all people could be written; the batches before the last are complete; {next}"))
    })?;
    print_written(&written, started.elapsed(), arguments.live)?;
    Ok(if written.interrupted { Completion::Interrupted } else { Completion::Done })
}

/// What to do after an error.
fn next_step(error: &anyhow::Error) -> &'static str {
    match error.downcast_ref::<StoreError>() {
        Some(error) if error.is_transient() => {
            "run `tidefeed doctor`; then seed an empty database, or add people to this one with `--add`"
        }
        _ => "seed an empty database, because people in this one may have the same handles",
    }
}

async fn hash(auth: &AuthSettings) -> anyhow::Result<PasswordHash> {
    let settings = PasswordSettings {
        memory_kib: auth.argon2_memory_kib,
        iterations: auth.argon2_iterations,
        parallelism: auth.argon2_parallelism,
        ..PasswordSettings::default()
    };
    let passwords = Passwords::try_new(settings, SharedRng::from_system())?;
    let turn = passwords.turn(Client::Network(None)).await?;
    Ok(passwords.hash(&turn, PASSWORD.to_owned()).await?)
}

fn print_written(written: &Written, elapsed: Duration, is_served_next: bool) -> anyhow::Result<()> {
    let rate = u128::from(written.rows()) * 1_000 / elapsed.as_millis().max(1);
    let seconds = elapsed.as_secs_f64();
    let Written { users, contents, reactions, follows, interrupted } = written;
    let how = if *interrupted { "Interrupted after" } else { "Seeded in" };
    print::line(format!(
        "{how} {seconds:.1} s ({rate} rows/s): {users} users, {contents} contents, {reactions} reactions, {follows} follows."
    ))?;
    let next = if is_served_next { "Sign" } else { "Next: run `tidefeed serve`, and sign" };
    print::line(format!("{next} in as `{HANDLE}` with the password `{PASSWORD}`. Every seeded account has it."))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_store_says_what_to_do_next() {
        let slow = anyhow::Error::from(StoreError::Unavailable("deadline has elapsed".into()));
        assert!(next_step(&slow).starts_with("run `tidefeed doctor`"));
        let taken = anyhow::Error::from(StoreError::Refused("UNIQUE constraint failed".into()));
        assert!(next_step(&taken).starts_with("seed an empty database"));
    }
}
