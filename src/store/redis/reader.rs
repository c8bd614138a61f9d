//! Reading a stream for a consumer: overdue messages before new ones, on connections that may wait.
//!
//! A read that waits holds a connection of its own, because Redis answers a connection's commands in order. Idle ones
//! are kept for the next wait.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{
    RedisError, RedisResult,
    streams::{StreamAutoClaimReply, StreamId, StreamReadReply},
};
use tokio::time::timeout;

use super::{
    connect::Redis,
    error::{is_group_missing, late, store_error},
    link::Link,
    stream,
};
use crate::store::StoreError;

/// The longest single wait on the server; between two, overdue messages are looked for.
const LONGEST_BLOCK: Duration = Duration::from_secs(1);
/// The shortest one, so that a short redelivery time does not become a busy loop.
const SHORTEST_BLOCK: Duration = Duration::from_millis(20);
/// Idle connections that are kept.
const MAX_IDLE_LINKS: usize = 16;

/// What a consumer asks for.
pub struct StreamRead<'a> {
    /// The stream.
    pub key: String,
    /// Who asks.
    pub consumer: &'a str,
    /// Entries at most; 1 or more.
    pub max: usize,
}

/// Reads streams.
pub struct Reader {
    redis: Redis,
    idle: Mutex<Vec<Link>>,
}

impl Reader {
    /// On this Redis.
    pub fn new(redis: Redis) -> Self {
        Self { redis, idle: Mutex::default() }
    }

    /// Overdue entries of the group; if there are none, new ones, waiting for them about as long as `patience` but
    /// never much longer than half the redelivery time, so that the caller looks for overdue ones in between.
    ///
    /// The connection is kept only if all went well: a wait that was cancelled would otherwise go on there and take
    /// messages without a receiver. If a kept one has died since, this goes on with a new one.
    pub async fn read(&self, read: &StreamRead<'_>, patience: Duration) -> Result<Vec<StreamId>, StoreError> {
        let block = self.block(patience);
        let kept = self.idle().pop();
        if let Some(mut link) = kept {
            match self.take_within(&mut link, read, block).await {
                Err(Failure::Redis(error)) if error.is_connection_dropped() => {}
                done => return self.keep_if_sound(link, done),
            }
        }
        let mut link = self.connect().await?;
        let done = self.take_within(&mut link, read, block).await;
        self.keep_if_sound(link, done)
    }

    fn block(&self, patience: Duration) -> Duration {
        let half = Duration::from_millis(self.redis.options().redelivery_ms / 2);
        patience.min(half.clamp(SHORTEST_BLOCK, LONGEST_BLOCK))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Link, Failure> {
        let limit = self.redis.options().connect_timeout();
        // For the longest wait, as the connection outlives this one.
        match timeout(limit, self.redis.connect_blocking(LONGEST_BLOCK)).await {
            Ok(link) => link.map_err(Failure::Redis),
            Err(_) => Err(Failure::TimedOut(limit)),
        }
    }

    fn keep_if_sound<T>(&self, link: Link, done: Result<T, Failure>) -> Result<T, StoreError> {
        if done.is_ok() {
            let mut idle = self.idle();
            if idle.len() < MAX_IDLE_LINKS {
                idle.push(link);
            }
        }
        Ok(done?)
    }

    async fn take_within(
        &self,
        link: &mut Link,
        read: &StreamRead<'_>,
        block: Duration,
    ) -> Result<Vec<StreamId>, Failure> {
        let limit = self.redis.options().command_timeout() + block;
        match timeout(limit, self.take_from_group(link, read, block)).await {
            Ok(taken) => taken.map_err(Failure::Redis),
            Err(_) => Err(Failure::TimedOut(limit)),
        }
    }

    /// Makes stream and group if they are not there, or no longer.
    async fn take_from_group(
        &self,
        link: &mut Link,
        read: &StreamRead<'_>,
        block: Duration,
    ) -> RedisResult<Vec<StreamId>> {
        match self.take(link, read, block).await {
            Err(error) if is_group_missing(&error) => {}
            done => return done,
        }
        match stream::create_group(&read.key).exec_async(link).await {
            Err(error) if error.code() != Some("BUSYGROUP") => Err(error),
            _ => self.take(link, read, block).await,
        }
    }

    async fn take(&self, link: &mut Link, read: &StreamRead<'_>, block: Duration) -> RedisResult<Vec<StreamId>> {
        let overdue = self.claim_overdue(link, read).await?;
        if !overdue.is_empty() {
            return Ok(overdue);
        }
        let command = stream::read(&read.key, read.consumer, read.max, block);
        let reply: Option<StreamReadReply> = command.query_async(link).await?;
        Ok(reply.into_iter().flat_map(|reply| reply.keys).flat_map(|key| key.ids).collect())
    }

    /// One claim looks at a part of what is unacknowledged only: goes on until it finds something or has seen
    /// everything.
    async fn claim_overdue(&self, link: &mut Link, read: &StreamRead<'_>) -> RedisResult<Vec<StreamId>> {
        let idle_ms = self.redis.options().redelivery_ms;
        let mut from = stream::START.to_owned();
        loop {
            let command = stream::claim(&read.key, read.consumer, idle_ms, &from, read.max);
            let reply: StreamAutoClaimReply = command.query_async(link).await?;
            if !reply.claimed.is_empty() || reply.next_stream_id == stream::START {
                return Ok(reply.claimed);
            }
            from = reply.next_stream_id;
        }
    }
}

enum Failure {
    Redis(RedisError),
    TimedOut(Duration),
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Redis(error) => store_error(error),
            Failure::TimedOut(limit) => late(limit),
        }
    }
}
