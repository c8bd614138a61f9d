//! Who is served, who waits and who is refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use futures_util::FutureExt as _;
use proptest::prelude::*;

use super::*;

type Queue = FairQueue<&'static str>;

fn queue(running: usize, waiting: usize, percent: usize) -> Queue {
    Queue::new(Bounds::shared(Limits { running, waiting }, percent))
}

fn served(queue: &Queue, client: &'static str) -> Turn<&'static str> {
    match queue.ask(client).unwrap() {
        Asked::Served(turn) => turn,
        Asked::Waits(_) => unreachable!("{client} has to wait"),
    }
}

fn waits(queue: &Queue, client: &'static str) -> Waiting<&'static str> {
    match queue.ask(client).unwrap() {
        Asked::Served(_) => unreachable!("{client} is served"),
        Asked::Waits(waiting) => waiting,
    }
}

/// The result of a wait, if it has ended.
fn ended(waiting: &mut Waiting<&'static str>) -> Option<Result<Turn<&'static str>, Full>> {
    waiting.now_or_never()
}

#[test]
fn one_client_is_served_in_order_of_arrival() {
    let queue = queue(1, 3, 100);
    let running = served(&queue, "ann");
    let (mut first, mut second) = (waits(&queue, "ann"), waits(&queue, "ann"));
    drop(running);
    let turn = ended(&mut first).unwrap().unwrap();
    assert!(ended(&mut second).is_none());
    drop(turn);
    assert!(ended(&mut second).is_some());
}

#[test]
fn clients_are_served_in_turn_whoever_asks_more() {
    let queue = queue(1, 10, 100);
    let mut turn = served(&queue, "eve");
    let mut waiting: Vec<_> = ["eve", "eve", "eve", "eve", "ann", "bob", "ann"].map(|it| waits(&queue, it)).into();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        drop(turn);
        let at = waiting.iter_mut().enumerate().find_map(|(at, it)| Some((at, ended(it)?)));
        let (at, next) = at.unwrap();
        drop(waiting.remove(at));
        turn = next.unwrap();
        order.push(*turn.client());
    }
    assert_eq!(order, ["ann", "bob", "eve", "ann", "eve", "eve", "eve"]);
}

#[test]
fn who_runs_least_is_next() {
    let queue = queue(4, 10, 100);
    let eve: Vec<_> = (0..4).map(|_| served(&queue, "eve")).collect();
    let mut later = waits(&queue, "eve");
    let mut ann = [waits(&queue, "ann"), waits(&queue, "ann"), waits(&queue, "ann")];
    drop(eve);
    assert!(ended(&mut later).is_some(), "all four have a permit by now");
    assert!(ann.iter_mut().all(|it| ended(it).is_some()));
}

#[test]
fn a_client_has_a_share_of_what_runs_and_of_what_waits() {
    let queue = queue(4, 4, 50);
    let eve = [served(&queue, "eve"), served(&queue, "eve")];
    let waiting = [waits(&queue, "eve"), waits(&queue, "eve")];
    assert!(queue.is_full_for(&"eve") && queue.may_refuse() && queue.ask("eve").is_err());
    assert!(!queue.is_full_for(&"ann"));
    let _ann = [served(&queue, "ann"), served(&queue, "ann")];
    drop((eve, waiting));
    let _eve = [served(&queue, "eve"), served(&queue, "eve")];
    assert!(!queue.may_refuse());
}

#[test]
fn a_newcomer_takes_the_newest_place_of_who_has_most() {
    let queue = queue(1, 4, 100);
    let running = served(&queue, "eve");
    let mut eve = [waits(&queue, "eve"), waits(&queue, "eve"), waits(&queue, "eve"), waits(&queue, "eve")];
    assert_eq!((queue.is_full_for(&"eve"), queue.is_full_for(&"ann")), (true, false));
    let mut ann = [waits(&queue, "ann"), waits(&queue, "ann")];
    assert!(queue.ask("ann").is_err(), "each has two");
    let [.., third, fourth] = &mut eve;
    assert_eq!((ended(third).unwrap().err(), ended(fourth).unwrap().err()), (Some(Full), Some(Full)));
    drop(running);
    assert!(ended(&mut ann[0]).unwrap().is_ok() && ended(&mut eve[0]).unwrap().is_ok());
}

#[test]
fn who_asks_seldom_is_served_beside_more_clients_than_can_wait() {
    let queue = FairQueue::new(Bounds::shared(Limits { running: 1, waiting: 2 }, 100));
    let take = |client: u32| queue.take(client).now_or_never();
    for eve in [1, 2, 3, 1, 2, 3, 1, 2, 3] {
        assert!(take(eve).is_some_and(|it| it.is_ok()));
    }
    assert!(take(4).is_some_and(|it| it.is_ok()) && take(4).is_some_and(|it| it.is_ok()));
    let running = queue.take(1).now_or_never().unwrap().unwrap();
    let flood: Vec<_> = [2, 3].map(|eve| queue.ask(eve).unwrap()).into();
    assert!(queue.is_full_for(&1) && queue.is_full_for(&4), "Dot asks nearly as often");
    assert!(!queue.is_full_for(&9));
    let Asked::Waits(ann) = queue.ask(9).unwrap() else { unreachable!("nothing is free") };
    drop(running);
    assert!(ann.now_or_never().unwrap().is_ok(), "she is next");
    drop(flood);
}

#[tokio::test]
async fn work_that_goes_on_waits_first_and_is_never_refused() {
    let queue = queue(1, 1, 100);
    let running = served(&queue, "ann");
    let mut later = waits(&queue, "ann");
    let mut resumed = Box::pin(queue.resume("ann"));
    assert!((&mut resumed).now_or_never().is_none());
    drop(running);
    let turn = (&mut resumed).now_or_never().unwrap();
    drop((resumed, turn));
    assert!(ended(&mut later).unwrap().is_ok());
    assert!(queue.resume("ann").now_or_never().is_some());
}

#[test]
fn who_stops_waiting_leaves_its_place_or_its_permit() {
    let queue = queue(1, 2, 100);
    let running = served(&queue, "ann");
    let (one, other) = (waits(&queue, "ann"), waits(&queue, "bob"));
    drop(one);
    let mut last = waits(&queue, "eve");
    drop(running);
    // Bob has a permit by now and has not seen it.
    drop(other);
    assert!(ended(&mut last).unwrap().is_ok());
    drop(last);
    assert!(queue.state().is_empty(), "nobody is remembered");
}

const CLIENTS: [&str; 4] = ["ann", "bob", "cem", "dot"];

#[derive(Debug, Clone, Copy)]
enum Step {
    Ask(usize),
    Resume(usize),
    End(usize),
    Leave(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..CLIENTS.len()).prop_map(Step::Ask),
        1 => (0..CLIENTS.len()).prop_map(Step::Resume),
        3 => (0..8_usize).prop_map(Step::End),
        1 => (0..8_usize).prop_map(Step::Leave),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    /// Whatever comes and goes: no bound is exceeded, no permit lies idle that somebody may have, none is lost.
    #[test]
    fn bounds_hold_and_no_permit_lies_idle(steps in steps(), running in 1..4_usize, waiting in 0..6_usize, percent in 1..=100_usize) {
        let bounds = Bounds::shared(Limits { running, waiting }, percent);
        let queue = Queue::new(bounds);
        let (mut served, mut waiters, mut resuming) = (Vec::new(), Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Ask(client) => {
                    let client = CLIENTS[client];
                    let is_full = queue.is_full_for(&client);
                    match queue.ask(client) {
                        Ok(Asked::Served(turn)) => served.push(turn),
                        Ok(Asked::Waits(place)) => waiters.push((client, place)),
                        Err(Full) => prop_assert!(is_full),
                    }
                }
                Step::Resume(client) => {
                    let (client, queue) = (CLIENTS[client], queue.clone());
                    resuming.push((client, async move { queue.resume(client).await }.boxed()));
                }
                Step::End(at) if at < served.len() => drop(served.swap_remove(at)),
                Step::Leave(at) if at < waiters.len() => drop(waiters.swap_remove(at)),
                Step::End(_) | Step::Leave(_) => {}
            }
            let (mut still, mut unresumed) = (Vec::new(), Vec::new());
            for (client, mut place) in waiters {
                match (&mut place).now_or_never() {
                    None => still.push((client, place)),
                    Some(Ok(turn)) => served.push(turn),
                    Some(Err(Full)) => {}
                }
            }
            for (client, mut resumed) in resuming {
                match (&mut resumed).now_or_never() {
                    None => unresumed.push((client, resumed)),
                    Some(turn) => served.push(turn),
                }
            }
            (waiters, resuming) = (still, unresumed);
            prop_assert!(served.len() <= running && waiters.len() <= waiting);
            for client in CLIENTS {
                let own = served.iter().filter(|turn| *turn.client() == client).count();
                let waits = waiters.iter().any(|(of, _)| *of == client) || resuming.iter().any(|(of, _)| *of == client);
                prop_assert!(own <= bounds.one.running);
                prop_assert!(!waits || served.len() == running || own == bounds.one.running);
            }
        }
        drop((served, waiters, resuming));
        prop_assert!(queue.state().is_empty());
    }
}
