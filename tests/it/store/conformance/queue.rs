//! Tests what [`Queue`] promises, over memory, Redis and Redis Cluster.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use redis::cmd;
use tidefeed::{
    domain::{ContentId, Entry, UserId},
    store::{
        Queue,
        memory::MemoryQueue,
        queue::{Message, Received, Topic},
        redis::{Redis, RedisQueue},
        relations::Pair,
    },
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::adapters::{Adapter, RawConnection, on_each_adapter};

/// Longer than any test takes.
const NEVER: Duration = Duration::from_mins(10);
/// Short enough to wait for, long enough not to pass by accident.
const SOON: Duration = Duration::from_millis(250);
/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often a test is repeated if a busy machine delays its next step until a message is redelivered.
const TRIES: u32 = 20;

on_each_adapter!(
    messages_arrive_in_order_within_their_topic,
    no_more_than_asked_for_are_received,
    a_wait_for_nothing_ends_in_time,
    a_message_ends_a_wait,
    two_consumers_never_share_a_message,
    a_thousand_messages_reach_four_consumers_once_each,
    an_unacknowledged_message_comes_again_before_new_ones,
    an_overdue_message_behind_many_recent_ones_is_found,
    a_waiting_consumer_gets_what_another_left,
    an_acknowledged_message_never_comes_again,
    unknown_ids_are_passed_over,
    depth_counts_what_waits_and_what_is_unacknowledged,
    a_cancelled_wait_loses_nothing,
    at_most_one_visit_of_a_reader_waits,
);

async fn queue(adapter: Adapter, redelivery: Duration) -> Result<Arc<dyn Queue>> {
    let redelivery_ms = u64::try_from(redelivery.as_millis())?;
    Ok(match adapter.redis(|options| options.redelivery_ms = redelivery_ms).await? {
        None => Arc::new(MemoryQueue::new(10_000, redelivery)),
        Some(redis) => Arc::new(RedisQueue::new(redis)),
    })
}

fn care(reader: i64) -> Message {
    Message::ReaderSeen { reader: UserId::try_new(reader).unwrap(), reached: Some(reader) }
}

fn cares(readers: std::ops::RangeInclusive<i64>) -> Vec<Message> {
    readers.map(care).collect()
}

fn subtask(after: i64) -> Message {
    Message::Subtask { content: ContentId::try_new(9).unwrap(), after }
}

fn messages(received: &[Received]) -> Vec<Message> {
    received.iter().map(|one| one.message.clone().unwrap()).collect()
}

fn ids(received: &[Received]) -> Vec<String> {
    received.iter().map(|one| one.id.clone()).collect()
}

async fn now(queue: &dyn Queue, topic: Topic, consumer: &str, max: usize) -> Result<Vec<Received>> {
    Ok(queue.receive(topic, consumer, max, Duration::ZERO).await?)
}

async fn messages_arrive_in_order_within_their_topic(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, NEVER).await?;
    let user = UserId::try_new(7)?;
    let entry = Entry { publish_time: 5, content: ContentId::try_new(i64::MAX)?, author: user };
    let changes = [Message::ContentPublished { entry }, Message::ContentRemoved { entry }];
    let relation = Message::RelationChanged { pair: Pair { follower: user, author: user } };
    let sent = [changes[0].clone(), care(1), relation.clone(), subtask(-1), changes[1].clone(), care(3)];
    queue.send(&sent).await?;
    queue.send(&[care(2)]).await?;
    assert_eq!(messages(&now(&*queue, Topic::ContentChange, "a", 9).await?), changes);
    assert_eq!(messages(&now(&*queue, Topic::Push, "a", 9).await?), [subtask(-1)]);
    assert_eq!(messages(&now(&*queue, Topic::Relation, "a", 9).await?), [relation]);
    assert_eq!(messages(&now(&*queue, Topic::Visit, "a", 9).await?), [care(1), care(3), care(2)]);
    Ok(())
}

async fn no_more_than_asked_for_are_received(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, NEVER).await?;
    queue.send(&cares(1..=5)).await?;
    assert_eq!(messages(&now(&*queue, Topic::Visit, "a", 2).await?), cares(1..=2));
    assert!(now(&*queue, Topic::Visit, "a", 0).await?.is_empty());
    assert_eq!(messages(&now(&*queue, Topic::Visit, "a", 9).await?), cares(3..=5));
    Ok(())
}

async fn a_wait_for_nothing_ends_in_time(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, NEVER).await?;
    let wait = Duration::from_millis(300);
    let before = Instant::now();
    assert!(queue.receive(Topic::Push, "a", 1, wait).await?.is_empty());
    assert!((wait..PATIENCE).contains(&before.elapsed()), "{:?}", before.elapsed());
    Ok(())
}

