//! [`Export`]: pages of whole tables have every row once, and nothing that is gone.

use anyhow::{Result, ensure};
use tidefeed::domain::{EdgeMode, Position, Reaction};
use tidefeed::store::{
    AccountDeletions as _, Contents as _, Exclusions as _, Export as _, Follows as _, Reactions as _, ReadMarkers as _,
    StoreError,
    accounts::PasswordHash,
    export::Keyed,
    imports::{
        ImportBatch, ImportedExclusion, ImportedExclusionKind, ImportedFollow, ImportedReaction, ImportedTombstone,
    },
    relations::Pair,
};

use super::{
    NOW, World, content_id,
    content_objects::{external, named},
    user,
};
use crate::servers::on_each_backend;

/// All rows, read `limit` at a time.
async fn all<const COLUMNS: usize, T>(
    limit: u64,
    read: impl AsyncFn([i64; COLUMNS], u64) -> Result<Keyed<COLUMNS, T>, StoreError>,
) -> Result<Vec<T>> {
    let (mut rows, mut after) = (Vec::new(), [0; COLUMNS]);
    loop {
        let page = read(after, limit).await?;
        let Some((last, _)) = page.last() else { return Ok(rows) };
        ensure!(page.len() as u64 <= limit && *last > after, "the keys ascend");
        after = *last;
        rows.extend(page.into_iter().map(|(_, row)| row));
    }
}

on_each_backend! {
    async fn pages_of_whole_tables_have_every_row_once_and_nothing_that_is_gone(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(6).await?;
        let store = &world.store;
        let follows = [(1, 2), (1, 3), (2, 1), (2, 3), (2, 4), (4, 1)];
        for (follower, author) in follows {
            store.follow(user(follower), user(author), EdgeMode::Fill, 7, NOW + follower).await?;
        }
        for content in 11..=15 {
            world.publish(content, content % 2 + 1, NOW).await?;
        }
        let reactions = [
            (11, Reaction::Like, 2),
            (11, Reaction::Like, 3),
            (11, Reaction::Like, 4),
            (11, Reaction::Bookmark, 1),
            (12, Reaction::Bookmark, 2),
            (12, Reaction::Bookmark, 4),
        ];
        for (content, reaction, by) in reactions {
            store.react(user(by), content_id(content), reaction, 5, NOW + by).await?;
        }
        store.remove(user(2), content_id(13), 9, NOW).await?;
        for (content, author, external_id) in [(16, 1, "kept"), (17, 1, "removed"), (18, 6, "of user_6")] {
            store.publish(named(content, author, external_id)).await?;
        }
        store.remove(user(1), content_id(17), 9, NOW).await?;
        let never = ImportedTombstone { id: content_id(19), external_id: external("never"), is_removed_now: false };
        world.import(1, ImportBatch::Tombstones(vec![never])).await?;
        store.mute(user(3), user(1), 1).await?;
        store.hide(user(3), user(1), 2).await?;
        store.mute(user(1), user(3), 3).await?;
        store.block(user(5), user(4), 4, NOW).await?;
        store.advance(user(2), Position::bound(NOW, 11)).await?;
        store.advance(user(4), Position::bound(NOW + 1, 12)).await?;
        let password = PasswordHash("hash of user_6".to_owned());
        store.delete(user(6), Some(&password), NOW).await?;
        for limit in [1, 2, 100] {
            let users = all(limit, async |after, limit| store.all_users(after, limit).await).await?;
            ensure!(users == [1, 2, 3, 4, 5].map(user), "{users:?}");
            let contents = all(limit, async |after, limit| store.all_contents(after, limit).await).await?;
            ensure!(contents == [11, 12, 14, 15, 16, 18].map(content_id), "{contents:?}");
            let said = all(limit, async |after, limit| store.all_tombstones(after, limit).await).await?;
            let expected = [None, Some("removed"), Some("of user_6"), Some("never")];
            ensure!(said == expected.map(|id| id.map(external)), "{said:?}");
            let edges = all(limit, async |after, limit| store.all_follows(after, limit).await).await?;
            let expected = follows.map(|(follower, author)| {
                let pair = Pair { follower: user(follower), author: user(author) };
                ImportedFollow { pair, followed_at: NOW + follower }
            });
            ensure!(edges == expected, "{edges:?}");
            let reacted = all(limit, async |after, limit| store.all_reactions(after, limit).await).await?;
            let expected = reactions.map(|(content, reaction, by)| ImportedReaction {
                user: user(by),
                content: content_id(content),
                reaction,
                reacted_at: NOW + by,
            });
            ensure!(reacted == expected, "{reacted:?}");
            let excluded = all(limit, async |after, limit| store.all_exclusions(after, limit).await).await?;
            let expected = [
                (1, 3, ImportedExclusionKind::Mute),
                (3, 1, ImportedExclusionKind::Hide),
                (3, 1, ImportedExclusionKind::Mute),
                (5, 4, ImportedExclusionKind::Block),
            ];
            let expected = expected.map(|(by, to, kind)| ImportedExclusion { user: user(by), other: user(to), kind });
            ensure!(excluded == expected, "{excluded:?}");
            let markers = all(limit, async |after, limit| store.all_markers(after, limit).await).await?;
            let markers: Vec<_> = markers.iter().map(|it| (it.reader, it.position.publish_time())).collect();
            ensure!(markers == [(user(2), NOW), (user(4), NOW + 1)], "{markers:?}");
        }
        Ok(())
    }
}
