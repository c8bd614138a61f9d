//! The queue as streams, one for each topic, with one group of consumers for all nodes.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use redis::{RedisResult, Script, Value, aio::ConnectionLike, from_redis_value, streams::StreamInfoGroupsReply};
use tokio::time::Instant;

use super::{
    connect::Redis,
    reader::{Reader, StreamRead},
    stream, wire,
};
use crate::{
    domain::UserId,
    store::{
        Queue, StoreError,
        queue::{Message, Received, Topic},
    },
};

/// Ids in one call of a script: Lua's stack holds a few thousand.
const MAX_IDS: usize = 1_000;
/// Visits in one call of a script, which has three arguments for each.
const MAX_VISITS: usize = 500;

/// The queue on Redis. Streams `{prefix}event_content_meta_change`, `{prefix}timeline_push`,
/// `{prefix}timeline_relation`; the field `payload` of an entry holds a message as JSON with a version. The oldest
/// messages of a stream that is too long go, acknowledged or not; sweepers notify again. Beside the stream of visits, a
/// sorted set says under which id the visit of a reader was sent last, and how deep it is.
pub struct RedisQueue {
    redis: Redis,
    reader: Reader,
    acknowledge: Script,
    send_visits: Script,
    acknowledge_visits: Script,
}

impl RedisQueue {
    /// On this Redis; streams and groups are made when they are first needed, and again whenever they are gone.
    pub fn new(redis: Redis) -> Self {
        let [acknowledge, send_visits, acknowledge_visits] =
            [stream::ACKNOWLEDGE, stream::SEND_VISITS, stream::ACKNOWLEDGE_VISITS].map(Script::new);
        Self { reader: Reader::new(redis.clone()), redis, acknowledge, send_visits, acknowledge_visits }
    }

    fn key(&self, topic: Topic) -> String {
        self.redis.key(topic.name())
    }

    /// Beside the stream of visits, in the same slot of a cluster.
    fn sent_visits(&self) -> String {
        self.redis.key(&format!("{{{}}}:sent", self.key(Topic::Visit)))
    }

    async fn send_visits(&self, visits: &[(UserId, Option<i64>)]) -> Result<(), StoreError> {
        for visits in visits.chunks(MAX_VISITS) {
            let mut link = self.redis.commands();
            let mut call = self.send_visits.key(self.key(Topic::Visit));
            call.key(self.sent_visits()).arg(stream::GROUP).arg(self.redis.options().stream_max_len).arg(stream::FIELD);
            for (reader, reached) in visits {
                let payload = wire::encode(&Message::ReaderSeen { reader: *reader, reached: *reached })?;
                let depth = reached.map(|reached| reached.to_string()).unwrap_or_default();
                call.arg(reader.get()).arg(depth).arg(payload);
            }
            self.redis.within(call.invoke_async::<()>(&mut link)).await?;
        }
        Ok(())
    }
}

async fn depth_of(link: &mut impl ConnectionLike, key: &str) -> RedisResult<u64> {
    // In one transaction, so that all three speak of the same stream; XINFO fails if there is none.
    let mut probes = redis::pipe();
    probes.atomic().ignore_errors();
    probes.cmd("EXISTS").arg(key).cmd("XLEN").arg(key).cmd("XINFO").arg("GROUPS").arg(key);
    let mut answers = probes.query_async::<Vec<RedisResult<Value>>>(link).await?.into_iter();
    let mut answer = || answers.next().unwrap_or(Ok(Value::Nil));
    if !from_redis_value::<bool>(answer()?)? {
        // Nothing was ever sent, or everything was flushed.
        return Ok(0);
    }
    let length: u64 = from_redis_value(answer()?)?;
    let groups = from_redis_value::<StreamInfoGroupsReply>(answer()?)?.groups;
    let ours = groups.iter().find(|group| group.name == stream::GROUP);
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    Ok(match ours {
        // Entries that only other groups still want are none of ours.
        Some(ours) if groups.len() > 1 => wide(ours.pending) + ours.lag.map_or(length, wide).min(length),
        _ => length,
    })
}

#[async_trait]
impl Queue for RedisQueue {
    /// One pipeline for each topic, and a script for visits: if it breaks off, the first of its messages may have been
    /// sent.
    async fn send(&self, messages: &[Message]) -> Result<(), StoreError> {
        let max_len = self.redis.options().stream_max_len;
        let mut topics: BTreeMap<&str, redis::Pipeline> = BTreeMap::new();
        let mut visits = Vec::new();
        for message in messages {
            if let Message::ReaderSeen { reader, reached } = message {
                visits.push((*reader, *reached));
                continue;
            }
            let append = stream::append(&self.key(message.topic()), max_len, &wire::encode(message)?);
            topics.entry(message.topic().name()).or_default().add_command(append).ignore();
        }
        for pipeline in topics.values() {
            let mut link = self.redis.commands();
            self.redis.within(pipeline.exec_async(&mut link)).await?;
        }
        self.send_visits(&visits).await
    }

    /// Cancelling the wait closes its connection, so that Redis hands nothing to it later; a message on its way right
    /// then comes again after the redelivery time.
    async fn receive(
        &self,
        topic: Topic,
        consumer: &str,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Received>, StoreError> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let read = StreamRead { key: self.key(topic), consumer, max };
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let taken = self.reader.read(&read, left).await?;
            if !taken.is_empty() || Instant::now() >= deadline {
                return Ok(taken.into_iter().map(stream::received).collect());
            }
        }
    }

    async fn acknowledge(&self, topic: Topic, ids: &[String]) -> Result<(), StoreError> {
        let key = self.key(topic);
        let ids: Vec<&str> = ids.iter().map(String::as_str).filter(|id| stream::is_id(id)).collect();
        for ids in ids.chunks(MAX_IDS) {
            let mut link = self.redis.commands();
            let call = if topic == Topic::Visit {
                let mut call = self.acknowledge_visits.key(&key);
                call.key(self.sent_visits()).arg(stream::GROUP).arg(ids);
                call
            } else {
                let mut call = self.acknowledge.key(&key);
                call.arg(stream::GROUP).arg(ids);
                call
            };
            self.redis.within(call.invoke_async::<()>(&mut link)).await?;
        }
        Ok(())
    }

    async fn depth(&self, topic: Topic) -> Result<u64, StoreError> {
        let mut link = self.redis.commands();
        self.redis.within(depth_of(&mut link, &self.key(topic))).await
    }
}
