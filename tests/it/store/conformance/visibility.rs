//! Which contents a reader sees, and which readers see a content.

use anyhow::Result;
use tidefeed::{
    domain::{EdgeMode, timeline::exclusion::ExclusionKind},
    store::Timelines as _,
};

use super::{World, rows::entry, user};
use crate::servers::on_each_backend;

on_each_backend! {
    async fn visible_contents_are_followed_not_excluded_and_not_removed(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let (reader, followed, stranger, muted) = (user(1), user(11), user(12), user(13));
        world.put_edge(reader, followed, EdgeMode::Pull).await?;
        world.put_edge(reader, muted, EdgeMode::Push).await?;
        world.exclude(reader, muted, ExclusionKind::Muted).await?;
        let authors = [(1, followed), (2, followed), (3, stranger), (4, muted), (5, followed)];
        let entries = authors.map(|(content, author)| entry(content, author, content + 4));
        world.put_contents(&entries).await?;
        world.set_original_author(entries[4].content, muted).await?;
        world.remove(entries[1].content).await?;
        let asked: Vec<_> = entries.iter().map(|it| it.content).chain([entry(9, stranger, 1).content]).collect();
        assert_eq!(world.store.visible(reader, &asked).await?, [entries[0]]);
        assert_eq!(world.store.visible(reader, &[]).await?, []);
        assert_eq!(world.store.visible(stranger, &asked).await?, []);
        Ok(())
    }

    async fn viewers_of_a_content_follow_its_author_without_an_exclusion(
        backend: Backend,
    ) -> Result<()> {
        let world = World::on(backend).await?;
        let author = user(11);
        let (here, removed, repost) = (entry(1, author, 5), entry(2, author, 6), entry(3, author, 7));
        world.put_contents(&[here, removed, repost]).await?;
        world.set_original_author(repost.content, user(12)).await?;
        world.exclude(user(2), user(12), ExclusionKind::Muted).await?;
        world.remove(removed.content).await?;
        for (reader, mode) in [(1, EdgeMode::Push), (2, EdgeMode::Fill), (3, EdgeMode::Pull)] {
            world.put_edge(user(reader), author, mode).await?;
        }
        world.put_edge(user(4), author, EdgeMode::Push).await?;
        world.exclude(user(4), author, ExclusionKind::Muted).await?;
        let asked: Vec<_> = (1..=5).map(user).collect();
        let before = world.store.statements();
        let mut seeing = world.store.visible_to(here.content, &asked).await?;
        assert_eq!(world.store.statements() - before, 1);
        seeing.sort_unstable();
        assert_eq!(seeing, [user(1), user(2), user(3)]);
        assert_eq!(world.store.visible_to(removed.content, &asked).await?, []);
        assert_eq!(world.store.visible_to(here.content, &[]).await?, []);
        let mut seeing = world.store.visible_to(repost.content, &asked).await?;
        seeing.sort_unstable();
        assert_eq!(seeing, [user(1), user(3)], "reposts by others do not show an excluded author");
        Ok(())
    }
}
