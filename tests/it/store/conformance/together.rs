//! [`Deliveries::deliver_together`]: many deliveries begin and end in one transaction, and the others stay as they are.

use anyhow::Result;
use tidefeed::{
    domain::{
        EdgeMode, Entry, Floor, Position,
        timeline::outside::{Bucket, BucketToken, Generation, NodeId},
    },
    store::{
        Deliveries as _, OutsideStates as _,
        deliveries::{AtOnce, Together},
    },
};

use super::{World, at_once, content_id, deliveries::policy, rows::entry, user};
use crate::{coverage::BROKEN, servers::on_each_backend};

/// Readers 1 to 4, of whom 4 is off; 1 is pushed to, 2 is being filled, 3 pulls, 4 is pushed to. Authors 50 and 60 with
/// the contents 1 to 4 and 5, in delivery.
async fn world(backend: crate::servers::Backend) -> Result<World> {
    let world = World::on(backend).await?;
    for (reader, mode) in [(1, EdgeMode::Push), (2, EdgeMode::Fill), (3, EdgeMode::Pull), (4, EdgeMode::Push)] {
        world.put_edge(user(reader), user(50), mode).await?;
        if reader < 4 {
            world.set_floor(user(reader), Floor::At(Position::OLDEST)).await?;
        }
    }
    world.insert("user_counts", "user_id, followers", &["(50, 4)".to_owned(), "(60, 0)".to_owned()]).await?;
    let contents: Vec<Entry> = (1..=5).map(|id| entry(id, user(if id == 5 { 60 } else { 50 }), 100 - id)).collect();
    world.put_contents(&contents).await?;
    world.deliver(&contents).await?;
    Ok(world)
}

fn all() -> Vec<tidefeed::domain::ContentId> {
    (1..=9).map(content_id).collect()
}

fn ids(entries: &[Entry]) -> Vec<i64> {
    let mut ids: Vec<i64> = entries.iter().map(|it| it.content.get()).collect();
    ids.sort_unstable();
    ids
}

on_each_backend! {
    async fn deliveries_of_a_batch_end_in_one_transaction(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let (before, commits) = (world.store.statements(), world.store.commits());
        let together = world.store.deliver_together(&all(), 100).await?;
        assert_eq!(together, Together { rows: 8, ..Together::default() }, "four contents for two readers");
        assert_eq!(world.number("SELECT COUNT(*) FROM deliveries").await?, 0);
        for (reader, rows) in [(1, 4), (2, 4), (3, 0), (4, 0)] {
            let sql = format!("SELECT COUNT(*) FROM inboxes WHERE user_id = {reader} AND author_id = 50");
            assert_eq!(world.number(&sql).await?, rows, "{reader}");
        }
        assert_eq!(world.number(BROKEN).await?, 0);
        assert!(world.store.statements() - before <= 5 && world.store.commits() - commits <= 1);
        assert_eq!(world.store.deliver_together(&all(), 100).await?, Together::default(), "there is none any more");
        Ok(())
    }

    async fn what_one_transaction_must_not_end_stays(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let store = &world.store;
        let together = store.deliver_together(&all(), 5).await?;
        assert_eq!((ids(&together.too_many), together.rows), (vec![1, 2, 3, 4], 0), "four contents times three targets");
        assert_eq!(world.column::<i64>("SELECT content_id FROM deliveries ORDER BY content_id").await?, [1, 2, 3, 4]);

        store.extend_chain(content_id(1), 1, 1).await?;
        world.remove(content_id(2)).await?;
        let together = store.deliver_together(&all(), 100).await?;
        assert_eq!((ids(&together.left), together.rows), (vec![1, 2], 4), "one was cut, one was removed");
        assert_eq!(world.number(BROKEN).await?, 0);
        assert!(matches!(store.deliver_at_once(content_id(2), 100, &policy(5)).await?, AtOnce::Ended { rows: 0 }));

        let more: Vec<Entry> = [6, 7].map(|id| entry(id, user(if id == 7 { 60 } else { 50 }), id)).to_vec();
        world.put_contents(&more).await?;
        world.deliver(&more).await?;
        let token = BucketToken { node: NodeId::of([9; 20]), epoch: 1 };
        assert!(store.set_token(Bucket::of(user(4)), None, Some(token)).await?);
        assert!(store.enter(user(4), Generation(3)).await?);
        let together = store.deliver_together(&[content_id(6), content_id(7)], 100).await?;
        assert_eq!((ids(&together.left), together.rows), (vec![6], 0), "one has a target outside SQL");
        assert_eq!(world.number("SELECT COUNT(*) FROM deliveries WHERE content_id = 7").await?, 0);
        Ok(())
    }

    async fn deliveries_that_end_at_once_with_others_are_made_once(backend: Backend) -> Result<()> {
        let world = world(backend).await?;
        let (mut halves, rule) = (Vec::new(), policy(5));
        for number in 1..=6 {
            halves.push(if number % 2 == 0 { all() } else { all().into_iter().rev().skip(6).collect() });
        }
        let together = at_once(halves.iter().map(|some| world.store.deliver_together(some, 100)));
        let alone = at_once((1..=4).map(|id| world.store.deliver_at_once(content_id(id), 100, &rule)));
        let (together, alone) = futures_util::future::try_join(together, alone).await?;
        let rows = |it: &AtOnce| if let AtOnce::Ended { rows } = it { *rows } else { 0 };
        let all: u64 = together.iter().map(|it| it.rows).sum::<u64>() + alone.iter().map(rows).sum::<u64>();
        assert_eq!((all, world.number("SELECT COUNT(*) FROM deliveries").await?), (8, 0));
        assert_eq!(world.number(BROKEN).await?, 0);
        Ok(())
    }
}
