//! Tests that readers count as active after any request that shows their presence.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, bail, ensure};
use tidefeed::{
    accounts::{Caller, RefreshOutcome, SessionSettings, SessionsService, TokenKey, Tokens},
    app::Settings,
    domain::{PageRequest, PageSize, Position, UserId},
    store::queue::Topic,
};

use crate::{
    harness::{BEGINNING, CacheBackend, TestApp, settings},
    servers::{self, on_each_backend},
    usecases::delivery::{followed_author, user},
};

/// The interval at which a reader is noted, in ms.
const EVERY: i64 = 1_000;
/// The readers, by what they do.
const SIGNS_IN: i64 = 2;
const REFRESHES: i64 = 3;
const READS: i64 = 4;
const COUNTS: i64 = 5;
const WATCHES: i64 = 6;

fn sessions(app: &TestApp) -> Result<SessionsService> {
    let tokens = Arc::new(Tokens::new(TokenKey::try_new(&[7; 32])?, Duration::from_mins(1), app.clock.clone()));
    Ok(SessionsService::new(&app.ports, tokens, app.readers.clone(), SessionSettings::default(), app.ambient()))
}

/// The times at which these readers were last seen, after [`BEGINNING`].
async fn last_seen(app: &TestApp, readers: &[i64]) -> Result<Vec<i64>> {
    app.settle().await?;
    let database = servers::connect_sql(app.database_url()).await?;
    let ids: Vec<String> = readers.iter().map(i64::to_string).collect();
    let sql = format!("SELECT last_seen FROM inbox_states WHERE user_id IN ({}) ORDER BY user_id", ids.join(", "));
    Ok(servers::numbers(&database, &sql).await?.into_iter().map(|seen| seen - BEGINNING).collect())
}

/// Every sign of presence except the subscription, which continues by itself.
async fn be_there(app: &TestApp, sessions: &SessionsService, refresh: &str) -> Result<String> {
    sessions.begin(user(SIGNS_IN), &Caller::default()).await?;
    let RefreshOutcome::Refreshed(renewed) = sessions.refresh(refresh).await? else { bail!("the session has ended") };
    app.reader.page(user(READS), &PageRequest::newest(PageSize::default())).await?;
    app.reader.count_newer(user(COUNTS), Position::OLDEST, PageSize::default()).await?;
    Ok(renewed.refresh.text)
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    /// A2: signing in, refreshing, reading, counting and watching are noted once in the configured interval.
    async fn every_sign_of_presence_marks_a_reader_as_seen(backend: Backend) -> Result<()> {
        let settings = Settings { seen_every_ms: EVERY, ..settings() };
        let app = TestApp::start_with(backend, CacheBackend::NoCache, settings).await?;
        followed_author(&app, 9).await?;
        let sessions = sessions(&app)?;
        let refresh = sessions.begin(user(REFRESHES), &Caller::default()).await?.refresh.text;
        let all = [SIGNS_IN, REFRESHES, READS, COUNTS, WATCHES];
        app.set_time(5 * EVERY);
        let mut subscription = app.live.subscribe(user(WATCHES), None).await?;
        let refresh = be_there(&app, &sessions, &refresh).await?;
        ensure!(last_seen(&app, &all).await? == [5 * EVERY; 5], "somebody was not noted");
        ensure!(last_seen(&app, &[7, 8, 9, 10]).await? == [0; 4], "who did nothing was noted");

        app.set_time(6 * EVERY - 1);
        let refresh = be_there(&app, &sessions, &refresh).await?;
        drop(app.live.subscribe(user(WATCHES), None).await?);
        ensure!(app.ports.queue.depth(Topic::Visit).await? == 0, "noted twice within the interval");

        app.set_time(6 * EVERY);
        be_there(&app, &sessions, &refresh).await?;
        let watched = async { subscription.next().await.map(drop) };
        let noted = async {
            while app.ports.queue.depth(Topic::Visit).await? < 5 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            anyhow::Ok(())
        };
        tokio::select! { ended = watched => { ended?; bail!("the subscription has ended") }, noted = noted => noted? }
        ensure!(last_seen(&app, &all).await? == [6 * EVERY; 5], "a subscription that lives was not noted again");
        Ok(())
    }

    /// One message for each reader, one write for all of them.
    async fn readers_seen_together_are_written_together(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 60).await?;
        app.settle().await?;
        let readers: Vec<UserId> = (2..=61).map(user).collect();
        for reader in &readers {
            app.readers.note_present(*reader).await;
        }
        let (statements, transactions) = (app.store.statements(), app.store.transactions());
        app.ports.inboxes.mark_seen(&readers, app.now_ms()).await?;
        ensure!((app.store.statements() - statements, app.store.transactions() - transactions) == (2, 1));
        ensure!(app.reactivator.run_once("test", Duration::ZERO).await? == 60, "one batch");
        Ok(())
    }
}
