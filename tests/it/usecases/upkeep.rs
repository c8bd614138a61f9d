//! Upkeep over a real store: what makes pages cheap again.

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{Floor, PageRequest, PageSize, Position, content::Draft, timeline::tier::InboxTiers},
    store::timelines::Depth,
};

use crate::{
    harness::{Around, TestApp, settings},
    servers::on_each_backend,
    usecases::delivery::{followed_author, user},
};

on_each_backend! {
    /// A follow of somebody with more contents than an inbox keeps raises the floor; when they are left again, it
    /// comes down.
    async fn a_floor_that_a_gone_author_raised_comes_down_again(backend: Backend) -> Result<()> {
        let settings = tidefeed::app::Settings { tiers: InboxTiers { keep: 5, ..settings().tiers }, ..settings() };
        let app = TestApp::start_with(backend, Around::Memory, settings).await?;
        followed_author(&app, 2).await?;
        let (author, reader, steady) = (user(1), user(2), user(3));
        for time in 1..=12 {
            app.set_time(time);
            let by = if time < 3 { steady } else { author };
            app.publisher.publish(by, Draft::try_new("words", Vec::new(), None)?).await?;
        }
        app.settle().await?;
        app.reactivator.wake(reader).await?;
        app.following.unfollow(reader, author).await?;
        app.following.follow(reader, steady).await?;
        app.settle().await?;
        app.following.follow(reader, author).await?;
        app.settle().await?;
        let raised = app.ports.inboxes.floor(reader).await?;
        ensure!(raised.trusted_from() > Position::OLDEST, "covering was not cut: {raised:?}");
        app.following.unfollow(reader, author).await?;
        app.settle().await?;
        ensure!(app.ports.inboxes.held(reader, 5).await? < 5);

        let request = PageRequest::newest(PageSize::default());
        let page = app.reader.page(reader, &request).await?;
        ensure!(page.entries.len() == 2 && !page.has_older, "{page:?}");
        app.settle().await?;
        ensure!(app.ports.inboxes.floor(reader).await? == Floor::At(Position::OLDEST), "the visit changed nothing");
        let snapshot = app.ports.timelines.read(reader, &request, Depth::Inbox).await?;
        ensure!(snapshot.uncovered.is_empty());
        Ok(())
    }
}
