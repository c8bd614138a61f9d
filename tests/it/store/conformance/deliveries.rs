//! Tests what the deliveries port promises: a chain without gaps, batches that serve each follower once, and an end
//! only when everyone is served.

use anyhow::{Context as _, Result, ensure};
use tidefeed::{
    domain::{
        ContentId, EdgeMode, Entry, Floor,
        delivery::{DeliveryPolicy, EdgeRule, subtask},
        limits::MAX_WAIT_MS,
    },
    store::{
        Deliveries as _,
        deliveries::{AtOnce, Backlog, Lease, Pushed, Subtask},
    },
};

use super::{World, at_once, content_id, rows::entry, user};
use crate::servers::{Backend, on_each_backend};

pub const AUTHOR: i64 = 5_000;

/// A content in delivery by an author with followers 1 to `fans`, all of whom are pushed to.
pub async fn world(backend: crate::servers::Backend, fans: i64) -> Result<(World, Entry)> {
    let world = World::on(backend).await?;
    let rows: Vec<String> = (1..=fans).map(|id| format!("({id}, {AUTHOR}, 2, 1, 1)")).collect();
    world.insert("follows", "follower_id, author_id, mode, inc, followed_at", &rows).await?;
    let top = i64::MAX;
    let rows: Vec<String> = (1..=fans).map(|id| format!("({id}, {top}, {top})")).collect();
    world.insert("inbox_states", "user_id, floor_time, floor_content", &rows).await?;
    let content = entry(77, user(AUTHOR), 1_000);
    world.put_contents(&[content]).await?;
    world.deliver(&[content]).await?;
    Ok((world, content))
}

/// As [`world`], with the author's follower count, and with the author's own edge.
pub async fn counted_world(backend: crate::servers::Backend, fans: i64) -> Result<(World, Entry)> {
    let (world, content) = world(backend, fans).await?;
    world.insert("user_counts", "user_id, followers", &[format!("({AUTHOR}, {})", fans - 1)]).await?;
    Ok((world, content))
}

/// A policy that checks the readers of authors with more followers than this.
pub const fn policy(push_threshold: u64) -> DeliveryPolicy {
    DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold, active_days: 7 }, dormant_days: 30 }
}

pub const fn lease(now_ms: i64, until_ms: i64) -> Lease {
    Lease { now_ms, until_ms }
}

async fn take(world: &World, content: ContentId, after: i64) -> Result<Option<Subtask>> {
    Ok(world.store.take_subtask((content, after), lease(100, 200)).await?)
}

/// Pushes the subtask to its end. Returns the number of rows inserted.
pub async fn push_all(world: &World, subtask: &Subtask, size: u32) -> Result<u64> {
    let mut rows = 0;
    loop {
        let pushed = world.store.push_batch(subtask, size).await?;
        rows += pushed.rows;
        if pushed.progress.is_none_or(|progress| progress.is_done()) {
            return Ok(rows);
        }
    }
}

pub async fn ranges(world: &World) -> Result<Vec<Vec<i64>>> {
    world.numbers("SELECT task_no, first_fan, last_fan, pushed_through FROM subtasks ORDER BY first_fan").await
}

pub async fn served(world: &World) -> Result<Vec<i64>> {
    Ok(world.numbers("SELECT user_id FROM inboxes ORDER BY user_id").await?.concat())
}

