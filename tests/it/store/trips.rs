//! Counts the round trips of writes to a server, up to their acknowledgement. Each is a time that somebody waits for.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{
        EdgeMode, Reaction,
        delivery::{DeliveryPolicy, EdgeRule},
    },
    store::{
        Accounts as _, Contents as _, Deliveries as _, Follows as _, Reactions as _, contents::Published,
        deliveries::AtOnce, follows::Followed, reactions::Reacted, sql::SqlOptions, sql::SqlStore,
    },
};

use crate::{
    servers::{Kind, Line, connect_sql, execute, on_each_backend, shared},
    store::conformance::{NOW, account, content, content_id, user},
};

/// How much longer each trip takes than on one machine.
const DISTANCE: Duration = Duration::from_millis(1);
/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Writes of each kind, by user 1: with `n` from 1 on, each concerns something else.
async fn write(store: &SqlStore, kind: &str, n: i64) -> Result<()> {
    let (me, other, subject) = (user(1), user(1 + n), content_id(n));
    match kind {
        "publish" => ensure!(matches!(store.publish(content(n, 1, NOW + n)).await?, Published::Created { .. })),
        "deliver" => {
            let policy =
                DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold: 100, active_days: 0 }, dormant_days: 30 };
            ensure!(matches!(store.deliver_at_once(subject, 1_000, &policy).await?, AtOnce::Ended { .. }));
        }
        "like" => ensure!(store.react(me, subject, Reaction::Like, n, NOW).await? == Reacted::Done),
        "unlike" => ensure!(store.take_back(me, subject, Reaction::Like, -n).await? == Reacted::Done),
        "follow" => ensure!(store.follow(me, other, EdgeMode::Fill, n, NOW).await? == Followed::New),
        _ => ensure!(store.unfollow(me, other, -n, NOW).await?),
    }
    Ok(())
}

on_each_backend! {
    on mariadb, mysql;
    async fn writes_take_three_round_trips_at_most(backend: Backend) -> Result<()> {
        let database = backend.migrated_database().await?;
        let kind = if backend == crate::servers::Backend::Mysql { Kind::Mysql } else { Kind::MariaDb };
        let line = Line::before(shared(kind).await?).await?;
        let url = line.url(&database.url)?;
        let options = SqlOptions { url, max_connections: 1, acquire_timeout: PATIENCE, statement_timeout: PATIENCE };
        let store = SqlStore::connect(&options).await?;
        for id in 1..=4 {
            store.register(account(id, &format!("user_{id}"))).await?;
        }
        let trips = async |kind: &'static str| {
            // The first prepares the statements.
            write(&store, kind, 1).await?;
            write(&store, kind, 2).await?;
            let (before, began) = (line.commands(), Instant::now());
            write(&store, kind, 3).await?;
            Ok::<_, anyhow::Error>((kind, line.commands() - before, began.elapsed()))
        };
        line.delay(DISTANCE);
        let in_rows = [
            trips("publish").await?,
            trips("deliver").await?,
            trips("like").await?,
            trips("unlike").await?,
            trips("follow").await?,
            trips("unfollow").await?,
        ];
        let rows = connect_sql(&database.url).await?;
        execute(&rows, "UPDATE counters SET spread = 1").await?;
        execute(&rows, "UPDATE user_counts SET spread = 1").await?;
        let beside = [trips("like").await?, trips("unlike").await?, trips("follow").await?, trips("unfollow").await?];
        // The begin goes with the first statements; the last is the commit.
        let most = 3;
        for (kind, trips, took) in in_rows.into_iter().chain(beside) {
            ensure!(trips <= most, "{kind}: {trips}");
            ensure!(took >= DISTANCE * u32::try_from(trips)?, "{kind}: {trips} trips in {took:?}, none after another");
        }
        Ok(())
    }
}
