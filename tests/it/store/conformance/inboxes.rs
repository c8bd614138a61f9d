//! Tests what the inboxes port promises: an inbox claims only what it holds and gives up what it drops. Floor, mode
//! and revision state every claim.

use anyhow::Result;
use tidefeed::{
    domain::{EdgeMode, Entry, Floor, Position, UserId, delivery::ReaderFacts, timeline::tier::LifeEnds},
    store::{
        Inboxes as _,
        inboxes::{Covered, Extended, Trimmed},
    },
};

use super::{World, at_once, content_id, rows::entry, user};
use crate::servers::on_each_backend;

const AUTHOR: i64 = 50;
/// A state in which no inbox is kept deep.
const NOBODY: LifeEnds = LifeEnds { after: 0, through: 0 };

fn at(time: i64, content: i64) -> Floor {
    Floor::At(Position::bound(time, content))
}

fn reader() -> UserId {
    user(1)
}

/// Contents 1 to `count` of an author, each at the time of its number.
fn outbox(author: i64, ids: impl IntoIterator<Item = i64>) -> Vec<Entry> {
    ids.into_iter().map(|id| entry(id, user(author), id)).collect()
}

/// User 1 with this floor follows author 50, who has published contents 1 to 10 at times 1 to 10.
async fn world(backend: crate::servers::Backend, mode: EdgeMode, floor: Floor) -> Result<World> {
    let world = World::on(backend).await?;
    world.put_contents(&outbox(AUTHOR, 1..=10)).await?;
    world.put_edge(reader(), user(AUTHOR), mode).await?;
    world.set_floor(reader(), floor).await?;
    Ok(world)
}

