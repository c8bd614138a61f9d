//! Tests that an extension takes the newest contents below the floor, however its window was chosen.

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{EdgeMode, Entry, Floor, Position},
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

    async fn contents_of_one_time_are_extended_exactly(backend: Backend) -> Result<()> {
        ensure_steps_are_exact(backend, outboxes((1..=5).map(|_| vec![7; 12])), 3).await
    }
}
