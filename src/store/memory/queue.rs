//! The queue within one process. Messages that nobody acknowledges are delivered again after the redelivery time. It
//! is measured by the runtime's clock, which tests can pause.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::{
    domain::UserId,
    store::{
        Queue, StoreError,
        queue::{Message, Received, Topic, deeper},
    },
    telemetry::metrics::QUEUE_DROPPED,
};

/// The queue of a single node. Bounded: a message to a full topic is dropped and counted. The port allows that,
/// because sweepers repeat lost messages.
#[derive(Debug)]
pub struct MemoryQueue {
    topics: [TopicQueue; Topic::ALL.len()],
    capacity: usize,
    redelivery: Duration,
}

#[derive(Debug, Default)]
struct TopicQueue {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    dropped: u64,
    /// In ascending order of their ids.
    waiting: VecDeque<(u64, Message)>,
    /// The visits that wait.
    visits: HashMap<UserId, u64>,
    unacknowledged: BTreeMap<u64, Unacknowledged>,
}

#[derive(Debug)]
struct Unacknowledged {
    due: Instant,
    message: Message,
}

impl MemoryQueue {
    /// `capacity`: messages of each topic, including unacknowledged ones. `redelivery`: how long a consumer may take.
    pub fn new(capacity: usize, redelivery: Duration) -> Self {
        Self { topics: Default::default(), capacity, redelivery }
    }

    /// Messages dropped because the topic was full.
    pub fn dropped(&self, topic: Topic) -> u64 {
        self.topic(topic).state().dropped
    }

    fn topic(&self, topic: Topic) -> &TopicQueue {
        let [contents, push, relation, visit] = &self.topics;
        match topic {
            Topic::ContentChange => contents,
            Topic::Push => push,
            Topic::Relation => relation,
            Topic::Visit => visit,
        }
    }
}

impl TopicQueue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn append(&mut self, message: &Message, capacity: usize) {
        if let Message::ReaderSeen { reader, reached } = message
            && self.deepen(*reader, *reached)
        {
            return;
        }
        if self.waiting.len() + self.unacknowledged.len() >= capacity {
            self.dropped += 1;
            metrics::counter!(QUEUE_DROPPED, "topic" => message.topic().name()).increment(1);
        } else {
            self.next_id += 1;
            if let Message::ReaderSeen { reader, .. } = message {
                self.visits.insert(*reader, self.next_id);
            }
            self.waiting.push_back((self.next_id, message.clone()));
        }
    }

    /// Makes the reader's visit that waits as deep as this one; whether one waits.
    fn deepen(&mut self, reader: UserId, reached: Option<i64>) -> bool {
        let Some(id) = self.visits.get(&reader) else { return false };
        let place = self.waiting.binary_search_by_key(id, |(id, _)| *id).ok();
        let waiting = place.and_then(|place| self.waiting.get_mut(place));
        let Some((_, Message::ReaderSeen { reached: deepest, .. })) = waiting else { return false };
        *deepest = deeper(*deepest, reached);
        true
    }

    /// Takes overdue messages first, oldest first. Each is due again at `due`.
    fn take(&mut self, max: usize, now: Instant, due: Instant) -> Vec<Received> {
        let mut taken = Vec::new();
        for (id, overdue) in self.unacknowledged.iter_mut().filter(|(_, held)| held.due <= now).take(max) {
            overdue.due = due;
            taken.push(Received { id: id.to_string(), message: Some(overdue.message.clone()) });
        }
        while taken.len() < max
            && let Some((id, message)) = self.waiting.pop_front()
        {
            if let Message::ReaderSeen { reader, .. } = &message {
                self.visits.remove(reader);
            }
            taken.push(Received { id: id.to_string(), message: Some(message.clone()) });
            self.unacknowledged.insert(id, Unacknowledged { due, message });
        }
        taken
    }

    fn next_due(&self) -> Option<Instant> {
        self.unacknowledged.values().map(|held| held.due).min()
    }
}

#[async_trait]
impl Queue for MemoryQueue {
    async fn send(&self, messages: &[Message]) -> Result<(), StoreError> {
        for message in messages {
            let topic = self.topic(message.topic());
            topic.state().append(message, self.capacity);
            topic.arrived.notify_waiters();
        }
        Ok(())
    }

    /// Cancelling the wait loses nothing, because messages are taken only when it is over.
    async fn receive(
        &self,
        topic: Topic,
        _consumer: &str,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Received>, StoreError> {
        let topic = self.topic(topic);
        let deadline = Instant::now() + wait;
        loop {
            // Registered before looking, so that what arrives in between wakes us.
            let mut arrived = std::pin::pin!(topic.arrived.notified());
            arrived.as_mut().enable();
            let now = Instant::now();
            let (taken, next_due) = {
                let mut state = topic.state();
                (state.take(max, now, now + self.redelivery), state.next_due())
            };
            if !taken.is_empty() || max == 0 || now >= deadline {
                return Ok(taken);
            }
            let until = next_due.map_or(deadline, |due| due.min(deadline));
            tokio::select! {
                () = arrived => {}
                () = sleep_until(until) => {}
            }
        }
    }

    async fn acknowledge(&self, topic: Topic, ids: &[String]) -> Result<(), StoreError> {
        let mut state = self.topic(topic).state();
        for id in ids.iter().filter_map(|id| id.parse().ok()) {
            state.unacknowledged.remove(&id);
        }
        Ok(())
    }

    async fn depth(&self, topic: Topic) -> Result<u64, StoreError> {
        let state = self.topic(topic).state();
        Ok(u64::try_from(state.waiting.len() + state.unacknowledged.len()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::domain::UserId;

    fn seen(reader: i64) -> Message {
        Message::ReaderSeen { reader: UserId::try_new(reader).unwrap(), reached: None }
    }

    #[tokio::test]
    async fn a_full_topic_drops_and_counts_messages_without_affecting_others() {
        let queue = MemoryQueue::new(2, Duration::from_secs(1));
        queue.send(&[seen(1), seen(2), seen(3)]).await.unwrap();
        assert_eq!((queue.depth(Topic::Visit).await.unwrap(), queue.dropped(Topic::Visit)), (2, 1));
        let kept = queue.receive(Topic::Visit, "a", 10, Duration::ZERO).await.unwrap();
        assert_eq!(kept.iter().map(|one| one.message.clone().unwrap()).collect::<Vec<_>>(), [seen(1), seen(2)]);
        queue.send(&[seen(4)]).await.unwrap();
        assert_eq!(queue.dropped(Topic::Visit), 2, "what is unacknowledged takes room too");
        assert_eq!(queue.dropped(Topic::Push), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_unacknowledged_message_is_redelivered_exactly_when_it_is_due() {
        let queue = MemoryQueue::new(10, Duration::from_secs(30));
        queue.send(&[seen(1)]).await.unwrap();
        let first = queue.receive(Topic::Visit, "a", 10, Duration::ZERO).await.unwrap();
        let before = Instant::now();
        let again = queue.receive(Topic::Visit, "b", 10, Duration::from_mins(1)).await.unwrap();
        assert_eq!((first, before.elapsed()), (again, Duration::from_secs(30)));
    }
}
