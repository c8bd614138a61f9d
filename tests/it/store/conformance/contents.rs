//! [`Contents`]: publishing, removing, reading by id. Outboxes have their own suite.

use std::collections::HashMap;

use anyhow::Result;
use tidefeed::domain::{Content, ContentKind, Counters, Entry, Media, MediaKind, PageRequest, PageSize, Reference};
use tidefeed::store::contents::{NewContent, Published, Removed, VersionChange};
use tidefeed::store::{Accounts as _, Contents as _};

use super::{NOW, World, at_once, content, content_id, keyed, only, picture, user, version};
use crate::servers::{Backend, on_each_backend};

/// A content of maximum size, in characters of four bytes and characters that JSON escapes.
fn largest() -> NewContent {
    let medium = Media {
        kind: MediaKind::Video,
        url: format!("https://v.example/{}", "字".repeat(2_000)),
        width: Some(1),
        height: None,
        alt: "\u{1}\"👩".repeat(333),
    };
    let mut new = content(5, 1, NOW);
    new.draft.text = "👩".repeat(5_000);
    new.draft.media = vec![medium; 9];
    new
}

impl World {
    /// Everything that a refused publish must not change.
    async fn traces(&self) -> Result<Vec<i64>> {
        let mut traces = Vec::new();
        for sql in [
            "SELECT COUNT(*) FROM contents",
            "SELECT COUNT(*) FROM counters",
            "SELECT COUNT(*) FROM deliveries",
            "SELECT COUNT(*) FROM outbox_heads",
            "SELECT COALESCE(MAX(stamp), 0) FROM outbox_heads",
            "SELECT COALESCE(MAX(contents), 0) FROM user_counts",
        ] {
            traces.push(self.number(sql).await?);
        }
        Ok(traces)
    }

    async fn content_count(&self, author: i64) -> Result<i64> {
        Ok(self.store.counts(&[user(author)]).await?[0].1.contents)
    }
}

