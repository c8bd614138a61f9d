//! Cached outboxes as sorted sets `{prefix}outbox2:{author}`; [`super::outbox_member`] encodes their members.
//! Changes are scripts on one key, hence atomic; an outbox is read by one command.

use async_trait::async_trait;
use futures_util::future::try_join_all;
use redis::{Cmd, RedisResult, Script, ScriptInvocation, Value, cmd};

use super::{connect::Redis, outbox_member};
use crate::{
    domain::UserId,
    store::{
        OutboxCache, StoreError,
        contents::{OutboxHead, VersionChange},
        outbox_cache::{CachedOutbox, OutboxChange},
    },
};

/// The prefix of the keys. It names the format of the values, so that values of an earlier version are never read; they
/// expire.
const FORM: &str = "outbox2";

/// The outbox cache on Redis. An outbox expires when it did not change for the time to live. One that holds a foreign
/// value is deleted. An outbox with an entry whose time has no exact score is never cached.
pub struct RedisOutboxCache {
    redis: Redis,
    apply: Script,
    fill: Script,
}

impl RedisOutboxCache {
    /// On this Redis.
    pub fn new(redis: Redis) -> Self {
        let apply = Script::new(include_str!("outbox_apply.lua"));
        let fill = Script::new(include_str!("outbox_fill.lua"));
        Self { redis, apply, fill }
    }

    fn key(&self, author: UserId) -> String {
        self.redis.key(&format!("{FORM}:{author}"))
    }

    fn read(&self, author: UserId) -> Cmd {
        let mut read = cmd("ZRANGE");
        read.arg(self.key(author)).arg("+inf").arg("-inf").arg("BYSCORE").arg("REV").arg("WITHSCORES");
        read
    }

    async fn call(&self, call: ScriptInvocation<'_>) -> RedisResult<()> {
        call.invoke_async(&mut self.redis.commands()).await
    }

    /// `None` if an entry has no exact score.
    fn filling(&self, head: &OutboxHead) -> Option<ScriptInvocation<'_>> {
        let kept = CachedOutbox::of_head(head, self.capacity());
        let mut call = self.fill.key(self.key(head.author));
        call.arg(self.redis.options().outbox_ttl_ms);
        for entry in &kept.entries {
            call.arg(outbox_member::scored(entry)?);
        }
        call.arg(-1).arg(outbox_member::head(kept.version, kept.complete_from));
        Some(call)
    }
}

#[async_trait]
impl OutboxCache for RedisOutboxCache {
    async fn apply(&self, author: UserId, versions: VersionChange, change: OutboxChange) -> Result<(), StoreError> {
        let entry = change.entry();
        let operation = match (&change, outbox_member::scored(entry)) {
            (OutboxChange::Removed(_), _) => "remove",
            (OutboxChange::Published(_), Some(_)) => "add",
            (OutboxChange::Published(_), None) => "evict",
        };
        let options = self.redis.options();
        let mut call = self.apply.key(self.key(author));
        call.arg(versions.before).arg(versions.after).arg(options.outbox_capacity).arg(options.outbox_ttl_ms);
        call.arg(operation).arg(outbox_member::member(entry.content)).arg(entry.publish_time);
        self.redis.within(self.call(call)).await
    }

    /// Outboxes on a node of a cluster that is away are misses, and so are values that are not outboxes.
    async fn fetch(&self, authors: &[UserId]) -> Result<Vec<Option<CachedOutbox>>, StoreError> {
        let reads = authors.iter().map(|author| self.read(*author)).collect();
        let replies = self.redis.run_each(reads).await?;
        let read = |(author, reply): (&UserId, RedisResult<Value>)| outbox_member::read(*author, &reply.ok()?);
        Ok(authors.iter().zip(replies).map(read).collect())
    }

    async fn fill(&self, heads: &[OutboxHead]) -> Result<(), StoreError> {
        let calls = heads.iter().filter_map(|head| self.filling(head)).map(|call| self.call(call));
        self.redis.within(try_join_all(calls)).await.map(drop)
    }

    fn capacity(&self) -> usize {
        self.redis.options().outbox_capacity
    }
}
