//! [`Contents`], replies and reposts: how they are counted, and who may create them.

use anyhow::Result;
use tidefeed::domain::{
    Content, ContentKind, Counters, Direction, PageRequest, PageSize, Position, Reference, content::Draft,
};
use tidefeed::store::contents::{NewContent, Published, Removed};
use tidefeed::store::{Contents as _, Exclusions as _};

use super::{NOW, World, at_once, content, content_id, keyed, only, user};
use crate::servers::on_each_backend;

fn repost(id: i64, author: i64, of: i64) -> NewContent {
    NewContent { draft: Draft::repost(content_id(of)), ..content(id, author, NOW + id) }
}

fn reply(id: i64, author: i64, to: i64) -> NewContent {
    let new = content(id, author, NOW + id);
    NewContent { draft: new.draft.replying_to(content_id(to)), ..new }
}

impl World {
    async fn made(&self, new: NewContent) -> Result<()> {
        let ended = self.store.publish(new).await?;
        anyhow::ensure!(matches!(ended, Published::Created { .. }), "{ended:?}");
        Ok(())
    }

    /// The numbers of replies and reposts.
    async fn counted(&self, content: i64) -> Result<(i64, i64)> {
        let Counters { replies, reposts, .. } = self.store.counters(&[content_id(content)]).await?[0].1;
        Ok((replies, reposts))
    }

    async fn rows(&self) -> Result<(i64, i64, i64)> {
        let contents = self.number("SELECT COUNT(*) FROM contents").await?;
        let deliveries = self.number("SELECT COUNT(*) FROM deliveries").await?;
        Ok((contents, deliveries, self.number("SELECT CAST(SUM(contents) AS SIGNED) FROM user_counts").await?))
    }

    /// The replies to a content as a page shows them: ids, and whether there are more on either side.
    async fn replies_to(
        &self,
        viewer: Option<i64>,
        content: i64,
        after: Option<Position>,
        size: i64,
    ) -> Result<(Vec<i64>, bool, bool)> {
        let newest = PageRequest::newest(PageSize::try_new(size)?);
        let request = PageRequest { direction: Direction::Newer, bound: after, ..newest };
        let page = only(self.store.replies(viewer.map(user), &[content_id(content)], &request).await)?;
        let mut ids: Vec<i64> = page.ahead.entries().iter().map(|it| it.content.get()).collect();
        let more = ids.len() > request.size.get();
        ids.truncate(request.size.get());
        Ok((ids, more, page.behind.is_some_and(|it| !it.entries().is_empty())))
    }
}

