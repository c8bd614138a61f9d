//! Tests messages that arrive twice, late or never.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use tidefeed::{
    app::Ports,
    domain::Floor,
    store::{
        Queue, StoreError,
        queue::{Message, Received, Topic},
    },
    upkeep::Sweeper,
};

use super::world::{ensure_delivered, followed_author, publish, served};
use crate::{
    harness::{CacheBackend, TestApp},
    servers::{Backend, on_each_backend},
};

/// A queue that is unavailable.
struct UnavailableQueue;

#[async_trait]
impl Queue for UnavailableQueue {
    async fn send(&self, _: &[Message]) -> Result<(), StoreError> {
        Err(StoreError::Unavailable("away".into()))
    }

    async fn receive(&self, _: Topic, _: &str, _: usize, _: Duration) -> Result<Vec<Received>, StoreError> {
        Err(StoreError::Unavailable("away".into()))
    }

    async fn acknowledge(&self, _: Topic, _: &[String]) -> Result<(), StoreError> {
        Err(StoreError::Unavailable("away".into()))
    }

    async fn depth(&self, _: Topic) -> Result<u64, StoreError> {
        Err(StoreError::Unavailable("away".into()))
    }
}

async fn comes_twice(backend: Backend, cache_backend: CacheBackend) -> Result<()> {
    let app = TestApp::start(backend, cache_backend).await?;
    followed_author(&app, 50).await?;
    let entry = publish(&app).await?;
    let again = [
        Message::ContentPublished { entry },
        Message::Subtask { content: entry.content, after: 0 },
        Message::Subtask { content: entry.content, after: 7 },
    ];
    app.ports.queue.send(&again).await?;
    app.settle().await?;
    ensure_delivered(&app, entry.content, 50).await?;
    let before = served(&app, entry.content).await?;
    app.ports.queue.send(&again).await?;
    app.settle().await?;
    ensure!(served(&app, entry.content).await? == before);
    for topic in Topic::ALL {
        ensure!(app.ports.queue.depth(topic).await? == 0, "{topic:?} holds messages");
    }
    Ok(())
}

async fn never_comes(backend: Backend, cache_backend: CacheBackend) -> Result<()> {
    let app = TestApp::start(backend, cache_backend).await?;
    followed_author(&app, 50).await?;
    let entry = publish(&app).await?;
    app.lose_messages().await?;
    app.settle().await?;
    ensure!(served(&app, entry.content).await?.is_empty(), "somebody delivered without a message");
    app.sweep().await?;
    ensure_delivered(&app, entry.content, 50).await
}

on_each_backend! {
    on sqlite, mariadb, mysql in soak;
    async fn a_message_that_comes_twice_changes_nothing(backend: Backend) -> Result<()> {
        comes_twice(backend, CacheBackend::NoCache).await
    }

    async fn a_message_that_never_comes_only_delays(backend: Backend) -> Result<()> {
        never_comes(backend, CacheBackend::NoCache).await
    }

    async fn a_sweep_does_its_work_in_sql_while_the_queue_is_away(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 3).await?;
        publish(&app).await?;
        let ports = Ports { queue: Arc::new(UnavailableQueue), ..app.ports.clone() };
        app.clock.advance(40 * 24 * 60 * 60 * 1000);
        let settings = crate::harness::settings();
        let sweeper = Sweeper::new(&ports, settings.policy, settings.failing_after, &app.ambient());
        ensure!(sweeper.run_once().await.is_err_and(|error| error.is_transient()));
        ensure!(app.ports.inboxes.floor(super::world::user(2)).await? == Floor::Off, "nobody was turned off");
        Ok(())
    }

    async fn a_content_removed_before_its_delivery_is_delivered_to_nobody(backend: Backend) -> Result<()> {
        let app = TestApp::start(backend, CacheBackend::NoCache).await?;
        followed_author(&app, 50).await?;
        let entry = publish(&app).await?;
        app.publisher.remove(entry.author, entry.content).await?;
        app.settle().await?;
        ensure!(app.ports.deliveries.find(entry.content).await?.is_none());
        ensure!(served(&app, entry.content).await?.is_empty());
        Ok(())
    }
}

mod redis_server {
    use super::*;

    on_each_backend! {
        on sqlite, mariadb, mysql in soak;
        async fn a_message_that_comes_twice_through_redis_changes_nothing(backend: Backend) -> Result<()> {
            comes_twice(backend, CacheBackend::Redis).await
        }

        async fn a_message_that_redis_loses_only_delays(backend: Backend) -> Result<()> {
            never_comes(backend, CacheBackend::Redis).await
        }
    }
}
