//! `tidefeed issuer`: gives users of a former issuer, or of the product, the ids of the configured one.

use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use tokio::time::Instant;

use super::{completion::Completion, print};
use crate::{
    accounts::RebindOutcome, ambient::Ambient, api::graphql::id_of_user, app::open_external_users, config::Config,
    domain::UserId, store::identities::Bound,
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

/// Exit codes: 0; 3 if some users are left as they were, which are listed; 1 if it could not go on.
pub async fn run(
    IssuerArguments { action: Action::Adopt { from } }: &IssuerArguments,
    config: &Config,
) -> anyhow::Result<Completion> {
    let users = open_external_users(config, &Ambient::of_system()).await?;
    if users.issuer() == from {
        anyhow::bail!("`{from}` is the configured issuer: name the one that the users had before");
    }
    let (mut after, mut adopted, mut left, mut shown) = (String::new(), 0_u64, 0_u64, Instant::now());
    loop {
        let page = users.of_issuer(from, &after, PAGE).await.context("the users cannot be read")?;
        let Some(last) = page.last() else { break };
        last.digest.clone_into(&mut after);
        let ids: Vec<UserId> = page.iter().map(|bound| bound.user).collect();
        let present = users.subjects(&ids).await.context("the users cannot be read")?;
        for Bound { user, subject, .. } in &page {
            let why = match present.get(user) {
                Some(id) if id == subject => None,
                Some(id) => Some(format!("has the id {id}")),
                None => match users.rebind(*user, subject).await.context("a user cannot be changed")? {
                    RebindOutcome::Done => None,
                    RebindOutcome::Taken => Some(format!("another user has the id {subject}")),
                    RebindOutcome::Invalid(invalid) => Some(invalid.to_string()),
                    RebindOutcome::NoUser => continue,
                },
            };
            let Some(why) = why else {
                adopted += 1;
                continue;
            };
            left += 1;
            print::line(format!("{}: {why}", id_of_user(*user).0))?;
        }
        if shown.elapsed() >= EVERY {
            shown = Instant::now();
            print::complaint(format!("{adopted} users have their ids of `{}`.", users.issuer()));
        }
    }
    print::complaint(format!("{adopted} users of `{from}` have their ids of `{}` now, too.", users.issuer()));
    if left > 0 {
        let remedy = "say by `rebindExternalId` which id each has, after deleting who has it wrongly";
        print::complaint(format!("{left} are left as they were: {remedy}."));
        return Ok(Completion::SomeRefused);
    }
    Ok(Completion::Done)
}
