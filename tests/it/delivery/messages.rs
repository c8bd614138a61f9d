//! Messages that come twice, late, or never.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use tidefeed::{
    clock::SharedClock,
    domain::Floor,
    store::{
        Queue, StoreError,
        queue::{Message, Received, Topic},
    },
    upkeep::{Sweeper, SweptStores},
};

use super::world::{ensure_delivered, followed_author, publish, served};
use crate::{
    harness::{Around, TestHouse},
    servers::{Backend, on_each_backend},
};

/// A queue that is away.
struct Away;

#[async_trait]
impl Queue for Away {
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

async fn comes_twice(backend: Backend, around: Around) -> Result<()> {
    let house = TestHouse::start(backend, around).await?;
    followed_author(&house, 50).await?;
    let entry = publish(&house).await?;
    let again = [
        Message::ContentPublished { entry },
        Message::Subtask { content: entry.content, after: 0 },
        Message::Subtask { content: entry.content, after: 7 },
    ];
    house.ports.queue.send(&again).await?;
    house.settle().await?;
    ensure_delivered(&house, entry.content, 50).await?;
    let before = served(&house, entry.content).await?;
    house.ports.queue.send(&again).await?;
    house.settle().await?;
    ensure!(served(&house, entry.content).await? == before);
    for topic in Topic::ALL {
        ensure!(house.ports.queue.depth(topic).await? == 0, "{topic:?} holds messages");
    }
    Ok(())
}

async fn never_comes(backend: Backend, around: Around) -> Result<()> {
    let house = TestHouse::start(backend, around).await?;
    followed_author(&house, 50).await?;
    let entry = publish(&house).await?;
    house.lose_messages().await?;
    house.settle().await?;
    ensure!(served(&house, entry.content).await?.is_empty(), "somebody delivered without being told");
    house.sweep().await?;
    ensure_delivered(&house, entry.content, 50).await
}

on_each_backend! {
    async fn a_message_that_comes_twice_changes_nothing(backend: Backend) -> Result<()> {
        comes_twice(backend, Around::Memory).await
    }

    async fn a_message_that_comes_twice_through_redis_changes_nothing(backend: Backend) -> Result<()> {
        comes_twice(backend, Around::Redis).await
    }

    async fn a_message_that_never_comes_only_delays(backend: Backend) -> Result<()> {
        never_comes(backend, Around::Memory).await
    }

    async fn a_message_that_redis_loses_only_delays(backend: Backend) -> Result<()> {
        never_comes(backend, Around::Redis).await
    }

    async fn a_sweep_does_its_work_in_sql_while_the_queue_is_away(backend: Backend) -> Result<()> {
        let house = TestHouse::start(backend, Around::Memory).await?;
        followed_author(&house, 3).await?;
        publish(&house).await?;
        let stores = SweptStores {
            deliveries: house.ports.deliveries.clone(),
            relations: house.ports.relations.clone(),
            inboxes: house.ports.inboxes.clone(),
            queue: Arc::new(Away),
        };
        let clock: SharedClock = house.clock.clone();
        house.clock.advance(40 * 24 * 60 * 60 * 1000);
        let settings = crate::harness::settings();
        let sweeper = Sweeper::new(stores, settings.policy, settings.failing_after, clock, house.draw.clone());
        ensure!(sweeper.run_once().await.is_err_and(|error| error.is_transient()));
        ensure!(house.ports.inboxes.floor(super::world::user(2)).await? == Floor::Off, "nobody was turned off");
        Ok(())
    }

    async fn a_content_removed_before_its_delivery_is_delivered_to_nobody(backend: Backend) -> Result<()> {
        let house = TestHouse::start(backend, Around::Memory).await?;
        followed_author(&house, 50).await?;
        let entry = publish(&house).await?;
        house.publisher.remove(entry.author, entry.content).await?;
        house.settle().await?;
        ensure!(house.ports.deliveries.find(entry.content).await?.is_none());
        ensure!(served(&house, entry.content).await?.is_empty());
        Ok(())
    }
}