async fn a_message_ends_a_wait(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, NEVER).await?;
    let before = Instant::now();
    let late = Duration::from_millis(100);
    let (received, sent) = tokio::join!(timeout(PATIENCE, queue.receive(Topic::Push, "a", 1, NEVER)), async {
        sleep(late).await;
        queue.send(&[subtask(3)]).await
    });
    sent?;
    let received = received??;
    assert!(before.elapsed() >= late);
    assert_eq!(messages(&received), [subtask(3)]);
    Ok(())
}

async fn two_consumers_never_share_a_message(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, NEVER).await?;
    queue.send(&cares(1..=4)).await?;
    let (one, other) = tokio::join!(now(&*queue, Topic::Visit, "a", 2), now(&*queue, Topic::Visit, "b", 2));
    let mut all: Vec<String> = ids(&one?).into_iter().chain(ids(&other?)).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
    assert!(now(&*queue, Topic::Visit, "c", 9).await?.is_empty());
    Ok(())
}

async fn a_thousand_messages_reach_four_consumers_once_each(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, NEVER).await?;
    let (mut consumers, all_sent) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
    for number in 0..4 {
        let (queue, all_sent) = (Arc::clone(&queue), Arc::clone(&all_sent));
        consumers.spawn(async move { consume(&*queue, &format!("consumer-{number}"), &all_sent).await });
    }
    for batch in cares(1..=1_000).chunks(50) {
        queue.send(batch).await?;
    }
    all_sent.store(true, SeqCst);
    let mut times: HashMap<i64, u32> = HashMap::new();
    while let Some(readers) = consumers.join_next().await {
        for reader in readers?? {
            *times.entry(reader).or_default() += 1;
        }
    }
    assert_eq!((times.len(), times.values().max()), (1_000, Some(&1)));
    assert_eq!(queue.depth(Topic::Visit).await?, 0);
    Ok(())
}

/// Receives and acknowledges until all was sent and nothing more arrives.
async fn consume(queue: &dyn Queue, consumer: &str, all_sent: &AtomicBool) -> Result<Vec<i64>> {
    let mut readers = Vec::new();
    loop {
        let is_last = all_sent.load(SeqCst);
        let received = queue.receive(Topic::Visit, consumer, 7, Duration::from_millis(500)).await?;
        if received.is_empty() && is_last {
            return Ok(readers);
        }
        for message in messages(&received) {
            let Message::ReaderSeen { reader, .. } = message else { bail!("nobody sent {message:?}") };
            readers.push(reader.get());
        }
        queue.acknowledge(Topic::Visit, &ids(&received)).await?;
    }
}

async fn an_unacknowledged_message_comes_again_before_new_ones(adapter: Adapter) -> Result<()> {
    for _ in 0..TRIES {
        let queue = queue(adapter, SOON).await?;
        queue.send(&cares(1..=2)).await?;
        let first = now(&*queue, Topic::Visit, "a", 2).await?;
        let received_at = Instant::now();
        queue.acknowledge(Topic::Visit, &ids(&first[..1])).await?;
        queue.send(&[care(3)]).await?;
        sleep(SOON + Duration::from_millis(20)).await;
        assert!(received_at.elapsed() >= SOON);
        let before = Instant::now();
        let again = now(&*queue, Topic::Visit, "b", 1).await?;
        assert_eq!((again, ids(&first[..1]).len()), (first[1..].to_vec(), 1));
        let fresh = now(&*queue, Topic::Visit, "b", 9).await?;
        if before.elapsed() < SOON {
            assert_eq!(messages(&fresh), [care(3)], "what b has just received is b's for the redelivery time");
            return Ok(());
        }
    }
    bail!("the machine was too slow {TRIES} times")
}

async fn an_overdue_message_behind_many_recent_ones_is_found(adapter: Adapter) -> Result<()> {
    for _ in 0..TRIES {
        let queue = queue(adapter, SOON).await?;
        queue.send(&cares(1..=60)).await?;
        assert_eq!(now(&*queue, Topic::Visit, "a", 60).await?.len(), 60);
        sleep(SOON + Duration::from_millis(20)).await;
        let before = Instant::now();
        assert_eq!(messages(&now(&*queue, Topic::Visit, "b", 59).await?), cares(1..=59));
        let found = now(&*queue, Topic::Visit, "c", 1).await?;
        if before.elapsed() < SOON {
            assert_eq!(messages(&found), [care(60)]);
            return Ok(());
        }
    }
    bail!("the machine was too slow {TRIES} times")
}

async fn a_waiting_consumer_gets_what_another_left(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, SOON).await?;
    queue.send(&[care(1)]).await?;
    let before = Instant::now();
    let left = now(&*queue, Topic::Visit, "a", 1).await?;
    let found = queue.receive(Topic::Visit, "b", 1, NEVER).await?;
    assert_eq!(found, left);
    assert!((SOON / 2..PATIENCE).contains(&before.elapsed()), "{:?}", before.elapsed());
    Ok(())
}

