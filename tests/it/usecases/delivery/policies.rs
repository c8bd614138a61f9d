//! Counts the cost of the delivery policies: inbox rows written and outboxes pulled, for the same story under each
//! policy.

use anyhow::{Result, ensure};
use tidefeed::{
    app::Settings,
    domain::{PageRequest, PageSize, delivery::EdgeRule},
};

use super::world::{AUTHOR, followed_author, publish, user};
use crate::{
    harness::{CacheBackend, TestApp, settings},
    servers::{self, Backend, on_each_backend},
};

const MINUTE: i64 = 60 * 1_000;
const FOLLOWERS: i64 = 20;
const RATES: EdgeRule = EdgeRule::Rates { push_cost: 1, pull_cost: 1 };

/// An author who publishes at a steady rate, two followers who visit every so many publishes, and 18 who rarely visit.
struct Load {
    publishes: i64,
    publish_every: i64,
    eager_every: i64,
    others_every: i64,
}

/// An author who publishes far more often than most followers read.
const CHATTERBOX: Load = Load { publishes: 60, publish_every: 15 * MINUTE, eager_every: 1, others_every: 30 };
/// A star, most of whose followers have been away for more than a week.
const STAR: Load = Load { publishes: 24, publish_every: 12 * 60 * MINUTE, eager_every: 2, others_every: 1_000 };

#[derive(Debug)]
struct Cost {
    rows: i64,
    pulled: i64,
}

impl Cost {
    const fn total(&self) -> i64 {
        self.rows + self.pulled
    }
}

/// The cost of the story under a rule. Every visit reads the newest page, which must equal the oracle's.
async fn cost(backend: Backend, rule: EdgeRule, load: &Load) -> Result<Cost> {
    let mut settings: Settings = settings();
    settings.policy.rule = rule;
    let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
    followed_author(&app, FOLLOWERS).await?;
    let request = PageRequest::newest(PageSize::default());
    let mut pulled = 0;
    for number in 1..=load.publishes {
        app.clock.advance(load.publish_every);
        publish(&app).await?;
        app.settle().await?;
        for follower in 1..=FOLLOWERS {
            let every = if follower <= 2 { load.eager_every } else { load.others_every };
            if number % every != 0 {
                continue;
            }
            let reader = user(AUTHOR + follower);
            pulled += i64::try_from(app.uncovered(reader).await?.len())?;
            let page = app.reader.page(reader, &request).await?;
            let mut oracle = app.ports.timelines.oracle(reader, &request).await?;
            oracle.truncate(request.size.get());
            ensure!(page.entries == oracle, "{rule:?} changed what reader {reader} sees");
            app.reactivator.visit(reader, None).await?;
            app.settle().await?;
        }
    }
    let database = servers::connect_sql(app.database_url()).await?;
    Ok(Cost { rows: servers::numbers(&database, "SELECT COUNT(*) FROM inboxes").await?[0], pulled })
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn rates_cost_less_where_authors_publish_more_often_than_most_read(backend: Backend) -> Result<()> {
        let threshold = cost(backend, EdgeRule::Threshold { push_threshold: 5_000, active_days: 7 }, &CHATTERBOX).await?;
        let rates = cost(backend, RATES, &CHATTERBOX).await?;
        ensure!(rates.total() * 3 < threshold.total(), "{rates:?} and {threshold:?}");
        ensure!(threshold.pulled == 0 && rates.pulled > 0, "{rates:?} and {threshold:?}");
        Ok(())
    }

    async fn a_threshold_costs_less_than_pushing_a_star_to_everybody(backend: Backend) -> Result<()> {
        let everybody = cost(backend, EdgeRule::Threshold { push_threshold: 5_000, active_days: 7 }, &STAR).await?;
        let threshold = cost(backend, EdgeRule::Threshold { push_threshold: 5, active_days: 7 }, &STAR).await?;
        let rates = cost(backend, RATES, &STAR).await?;
        ensure!(threshold.total() < everybody.total(), "{threshold:?} and {everybody:?}");
        ensure!(rates.total() < everybody.total(), "{rates:?} and {everybody:?}");
        Ok(())
    }
}
