//! Pages of many lists at once: each equals the page of that list alone, in the order of the keys.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

use anyhow::{Result, ensure};
use tidefeed::domain::{ContentId, Direction, EdgeMode, PageRequest, PageSize, Position, Reaction, UserId};
use tidefeed::store::{Contents as _, Exclusions as _, FollowLists as _, Follows as _, Reactions as _, StoreError};

use super::{NOW, World, content, content_id, only, picture, user};
use crate::servers::on_each_backend;

impl World {
    /// Eight people who follow each other, publish, reply and like, several at each moment. User 1 is part of two
    /// blocks.
    async fn with_lists(self) -> Result<Self> {
        let world = self.with_users(8).await?;
        let store = &world.store;
        let pairs = || (1..=8).flat_map(|a| (1..=8).map(move |b| (a, b)));
        for (follower, author) in pairs().filter(|(a, b)| a != b && a * b % 3 != 0) {
            let at = NOW + (7 * follower + 3 * author) % 6;
            store.follow(user(follower), user(author), EdgeMode::Fill, 7, at).await?;
        }
        for id in 1..=16 {
            world.publish(id, 1 + id % 7, NOW + id / 3).await?;
        }
        for id in 17..=40 {
            let mut reply = content(id, 1 + id % 7, NOW + id / 3);
            reply.draft = reply.draft.replying_to(content_id(if id % 2 == 0 { id - 8 } else { 1 + id % 4 }));
            reply.draft.media.extend((id % 3 != 0).then(picture));
            store.publish(reply).await?;
        }
        for (fan, liked) in pairs().filter(|(a, b)| (a + b) % 3 != 0) {
            store.react(user(fan), content_id(liked), Reaction::Like, 7, NOW + fan * liked % 4).await?;
        }
        for removed in [5, 24, 35] {
            store.remove(user(1 + removed % 7), content_id(removed), removed, NOW).await?;
        }
        store.block(user(1), user(3), 1068, NOW).await?;
        store.block(user(4), user(1), 1069, NOW).await?;
        Ok(world)
    }
}

/// Both directions, from the end, from the middle, and from an unused position.
fn requests() -> Result<Vec<PageRequest>> {
    let mut requests = Vec::new();
    for direction in [Direction::Older, Direction::Newer] {
        for bound in [None, Some(Position::bound(NOW + 3, 4)), Some(Position::bound(NOW + 7, i64::MAX))] {
            for size in [1, 3] {
                requests.push(PageRequest { direction, bound, ..PageRequest::newest(PageSize::try_new(size)?) });
            }
        }
    }
    Ok(requests)
}

/// Reads all of `keys` together, and each alone, and compares. Returns the number of different answers.
async fn same_as_alone<K: Copy + Eq + Hash + Debug, T: Debug>(
    keys: &[K],
    ask: impl AsyncFn(&[K]) -> Result<Vec<T>, StoreError>,
) -> Result<usize> {
    let together = ask(keys).await?;
    ensure!(together.len() == keys.len(), "{} answers about {} keys", together.len(), keys.len());
    let mut alone: HashMap<K, String> = HashMap::new();
    for (key, answer) in keys.iter().zip(together) {
        if !alone.contains_key(key) {
            alone.insert(*key, format!("{:?}", only(ask(&[*key]).await)?));
        }
        ensure!(alone[key] == format!("{answer:?}"), "{key:?}: {answer:?}, and alone {}", alone[key]);
    }
    ensure!(ask(&[]).await?.is_empty());
    Ok(alone.into_values().collect::<HashSet<_>>().len())
}

/// All users, unordered, some twice, and some who do not exist.
fn users() -> Vec<UserId> {
    [4, 99, 1, 8, 3, 4, 6, 2, 5, 7, 1, 100].map(user).to_vec()
}

/// As [`users`].
fn contents() -> Vec<ContentId> {
    [3, 20, 99, 1, 40, 5, 2, 3, 38, 24, 4, 30, 1].map(content_id).to_vec()
}

on_each_backend! {
    async fn many_lists_at_once_are_what_each_is_alone(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_lists().await?;
        let store = &world.store;
        for (viewer, request) in [None, Some(user(1)), Some(user(3))]
            .into_iter()
            .flat_map(|it| requests().into_iter().flatten().map(move |request| (it, request)))
        {
            let kinds = [
                same_as_alone(&users(), async |users| store.followers(viewer, users, &request).await).await?,
                same_as_alone(&users(), async |users| store.following(viewer, users, &request).await).await?,
                same_as_alone(&users(), async |users| store.outbox(viewer, users, &request).await).await?,
                same_as_alone(&users(), async |users| store.with_media(viewer, users, &request).await).await?,
                same_as_alone(&contents(), async |contents| store.likers(viewer, contents, &request).await).await?,
                same_as_alone(&contents(), async |contents| store.replies(viewer, contents, &request).await).await?,
            ];
            let least = if request.bound.is_none() { 3 } else { 1 };
            ensure!(kinds.iter().all(|kinds| *kinds >= least), "too few different pages: {kinds:?} for {request:?}");
        }
        for limit in [1, 2, 50] {
            let kinds = same_as_alone(&contents(), async |contents| store.ancestors(contents, limit).await).await?;
            ensure!(kinds >= 3, "{kinds} ways up");
        }
        Ok(())
    }

    async fn more_lists_than_a_statement_takes_are_read_by_several(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_lists().await?;
        let (store, newest) = (&world.store, PageRequest::newest(PageSize::try_new(2)?));
        let (users, contents): (Vec<UserId>, Vec<ContentId>) =
            (0..150).map(|n| (user(1 + n * n % 11), content_id(1 + n * n % 41))).unzip();
        for (bound, statements) in [(None, 2), (Some(Position::bound(NOW + 3, 4)), 3)] {
            let request = PageRequest { bound, ..newest };
            same_as_alone(&users, async |users| store.following(Some(user(1)), users, &request).await).await?;
            same_as_alone(&contents, async |contents| store.replies(Some(user(1)), contents, &request).await).await?;
            let before = store.statements();
            store.outbox(None, &users, &request).await?;
            assert_eq!(store.statements() - before, statements, "{bound:?}");
        }
        Ok(())
    }
}
