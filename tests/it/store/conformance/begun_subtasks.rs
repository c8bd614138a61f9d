//! Tests subtasks that are taken, served and perhaps the end of their delivery in one transaction.

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use tidefeed::{
    domain::{ContentId, delivery::subtask::END},
    store::{
        Deliveries as _,
        deliveries::{Begun, Lease},
    },
};

use super::{
    World,
    deliveries::{counted_world, lease, policy, ranges, served},
};
use crate::servers::on_each_backend;

const LEASE: Lease = lease(100, 200);

/// The number of new rows, and whether the delivery ended; `None` if the subtask could not be taken.
async fn begin(world: &World, subtask: (ContentId, i64), size: u32, lease: Lease) -> Result<Option<(u64, bool)>> {
    match world.store.begin_subtask(subtask, lease, size, &policy(1_000)).await? {
        Begun::NotTaken => Ok(None),
        Begun::ToBeJudged(author) => anyhow::bail!("{author:?}"),
        Begun::Served { rows, ended, .. } => Ok(Some((rows, ended))),
    }
}

async fn is_open(world: &World, content: ContentId) -> Result<bool> {
    Ok(world.store.find(content).await?.is_some())
}

on_each_backend! {
    async fn only_the_last_open_subtask_ends_its_delivery(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 5).await?;
        let id = content.content;
        assert!(!world.store.extend_chain(id, 2, 2).await?);
        assert_eq!(begin(&world, (id, 0), 10, LEASE).await?, Some((2, false)));
        assert_eq!(begin(&world, (id, 2), 10, LEASE).await?, Some((2, false)), "the chain is not complete");
        assert_eq!(ranges(&world).await?, [[1, 0, 2, 2], [2, 2, 4, 4]]);
        assert!(!world.store.finish(id).await?);
        assert!(world.store.extend_chain(id, 2, 2).await?);
        assert_eq!(begin(&world, (id, 4), 10, LEASE).await?, Some((1, true)));
        assert!(!is_open(&world, id).await? && ranges(&world).await?.is_empty());
        assert_eq!(served(&world).await?, [1, 2, 3, 4, 5]);
        assert_eq!(begin(&world, (id, 4), 10, LEASE).await?, None, "it is gone");
        Ok(())
    }

    async fn a_first_batch_of_several_leaves_the_rest_to_those_that_follow(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 5).await?;
        let id = content.content;
        world.store.extend_chain(id, 10, 9).await?;
        let begun = world.store.begin_subtask((id, 0), LEASE, 2, &policy(1_000)).await?;
        let Begun::Served { subtask, rows: 2, ended: false } = begun else { anyhow::bail!("{begun:?}") };
        assert_eq!((subtask.progress.pushed_through, subtask.progress.range.through), (2, END));
        assert_eq!(ranges(&world).await?, [[1, 0, END, 2]]);
        assert_eq!(begin(&world, (id, 0), 2, lease(199, 300)).await?, None, "the lease runs");
        let later = lease(200, 300);
        assert_eq!(begin(&world, (id, 0), 10, later).await?, Some((3, true)), "it goes on where the row says");
        assert_eq!(served(&world).await?, [1, 2, 3, 4, 5]);
        Ok(())
    }

    async fn a_policy_that_needs_facts_leaves_the_subtask_as_it_is(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 5).await?;
        let id = content.content;
        world.store.extend_chain(id, 10, 9).await?;
        let begun = world.store.begin_subtask((id, 0), LEASE, 10, &policy(3)).await?;
        let Begun::ToBeJudged(author) = begun else { anyhow::bail!("{begun:?}") };
        assert_eq!((author.author, author.followers), (content.author, 4));
        assert!(world.store.take_subtask((id, 0), LEASE).await?.is_some() && served(&world).await?.is_empty());
        Ok(())
    }

    async fn the_delivery_of_a_removed_content_ends_with_its_last_subtask(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 3).await?;
        world.store.extend_chain(content.content, 10, 9).await?;
        world.remove(content.content).await?;
        let (_, ended) = begin(&world, (content.content, 0), 1, LEASE).await?.context("taken")?;
        assert!(!ended && world.store.finish(content.content).await?);
        assert!(!is_open(&world, content.content).await?);
        Ok(())
    }

    async fn subtasks_begun_at_once_leave_no_delivery_open(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 24).await?;
        let id = content.content;
        world.store.extend_chain(id, 6, 9).await?;
        let starts = ranges(&world).await?.into_iter().map(|range| range[1]);
        let world = &world;
        // Every start twice, as from two executors. Whoever did not end the delivery looks once more, as executors do.
        let work = async |start: i64| {
            let begun = begin(world, (id, start), 100, LEASE).await?;
            if let Some((_, false)) = begun {
                world.store.finish(id).await?;
            }
            Ok::<u64, anyhow::Error>(begun.map_or(0, |(rows, _)| rows))
        };
        let rows = try_join_all(starts.flat_map(|start| [work(start), work(start)])).await?;
        ensure!(rows.iter().sum::<u64>() == 24, "{rows:?}");
        ensure!(served(world).await? == (1..=24).collect::<Vec<i64>>());
        ensure!(!is_open(world, id).await?, "nobody ended it");
        Ok(())
    }
}
