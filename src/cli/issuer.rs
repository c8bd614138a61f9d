//! `tidefeed issuer`: gives users of a former issuer, or of the product, the ids of the configured one.

use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use tokio::time::Instant;

use super::{completion::Completion, print};
use crate::{
    accounts::RebindOutcome, ambient::Ambient, api::graphql::id_of_user, app::open_external_users, config::Config,
};

/// Time between two lines of progress.
const EVERY: Duration = Duration::from_secs(2);
/// Users read at a time.
const PAGE: usize = 500;

#[derive(Debug, Args)]
pub struct IssuerArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Give each user of a former issuer the same id of the configured one. Repeat it after any failure.
    Adopt {
        /// The former `issuer.url`; `product` if there was none.
        #[arg(long, value_name = "ISSUER")]
        from: String,
    },
}

/// Exit codes: 0; 3 if ids are those of other users by now; 1 if it could not go on.
pub async fn run(
    IssuerArguments { action: Action::Adopt { from } }: &IssuerArguments,
    config: &Config,
) -> anyhow::Result<Completion> {
    let users = open_external_users(config, &Ambient::of_system()).await?;
    if users.issuer() == from {
        anyhow::bail!("`{from}` is the configured issuer: name the one that the users had before");
    }
    let (mut after, mut adopted, mut taken, mut shown) = (String::new(), 0_u64, 0_u64, Instant::now());
    loop {
        let page = users.of_issuer(from, &after, PAGE).await.context("the users cannot be read")?;
        let Some(last) = page.last() else { break };
        last.digest.clone_into(&mut after);
        for bound in &page {
            match users.rebind(bound.user, &bound.subject).await.context("a user cannot be changed")? {
                RebindOutcome::Done => adopted += 1,
                RebindOutcome::Taken => {
                    taken += 1;
                    print::line(format!("{}: another user has the id {}", id_of_user(bound.user).0, bound.subject))?;
                }
                RebindOutcome::NoUser | RebindOutcome::Invalid(_) => {}
            }
            if shown.elapsed() >= EVERY {
                shown = Instant::now();
                print::complaint(format!("{adopted} users have their ids of `{}`.", users.issuer()));
            }
        }
    }
    print::complaint(format!("{adopted} users of `{from}` have their ids of `{}` now, too.", users.issuer()));
    if taken > 0 {
        let remedy = "delete the other users, or give them other ids (`rebindExternalId`), and run this again";
        print::complaint(format!("{taken} do not: {remedy}."));
        return Ok(Completion::SomeRefused);
    }
    Ok(Completion::Done)
}
