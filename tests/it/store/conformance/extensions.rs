//! Tests that an extension takes the newest contents below the floor, however its window was chosen.

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{EdgeMode, Entry, Floor, Position, UserId},
    store::{Inboxes as _, inboxes::Extended},
};

use super::{World, content_id, rows::entry, user};
use crate::servers::{Backend, on_each_backend};

/// Contents of authors 101, 102, .. at these times each.
fn outboxes(times: impl IntoIterator<Item = Vec<i64>>) -> Vec<Entry> {
    let authors = (101..).zip(times);
    let each = authors.flat_map(|(author, times)| times.into_iter().map(move |time| (author, time)));
    (1..).zip(each).map(|(id, (author, time))| entry(id, user(author), time)).collect()
}

/// Reader 1 follows everybody who has published, and author 100, who has not. Extensions of `step` rows each must take
/// what the definition says, until the end.
async fn ensure_steps_are_exact(backend: Backend, contents: Vec<Entry>, step: u32) -> Result<()> {
    let world = World::on(backend).await?;
    world.put_contents(&contents).await?;
    let mut authors: Vec<i64> = contents.iter().map(|it| it.author.get()).chain([100]).collect();
    authors.sort_unstable();
    authors.dedup();
    let edges: Vec<String> = authors.iter().map(|author| format!("(1, {author}, 2, 1, 1)")).collect();
    world.insert("follows", "follower_id, author_id, mode, inc, followed_at", &edges).await?;
    let mut heads: Vec<(UserId, i64)> = contents.iter().map(|it| (it.author, it.publish_time)).collect();
    heads.sort_unstable_by_key(|(author, newest)| (*author, std::cmp::Reverse(*newest)));
    heads.dedup_by_key(|(author, _)| *author);
    let heads: Vec<String> = heads.iter().map(|(author, newest)| format!("({author}, 1, {newest})")).collect();
    world.insert("outbox_heads", "author_id, stamp, published_at", &heads).await?;
    world.put_contents(&[entry(900_000, user(99), 5_000)]).await?;
    world.put_edge(user(1), user(99), EdgeMode::Fill).await?;
    world.remove(content_id(3)).await?;
    world.set_floor(user(1), Floor::OPEN).await?;
    let mut newest: Vec<Entry> = contents.into_iter().filter(|it| it.content != content_id(3)).collect();
    newest.sort_unstable_by_key(|it| std::cmp::Reverse(it.position()));
    let rows = usize::try_from(step)?;
    for steps in 1.. {
        let extended = world.store.extend(user(1), step).await?;
        let taken = &newest[..newest.len().min(steps * rows)];
        let is_cut = steps * rows <= newest.len();
        let floor = taken.last().filter(|_| is_cut).map_or(Position::OLDEST, Entry::position);
        ensure!(extended == Extended::To(Floor::At(floor)), "{extended:?} after {steps} steps, not {floor:?}");
        let ids: Vec<i64> = taken.iter().map(|it| it.content.get()).collect();
        ensure!(world.inbox(user(1)).await? == ids, "after {steps} steps of {step}");
        if !is_cut {
            break;
        }
    }
    Ok(())
}

on_each_backend! {
    async fn authors_of_any_pace_are_extended_exactly(backend: Backend) -> Result<()> {
        let paces = outboxes((1..=40).map(|pace| (1..=400 / pace).map(|nth| nth * pace).collect()));
        ensure_steps_are_exact(backend, paces, 150).await
    }

    async fn many_authors_with_a_content_each_are_extended_exactly(backend: Backend) -> Result<()> {
        ensure_steps_are_exact(backend, outboxes((1..=300).map(|time| vec![time / 2])), 40).await
    }

    async fn an_author_who_publishes_in_bursts_is_extended_exactly(backend: Backend) -> Result<()> {
        let quiet = (1..=9).map(|time| vec![time, 1_000 + time]);
        let bursts = outboxes(quiet.chain([(0..200).map(|nth| 500 + nth / 50).collect()]));
        ensure_steps_are_exact(backend, bursts, 7).await
    }

    async fn contents_years_apart_are_extended_exactly(backend: Backend) -> Result<()> {
        let apart = |author: u32| (0..6).map(|nth| 1_700_000_000_000 - 3_i64.pow(4 * nth + author % 5)).collect();
        ensure_steps_are_exact(backend, outboxes((1..=20).map(apart)), 9).await
    }

    /// Beside each reader is one, a thousand ids further, of the same floor and authors, who is extended alone.
    async fn readers_are_extended_together_as_each_alone(backend: Backend) -> Result<()> {
        const DELETED: i64 = 38;
        let world = World::on(backend).await?;
        world.put_contents(&outboxes((0..30).map(|author| (1..=10).map(|nth| 40 * nth + author).collect()))).await?;
        let mut edges = Vec::new();
        for reader in 1..=40 {
            let floor = match reader % 5 {
                0 => Floor::Off,
                1 => Floor::At(Position::OLDEST),
                2 => Floor::At(Position::bound(200, 9)),
                _ => Floor::OPEN,
            };
            for reader in [reader, reader + 1_000] {
                world.set_floor(user(reader), floor).await?;
            }
            let authors = (101..=130).filter(|author| author % reader < 7);
            let of_both = authors.flat_map(|author| [reader, reader + 1_000].map(|reader| (reader, author)));
            edges.extend(of_both.map(|(reader, author)| format!("({reader}, {author}, 2, 1, 1)")));
        }
        world.insert("follows", "follower_id, author_id, mode, inc, followed_at", &edges).await?;
        world.insert("account_deletions", "user_id, deleted_at, look_at", &[format!("({DELETED}, 1, 1)")]).await?;
        let readers: Vec<UserId> = (1..=40).map(user).collect();
        for step in [3, 50, 400] {
            let before = (world.store.transactions(), world.store.statements());
            let extended = world.store.extend_all(&readers, step).await?;
            let sent = (world.store.transactions() - before.0, world.store.statements() - before.1);
            ensure!(sent.0 == 1 && sent.1 <= 7, "transactions and statements: {sent:?}");
            ensure!(extended.len() == 39 && extended.iter().all(|(reader, _)| *reader != user(DELETED)));
            for (reader, extended) in extended {
                let beside = user(reader.get() + 1_000);
                let alone = world.store.extend(beside, step).await?;
                ensure!(extended == alone, "{reader}: {extended:?}, not {alone:?}");
                ensure!(world.inbox(reader).await? == world.inbox(beside).await?, "{reader} with {step} rows more");
                ensure!(world.rev(reader).await? == world.rev(beside).await?);
            }
        }
        ensure!(world.store.extend_all(&[], 3).await?.is_empty());
        Ok(())
    }

    async fn contents_of_one_time_are_extended_exactly(backend: Backend) -> Result<()> {
        ensure_steps_are_exact(backend, outboxes((1..=5).map(|_| vec![7; 12])), 3).await
    }
}
