//! Upkeep over a real store: what makes pages cheap again.

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{Floor, PageRequest, PageSize, Position, content::Draft, timeline::tier::InboxTiers},
    store::timelines::Depth,
};

use crate::{
    delivery::{followed_author, user},
    harness::{Around, TestHouse, settings},
    servers::on_each_backend,
};

on_each_backend! {
    /// A follow of somebody with more contents than an inbox keeps raises the floor; when they are left again, it comes down.
    async fn a_floor_that_a_gone_author_raised_comes_down_again(backend: Backend) -> Result<()> {
        let settings = tidefeed::app::Settings { tiers: InboxTiers { keep: 5, ..settings().tiers }, ..settings() };
        let house = TestHouse::start_with(backend, Around::Memory, settings).await?;
        followed_author(&house, 2).await?;
        let (author, reader, steady) = (user(1), user(2), user(3));
        for time in 1..=12 {
            house.set_time(time);
            let by = if time < 3 { steady } else { author };
            house.publisher.publish(by, Draft::try_new("words", Vec::new(), None)?).await?;
        }
        house.settle().await?;
        house.waker.wake(reader).await?;
        house.following.unfollow(reader, author).await?;
        house.following.follow(reader, steady).await?;
        house.settle().await?;
        house.following.follow(reader, author).await?;
        house.settle().await?;
        let raised = house.ports.inboxes.floor(reader).await?;
        ensure!(raised.trusted_from() > Position::OLDEST, "covering was not cut: {raised:?}");
        house.following.unfollow(reader, author).await?;
        house.settle().await?;
        ensure!(house.ports.inboxes.held(reader, 5).await? < 5);

        let request = PageRequest::newest(PageSize::default());
        let page = house.reader.page(reader, &request).await?;
        ensure!(page.entries.len() == 2 && !page.has_older, "{page:?}");
        house.settle().await?;
        ensure!(house.ports.inboxes.floor(reader).await? == Floor::At(Position::OLDEST), "the visit changed nothing");
        let snapshot = house.ports.timelines.read(reader, &request, Depth::Inbox).await?;
        ensure!(snapshot.uncovered.is_empty());
        Ok(())
    }
}