on_each_backend! {
    async fn a_record_names_its_content_and_whether_it_was_removed(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 1).await?;
        let delivery = world.store.find(content.content).await?.context("a record")?;
        assert_eq!((delivery.entry, delivery.removed, delivery.attempts), (content, false, 0));
        assert_eq!(delivery.last_error, "");
        world.remove(content.content).await?;
        assert!(world.store.find(content.content).await?.context("a record")?.removed);
        assert_eq!(world.store.find(content_id(1)).await?, None);
        Ok(())
    }

    async fn a_chain_grows_to_its_open_end_without_a_gap(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 7).await?;
        assert!(!world.store.extend_chain(content.content, 2, 2).await?, "seven followers take four subtasks");
        assert_eq!(ranges(&world).await?, [[1, 0, 2, 0], [2, 2, 4, 2]]);
        assert!(world.store.extend_chain(content.content, 2, 2).await?);
        let whole = [[1, 0, 2, 0], [2, 2, 4, 2], [3, 4, 6, 4], [4, 6, subtask::END, 6]];
        assert_eq!(ranges(&world).await?, whole);
        assert!(world.store.extend_chain(content.content, 2, 2).await?, "it is complete");
        assert_eq!(ranges(&world).await?, whole);
        Ok(())
    }

    async fn a_finished_delivery_grows_no_chain(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 3).await?;
        world.run("DELETE FROM deliveries").await?;
        assert!(world.store.extend_chain(content.content, 2, 9).await?, "nothing is left to be done");
        assert!(ranges(&world).await?.is_empty());
        Ok(())
    }

    async fn dispatchers_at_one_chain_make_one_chain(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 40).await?;
        at_once((0..6).map(|_| world.store.extend_chain(content.content, 3, 100))).await?;
        let ranges = ranges(&world).await?;
        assert_eq!(ranges.len(), 14);
        assert!(ranges.windows(2).all(|pair| pair[0][2] == pair[1][1] && pair[0][0] + 1 == pair[1][0]), "{ranges:?}");
        Ok(())
    }

    async fn open_subtasks_are_those_that_are_not_done(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 5).await?;
        world.store.extend_chain(content.content, 2, 9).await?;
        let open = world.store.open_subtasks(content.content).await?;
        assert_eq!(
            open.iter().map(|it| (it.task_no, it.progress.range.after)).collect::<Vec<_>>(),
            [(1, 0), (2, 2), (3, 4)]
        );
        push_all(&world, &open[1], 10).await?;
        let open = world.store.open_subtasks(content.content).await?;
        assert_eq!(open.iter().map(|it| it.task_no).collect::<Vec<_>>(), [1, 3]);
        Ok(())
    }

    async fn a_subtask_is_taken_once_until_its_lease_ends(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 3).await?;
        world.store.extend_chain(content.content, 2, 9).await?;
        let id = content.content;
        let taken = at_once((0..5).map(|_| world.store.take_subtask((id, 0), lease(100, 200)))).await?;
        assert_eq!(taken.iter().flatten().count(), 1);
        assert!(world.store.take_subtask((id, 0), lease(199, 300)).await?.is_none(), "the lease runs");
        let again = world.store.take_subtask((id, 0), lease(200, 300)).await?.context("the lease has ended")?;
        assert_eq!((again.content, again.progress.range.through), (id, 2));
        assert!(take(&world, id, 1).await?.is_none(), "no subtask begins there");
        push_all(&world, &again, 10).await?;
        assert!(world.store.take_subtask((id, 0), lease(10_000, 10_001)).await?.is_none(), "it is done");
        Ok(())
    }

    async fn batches_serve_everybody_once_and_progress_with_their_rows(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 5).await?;
        world.store.extend_chain(content.content, 10, 9).await?;
        let subtask = take(&world, content.content, 0).await?.context("a subtask")?;
        let Pushed { progress, rows } = world.store.push_batch(&subtask, 2).await?;
        assert_eq!((rows, progress.context("progress")?.pushed_through), (2, 2));
        assert_eq!(served(&world).await?, [1, 2]);
        assert_eq!(push_all(&world, &subtask, 2).await?, 3, "a stale subtask goes on where the row says");
        assert_eq!(served(&world).await?, [1, 2, 3, 4, 5]);
        assert_eq!(
            ranges(&world).await?,
            [[1, 0, subtask::END, subtask::END]],
            "the end of the range, not the last row"
        );
        let done = world.store.push_batch(&subtask, 2).await?;
        assert!(done.rows == 0 && done.progress.context("progress")?.is_done());
        let row = world.numbers("SELECT publish_time, content_id, author_id FROM inboxes WHERE user_id = 3").await?;
        assert_eq!(row, [[1_000, 77, AUTHOR]]);
        let number = if backend == Backend::Sqlite { "integer" } else { "bigint" };
        let columns = ["user_id", "publish_time", "content_id", "author_id"].map(|it| format!("{it} {number}"));
        assert_eq!(world.columns("inboxes").await?, columns, "positions, and no content");
        Ok(())
    }

    async fn only_pulled_edges_and_readers_that_are_off_are_passed_over(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 7).await?;
        world.put_edge(user(2), user(AUTHOR), EdgeMode::Pull).await?;
        world.put_edge(user(3), user(AUTHOR), EdgeMode::Fill).await?;
        world.set_floor(user(4), Floor::Off).await?;
        world.run("DELETE FROM inbox_states WHERE user_id = 5").await?;
        world.drop_edge(user(6), user(AUTHOR)).await?;
        world
            .run("INSERT INTO inboxes (user_id, publish_time, content_id, author_id) VALUES (7, 1000, 77, 5000)")
            .await?;
        world.store.extend_chain(content.content, 100, 9).await?;
        let subtask = take(&world, content.content, 0).await?.context("a subtask")?;
        assert_eq!(push_all(&world, &subtask, 100).await?, 2, "a row that is there does not count");
        assert_eq!(served(&world).await?, [1, 3, 7], "a floor above the content is no reason to skip");
        Ok(())
    }

    async fn executors_at_one_subtask_serve_each_follower_once(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 200).await?;
        world.store.extend_chain(content.content, 1_000, 9).await?;
        let subtask = take(&world, content.content, 0).await?.context("a subtask")?;
        let world = &world;
        let works = (0..4).map(|_| push_all(world, &subtask, 7));
        let rows: u64 = futures_util::future::try_join_all(works).await?.iter().sum();
        assert_eq!(rows, 200);
        assert_eq!(served(world).await?.len(), 200);
        Ok(())
    }

    async fn a_delivery_ends_when_the_chain_is_complete_and_served(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 5).await?;
        let id = content.content;
        assert!(!world.store.finish(id).await?, "there is no chain yet");
        world.store.extend_chain(id, 2, 2).await?;
        for subtask in world.store.open_subtasks(id).await? {
            push_all(&world, &subtask, 10).await?;
        }
        assert!(!world.store.finish(id).await?, "all subtasks are done, but the chain is not complete");
        world.store.extend_chain(id, 2, 2).await?;
        assert!(!world.store.finish(id).await?, "one subtask is open");
        let last = world.store.open_subtasks(id).await?;
        push_all(&world, &last[0], 10).await?;
        assert!(world.store.finish(id).await?);
        assert!(world.store.find(id).await?.is_none() && ranges(&world).await?.is_empty());
        assert!(world.store.finish(id).await?, "gone is gone");
        let gone = world.store.push_batch(&last[0], 10).await?;
        assert_eq!(gone, Pushed { progress: None, rows: 0 });
        assert_eq!(served(&world).await?.len(), 5);
        Ok(())
    }

    async fn the_delivery_of_a_removed_content_ends_at_once(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 5).await?;
        world.store.extend_chain(content.content, 2, 9).await?;
        world.remove(content.content).await?;
        assert!(world.store.finish(content.content).await?);
        assert!(ranges(&world).await?.is_empty());
        Ok(())
    }

    async fn a_delivery_never_ends_before_everybody_is_served(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 120).await?;
        let id = content.content;
        world.store.extend_chain(id, 30, 9).await?;
        let open = world.store.open_subtasks(id).await?;
        let world = &world;
        let pushers =
            async { futures_util::future::try_join_all(open.iter().map(|subtask| push_all(world, subtask, 4))).await };
        let finisher = async {
            loop {
                if world.store.finish(id).await? {
                    let served = served(world).await?.len();
                    ensure!(served == 120, "the record is gone and {served} are served");
                    return Ok(());
                }
            }
        };
        tokio::try_join!(pushers, finisher)?;
        Ok(())
    }

    async fn a_small_delivery_begins_and_ends_in_one_transaction(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 7).await?;
        world.put_edge(user(2), user(AUTHOR), EdgeMode::Pull).await?;
        world.put_edge(user(3), user(AUTHOR), EdgeMode::Fill).await?;
        world.set_floor(user(4), Floor::Off).await?;
        world.run("DELETE FROM inbox_states WHERE user_id = 5").await?;
        let begun = world.store.transactions();
        let ended = world.store.deliver_at_once(content.content, 7, &policy(7)).await?;
        assert_eq!((ended, world.store.transactions() - begun), (AtOnce::Ended { rows: 4 }, 1));
        assert_eq!(served(&world).await?, [1, 3, 6, 7]);
        let row = world.numbers("SELECT publish_time, content_id, author_id FROM inboxes WHERE user_id = 3").await?;
        assert_eq!(row, [[1_000, 77, AUTHOR]]);
        let number = if backend == Backend::Sqlite { "integer" } else { "bigint" };
        let columns = ["user_id", "publish_time", "content_id", "author_id"].map(|it| format!("{it} {number}"));
        assert_eq!(world.columns("inboxes").await?, columns, "positions, and no content");
        assert!(world.store.find(content.content).await?.is_none() && ranges(&world).await?.is_empty());
        let again = world.store.deliver_at_once(content.content, 7, &policy(7)).await?;
        assert_eq!(again, AtOnce::Ended { rows: 0 }, "gone is gone");
        Ok(())
    }

    async fn only_a_small_unsplit_delivery_ends_at_once(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 5).await?;
        let id = content.content;
        assert_eq!(world.store.deliver_at_once(id, 4, &policy(9)).await?, AtOnce::ToBeCut, "five are more than four");
        assert_eq!(world.store.deliver_at_once(id, 5, &policy(3)).await?, AtOnce::ToBeCut, "edges are to be judged");
        assert!(ranges(&world).await?.is_empty());
        world.store.extend_chain(id, 2, 1).await?;
        assert_eq!(world.store.deliver_at_once(id, 5, &policy(9)).await?, AtOnce::ToBeCut, "there is a subtask");
        assert_eq!(ranges(&world).await?, [[1, 0, 2, 0]]);
        assert!(served(&world).await?.is_empty() && world.store.find(id).await?.is_some());
        world.remove(id).await?;
        assert_eq!(world.store.deliver_at_once(id, 1, &policy(0)).await?, AtOnce::Ended { rows: 0 }, "it is removed");
        assert!(ranges(&world).await?.is_empty() && world.store.find(id).await?.is_none());
        Ok(())
    }

    async fn a_small_delivery_is_made_once_however_many_try_and_cut(backend: Backend) -> Result<()> {
        let (world, content) = counted_world(backend, 200).await?;
        let (id, policy) = (content.content, policy(200));
        let (world, policy) = (&world, &policy);
        let trying = futures_util::future::try_join_all((0..4).map(|_| world.store.deliver_at_once(id, 200, policy)));
        let cutting = futures_util::future::try_join_all((0..4).map(|_| world.store.extend_chain(id, 50, 9)));
        let (tried, _) = tokio::try_join!(trying, cutting)?;
        let rows = |it: &AtOnce| if let AtOnce::Ended { rows } = it { *rows } else { 0 };
        let rows: u64 = tried.iter().map(rows).sum();
        if world.store.find(id).await?.is_none() {
            assert_eq!((rows, served(world).await?.len()), (200, 200));
            assert!(ranges(world).await?.is_empty(), "a cut after the end finds nothing");
        } else {
            assert!(rows == 0 && tried.iter().all(|it| *it == AtOnce::ToBeCut), "{tried:?}");
            assert_eq!(ranges(world).await?.len(), 4);
        }
        Ok(())
    }

    async fn a_failure_is_counted_kept_and_frees_its_own_subtask(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 3).await?;
        let id = content.content;
        world.store.extend_chain(id, 2, 9).await?;
        take(&world, id, 0).await?.context("a subtask")?;
        take(&world, id, 2).await?.context("another")?;
        world.store.record_failure(id, None, "of the dispatch", 5).await?;
        assert!(take(&world, id, 0).await?.is_none(), "no lease ends with a dispatch");
        world.store.record_failure(id, Some(0), &"字".repeat(600), 9_000).await?;
        let delivery = world.store.find(id).await?.context("a record")?;
        assert_eq!((delivery.attempts, delivery.last_error), (2, "字".repeat(500)));
        assert!(take(&world, id, 0).await?.is_some(), "the lease has ended with the failure");
        assert!(take(&world, id, 2).await?.is_none(), "the other's runs on");
        assert!(world.store.due(i64::MIN, 8_999, 20_000, 9).await?.is_empty());
        assert_eq!(world.store.due(i64::MIN, 9_000, 20_000, 9).await?.len(), 1);
        world.store.record_failure(content_id(1), None, "of a delivery that is finished", 1).await?;
        Ok(())
    }

    async fn due_records_come_oldest_first_and_are_put_off(backend: Backend) -> Result<()> {
        let (world, _) = world(backend, 1).await?;
        let entries: Vec<Entry> = (1..=5).map(|id| entry(id, user(AUTHOR), 100 - id)).collect();
        world.put_contents(&entries).await?;
        world.deliver(&entries).await?;
        world.remove(content_id(5)).await?;
        let due = world.store.due(i64::MIN, 99, 500, 3).await?;
        assert_eq!(due.iter().map(|it| it.entry.content.get()).collect::<Vec<_>>(), [5, 4, 3]);
        assert_eq!(due.iter().map(|it| it.removed).collect::<Vec<_>>(), [true, false, false]);
        let due = world.store.due(i64::MIN, 99, 500, 3).await?;
        assert_eq!(due.iter().map(|it| it.entry.content.get()).collect::<Vec<_>>(), [2, 1]);
        assert!(world.store.due(i64::MIN, 99, 500, 3).await?.is_empty());
        assert_eq!(world.store.due(i64::MIN, 500, 600, 9).await?.len(), 5);
        Ok(())
    }

    async fn a_sweep_passes_over_what_was_due_before_its_start(backend: Backend) -> Result<()> {
        let (world, _) = world(backend, 1).await?;
        let entries: Vec<Entry> = (1..=4).map(|id| entry(id, user(AUTHOR), 100 * id)).collect();
        world.put_contents(&entries).await?;
        world.deliver(&entries).await?;
        world.store.record_failure(content_id(4), None, "late", 350 + 2 * MAX_WAIT_MS).await?;
        assert_eq!(world.store.backlog(200, 1).await?, Backlog { unfinished: 4, failing: 1, oldest: Some(200) });
        let due = world.store.due(200, 350, 900, 9).await?;
        assert_eq!(due.iter().map(|it| it.entry.content.get()).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(world.store.due(i64::MIN, 350, 900, 9).await?.len(), 1, "the first is still due");
        Ok(())
    }

    async fn a_waiting_delivery_is_looked_up_less_and_less_often(backend: Backend) -> Result<()> {
        let (world, _) = world(backend, 1).await?;
        let only = [entry(1, user(AUTHOR), 0)];
        world.put_contents(&only).await?;
        world.deliver(&only).await?;
        let mut times = Vec::new();
        for now in 0..60 {
            if !world.store.due(i64::MIN, now, now + 5, 9).await?.is_empty() {
                times.push(now);
            }
        }
        assert_eq!(times, [0, 5, 15, 35, 55]);
        Ok(())
    }

    async fn a_clock_that_is_set_back_keeps_nothing_waiting(backend: Backend) -> Result<()> {
        let (world, content) = world(backend, 1).await?;
        let (id, now, then) = (content.content, 1_000, 1_001 + MAX_WAIT_MS);
        world.store.extend_chain(id, 2, 9).await?;
        world.store.take_subtask((id, 0), lease(then - 1, then)).await?.context("a subtask")?;
        world.store.record_failure(id, None, "late", then).await?;
        assert!(world.store.due(i64::MIN, now + 1, now + 5, 9).await?.is_empty(), "so late it may be");
        assert_eq!(world.store.due(i64::MIN, now, now + 5, 9).await?.len(), 1);
        assert!(world.store.take_subtask((id, 0), lease(now + 1, now + 2)).await?.is_none(), "so long it may be");
        assert!(world.store.take_subtask((id, 0), lease(now, now + 2)).await?.is_some());
        Ok(())
    }

    async fn sweepers_share_what_is_due(backend: Backend) -> Result<()> {
        let (world, _) = world(backend, 1).await?;
        let entries: Vec<Entry> = (1..=60).map(|id| entry(id, user(AUTHOR), 100)).collect();
        world.put_contents(&entries).await?;
        world.deliver(&entries).await?;
        let mut seen: Vec<i64> = Vec::new();
        while seen.len() < 60 {
            let shares = at_once((0..4).map(|_| world.store.due(i64::MIN, 100, 5_000, 10))).await?;
            seen.extend(shares.iter().flatten().map(|it| it.entry.content.get()));
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..=60).collect::<Vec<_>>(), "each to one sweeper");
        Ok(())
    }

    async fn the_backlog_counts_what_waits_and_what_fails(backend: Backend) -> Result<()> {
        let (world, first) = world(backend, 1).await?;
        let later = entry(78, user(AUTHOR), 2_000);
        world.deliver(&[later]).await?;
        for content in [first, later, later] {
            world.store.record_failure(content.content, None, "no", 1).await?;
        }
        let expected = Backlog { unfinished: 2, failing: 1, oldest: Some(1_000) };
        assert_eq!(world.store.backlog(i64::MIN, 2).await?, expected);
        let failing = world.store.failing(1, 9).await?;
        assert_eq!(failing.iter().map(|it| it.entry.content.get()).collect::<Vec<_>>(), [77, 78], "oldest first");
        assert_eq!(world.store.failing(1, 1).await?.len(), 1);
        assert_eq!(world.store.failing(2, 9).await?[0].attempts, 2);
        world.run("DELETE FROM deliveries").await?;
        assert_eq!(world.store.backlog(i64::MIN, 1).await?, Backlog::default());
        Ok(())
    }
}

/// Not on SQLite, which has one writer at a time, and no locks of rows.
mod locks {
    use std::time::Duration;

    use anyhow::{Context as _, Result};
    use sea_orm::{ConnectionTrait as _, TransactionTrait as _};
    use tidefeed::store::Deliveries as _;

    use super::{served, take, world};
    use crate::servers::on_each_backend;

    on_each_backend! {
        on mariadb, mysql;
        async fn a_batch_waits_for_no_reader_and_no_edge(backend: Backend) -> Result<()> {
            let (world, content) = world(backend, 3).await?;
            world.store.extend_chain(content.content, 10, 9).await?;
            let subtask = take(&world, content.content, 0).await?.context("a subtask")?;
            let job = world.rows.begin().await?;
            job.execute_unprepared("UPDATE inbox_states SET rev = rev + 1").await?;
            job.execute_unprepared("UPDATE follows SET mode = 0").await?;
            let pushed = tokio::time::timeout(Duration::from_mins(1), world.store.push_batch(&subtask, 10)).await;
            assert_eq!(pushed.context("the batch waits")??.rows, 3, "as committed, not as the job would have it");
            job.rollback().await?;
            assert_eq!(served(&world).await?, [1, 2, 3]);
            Ok(())
        }
    }
}
