//! Tests an abandoned write, and one whose connection breaks, at every command of its transaction.

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::Position,
    store::{Contents as _, ReadMarkers as _, StoreError, contents::Published},
};

use super::{PATIENCE, World};
use crate::servers::{Stop, on_each_backend};
use crate::store::conformance::{NOW, content, content_id, user};

/// How a write is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Its future is dropped.
    Dropped,
    /// Its connection is cut.
    Cut,
}

impl World {
    /// Publishes, and interrupts that at the command after `commands` others. Returns whether the content exists then;
    /// `None` if there are fewer commands.
    async fn end(&self, commands: usize, stop: Stop, end: End) -> Result<Option<bool>> {
        let (store, id) = (self.store(PATIENCE).await?, self.next().await?);
        self.line.stop_after(commands, stop);
        let mut writing = tokio::spawn({
            let store = store.clone();
            async move { store.publish(content(id, 1, NOW + id)).await }
        });
        tokio::select! {
            stopped = self.line.stopped() => stopped?,
            done = &mut writing => {
                self.line.open();
                ensure!(matches!(done??, Published::Created { .. }) && self.has(id).await?);
                return Ok(None);
            }
        }
        if end == End::Dropped {
            writing.abort();
            // A short answer may have arrived completely.
            ensure!(writing.await.map_or_else(|error| error.is_cancelled(), |done| done.is_ok()));
        } else {
            self.line.cut();
            let done = writing.await?;
            ensure!(matches!(done, Err(StoreError::Unavailable(_))), "{done:?}");
        }
        self.line.open();
        self.goes_on(&store).await.with_context(|| format!("{end:?} at {stop:?} of command {commands}"))?;
        store.close().await?;
        self.has(id).await.map(Some)
    }

    /// Interrupts a publish at every command in turn. Returns those, counted from the last, after which the content
    /// exists.
    async fn step_through(&self, stop: Stop, end: End) -> Result<Vec<usize>> {
        let (mut commands, mut done) = (0, Vec::new());
        while let Some(is_there) = self.end(commands, stop, end).await? {
            if is_there {
                done.push(commands);
            }
            commands += 1;
        }
        // The last answer is short: if it arrives completely, the write may be done before the line is seen to stop.
        ensure!((2..=3).contains(&commands), "a publish has {commands} commands");
        Ok(done.iter().map(|command| commands - command).collect())
    }
}

on_each_backend! {
    on mariadb, mysql;
    async fn a_write_abandoned_at_any_command_is_atomic(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        ensure!(world.step_through(Stop::Answer { bytes: 0 }, End::Dropped).await? == [1], "a commit that was sent is one");
        // In the answer to the first of the statements that were sent at once, and in those after it.
        for bytes in [20, 40, 60] {
            world.step_through(Stop::Answer { bytes }, End::Dropped).await?;
        }
        Ok(())
    }

    async fn a_write_whose_connection_ends_is_unknown_and_whole_or_nothing(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        ensure!(world.step_through(Stop::Command, End::Cut).await?.is_empty(), "the server had no commit");
        ensure!(world.step_through(Stop::Answer { bytes: 0 }, End::Cut).await? == [1], "the server has committed");
        Ok(())
    }

    async fn a_read_abandoned_mid_answer_keeps_no_connection(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        for (command, bytes) in (0..2).flat_map(|command| [0, 3, 20, 60, 120, 250, 500].map(|bytes| (command, bytes))) {
            let store = world.store(PATIENCE).await?;
            world.line.stop_after(command, Stop::Answer { bytes });
            let reading = tokio::spawn({
                let store = store.clone();
                async move { store.by_ids(None, &[content_id(1)]).await }
            });
            world.line.stopped().await?;
            reading.abort();
            ensure!(reading.await.map_or_else(|error| error.is_cancelled(), |done| done.is_ok()));
            world.line.open();
            let at = Position::bound(NOW, 1);
            store.advance(user(1), at).await.with_context(|| format!("{bytes} bytes of answer {command}"))?;
            store.close().await?;
        }
        Ok(())
    }
}