on_each_backend! {
    async fn a_reader_without_a_state_is_off(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, at(4, 9)).await?;
        assert_eq!(world.store.floor(reader()).await?, at(4, 9));
        assert_eq!(world.store.floor(user(2)).await?, Floor::Off);
        world.set_floor(reader(), Floor::Off).await?;
        assert_eq!(world.store.floor(reader()).await?, Floor::Off);
        Ok(())
    }

    async fn being_seen_opens_a_floor_that_is_off_and_no_other(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, at(4, 9)).await?;
        assert_eq!(world.store.mark_seen(&[reader()], 100).await?[0].before, None);
        assert_eq!(world.store.mark_seen(&[reader()], 200).await?[0].before, Some(100));
        assert_eq!(world.store.floor(reader()).await?, at(4, 9));
        assert_eq!(world.store.mark_seen(&[user(2)], 100).await?[0].floor, Floor::OPEN);
        assert_eq!(world.store.floor(user(2)).await?, Floor::OPEN, "there was no state");
        world.store.turn_off_unseen(250, 9).await?;
        assert_eq!(world.store.mark_seen(&[reader()], 300).await?[0].before, Some(200));
        assert_eq!(world.store.floor(reader()).await?, Floor::OPEN, "it was off");
        Ok(())
    }

    async fn how_often_a_reader_comes_is_smoothed_over_visits(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let see = async |at| anyhow::Ok(world.store.mark_seen(&[reader()], at).await?[0].reader);
        let facts =
            |last_seen, read_every_ms| ReaderFacts { reader: reader(), last_seen: Some(last_seen), read_every_ms };
        let hour = 60 * 60 * 1_000;
        assert_eq!(see(0).await?, facts(0, None));
        assert_eq!(see(hour).await?, facts(hour, Some(hour)));
        assert_eq!(see(hour + 5_000).await?, facts(hour + 5_000, Some(hour)), "the same visit");
        assert_eq!(see(3 * hour + 5_000).await?, facts(3 * hour + 5_000, Some(hour + hour / 4)));
        assert_eq!(see(hour).await?, facts(hour, Some(hour + hour / 4)), "the clock went back");
        Ok(())
    }

    async fn a_reader_seen_by_many_at_once_is_seen(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let seen = [reader()];
        let earlier = at_once((0..6).map(|_| world.store.mark_seen(&seen, 7))).await?;
        assert_eq!(earlier.iter().filter(|seen| seen[0].before.is_none()).count(), 1, "{earlier:?}");
        assert_eq!(world.store.floor(reader()).await?, Floor::OPEN);
        Ok(())
    }

    /// One write for all of them, whatever their states.
    async fn many_readers_are_seen_in_two_statements(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        world.set_floor(user(2), at(4, 9)).await?;
        world.set_floor(user(5), Floor::Off).await?;
        let readers: Vec<UserId> = (1..=200).map(user).collect();
        let first = world.store.mark_seen(&readers, 100).await?;
        assert!(first.iter().all(|seen| seen.before.is_none()) && first.len() == 200);
        let (statements, transactions) = (world.store.statements(), world.store.transactions());
        let again = world.store.mark_seen(&readers, 200).await?;
        let cost = (world.store.statements() - statements, world.store.transactions() - transactions);
        assert_eq!(cost, (2, 1), "two hundred readers");
        assert_eq!(again.iter().map(|seen| seen.reader.reader).collect::<Vec<_>>(), readers, "in their order");
        assert!(again.iter().all(|seen| seen.before == Some(100) && seen.reader.last_seen == Some(200)));
        let floors: Vec<Floor> = [1, 2, 5].map(|id| again[id - 1].floor).to_vec();
        assert_eq!(floors, [Floor::OPEN, at(4, 9), Floor::OPEN]);
        assert_eq!(world.store.floor(user(2)).await?, at(4, 9));
        assert_eq!(world.number("SELECT COUNT(*) FROM inbox_states WHERE last_seen = 200 AND rev = 0").await?, 200);
        assert!(world.store.mark_seen(&[], 300).await?.is_empty());
        Ok(())
    }

    async fn concurrent_visits_are_all_recorded(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        let groups: Vec<Vec<UserId>> =
            (0..4).map(|from| (1 + 10 * from..=40 + 10 * from).map(user).collect()).collect();
        at_once(groups.iter().map(|readers| world.store.mark_seen(readers, 7))).await?;
        assert_eq!(world.number("SELECT COUNT(*) FROM inbox_states WHERE last_seen = 7").await?, 70);
        Ok(())
    }

    async fn covering_takes_everything_from_the_floor_on(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Fill, at(6, 6)).await?;
        world.remove(content_id(8)).await?;
        world.fill_inbox(reader(), &outbox(AUTHOR, [7])).await?;
        world.insert("user_counts", "user_id, authors_version", &[format!("({}, 5)", reader().get())]).await?;
        let rev = world.rev(reader()).await?;
        let covered = world.store.cover(reader(), user(AUTHOR), 4, 77).await?;
        assert_eq!(covered, Covered::Yes { rows: 3 }, "6, 9 and 10 are new, 7 was there");
        assert_eq!(world.inbox(reader()).await?, [10, 9, 7, 6]);
        assert_eq!(world.mode(reader(), user(AUTHOR)).await?, Some(EdgeMode::Push));
        assert_eq!(world.store.floor(reader()).await?, at(6, 6), "nothing was cut");
        assert_eq!(world.rev(reader()).await?, rev + 1);
        assert_eq!(world.number("SELECT authors_version FROM user_counts").await?, 77);
        Ok(())
    }

    async fn covering_raises_the_floor_if_it_cuts(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Fill, at(2, 2)).await?;
        assert_eq!(world.store.cover(reader(), user(AUTHOR), 3, 77).await?, Covered::Yes { rows: 3 });
        assert_eq!(world.inbox(reader()).await?, [10, 9, 8]);
        assert_eq!(world.store.floor(reader()).await?, at(8, 8));
        Ok(())
    }

    async fn a_reader_who_trusts_nothing_is_covered_without_rows(backend: Backend) -> Result<()> {
        for floor in [Floor::Off, Floor::OPEN] {
            let world = world(backend, EdgeMode::Fill, floor).await?;
            assert_eq!(world.store.cover(reader(), user(AUTHOR), 3, 77).await?, Covered::Yes { rows: 0 });
            assert_eq!(world.store.floor(reader()).await?, floor);
            assert_eq!(world.mode(reader(), user(AUTHOR)).await?, Some(EdgeMode::Push));
        }
        let world = world(backend, EdgeMode::Fill, Floor::Off).await?;
        world.run("DELETE FROM inbox_states").await?;
        assert_eq!(world.store.cover(reader(), user(AUTHOR), 3, 77).await?, Covered::Yes { rows: 0 });
        assert_eq!(world.store.floor(reader()).await?, Floor::Off, "there was no state");
        Ok(())
    }

    async fn only_an_edge_that_is_filling_is_covered(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Pull, at(2, 2)).await?;
        world.insert("user_counts", "user_id, authors_version", &[format!("({}, 5)", reader().get())]).await?;
        for mode in [Some(EdgeMode::Pull), Some(EdgeMode::Push), None] {
            match mode {
                Some(mode) => world.put_edge(reader(), user(AUTHOR), mode).await?,
                None => world.drop_edge(reader(), user(AUTHOR)).await?,
            }
            assert_eq!(world.store.cover(reader(), user(AUTHOR), 3, 77).await?, Covered::NotFilling);
            assert_eq!(world.mode(reader(), user(AUTHOR)).await?, mode);
        }
        assert!(world.inbox(reader()).await?.is_empty());
        assert_eq!(world.rev(reader()).await?, 0);
        assert_eq!(world.number("SELECT authors_version FROM user_counts").await?, 5);
        Ok(())
    }

    async fn covering_again_changes_nothing(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Fill, at(2, 2)).await?;
        let author = user(AUTHOR);
        let outcomes = at_once((0..5).map(|_| world.store.cover(reader(), author, 30, 77))).await?;
        assert_eq!(outcomes.iter().filter(|it| **it == Covered::Yes { rows: 9 }).count(), 1, "{outcomes:?}");
        assert_eq!(outcomes.iter().filter(|it| **it == Covered::NotFilling).count(), 4);
        assert_eq!(world.inbox(reader()).await?.len(), 9);
        Ok(())
    }

    async fn rows_of_an_unfollowed_author_go_and_others_stay(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, at(1, 1)).await?;
        world.fill_inbox(reader(), &outbox(AUTHOR, 1..=3)).await?;
        world.fill_inbox(reader(), &outbox(51, 4..=5)).await?;
        assert_eq!(world.store.clear_unfollowed(reader(), user(AUTHOR)).await?, 0, "the edge is there");
        world.drop_edge(reader(), user(AUTHOR)).await?;
        assert_eq!(world.store.clear_unfollowed(reader(), user(AUTHOR)).await?, 3);
        assert_eq!(world.inbox(reader()).await?, [5, 4]);
        assert_eq!((world.rev(reader()).await?, world.store.floor(reader()).await?), (1, at(1, 1)));
        Ok(())
    }

    /// PROTOCOL trace 6: in either order, the inbox finally holds what the edge claims.
    async fn clearing_never_takes_what_a_refollow_has_covered(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, at(1, 1)).await?;
        let (store, author) = (&world.store, user(AUTHOR));
        for _ in 0..8 {
            world.drop_edge(reader(), author).await?;
            let refollow_and_cover = async {
                world.put_edge(reader(), author, EdgeMode::Fill).await?;
                Ok::<_, anyhow::Error>(store.cover(reader(), author, 30, 77).await?)
            };
            let clear = async { Ok(store.clear_unfollowed(reader(), author).await?) };
            let (covered, _) = tokio::try_join!(refollow_and_cover, clear)?;
            assert!(matches!(covered, Covered::Yes { .. }));
            assert_eq!(world.inbox(reader()).await?.len(), 10);
        }
        Ok(())
    }

    async fn extending_takes_the_newest_below_the_floor_of_all_covered_authors(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, at(10, 10)).await?;
        for (author, mode) in [(51, EdgeMode::Push), (52, EdgeMode::Pull), (53, EdgeMode::Fill)] {
            world.put_edge(reader(), user(author), mode).await?;
        }
        world
            .put_contents(&[
                entry(101, user(51), 9),
                entry(102, user(51), 2),
                entry(103, user(52), 9),
                entry(104, user(53), 9),
            ])
            .await?;
        world.remove(content_id(8)).await?;
        assert_eq!(world.store.extend(reader(), 3).await?, Extended::To(at(7, 7)));
        assert_eq!(world.inbox(reader()).await?, [101, 9, 7]);
        assert_eq!(world.rev(reader()).await?, 1);
        assert_eq!(world.store.extend(reader(), 3).await?, Extended::To(at(4, 4)));
        assert_eq!(world.store.extend(reader(), 30).await?, Extended::To(Floor::At(Position::OLDEST)));
        assert_eq!(world.inbox(reader()).await?, [101, 9, 7, 6, 5, 4, 3, 102, 2, 1]);
        assert_eq!(world.store.extend(reader(), 30).await?, Extended::To(Floor::At(Position::OLDEST)));
        Ok(())
    }

    async fn an_open_floor_is_extended_from_the_newest_content_on(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, Floor::OPEN).await?;
        assert_eq!(world.store.extend(reader(), 4).await?, Extended::To(at(7, 7)));
        assert_eq!(world.inbox(reader()).await?, [10, 9, 8, 7]);
        Ok(())
    }

    async fn exactly_as_many_as_a_step_do_not_reach_the_beginning(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, Floor::OPEN).await?;
        assert_eq!(world.store.extend(reader(), 10).await?, Extended::To(at(1, 1)));
        assert_eq!(world.store.extend(reader(), 10).await?, Extended::To(Floor::At(Position::OLDEST)));
        Ok(())
    }

    async fn a_reader_that_is_off_is_not_extended(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, Floor::Off).await?;
        assert_eq!(world.store.extend(reader(), 4).await?, Extended::Off);
        assert_eq!(world.store.extend(user(2), 4).await?, Extended::Off, "there is no state");
        assert!(world.inbox(reader()).await?.is_empty());
        Ok(())
    }

    async fn trimming_keeps_the_newest_and_raises_the_floor_to_them(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, at(2, 2)).await?;
        world.fill_inbox(reader(), &outbox(AUTHOR, 1..=10)).await?;
        assert_eq!(world.store.trim(reader(), 10).await?, Trimmed::default(), "there are no more than that");
        assert_eq!(world.store.trim(reader(), 4).await?, Trimmed { rows: 6, raised: true });
        assert_eq!(world.inbox(reader()).await?, [10, 9, 8, 7]);
        assert_eq!((world.store.floor(reader()).await?, world.rev(reader()).await?), (at(7, 7), 1));
        Ok(())
    }

    async fn trimming_never_lowers_a_floor(backend: Backend) -> Result<()> {
        for floor in [at(9, 9), Floor::OPEN] {
            let world = world(backend, EdgeMode::Push, floor).await?;
            world.fill_inbox(reader(), &outbox(AUTHOR, 1..=10)).await?;
            assert_eq!(world.store.trim(reader(), 4).await?, Trimmed { rows: 6, raised: false });
            assert_eq!(world.store.floor(reader()).await?, floor);
            assert_eq!(world.inbox(reader()).await?, [10, 9, 8, 7]);
        }
        Ok(())
    }

    async fn an_inbox_that_is_off_loses_all_rows(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, Floor::Off).await?;
        world.fill_inbox(reader(), &outbox(AUTHOR, 1..=3)).await?;
        world.fill_inbox(user(2), &outbox(AUTHOR, 1..=3)).await?;
        assert_eq!(world.store.trim(reader(), 9).await?, Trimmed { rows: 3, raised: false });
        assert!(world.inbox(reader()).await?.is_empty());
        assert_eq!(world.inbox(user(2)).await?.len(), 3);
        Ok(())
    }

    /// PROTOCOL traces 3 and 5: in any order, everything from the floor on is there.
    async fn trimming_extending_and_covering_at_once_leave_no_gap(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, Floor::OPEN).await?;
        world.put_contents(&outbox(51, 101..=120)).await?;
        let store = &world.store;
        for round in 0..8_u32 {
            world.put_edge(reader(), user(51), EdgeMode::Fill).await?;
            let (_, _, _, off) = tokio::try_join!(
                store.extend(reader(), 3 + round),
                store.trim(reader(), 5),
                store.cover(reader(), user(51), 4, 77),
                store.turn_off_unseen(if round % 3 == 2 { 100 } else { 0 }, 9),
            )?;
            if off > 0 || store.floor(reader()).await? == Floor::Off {
                store.mark_seen(&[reader()], 50).await?;
            }
            assert_eq!(world.mode(reader(), user(51)).await?, Some(EdgeMode::Push));
            let floor = store.floor(reader()).await?.trusted_from();
            let (time, content) = (floor.publish_time(), floor.content_number());
            let missing = format!(
                "SELECT COUNT(*) FROM contents c WHERE (c.publish_time > {time} OR (c.publish_time = {time} AND c.id >= {content})) \
                 AND NOT EXISTS (SELECT 1 FROM inboxes i WHERE i.user_id = 1 AND i.content_id = c.id)"
            );
            assert_eq!(world.number(&missing).await?, 0, "round {round}, floor {floor:?}");
            store.mark_seen(&[reader()], 50).await?;
        }
        Ok(())
    }

    async fn readers_not_seen_are_turned_off_and_nobody_else(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        for (id, seen) in [(1, 10), (2, 20), (3, 30), (4, 40)] {
            world.store.mark_seen(&[user(id)], seen).await?;
        }
        world.set_floor(user(5), Floor::OPEN).await?;
        world.fill_inbox(user(1), &outbox(AUTHOR, 1..=2)).await?;
        assert_eq!(world.store.turn_off_unseen(40, 2).await?, 2);
        assert_eq!(world.store.turn_off_unseen(40, 2).await?, 1);
        assert_eq!(world.store.turn_off_unseen(40, 2).await?, 0, "who is off already does not count");
        assert_eq!(world.store.floor(user(3)).await?, Floor::Off);
        assert_eq!(world.store.floor(user(4)).await?, Floor::OPEN, "seen at that very time");
        assert_eq!(world.store.floor(user(5)).await?, Floor::OPEN, "a reader who was never seen is left alone");
        assert_eq!((world.rev(user(1)).await?, world.rev(user(4)).await?), (1, 0));
        assert_eq!(world.inbox(user(1)).await?.len(), 2, "no row is deleted");
        Ok(())
    }

    async fn an_inbox_that_is_kept_deep_is_passed_over_while_it_lives(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        for (id, floor) in [(1, at(1, 1)), (2, at(1, 1)), (3, Floor::Off)] {
            world.set_floor(user(id), floor).await?;
            world.fill_inbox(user(id), &outbox(AUTHOR, 1..=4)).await?;
        }
        for id in [1, 3] {
            world.store.keep_deep(user(id), 500).await?;
        }
        let overfull = async |after, through| {
            let (found, _) = world.store.overfull(0, 2, 9, LifeEnds { after, through }).await?;
            anyhow::Ok(found.iter().map(|it| it.get()).collect::<Vec<_>>())
        };
        assert_eq!(overfull(499, 500).await?, [2, 3], "who is off keeps nothing");
        assert_eq!(overfull(500, 900).await?, [1, 2, 3], "its life is over");
        assert_eq!(overfull(100, 499).await?, [1, 2, 3], "no life is that long: a clock was wrong");
        assert_eq!(
            (world.store.floor(user(1)).await?, world.rev(user(1)).await?),
            (at(1, 1), 0),
            "nothing else changed"
        );
        Ok(())
    }

    async fn held_are_the_rows_from_the_floor_on(backend: Backend) -> Result<()> {
        let world = world(backend, EdgeMode::Push, at(4, 4)).await?;
        world.fill_inbox(reader(), &outbox(AUTHOR, 1..=10)).await?;
        assert_eq!((world.store.held(reader(), 100).await?, world.store.held(reader(), 5).await?), (7, 5));
        for floor in [Floor::Off, Floor::OPEN] {
            world.set_floor(reader(), floor).await?;
            assert_eq!(world.store.held(reader(), 100).await?, 0);
        }
        Ok(())
    }

    async fn overfull_inboxes_are_found_state_by_state(backend: Backend) -> Result<()> {
        let world = World::on(backend).await?;
        for (id, floor, rows) in
            [(1, Floor::OPEN, 3), (2, Floor::OPEN, 2), (3, Floor::Off, 1), (4, Floor::Off, 0), (5, at(1, 1), 4)]
        {
            world.set_floor(user(id), floor).await?;
            world.fill_inbox(user(id), &outbox(AUTHOR, 1..=rows)).await?;
        }
        world.fill_inbox(user(6), &outbox(AUTHOR, 1..=9)).await?;
        assert_eq!(world.store.overfull(0, 2, 3, NOBODY).await?, (vec![user(1), user(3)], Some(3)));
        assert_eq!(world.store.overfull(3, 2, 3, NOBODY).await?, (vec![user(5)], None));
        assert_eq!(world.store.overfull(0, 2, 5, NOBODY).await?.1, Some(5), "there may be more");
        assert_eq!(world.store.overfull(5, 2, 3, NOBODY).await?, (Vec::new(), None));
        Ok(())
    }
}
