//! [`Reactions`]: likes and bookmarks, their counters and their lists.

use anyhow::{Context as _, Result};
use tidefeed::domain::limits::MAX_REMEMBERED_REACTIONS;
use tidefeed::domain::timeline::candidates::{Ask, CandidateLimits, Wanted};
use tidefeed::domain::{Counters, Direction, EdgeMode, PageRequest, PageSize, Reaction, ViewerReactions};
use tidefeed::store::audits::{Counted, Miscount};
use tidefeed::store::contents::Removed;
use tidefeed::store::reactions::Reacted;
use tidefeed::store::{
    AccountDeletions as _, Contents as _, CounterAudits as _, Exclusions as _, Follows as _, Reactions as _,
    Timelines as _,
};

use super::{NOW, World, at_once, content_id, only, user};
use crate::servers::on_each_backend;

/// A version for reactions whose version does not matter.
const VERSION: i64 = 7;

impl World {
    async fn reactions_of(&self, content: i64) -> Result<(i64, i64)> {
        let Counters { likes, bookmarks, .. } = self.store.counters(&[content_id(content)]).await?[0].1;
        Ok((likes, bookmarks))
    }
}

on_each_backend! {
    async fn a_reaction_is_made_and_taken_back_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        world.publish(5, 1, NOW).await?;
        let (store, content) = (&world.store, content_id(5));
        for (reaction, counted) in [(Reaction::Like, (1, 0)), (Reaction::Bookmark, (1, 1))] {
            assert_eq!(store.react(user(2), content, reaction, VERSION, NOW).await?, Reacted::Done);
            assert_eq!(store.react(user(2), content, reaction, VERSION, NOW + 1).await?, Reacted::Already);
            assert_eq!(world.reactions_of(5).await?, counted);
        }
        let both = ViewerReactions { liked: true, bookmarked: true };
        assert_eq!(store.of_user(user(2), &[5, 6].map(content_id)).await?, [(content, both)]);
        assert!(store.of_user(user(3), &[content]).await?.is_empty());
        assert!(store.of_user(user(2), &[]).await?.is_empty());
        assert_eq!(store.take_back(user(2), content, Reaction::Like, VERSION).await?, Reacted::Done);
        assert_eq!(store.take_back(user(2), content, Reaction::Like, VERSION).await?, Reacted::Already);
        assert_eq!(store.take_back(user(3), content, Reaction::Bookmark, VERSION).await?, Reacted::Already);
        assert_eq!(world.reactions_of(5).await?, (0, 1));
        let kept = ViewerReactions { liked: false, bookmarked: true };
        assert_eq!(store.of_user(user(2), &[content]).await?, [(content, kept)]);
        Ok(())
    }

    async fn reactions_have_a_version_that_only_a_change_of_them_renews(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.publish(5, 1, NOW).await?;
        let (store, content) = (&world.store, content_id(5));
        let remembered = async || {
            let reactions = store.reader(user(2)).await?.and_then(|reader| reader.reactions).context("no reactions")?;
            Ok::<_, anyhow::Error>((reactions.version(), reactions.to(content)))
        };
        let of = |liked, bookmarked| ViewerReactions { liked, bookmarked };
        assert_eq!(remembered().await?, (0, of(false, false)));
        store.react(user(2), content, Reaction::Like, 11, NOW).await?;
        assert_eq!(remembered().await?, (11, of(true, false)));
        store.react(user(2), content, Reaction::Like, 12, NOW).await?;
        store.take_back(user(2), content, Reaction::Bookmark, 13).await?;
        store.react(user(1), content, Reaction::Like, 14, NOW).await?;
        assert_eq!(remembered().await?, (11, of(true, false)), "nothing of theirs has changed");
        store.react(user(2), content, Reaction::Bookmark, 15, NOW).await?;
        assert_eq!(remembered().await?, (15, of(true, true)));
        store.take_back(user(2), content, Reaction::Like, 16).await?;
        assert_eq!(remembered().await?, (16, of(false, true)));
        let limits = CandidateLimits { ahead: 3, behind: 3 };
        let request = PageRequest::newest(PageSize::try_new(2)?);
        let ask = Ask::of_inbox(limits, Wanted::ENTRIES);
        assert_eq!(store.candidates(user(2), &request, &ask).await?.reactions_version, 16);
        Ok(())
    }

    async fn too_many_reactions_are_not_remembered(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let most = i64::try_from(MAX_REMEMBERED_REACTIONS)?;
        let row = |id: i64| format!("({id}, 1, 2, {NOW})");
        let rows: Vec<String> = (1..=most).map(row).collect();
        world
            .run(&format!("INSERT INTO reactions (content_id, kind, user_id, created_at) VALUES {}", rows.join(", ")))
            .await?;
        let remembered =
            async || Ok::<_, anyhow::Error>(world.store.reader(user(2)).await?.context("a reader")?.reactions);
        assert!(remembered().await?.is_some_and(|all| all.to(content_id(most)).liked));
        world
            .run(&format!("INSERT INTO reactions (content_id, kind, user_id, created_at) VALUES {}", row(most + 1)))
            .await?;
        assert!(remembered().await?.is_none());
        Ok(())
    }

    /// Two nodes whose clocks differ may clear the same account away at the same moment.
    async fn a_reaction_that_two_take_back_at_once_counts_once(backend: Backend) -> Result<()> {
        const CONTENTS: i64 = 40;
        let world = World::on(backend).await?.with_users(3).await?;
        for id in 1..=CONTENTS {
            world.publish(id, 1, NOW).await?;
            for liker in [2, 3] {
                world.store.react(user(liker), content_id(id), Reaction::Like, VERSION, NOW).await?;
            }
        }
        for more in [CONTENTS / 2, CONTENTS] {
            let more = u64::try_from(more)?;
            let take = || world.store.take_back_reactions(user(3), more);
            let (one, other, third) = tokio::join!(take(), take(), take());
            one?;
            other?;
            third?;
        }
        assert_eq!(world.number("SELECT COUNT(*) FROM reactions WHERE user_id = 3").await?, 0);
        assert_eq!(world.number("SELECT COUNT(*) FROM counters WHERE likes = 1").await?, CONTENTS);
        Ok(())
    }

    async fn counters_that_differ_from_their_rows_are_found_and_corrected(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        for id in 1..=3 {
            world.publish(id, 1, NOW).await?;
        }
        let store = &world.store;
        store.follow(user(2), user(1), EdgeMode::Fill, VERSION, NOW).await?;
        store.react(user(2), content_id(2), Reaction::Like, VERSION, NOW).await?;
        for whole in [store.recount_contents(0, 10).await?, store.recount_users(0, 10).await?] {
            assert_eq!((whole.miscounts, whole.looked_at, whole.last), (Vec::new(), 3, Some(3)));
        }
        world.run("UPDATE counters SET likes = 0, reposts = 9 WHERE content_id = 2").await?;
        world.run("UPDATE user_counts SET followers = 0, contents = 5 WHERE user_id = 1").await?;
        let wrong = |of, counter, kept, rows| Miscount { of, counter, kept, rows };
        let (content, author) = (Counted::Content(content_id(2)), Counted::User(user(1)));
        let found = store.recount_contents(0, 2).await?;
        assert_eq!(found.miscounts, [wrong(content, "likes", 0, 1), wrong(content, "reposts", 9, 0)]);
        assert_eq!(store.recount_contents(2, 2).await?.looked_at, 1);
        assert_eq!(store.recount_contents(3, 2).await?.last, None);
        let found = store.recount_users(0, 10).await?;
        assert_eq!(found.miscounts, [wrong(author, "followers", 0, 1), wrong(author, "contents", 5, 3)]);
        for of in [content, author, Counted::User(user(99))] {
            store.correct(of).await?;
        }
        for whole in [store.recount_contents(0, 10).await?, store.recount_users(0, 10).await?] {
            assert!(whole.miscounts.is_empty(), "{whole:?}");
        }
        Ok(())
    }

    /// A page takes a content's counters as proof that it exists.
    async fn counters_go_with_their_content(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        for id in [5, 6] {
            world.publish(id, 1, NOW).await?;
        }
        world.store.remove(user(1), content_id(5), 77, NOW).await?;
        assert_eq!(world.store.remove(user(2), content_id(6), 78, NOW).await?, Removed::NotTheAuthor);
        assert_eq!(world.number("SELECT COUNT(*) FROM counters").await?, 1);
        assert_eq!(world.number("SELECT content_id FROM counters").await?, 6);
        Ok(())
    }

    /// Rows that nodes of earlier versions have left: a removed content kept its counters.
    async fn the_migration_makes_counters_the_proof_that_a_content_exists(backend: Backend) -> Result<()> {
        let world = World::on_own_tables(backend).await?.with_users(1).await?;
        for id in [5, 6, 7] {
            world.publish(id, 1, NOW).await?;
        }
        world.run("UPDATE counters SET likes = 3 WHERE content_id = 5").await?;
        world.run("UPDATE contents SET removed_at = 1 WHERE id = 6").await?;
        world.run("DELETE FROM counters WHERE content_id = 7").await?;
        world.run("DELETE FROM seaql_migrations WHERE version = 'm20261124_000015_reactions'").await?;
        world.store.migrate().await?;
        assert!(world.store.pending_migrations().await?.is_empty());
        let kept = world.numbers("SELECT content_id, likes FROM counters ORDER BY content_id").await?;
        assert_eq!(kept, [[5, 3], [7, 0]]);
        Ok(())
    }

    async fn a_counter_never_falls_below_zero(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.publish(5, 1, NOW).await?;
        world.store.react(user(2), content_id(5), Reaction::Like, VERSION, NOW).await?;
        world.run("UPDATE counters SET likes = 0").await?;
        assert_eq!(world.store.take_back(user(2), content_id(5), Reaction::Like, VERSION).await?, Reacted::Done);
        assert_eq!(world.reactions_of(5).await?, (0, 0));
        Ok(())
    }

    async fn a_removed_or_unknown_content_takes_no_reaction_and_shows_none(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.publish(5, 1, NOW).await?;
        world.publish(6, 1, NOW).await?;
        let store = &world.store;
        for content in [5, 6] {
            store.react(user(2), content_id(content), Reaction::Bookmark, VERSION, NOW).await?;
        }
        store.remove(user(1), content_id(5), 77, NOW).await?;
        for content in [5, 99].map(content_id) {
            assert_eq!(store.react(user(1), content, Reaction::Like, VERSION, NOW).await?, Reacted::UnknownContent);
            assert_eq!(store.take_back(user(2), content, Reaction::Bookmark, VERSION).await?, Reacted::UnknownContent);
        }
        assert_eq!(world.number("SELECT COUNT(*) FROM reactions WHERE kind = 1").await?, 0);
        let page = store.reacted_to(user(2), Reaction::Bookmark, &PageRequest::newest(PageSize::try_new(1)?)).await?;
        assert_eq!(page.rows.iter().map(|row| row.item.content).collect::<Vec<_>>(), [content_id(6)]);
        assert!(!page.has_older, "a removed bookmark is not announced as a further page");
        Ok(())
    }

    async fn fifty_users_who_react_twice_at_once_are_counted_exactly(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(50).await?;
        world.publish(5, 1, NOW).await?;
        let (store, content) = (&world.store, content_id(5));
        let users = || (1..=50).chain(1..=50).map(user);
        let outcomes = at_once(users().map(|user| store.react(user, content, Reaction::Like, VERSION, NOW))).await?;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Reacted::Done).count(), 50);
        assert_eq!(world.reactions_of(5).await?, (50, 0));
        let outcomes =
            at_once(users().take(80).map(|user| store.take_back(user, content, Reaction::Like, VERSION))).await?;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Reacted::Done).count(), 50);
        assert_eq!((world.reactions_of(5).await?, world.number("SELECT COUNT(*) FROM reactions").await?), ((0, 0), 0));
        let mixed = at_once((1..=50).map(|id| async move {
            store.react(user(id), content, Reaction::Like, VERSION, NOW).await?;
            if id % 2 == 0 {
                store.take_back(user(id), content, Reaction::Like, VERSION).await
            } else {
                Ok(Reacted::Done)
            }
        }))
        .await?;
        assert!(mixed.iter().all(|outcome| *outcome == Reacted::Done));
        assert_eq!(
            (world.reactions_of(5).await?, world.number("SELECT COUNT(*) FROM reactions").await?),
            ((25, 0), 25)
        );
        Ok(())
    }

    async fn likers_likes_and_bookmarks_are_paged_exactly_once(
        backend: Backend,
    ) -> Result<()> {
        let world = World::on(backend).await?.with_users(9).await?;
        let store = &world.store;
        for id in 1..=9 {
            world.publish(id, 1, NOW).await?;
        }
        for id in 1..=9 {
            // Three at each moment.
            store.react(user(id), content_id(5), Reaction::Like, VERSION, NOW + id / 3).await?;
            store.react(user(2), content_id(id), Reaction::Bookmark, VERSION, NOW + id / 3).await?;
            store.react(user(3), content_id(id), Reaction::Like, VERSION, NOW + id / 3).await?;
        }
        store.react(user(2), content_id(7), Reaction::Like, VERSION, NOW).await?;
        let size = PageSize::try_new(4)?;
        let (mut likers, mut kept, mut liked) = (Vec::new(), Vec::new(), Vec::new());
        let mut request = PageRequest::newest(size);
        loop {
            let page = only(store.likers(None, &[content_id(5)], &request).await)?;
            for (reader, reaction, seen) in [(2, Reaction::Bookmark, &mut kept), (3, Reaction::Like, &mut liked)] {
                let own = store.reacted_to(user(reader), reaction, &request).await?;
                assert_eq!((page.has_older, page.has_newer), (own.has_older, own.has_newer));
                seen.extend(own.rows.iter().map(|row| row.item.content.get()));
            }
            assert_eq!(page.has_newer, request.bound.is_some());
            likers.extend(page.rows.iter().map(|row| row.item.get()));
            if !page.has_older {
                break;
            }
            request.bound = page.rows.last().map(|row| row.position(row.item));
        }
        let newest_first: Vec<i64> = (1..=9).rev().collect();
        assert_eq!([likers, kept, liked], [newest_first.clone(), newest_first.clone(), newest_first]);
        let back = PageRequest { direction: Direction::Newer, ..request };
        let newer = only(store.likers(None, &[content_id(5)], &back).await)?;
        assert_eq!(newer.rows.iter().map(|row| row.item.get()).collect::<Vec<_>>(), [6, 5, 4, 3]);
        Ok(())
    }
    async fn likers_are_hidden_across_a_block(
        backend: Backend,
    ) -> Result<()> {
        let world = World::on(backend).await?.with_users(6).await?;
        world.publish(5, 1, NOW).await?;
        let (store, newest) = (&world.store, PageRequest::newest(PageSize::try_new(2)?));
        for fan in 2..=5 {
            store.react(user(fan), content_id(5), Reaction::Like, VERSION, NOW - fan).await?;
        }
        store.block(user(2), user(4), 1052, NOW).await?;
        for (viewer, seen, more) in
            [(Some(4), [3, 4], true), (Some(2), [2, 3], true), (Some(6), [2, 3], true), (None, [2, 3], true)]
        {
            let page = only(store.likers(viewer.map(user), &[content_id(5)], &newest).await)?;
            let likers: Vec<i64> = page.rows.iter().map(|row| row.item.get()).collect();
            assert_eq!((&likers[..], page.has_older), (&seen[..], more), "as {viewer:?} sees it");
            let after = PageRequest { bound: page.rows.last().map(|row| row.position(row.item)), ..newest };
            let rest = only(store.likers(viewer.map(user), &[content_id(5)], &after).await)?;
            let rest: Vec<i64> = rest.rows.iter().map(|row| row.item.get()).collect();
            assert_eq!(rest, if matches!(viewer, Some(2 | 4)) { vec![5] } else { vec![4, 5] }, "as {viewer:?} sees it");
        }
        assert_eq!(world.reactions_of(5).await?, (4, 0), "a counter counts for everybody");
        Ok(())
    }
}