on_each_backend! {
    async fn contents_with_media_are_listed_including_those_before_the_migration(
        backend: Backend,
    ) -> Result<()> {
        let world = World::on_own_tables(backend).await?.with_users(2).await?;
        for id in 1..=6 {
            let mut new = content(id, 1 + id % 2, NOW + id);
            new.draft.media.extend((id < 5).then(picture));
            world.store.publish(new).await?;
        }
        world.store.remove(user(2), content_id(3), version(9), NOW).await?;
        let lists = async || -> Result<Vec<Vec<i64>>> {
            let newest = PageRequest::newest(PageSize::default());
            let pages = world.store.with_media(None, &[user(1), user(2)], &newest).await?;
            Ok(pages.iter().map(|page| page.ahead.entries().iter().map(|it| it.content.get()).collect()).collect())
        };
        assert_eq!(lists().await?, [vec![4, 2], vec![1]]);
        let undo: &[&str] = match backend {
            Backend::Sqlite => &["DROP INDEX media", "ALTER TABLE contents DROP COLUMN media_author_id"],
            Backend::MariaDb | Backend::Mysql => {
                &["ALTER TABLE contents DROP KEY media", "ALTER TABLE contents DROP COLUMN media_author_id"]
            }
        };
        for sql in undo.iter().chain(&["DELETE FROM seaql_migrations WHERE version LIKE '%_media'"]) {
            world.run(sql).await?;
        }
        world.store.migrate().await?;
        assert_eq!(lists().await?, [vec![4, 2], vec![1]], "as the migration has filled it");
        Ok(())
    }

    async fn a_content_is_read_back_as_it_was_published(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let new = largest();
        assert_eq!(
            world.store.publish(new.clone()).await?,
            Published::Created { versions: VersionChange { before: 0, after: version(5) } }
        );
        let expected = Content {
            id: new.id,
            author: new.author,
            kind: ContentKind::Post,
            reference: Reference::Nothing,
            text: new.draft.text,
            media: new.draft.media,
            publish_time: NOW,
            object: None,
        };
        assert_eq!(world.store.by_ids(None, &[content_id(5), content_id(6), content_id(5)]).await?, [expected]);
        assert!(world.store.by_ids(None, &[]).await?.is_empty());
        Ok(())
    }

    async fn a_publish_leaves_counters_a_delivery_a_version_and_a_count(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        assert_eq!(world.publish(5, 1, NOW).await?, VersionChange { before: 0, after: version(5) });
        assert_eq!(
            world.publish(6, 1, NOW - 7).await?,
            VersionChange { before: version(5), after: version(6) },
            "a publish time may lie before the last one's"
        );
        assert_eq!(
            world.publish(7, 2, NOW).await?,
            VersionChange { before: 0, after: version(7) },
            "each author has an outbox of their own"
        );
        let mut counters = world.store.counters(&[5, 6, 99].map(content_id)).await?;
        counters.sort_unstable_by_key(|(id, _)| *id);
        assert_eq!(counters, [5, 6].map(|id| (content_id(id), Counters::default())));
        assert!(world.store.counters(&[]).await?.is_empty());
        let delivery = format!(
            "SELECT content_id FROM deliveries WHERE author_id = 1 AND publish_time = {} AND attempts = 0 AND last_error = '' AND look_at = {}",
            NOW - 7,
            NOW - 7 + 10_000
        );
        assert_eq!(world.column::<i64>(&delivery).await?, [6]);
        assert_eq!(world.number("SELECT COUNT(*) FROM deliveries").await?, 3);
        assert_eq!((world.content_count(1).await?, world.content_count(2).await?), (2, 1));
        Ok(())
    }

    async fn a_used_key_gives_the_first_content_and_changes_nothing(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        assert!(matches!(world.store.publish(keyed(5, 1, "key")).await?, Published::Created { .. }));
        let before = world.traces().await?;
        let mut again = keyed(6, 1, "key");
        again.draft.text.push_str(", in other words");
        let Published::Duplicate(Some(first)) = world.store.publish(again).await? else {
            anyhow::bail!("a duplicate was expected")
        };
        assert_eq!((first.id, first.text.as_str()), (content_id(5), "content 5"));
        assert!(
            matches!(world.store.publish(keyed(5, 1, "key")).await?, Published::Duplicate(Some(_))),
            "the key wins over the id"
        );
        assert_eq!(world.traces().await?, before);
        world.store.remove(user(1), content_id(5), 9, NOW).await?;
        assert_eq!(world.store.publish(keyed(7, 1, "key")).await?, Published::Duplicate(None));
        Ok(())
    }

    async fn keys_are_the_same_only_if_every_byte_is(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let longest = "👩".repeat(64);
        for (id, key) in (5..).zip(["key", "KEY", "key ", "kéy", "ke\u{301}y", "ｋey", longest.as_str()]) {
            assert!(matches!(world.store.publish(keyed(id, 1, key)).await?, Published::Created { .. }), "{key}");
        }
        assert!(
            matches!(world.store.publish(keyed(20, 2, "key")).await?, Published::Created { .. }),
            "keys are each author's own"
        );
        world.publish(21, 1, NOW).await?;
        world.publish(22, 1, NOW).await?;
        assert_eq!(world.content_count(1).await?, 9, "contents without a key are never the same");
        Ok(())
    }

    async fn a_taken_id_and_an_unknown_author_leave_nothing(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.publish(5, 1, NOW).await?;
        let before = world.traces().await?;
        assert_eq!(world.store.publish(content(5, 1, NOW + 1)).await?, Published::IdTaken);
        assert_eq!(world.store.publish(content(5, 2, NOW + 1)).await?, Published::IdTaken);
        assert_eq!(world.store.publish(keyed(5, 2, "key")).await?, Published::IdTaken);
        assert_eq!(world.store.publish(content(6, 99, NOW)).await?, Published::UnknownAuthor);
        assert_eq!(world.traces().await?, before);
        assert!(
            matches!(
                world.store.publish(keyed(6, 2, "key")).await?,
                Published::Created { versions: VersionChange { before: 0, .. } }
            ),
            "the key is not used up"
        );
        Ok(())
    }

    async fn a_removed_content_is_gone_once(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        world.publish(5, 1, NOW).await?;
        world.publish(6, 1, NOW + 1).await?;
        assert_eq!(world.store.remove(user(2), content_id(5), 8, NOW).await?, Removed::NotTheAuthor);
        let entry = Entry { publish_time: NOW, content: content_id(5), author: user(1) };
        let versions = VersionChange { before: version(6), after: 9 };
        let gone = Removed::Gone { entry, versions, counted: None };
        assert_eq!(world.store.remove(user(1), content_id(5), 9, NOW + 9).await?, gone);
        let before = world.traces().await?;
        for remover in [1, 2, 99] {
            assert_eq!(world.store.remove(user(remover), content_id(5), 10, NOW).await?, Removed::Unknown);
            assert_eq!(world.store.remove(user(remover), content_id(77), 11, NOW).await?, Removed::Unknown);
        }
        assert_eq!(world.traces().await?, before, "only a removal changes the version");
        let left: Vec<_> =
            world.store.by_ids(None, &[5, 6].map(content_id)).await?.iter().map(|content| content.id).collect();
        assert_eq!(left, [content_id(6)]);
        let outbox = only(world.store.outbox(None, &[user(1)], &PageRequest::newest(PageSize::default())).await)?;
        assert_eq!(outbox.ahead.entries().len(), 1);
        assert_eq!(world.content_count(1).await?, 1);
        assert_eq!(
            world.publish(8, 1, NOW).await?,
            VersionChange { before: 9, after: version(8) },
            "a publish follows a removal"
        );
        assert_eq!(world.number(&format!("SELECT COUNT(*) FROM contents WHERE removed_at = {}", NOW + 9)).await?, 1);
        Ok(())
    }

    async fn parallel_publishes_of_one_author_follow_each_other_without_a_gap(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let outcomes = at_once((1..=20).map(|id| world.store.publish(content(id, 1, NOW)))).await?;
        let after: HashMap<i64, i64> = outcomes
            .iter()
            .filter_map(|it| {
                if let Published::Created { versions } = it { Some((versions.before, versions.after)) } else { None }
            })
            .collect();
        let chain: Vec<i64> = std::iter::successors(Some(0), |version| after.get(version).copied()).collect();
        assert_eq!(chain.len(), 21, "{chain:?}");
        assert_eq!(world.number("SELECT stamp FROM outbox_heads WHERE author_id = 1").await?, chain[20]);
        assert_eq!(world.content_count(1).await?, 20);
        Ok(())
    }

    async fn concurrent_publishes_with_one_key_create_one_content(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        let outcomes = at_once((1..=12).map(|id| world.store.publish(keyed(id, 1, "key")))).await?;
        let created = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Published::Created { versions: VersionChange { before: 0, .. } }))
            .count();
        let duplicates = outcomes.iter().filter(|outcome| matches!(outcome, Published::Duplicate(Some(_)))).count();
        assert_eq!((created, duplicates), (1, 11));
        let traces = world.traces().await?;
        assert_eq!((traces.iter().filter(|it| **it == 1).count(), traces.len()), (5, 6), "and one version: {traces:?}");
        Ok(())
    }

    async fn parallel_publishes_and_removals_keep_the_count(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        for id in 1..=10 {
            world.publish(id, 1, NOW).await?;
        }
        let publishes = at_once((11..=20).map(|id| world.store.publish(content(id, 1, NOW))));
        let removals =
            at_once((1..=10).flat_map(|id| {
                [1, 2, 1].map(|author| world.store.remove(user(author), content_id(id), 100 + id, NOW))
            }));
        let (made, removed) = tokio::try_join!(publishes, removals)?;
        let gone = removed.iter().filter(|outcome| matches!(outcome, Removed::Gone { .. })).count();
        assert_eq!((made.len(), gone), (10, 10));
        assert_eq!(world.content_count(1).await?, 10);
        let last = world.number("SELECT stamp FROM outbox_heads WHERE author_id = 1").await?;
        assert!((101..=110).contains(&last) || (11..=20).any(|id| version(id) == last), "{last}");
        Ok(())
    }
}