async fn an_acknowledged_message_never_comes_again(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, SOON).await?;
    queue.send(&cares(1..=3)).await?;
    let received = now(&*queue, Topic::Visit, "a", 9).await?;
    queue.acknowledge(Topic::Visit, &ids(&received)).await?;
    queue.acknowledge(Topic::Visit, &ids(&received)).await?;
    assert!(queue.receive(Topic::Visit, "b", 9, SOON * 2).await?.is_empty());
    Ok(())
}

async fn unknown_ids_are_passed_over(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, SOON).await?;
    let unknown = ["nobody's", "", "1-1", "77"].map(str::to_owned);
    queue.acknowledge(Topic::Push, &unknown).await?;
    queue.acknowledge(Topic::Push, &[]).await?;
    queue.send(&[subtask(1)]).await?;
    let received = now(&*queue, Topic::Push, "a", 1).await?;
    let mixed: Vec<String> = unknown.into_iter().chain(ids(&received)).collect();
    queue.acknowledge(Topic::Push, &mixed).await?;
    assert_eq!(queue.depth(Topic::Push).await?, 0);
    Ok(())
}

async fn depth_counts_what_waits_and_what_is_unacknowledged(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, NEVER).await?;
    assert_eq!(queue.depth(Topic::Visit).await?, 0);
    queue.send(&cares(1..=5)).await?;
    assert_eq!(queue.depth(Topic::Visit).await?, 5);
    let received = now(&*queue, Topic::Visit, "a", 3).await?;
    assert_eq!(queue.depth(Topic::Visit).await?, 5);
    queue.acknowledge(Topic::Visit, &ids(&received[1..])).await?;
    assert_eq!((queue.depth(Topic::Visit).await?, queue.depth(Topic::Push).await?), (3, 0));
    Ok(())
}

async fn a_cancelled_wait_loses_nothing(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, SOON).await?;
    for reader in 1..=10 {
        let short = Duration::from_millis(20);
        let cancelled = timeout(short, queue.receive(Topic::Visit, "a", 1, NEVER)).await;
        assert!(cancelled.is_err());
        queue.send(&[care(reader)]).await?;
        let received = queue.receive(Topic::Visit, "b", 1, PATIENCE).await?;
        assert_eq!(messages(&received), [care(reader)]);
        queue.acknowledge(Topic::Visit, &ids(&received)).await?;
    }
    Ok(())
}

/// The deepest is told, and readers keep their order unless they go deeper.
async fn at_most_one_visit_of_a_reader_waits(adapter: Adapter) -> Result<()> {
    let queue = queue(adapter, NEVER).await?;
    let seen = |reader: i64, reached| Message::ReaderSeen { reader: UserId::try_new(reader).unwrap(), reached };
    queue.send(&[seen(1, None), seen(2, Some(9)), seen(1, None), seen(11, None)]).await?;
    queue.send(&[seen(2, None), seen(2, Some(12)), seen(1, None), seen(11, Some(4))]).await?;
    assert_eq!(queue.depth(Topic::Visit).await?, 3);
    let received = now(&*queue, Topic::Visit, "a", 2).await?;
    assert_eq!(messages(&received), [seen(1, None), seen(2, Some(9))]);
    queue.send(&[seen(1, None), seen(2, Some(12)), seen(1, Some(3)), seen(1, Some(0)), seen(1, Some(1))]).await?;
    assert_eq!(queue.depth(Topic::Visit).await?, 5, "who is being dealt with may wait once more");
    queue.acknowledge(Topic::Visit, &ids(&received)).await?;
    queue.send(&[seen(1, None), seen(2, None), seen(11, None)]).await?;
    let mut waiting = messages(&now(&*queue, Topic::Visit, "a", 9).await?);
    waiting.sort_by_key(|message| if let Message::ReaderSeen { reader, .. } = message { reader.get() } else { 0 });
    assert_eq!(waiting, [seen(1, Some(0)), seen(2, Some(12)), seen(11, Some(4))]);
    queue.send(&[seen(2, None)]).await?;
    assert_eq!(queue.depth(Topic::Visit).await?, 4);
    Ok(())
}

/// Tests that only Redis allows: others write to the streams, read them, and delete them.
mod on_servers {
    use super::*;

    async fn with_raw_connection(adapter: Adapter) -> Result<(RedisQueue, RawConnection, String)> {
        let options = adapter.options().await?.context("a server")?;
        let key = format!("{}timeline_visit", options.prefix);
        let raw = RawConnection::open(&options).await?;
        Ok((RedisQueue::new(Redis::connect(options).await?), raw, key))
    }

