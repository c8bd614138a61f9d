//! What an answer of the API allocates, and how often its thread waits, counted: in a binary of its own, because the
//! allocator counts for the process.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod idle;

use std::alloc::System;

use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use tokio::sync::Mutex;

use support::world::{Asked, PAGE, World, request};
use tidefeed::live::{BYTES_OF_SHOWN, BYTES_OF_WATCH};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One counts at a time.
static COUNTING: Mutex<()> = Mutex::const_new(());

/// The fewest of some requests: what comes now and then, such as another thread's, is not the request's own.
async fn allocations(world: &World, asked: &Asked) -> usize {
    let mut fewest = usize::MAX;
    for _ in 0..10 {
        let region = Region::new(ALLOCATOR);
        world.ask(asked).await.unwrap();
        fewest = fewest.min(region.change().allocations);
    }
    fewest
}

#[tokio::test]
async fn an_answer_allocates_no_more_than_it_did() {
    let _alone = COUNTING.lock().await;
    let world = World::open().await.unwrap();
    let (token, mut beyond) = (Some(world.token.as_str()), Vec::new());
    for (name, asked, most) in [
        ("{ __typename }", request(None, "{ __typename }", &json!({})), 110),
        ("{ __typename }, signed in", request(token, "{ __typename }", &json!({})), 115),
        ("{ viewer { id } }, signed in", request(token, "{ viewer { id } }", &json!({})), 170),
        ("a page of 20", request(token, PAGE, &json!({ "first": 20 })), 330),
    ] {
        let counted = allocations(&world, &asked).await;
        if counted > most {
            beyond.push(format!("{name}: {counted} allocations instead of {most}"));
        }
    }
    assert!(beyond.is_empty(), "{beyond:#?}");
}

/// How often this thread has given up its processor to wait for something.
#[cfg(target_os = "linux")]
fn waits() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    count.trim().parse().unwrap()
}

/// Counts the fewest of some rounds: after a statement that took long, the next hundred are read on other threads.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_known_readers_page_needs_no_other_thread() {
    let _alone = COUNTING.lock().await;
    let world = World::open().await.unwrap();
    let page = request(Some(world.token.as_str()), PAGE, &json!({ "first": 20 }));
    let (pages, mut fewest) = (20, u64::MAX);
    for _ in 0..20 {
        let before = waits();
        for _ in 0..pages {
            world.ask(&page).await.unwrap();
        }
        fewest = fewest.min(waits() - before);
    }
    assert!(fewest < pages / 4, "{pages} pages waited {fewest} times for another thread");
}

#[tokio::test]
async fn an_idle_subscriber_keeps_little() {
    let _alone = COUNTING.lock().await;
    let world = World::with_readers(100).await.unwrap();
    let mut tokens = Vec::new();
    for reader in 0..100 {
        tokens.push(world.sign_in(reader).await.unwrap());
    }
    let shared = vec![world.token.clone(); 100];
    let (alone, left_alone) = idle::bytes_each(&world, tokens).await;
    let (together, left_together) = idle::bytes_each(&world, shared).await;
    // 13 KiB, and some room. It includes one queued message for each reader, which no worker takes here.
    let most = 15 * 1024;
    assert!(alone < most && together < most, "{alone} bytes each, {together} of one reader's, instead of {most}");
    assert!(alone - together > 400, "follows are kept once a reader: {alone} bytes each, {together} of one reader's");
    let left = left_alone.max(left_together);
    assert!(left < 600, "of a subscriber who has gone {left} bytes are left");
}

#[tokio::test]
async fn a_watch_without_a_viewer_keeps_no_more_than_is_counted() {
    let _alone = COUNTING.lock().await;
    let world = World::open().await.unwrap();
    for shown in [1, 60, 100] {
        let kept = idle::bytes_of_watch(&world, shown).await;
        let counted = BYTES_OF_WATCH + usize::try_from(shown).unwrap() * BYTES_OF_SHOWN;
        assert!(kept < counted, "a watch of {shown} keeps {kept} bytes, and counts as {counted}");
    }
}
