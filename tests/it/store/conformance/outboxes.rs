//! [`Contents`]: outboxes, page by page and by their heads.

use anyhow::Result;
use tidefeed::domain::{ContentKind, Direction, Entry, Kinds, PageRequest, PageSize, Position, Run};
use tidefeed::store::Contents as _;
use tidefeed::store::contents::OutboxHead;

use super::{NOW, World, at_once, content, content_id, only, user, version};
use crate::servers::on_each_backend;

impl World {
    /// Author 1 with 24 contents, three of each millisecond; two are removed. Author 2 writes at the same times.
    /// Returns what author 1 has left, newest first.
    async fn with_outboxes(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for n in 0..24 {
            let entry = Entry { publish_time: NOW + n / 3, content: content_id(10 + n), author: user(1) };
            self.publish(entry.content.get(), 1, entry.publish_time).await?;
            self.publish(100 + n, 2, entry.publish_time).await?;
            entries.push(entry);
        }
        for removed in [13, 33] {
            self.store.remove(user(1), content_id(removed), removed, NOW).await?;
            entries.retain(|entry| entry.content != content_id(removed));
        }
        entries.reverse();
        Ok(entries)
    }
}

/// The entries on one side of a bound, as a window meets them.
fn side(all: &[Entry], direction: Direction, beyond: impl Fn(Position) -> bool) -> Vec<Entry> {
    let mut side: Vec<Entry> = all.iter().filter(|entry| beyond(entry.position())).copied().collect();
    if direction == Direction::Newer {
        side.reverse();
    }
    side
}

fn expected_run(direction: Direction, mut side: Vec<Entry>, limit: usize) -> Run {
    side.truncate(limit);
    Run::from_limited_query(direction, side, limit)
}