    async fn an_undecodable_message_is_received_and_can_be_acknowledged(adapter: Adapter) -> Result<()> {
        let (queue, raw, key) = with_raw_connection(adapter).await?;
        for (field, payload) in [("payload", "{"), ("payload", r#"{"v":9,"type":"inboxCare","reader":1}"#), ("x", "y")]
        {
            raw.run::<String>(cmd("XADD").arg(&key).arg("*").arg(field).arg(payload)).await?;
        }
        queue.send(&[care(1)]).await?;
        let received = now(&queue, Topic::Visit, "a", 9).await?;
        let messages: Vec<Option<Message>> = received.iter().map(|one| one.message.clone()).collect();
        assert_eq!(messages, [None, None, None, Some(care(1))]);
        queue.acknowledge(Topic::Visit, &ids(&received)).await?;
        assert_eq!(raw.run::<u64>(cmd("XLEN").arg(&key)).await?, 0, "acknowledged messages do not stay");
        Ok(())
    }

    async fn a_deleted_stream_is_created_again(adapter: Adapter) -> Result<()> {
        let (queue, raw, key) = with_raw_connection(adapter).await?;
        queue.send(&[care(1)]).await?;
        assert_eq!(now(&queue, Topic::Visit, "a", 9).await?.len(), 1);
        raw.run::<u64>(cmd("DEL").arg(&key)).await?;
        queue.send(&[care(2)]).await?;
        assert_eq!(messages(&now(&queue, Topic::Visit, "a", 9).await?), [care(2)]);
        let waiting = queue.receive(Topic::Visit, "a", 9, NEVER);
        let (received, sent) = tokio::join!(timeout(PATIENCE, waiting), async {
            sleep(Duration::from_millis(100)).await;
            raw.run::<u64>(cmd("DEL").arg(&key)).await?;
            anyhow::Ok(queue.send(&[care(3)]).await?)
        });
        sent?;
        assert_eq!(messages(&received??), [care(3)]);
        Ok(())
    }

    async fn messages_that_another_group_wants_stay_for_it_and_are_not_counted(adapter: Adapter) -> Result<()> {
        let (queue, raw, key) = with_raw_connection(adapter).await?;
        queue.send(&cares(1..=3)).await?;
        raw.run::<()>(cmd("XGROUP").arg("CREATE").arg(&key).arg("others").arg("0")).await?;
        let received = now(&queue, Topic::Visit, "a", 2).await?;
        queue.acknowledge(Topic::Visit, &ids(&received)).await?;
        assert_eq!(raw.run::<u64>(cmd("XLEN").arg(&key)).await?, 3);
        assert_eq!(queue.depth(Topic::Visit).await?, 1);
        Ok(())
    }

    async fn a_stream_keeps_about_its_bound(adapter: Adapter) -> Result<()> {
        let redis = adapter.redis(|options| options.stream_max_len = 100).await?.context("a server")?;
        let queue = RedisQueue::new(redis);
        for hundred in 0..10 {
            queue.send(&cares(100 * hundred + 1..=100 * hundred + 100)).await?;
        }
        let depth = queue.depth(Topic::Visit).await?;
        assert!((100..=200).contains(&depth), "{depth}");
        assert_eq!(messages(&now(&queue, Topic::Visit, "a", 1_000).await?).last(), Some(&care(1_000)));
        Ok(())
    }

    async fn what_is_said_of_visits_goes_with_them(adapter: Adapter) -> Result<()> {
        let (queue, raw, key) = with_raw_connection(adapter).await?;
        let sent = key.replace("timeline_visit", &format!("{{{key}}}:sent"));
        let known = async || raw.run::<u64>(cmd("ZCARD").arg(&sent)).await;
        queue.send(&cares(1..=3)).await?;
        assert_eq!(known().await?, 6);
        let received = now(&queue, Topic::Visit, "a", 2).await?;
        queue.send(&cares(2..=2)).await?;
        queue.acknowledge(Topic::Visit, &ids(&received)).await?;
        assert_eq!(known().await?, 4, "of two who wait");
        let received = now(&queue, Topic::Visit, "a", 9).await?;
        assert_eq!(messages(&received), [care(3), care(2)]);
        queue.acknowledge(Topic::Visit, &ids(&received)).await?;
        assert_eq!(known().await?, 0);
        Ok(())
    }

    on_each_adapter!(@in redis_server Redis an_undecodable_message_is_received_and_can_be_acknowledged,
        a_deleted_stream_is_created_again, messages_that_another_group_wants_stay_for_it_and_are_not_counted,
        a_stream_keeps_about_its_bound, what_is_said_of_visits_goes_with_them);
    on_each_adapter!(@in redis_cluster Cluster an_undecodable_message_is_received_and_can_be_acknowledged,
        a_deleted_stream_is_created_again, messages_that_another_group_wants_stay_for_it_and_are_not_counted,
        a_stream_keeps_about_its_bound, what_is_said_of_visits_goes_with_them);
}
