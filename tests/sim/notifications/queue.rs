//! Models the queue: streams with one consumer group, and everything that can happen to a message.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tidefeed::store::{
    Queue, StoreError,
    queue::{Message, Received, Topic},
};

use super::{LATEST, Late, Way};
use crate::fault_injector::FaultInjector;

/// How long a consumer may take before its message is given out again, in ms.
const REDELIVERY: i64 = 3_000;

#[derive(Debug, Clone, Default)]
struct State {
    next: u64,
    topics: [Stream; Topic::ALL.len()],
}

#[derive(Debug, Clone, Default)]
struct Stream {
    waiting: VecDeque<(u64, Message)>,
    held: BTreeMap<u64, (i64, Message)>,
}

/// See the module.
pub struct SimQueue {
    injector: FaultInjector,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    state: State,
    late: Late<Message>,
    dump: State,
}

impl State {
    fn stream(&mut self, topic: Topic) -> &mut Stream {
        let place = Topic::ALL.iter().position(|it| *it == topic).unwrap_or(0);
        &mut self.topics[place]
    }

    fn append(&mut self, message: Message) {
        self.next += 1;
        let id = self.next;
        self.stream(message.topic()).waiting.push_back((id, message));
    }
}

impl SimQueue {
    pub fn new(injector: FaultInjector) -> Self {
        Self { injector, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for message in inner.late.come(self.injector.now()) {
            inner.state.append(message);
        }
        inner
    }

    fn is_away(&self) -> Result<(), StoreError> {
        match self.injector.injects(self.injector.rates().queue_away) {
            true => Err(StoreError::Unavailable("the simulated queue is away".into())),
            false => Ok(()),
        }
    }

    /// Keeps what is there, so that it may come back.
    pub fn dump(&self) {
        let mut inner = self.inner();
        inner.dump = inner.state.clone();
    }

    /// Empty, or as it was when it was last dumped.
    pub fn restart(&self, empty: bool) {
        self.injector.note(|| format!("the queue restarts, empty: {empty}"));
        let mut inner = self.inner();
        let next = inner.state.next;
        inner.state = if empty { State::default() } else { inner.dump.clone() };
        inner.state.next = next;
    }

    /// Whether nothing waits anywhere.
    pub fn is_empty(&self) -> bool {
        let inner = self.inner();
        inner.late.0.is_empty() && inner.state.topics.iter().all(|it| it.waiting.is_empty() && it.held.is_empty())
    }
}

#[async_trait]
impl Queue for SimQueue {
    async fn send(&self, messages: &[Message]) -> Result<(), StoreError> {
        for message in messages {
            self.injector.switch().await;
            self.is_away()?;
            let way = Way::of(&self.injector, self.injector.rates().message);
            let mut inner = self.inner();
            match way {
                Way::Lost => self.injector.note(|| format!("    lost: {message:?}")),
                Way::Once => inner.state.append(message.clone()),
                Way::Twice => {
                    inner.state.append(message.clone());
                    let wait = self.injector.within(0, LATEST);
                    inner.late.add(self.injector.now() + wait, message.clone());
                }
                Way::Late(at) => inner.late.add(at, message.clone()),
            }
        }
        self.injector.switch().await;
        Ok(())
    }

    async fn receive(&self, topic: Topic, _: &str, max: usize, _: Duration) -> Result<Vec<Received>, StoreError> {
        self.injector.switch().await;
        self.is_away()?;
        let taken = {
            let now = self.injector.now();
            let mut inner = self.inner();
            let Stream { waiting, held } = inner.state.stream(topic);
            let received = |id: u64, message: &Message| Received { id: id.to_string(), message: Some(message.clone()) };
            let mut taken = Vec::new();
            for (id, (due, message)) in held.iter_mut().filter(|(_, (due, _))| *due <= now).take(max) {
                *due = now + REDELIVERY;
                taken.push(received(*id, message));
            }
            while taken.len() < max
                && let Some((id, message)) = waiting.pop_front()
            {
                taken.push(received(id, &message));
                held.insert(id, (now + REDELIVERY, message));
            }
            taken
        };
        self.injector.switch().await;
        Ok(taken)
    }

    async fn acknowledge(&self, topic: Topic, ids: &[String]) -> Result<(), StoreError> {
        self.injector.switch().await;
        self.is_away()?;
        let mut inner = self.inner();
        for id in ids.iter().filter_map(|id| id.parse().ok()) {
            inner.state.stream(topic).held.remove(&id);
        }
        Ok(())
    }

    async fn depth(&self, topic: Topic) -> Result<u64, StoreError> {
        let mut inner = self.inner();
        let stream = inner.state.stream(topic);
        Ok((stream.waiting.len() + stream.held.len()) as u64)
    }
}