on_each_backend! {
    async fn replies_and_reposts_are_delivered_and_counted_at_their_original(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        world.publish(5, 1, NOW).await?;
        world.made(reply(6, 2, 5)).await?;
        world.made(repost(7, 3, 5)).await?;
        world.made(repost(8, 1, 5)).await?;
        world.made(reply(9, 3, 6)).await?;
        assert_eq!((world.counted(5).await?, world.counted(6).await?), ((1, 2), (1, 0)));
        assert_eq!(world.rows().await?, (5, 5, 5));
        let mut read = world.store.by_ids(None, &[6, 7].map(content_id)).await?;
        read.sort_by_key(|it| it.id);
        let found: Vec<_> = read.iter().map(|it| (it.kind, it.reference, it.text.as_str())).collect();
        let expected = [
            (ContentKind::Reply, Reference::ReplyTo(content_id(5)), "content 6"),
            (ContentKind::Repost, Reference::RepostOf(content_id(5)), ""),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            world.column::<i64>("SELECT repost_author_id FROM contents WHERE repost_of = 5 ORDER BY id").await?,
            [1, 1]
        );
        for (id, author) in [(6, 2), (7, 3), (7, 3)] {
            world.store.remove(user(author), content_id(id), 100 + id, NOW).await?;
        }
        assert_eq!(world.counted(5).await?, (0, 1), "a removal counts once");
        Ok(())
    }

    async fn a_repeated_repost_is_a_duplicate_until_the_first_is_undone(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.publish(5, 1, NOW).await?;
        world.made(repost(6, 2, 5)).await?;
        let before = world.rows().await?;
        let Published::Duplicate(Some(Content { id, reference, .. })) = world.store.publish(repost(7, 2, 5)).await?
        else {
            anyhow::bail!("a duplicate was expected")
        };
        assert_eq!((id, reference), (content_id(6), Reference::RepostOf(content_id(5))));
        assert_eq!((world.rows().await?, world.counted(5).await?), (before, (0, 1)));
        assert_eq!(
            world.store.reposted_among(user(2), &[4, 5].map(content_id)).await?,
            [(content_id(5), content_id(6))]
        );
        assert!(world.store.reposted_among(user(1), &[content_id(5)]).await?.is_empty());
        assert!(matches!(world.store.remove(user(2), content_id(6), 9, NOW).await?, Removed::Gone { .. }));
        assert!(world.store.reposted_among(user(2), &[content_id(5)]).await?.is_empty());
        let mut subjects = world.store.subjects(&[5, 6, 7].map(content_id)).await?;
        subjects.sort_unstable();
        assert_eq!(subjects, [5, 6].map(|id| (content_id(id), content_id(5))), "removed ones too");
        world.made(repost(8, 2, 5)).await?;
        assert_eq!(world.counted(5).await?, (0, 1));
        Ok(())
    }

    async fn concurrent_reposts_by_one_author_create_one(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        world.publish(5, 1, NOW).await?;
        let ended = at_once((10..22).map(|id| world.store.publish(repost(id, 2 + id % 2, 5)))).await?;
        let created = ended.iter().filter(|it| matches!(it, Published::Created { .. })).count();
        let repeated = ended.iter().filter(|it| matches!(it, Published::Duplicate(Some(_)))).count();
        assert_eq!((created, repeated), (2, 10), "one an author: {ended:?}");
        assert_eq!((world.counted(5).await?, world.rows().await?), ((0, 2), (3, 3, 3)));
        Ok(())
    }

    async fn counters_hold_while_people_answer_repost_and_take_back_at_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(6).await?;
        world.publish(5, 1, NOW).await?;
        at_once(
            (1..=6)
                .flat_map(|author| [reply(10 + author, author, 5), repost(20 + author, author, 5)])
                .map(|new| world.store.publish(new)),
        )
        .await?;
        assert_eq!(world.counted(5).await?, (6, 6));
        let removals =
            at_once((1..=5).map(|author| world.store.remove(user(author), content_id(20 + author), 200 + author, NOW)));
        let replies = at_once((1..=6).map(|author| world.store.publish(reply(30 + author, author, 10 + author))));
        tokio::try_join!(removals, replies)?;
        assert_eq!(world.counted(5).await?, (6, 1));
        assert_eq!(world.number("SELECT CAST(SUM(replies) AS SIGNED) FROM counters").await?, 12);
        Ok(())
    }

    async fn contents_invisible_to_an_author_cannot_be_answered_or_reposted(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(4).await?;
        for (id, author) in [(5, 1), (6, 2), (7, 3)] {
            world.publish(id, author, NOW).await?;
        }
        world.made(repost(8, 4, 6)).await?;
        world.store.remove(user(1), content_id(5), 9, NOW).await?;
        world.store.block(user(4), user(2), 1008, NOW).await?;
        world.store.block(user(3), user(4), 1009, NOW).await?;
        let before = (world.rows().await?, world.counted(6).await?, world.counted(7).await?);
        for of in [5, 6, 7, 8, 99] {
            assert_eq!(world.store.publish(repost(50, 4, of)).await?, Published::UnknownReference, "{of}");
            assert_eq!(world.store.publish(reply(51, 4, of)).await?, Published::UnknownReference, "{of}");
        }
        assert_eq!((world.rows().await?, world.counted(6).await?, world.counted(7).await?), before);
        world.made(repost(52, 1, 6)).await?;
        Ok(())
    }

    async fn a_key_answers_for_a_reply_whose_original_has_gone(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.publish(5, 1, NOW).await?;
        let keyed_reply =
            |id| NewContent { draft: keyed(id, 2, "key").draft.replying_to(content_id(5)), ..content(id, 2, NOW) };
        world.made(keyed_reply(6)).await?;
        world.store.remove(user(1), content_id(5), 9, NOW).await?;
        let again = world.store.publish(keyed_reply(7)).await?;
        assert!(matches!(again, Published::Duplicate(Some(first)) if first.id == content_id(6)));
        Ok(())
    }

    async fn replies_are_read_oldest_first_with_exact_ends(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(5).await?;
        world.publish(5, 1, NOW).await?;
        world.publish(6, 1, NOW).await?;
        for (id, author) in [(10, 1), (11, 2), (12, 3), (13, 4), (14, 1)] {
            world.made(reply(id, author, 5)).await?;
        }
        world.made(reply(20, 2, 6)).await?;
        world.made(reply(21, 2, 10)).await?;
        world.store.remove(user(1), content_id(14), 9, NOW).await?;
        world.store.block(user(5), user(3), 1010, NOW).await?;
        let after = |id| Some(Position::bound(NOW + id, id));
        assert_eq!(world.replies_to(None, 5, None, 2).await?, (vec![10, 11], true, false));
        assert_eq!(world.replies_to(None, 5, after(11), 2).await?, (vec![12, 13], false, true));
        assert_eq!(world.replies_to(None, 5, after(13), 2).await?, (vec![], false, true));
        assert_eq!(
            world.replies_to(Some(5), 5, after(10), 2).await?,
            (vec![11, 13], false, true),
            "a blocked author's is left out"
        );
        assert_eq!(world.replies_to(Some(3), 5, None, 9).await?, (vec![10, 11, 12, 13], false, false));
        assert_eq!(world.replies_to(None, 99, None, 2).await?, (vec![], false, false));
        Ok(())
    }

    async fn ancestors_lead_upward_to_the_root_or_to_the_limit(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        world.publish(1, 1, NOW).await?;
        for id in 2..=6 {
            world.made(reply(id, 1, id - 1)).await?;
        }
        world.store.remove(user(1), content_id(3), 9, NOW).await?;
        assert_eq!(only(world.store.ancestors(&[content_id(6)], 50).await)?, [1, 2, 3, 4, 5].map(content_id));
        assert_eq!(only(world.store.ancestors(&[content_id(6)], 2).await)?, [4, 5].map(content_id));
        for without in [1, 99] {
            assert!(only(world.store.ancestors(&[content_id(without)], 50).await)?.is_empty());
        }
        Ok(())
    }
}
