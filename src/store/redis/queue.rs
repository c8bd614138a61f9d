//! The queue as streams, one for each topic, with one group of consumers for all nodes.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use redis::{RedisResult, Script, Value, aio::ConnectionLike, from_redis_value, streams::StreamInfoGroupsReply};
use tokio::time::Instant;

use super::{
    connect::Redis,
    reader::{Read, Reader},
    stream, wire,
};
use crate::store::{
    Queue, StoreError,
    queue::{Message, Received, Topic},
};

/// Ids in one call of a script: Lua's stack holds a few thousand.
const MAX_IDS: usize = 1_000;

/// The queue on Redis. Streams `{prefix}event_content_meta_change`, `{prefix}timeline_push`,
/// `{prefix}timeline_relation`; the field `payload` of an entry holds a message as JSON with a version. The oldest
/// messages of a stream that is too long go, acknowledged or not; sweepers notify again.
pub struct RedisQueue {
    redis: Redis,
    reader: Reader,
    acknowledge: Script,
}

impl RedisQueue {
    /// On this Redis; streams and groups are made when they are first needed, and again whenever they are gone.
    pub fn new(redis: Redis) -> Self {
        Self { reader: Reader::new(redis.clone()), redis, acknowledge: Script::new(stream::ACKNOWLEDGE) }
    }

    fn key(&self, topic: Topic) -> String {
        self.redis.key(topic.name())
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
    /// One pipeline for each topic: if it breaks off, the first of its messages may have been sent.
    async fn send(&self, messages: &[Message]) -> Result<(), StoreError> {
        let max_len = self.redis.options().stream_max_len;
        let mut topics: BTreeMap<&str, redis::Pipeline> = BTreeMap::new();
        for message in messages {
            let append = stream::append(&self.key(message.topic()), max_len, &wire::encode(message)?);
            topics.entry(message.topic().name()).or_default().add_command(append).ignore();
        }
        for pipeline in topics.values() {
            let mut link = self.redis.commands();
            self.redis.within(pipeline.exec_async(&mut link)).await?;
        }
        Ok(())
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
        let read = Read { key: self.key(topic), consumer, max };
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
            let mut call = self.acknowledge.key(&key);
            call.arg(stream::GROUP).arg(ids);
            self.redis.within(call.invoke_async::<()>(&mut link)).await?;
        }
        Ok(())
    }

    async fn depth(&self, topic: Topic) -> Result<u64, StoreError> {
        let mut link = self.redis.commands();
        self.redis.within(depth_of(&mut link, &self.key(topic))).await
    }
}
