//! `tidefeed service`: makes, lists, rotates and revokes the keys of other services, and shows what they did.
//!
//! A key goes to standard output, alone and once. What there is to say about it goes to standard error.

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, value_parser};

use super::{completion::Completion, print};
use crate::{
    accounts::services::{CONFIGURED, add_key, rotate_key},
    ambient::Ambient,
    api::graphql::{id_of_user, rfc3339},
    app::open_store,
    config::Config,
    domain::account::service::{Scopes, ServiceName},
    store::{
        Schema as _, ServiceKeys, ServiceLog,
        service_keys::{NEVER, ServiceKey},
    },
};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
/// A hundred years.
const LONGEST_MS: i64 = 36_500 * DAY_MS;

#[derive(Debug, Args)]
pub struct ServiceArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make the key of a service, and print it once.
    Add {
        /// What to call the service: in the list, in the log, in metrics.
        name: ServiceName,
        #[arg(
            long = "scope",
            value_name = "SCOPES",
            help = format!("What the key allows, joined by commas: {}", Scopes::all())
        )]
        scopes: Scopes,
        /// When the key expires, from now on: 90d, 12h or 30m. Without it, never.
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<i64>,
    },
    /// List the keys: what they allow, when they expire, and when they were last used.
    List,
    /// Make another key of a service, and print it once. The former one is good for a day more.
    Rotate {
        /// The service.
        name: ServiceName,
        /// When the new key expires, from now on. Without it, after as long a time as the former one was given.
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<i64>,
    },
    /// End all keys of a service, on every node within `auth.revocation_s`.
    Revoke {
        /// The service.
        name: ServiceName,
    },
    /// Show what services did, as whom, and how it ended; newest first.
    Log {
        /// Only this service.
        #[arg(long, value_name = "NAME")]
        service: Option<ServiceName>,
        /// At most this many lines.
        #[arg(long, default_value_t = 100, value_parser = value_parser!(u64).range(1..=100_000))]
        limit: u64,
    },
}

pub async fn run(arguments: ServiceArguments, config: &Config) -> anyhow::Result<Completion> {
    let store = open_store(config).await?;
    if !store.pending().await?.is_empty() {
        bail!("tables are missing or old: run `tidefeed migrate`");
    }
    let ambient = Ambient::of_system();
    match arguments.action {
        Action::Add { name, scopes, expires } => {
            if name.as_str() == CONFIGURED {
                bail!("`{CONFIGURED}` is the name of the key in service.key: choose another one");
            }
            let key = add_key(&store, (&name, scopes), expires, &ambient).await.context("the key cannot be kept")?;
            let Some(key) = key else {
                bail!("there is a key of `{name}` already: run `tidefeed service rotate {name}`, or revoke it first");
            };
            print::complaint(format!("The key of `{name}`, with the scopes {scopes}. It is not shown again:"));
            print::line(key)?;
        }
        Action::List => list(&store, ambient.now_ms()).await?,
        Action::Rotate { name, expires } => {
            let rotated = rotate_key(&store, &name, expires, &ambient).await.context("the key cannot be kept")?;
            let Some((key, kept)) = rotated else { return Err(unknown(&name)) };
            let until = end_of(&kept);
            print::complaint(format!(
                "The new key of `{name}`, good {until}. It is not shown again. The former one is good for a day:"
            ));
            print::line(key)?;
        }
        Action::Revoke { name } => {
            if store.revoke_keys(&name).await.context("the keys cannot be deleted")? == 0 {
                return Err(unknown(&name));
            }
            let seconds = config.auth.revocation_s;
            print::line(format!("Revoked the keys of `{name}`. Every node refuses them within {seconds} s."))?;
        }
        Action::Log { service, limit } => log(&store, service.as_ref(), limit).await?,
    }
    Ok(Completion::Done)
}

fn unknown(name: &ServiceName) -> anyhow::Error {
    anyhow::anyhow!("there is no key of `{name}` that is good: `tidefeed service list` shows which there are")
}

/// `90d`, `12h` or `30m`, in ms.
fn lifetime(text: &str) -> Result<i64, String> {
    let units = [("d", DAY_MS), ("h", HOUR_MS), ("m", MINUTE_MS)];
    let read = units.iter().find_map(|(unit, ms)| text.strip_suffix(unit)?.parse::<i64>().ok()?.checked_mul(*ms));
    read.filter(|ms| (MINUTE_MS..=LONGEST_MS).contains(ms))
        .ok_or_else(|| "expected days, hours or minutes such as 90d, 12h or 30m, at most 36500d".to_owned())
}

async fn list(keys: &dyn ServiceKeys, now_ms: i64) -> anyhow::Result<()> {
    let keys = keys.keys().await.context("the keys cannot be listed")?;
    if keys.is_empty() {
        print::line("There are no keys. `tidefeed service add NAME --scope act_as,read` makes one.")?;
    }
    for key in keys {
        let state = if key.expires_at <= now_ms { "over" } else { "good" };
        let (until, made) = (end_of(&key), rfc3339(key.created_at));
        let used = if key.last_used_at == 0 { "never".to_owned() } else { rfc3339(key.last_used_at) };
        print::line(format!("{}: {state} {until}, made {made}, last used {used}: {}", key.service, key.scopes))?;
    }
    Ok(())
}

fn end_of(key: &ServiceKey) -> String {
    if key.expires_at == NEVER { "without an end".to_owned() } else { format!("until {}", rfc3339(key.expires_at)) }
}

async fn log(log: &dyn ServiceLog, service: Option<&ServiceName>, limit: u64) -> anyhow::Result<()> {
    for call in log.logged_calls(service, limit).await.context("the log cannot be read")? {
        let (at, user) = (rfc3339(call.at_ms), call.user.map_or_else(|| "-".to_owned(), |user| id_of_user(user).0));
        print::line(format!("{at} {} {user} {} {}", call.service, call.outcome, call.operation))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_a_number_of_days_hours_or_minutes() {
        assert_eq!(lifetime("90d"), Ok(90 * DAY_MS));
        assert_eq!((lifetime("12h"), lifetime("1m")), (Ok(12 * HOUR_MS), Ok(MINUTE_MS)));
        for bad in ["", "d", "0d", "-1d", "90", "1.5d", "36501d", "9223372036854775807d", "1w"] {
            assert!(lifetime(bad).is_err(), "{bad}");
        }
    }
}