on_each_backend! {
    async fn an_outbox_page_is_the_authors_entries_beyond_the_bound(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let all = world.with_outboxes().await?;
        let mut bounds: Vec<Position> = all.iter().map(Entry::position).collect();
        bounds.extend([
            Position::OLDEST,
            Position::NEWEST,
            Position::bound(NOW + 1, 13),
            Position::bound(NOW + 3, i64::MAX),
        ]);
        for direction in [Direction::Older, Direction::Newer] {
            for size in [1, 3, 100] {
                let size = PageSize::try_new(size)?;
                for bound in &bounds {
                    let page = only(
                        world
                            .store
                            .outbox(
                                None,
                                &[user(1)],
                                &PageRequest { direction, bound: Some(*bound), ..PageRequest::newest(size) },
                            )
                            .await,
                    )?;
                    let ahead = side(&all, direction, |position| direction.meets_first(*bound, position));
                    assert_eq!(page.ahead, expected_run(direction, ahead, size.get() + 1), "{direction:?} {bound:?}");
                    let back = direction.reversed();
                    let behind = side(&all, back, |position| !direction.meets_first(*bound, position));
                    assert_eq!(page.behind, Some(expected_run(back, behind, 1)), "{direction:?} {bound:?}");
                }
                let page = only(
                    world.store.outbox(None, &[user(1)], &PageRequest { direction, ..PageRequest::newest(size) }).await,
                )?;
                assert_eq!(page.ahead, expected_run(direction, side(&all, direction, |_| true), size.get() + 1));
                assert!(page.behind.is_none());
            }
        }
        Ok(())
    }

    async fn an_author_without_contents_has_an_empty_outbox(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(1).await?;
        for author in [1, 99] {
            let page =
                only(world.store.outbox(None, &[user(author)], &PageRequest::newest(PageSize::default())).await)?;
            assert_eq!(page.ahead, Run::from_limited_query(Direction::Older, Vec::new(), 1));
            let head = OutboxHead { author: user(author), version: 0, entries: Vec::new(), whole: true };
            assert_eq!(world.store.outbox_heads(&[user(author)], 5).await?, [head]);
        }
        assert!(world.store.outbox_heads(&[], 5).await?.is_empty());
        Ok(())
    }

    async fn an_outbox_page_filtered_by_kind_ignores_other_contents(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let all = world.with_outboxes().await?;
        let kinds_of = |nth: usize| ContentKind::ALL[nth % 7 % 3];
        for (nth, entry) in all.iter().enumerate() {
            world.set_kind(entry.content, kinds_of(nth)).await?;
        }
        for chosen in [&[ContentKind::Post][..], &[ContentKind::Reply], &[ContentKind::Post, ContentKind::Repost]] {
            let kinds = Kinds::try_new(chosen.iter().copied())?;
            let left: Vec<Entry> = all
                .iter()
                .enumerate()
                .filter(|(nth, _)| kinds.contains(kinds_of(*nth)))
                .map(|(_, entry)| *entry)
                .collect();
            for (direction, size) in
                [(Direction::Older, 1), (Direction::Older, 4), (Direction::Newer, 3), (Direction::Newer, 100)]
            {
                let newest = PageRequest { direction, ..PageRequest::newest(PageSize::try_new(size)?).of(kinds) };
                let limit = newest.need();
                for bound in all.iter().map(Entry::position) {
                    let page = only(
                        world.store.outbox(None, &[user(1)], &PageRequest { bound: Some(bound), ..newest }).await,
                    )?;
                    let ahead = side(&left, direction, |position| direction.meets_first(bound, position));
                    assert_eq!(page.ahead, expected_run(direction, ahead, limit), "{kinds:?} {direction:?} {bound:?}");
                    let back = direction.reversed();
                    let behind = side(&left, back, |position| !direction.meets_first(bound, position));
                    assert_eq!(page.behind, Some(expected_run(back, behind, 1)), "{kinds:?} {direction:?} {bound:?}");
                }
            }
        }
        Ok(())
    }

    async fn heads_hold_the_newest_entries_and_say_whether_they_are_all(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(3).await?;
        let all = world.with_outboxes().await?;
        for limit in [1, 5, 21, 22, 23] {
            let heads = world.store.outbox_heads(&[2, 1, 3].map(user), limit).await?;
            let head = heads.iter().find(|head| head.author == user(1)).expect("every author has a head");
            let entries = all.iter().take(limit).copied().collect();
            assert_eq!(*head, OutboxHead { author: user(1), version: 33, entries, whole: limit >= 22 }, "{limit}");
            let other = heads.iter().find(|head| head.author == user(2)).expect("every author has a head");
            assert_eq!((other.version, other.entries.len(), other.whole), (version(123), limit.min(24), false));
        }
        let many: Vec<_> = (1..=700).map(user).collect();
        let heads = world.store.outbox_heads(&many, 2).await?;
        assert_eq!(heads.iter().filter(|head| head.version > 0 && head.entries.len() == 2).count(), 2);
        assert_eq!(heads.len(), 700);
        Ok(())
    }

    async fn a_head_and_its_version_are_of_one_snapshot(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?.with_users(2).await?;
        let publishes = at_once((1..=60).map(|id| world.store.publish(content(id, 1 + id % 2, NOW + id))));
        let reads = async {
            let mut seen = Vec::new();
            while seen.last().is_none_or(|both: &usize| *both < 60) {
                let heads = world.store.outbox_heads(&[1, 2].map(user), 100).await?;
                for head in &heads {
                    // The last committed content is not always the newest. The version names the last committed one.
                    let named =
                        head.version == 0 || head.entries.iter().any(|it| version(it.content.get()) == head.version);
                    assert!(
                        named && (head.version == 0) == head.entries.is_empty(),
                        "each version comes with its entry: {head:?}"
                    );
                }
                seen.push(heads.iter().map(|head| head.entries.len()).sum());
            }
            Ok(seen)
        };
        let reads = tokio::time::timeout(std::time::Duration::from_mins(1), reads);
        let (made, seen) = tokio::join!(publishes, reads);
        assert_eq!(made?.len(), 60);
        let seen: Result<Vec<usize>, tidefeed::store::StoreError> = seen?;
        assert!(seen?.is_sorted());
        Ok(())
    }
}
