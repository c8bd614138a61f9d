//! Outside inboxes as sorted sets `{prefix}inbox1:{<bucket>}:<reader>`; [`super::inbox_member`] says how one lies
//! there. Each method is one script, which looks at the node's role and identity before anything else.

use async_trait::async_trait;
use redis::{FromRedisValue, Script, ScriptInvocation, Value};

use super::{
    connect::Redis,
    error::{no_master, no_score},
    inbox_member,
};
use crate::{
    domain::{
        Direction, Position, UserId,
        timeline::outside::{
            Bucket, BucketToken, Claim, Cleared, Cover, Delivered, Fence, Generation, NodeId, Nonce, Revision, Slice,
            Window, inbox::trimmed_above,
        },
    },
    store::{
        StoreError,
        inbox_store::{InboxStore, InboxStoreError, Push},
    },
};

/// The beginning of keys: the version of the format. Keys of an earlier format are never read, and expire.
const FORM: &str = "inbox1";
/// Inboxes in one call of a script: Redis serves nobody else until it is done, here a few milliseconds.
const MAX_INBOXES: usize = 250;
/// Rows of a slice at most, whatever the window allows: more than an inbox ever holds.
const MAX_ROWS: usize = 1 << 31;
/// How scripts begin their refusal to act on a node that is not the token's master.
const OTHER_NODE: &str = "OTHERNODE";

macro_rules! script {
    ($namespace:expr, $file:literal) => {
        Script::new(&format!("{}{}", $namespace, concat!(include_str!("inbox.lua"), include_str!($file))))
    };
}

/// The outside inboxes on Redis. A row whose time has no exact score is refused. Each inbox has a time to live from
/// when it was opened or claimed last: keys without one are not evicted where only keys with one are.
pub struct RedisInboxes {
    redis: Redis,
    ttl_ms: u64,
    scripts: Scripts,
}

struct Scripts {
    identify: Script,
    slice: Script,
    open: Script,
    deliver: Script,
    claim: Script,
    cover: Script,
    remove: Script,
}

impl RedisInboxes {
    /// On this Redis.
    pub fn new(redis: Redis) -> Self {
        let namespace = namespace(&redis);
        let scripts = Scripts {
            identify: script!(namespace, "inbox_identify.lua"),
            slice: script!(namespace, "inbox_slice.lua"),
            open: script!(namespace, "inbox_open.lua"),
            deliver: script!(namespace, "inbox_deliver.lua"),
            claim: script!(namespace, "inbox_claim.lua"),
            cover: script!(namespace, "inbox_cover.lua"),
            remove: script!(namespace, "inbox_remove.lua"),
        };
        Self { ttl_ms: redis.options().inbox_ttl_ms, redis, scripts }
    }

    /// Keys of one bucket have one slot of a cluster: only what stands in braces is hashed.
    fn bucket_key(&self, bucket: Bucket) -> String {
        self.redis.key(&format!("{FORM}:{{{}}}", bucket.number()))
    }

    fn key(&self, reader: UserId) -> String {
        format!("{}:{reader}", self.bucket_key(Bucket::of(reader)))
    }

    /// `None`: the script refused to act on this node.
    async fn call<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<Option<T>, StoreError> {
        let mut link = self.redis.commands();
        let answer = async {
            match call.invoke_async(&mut link).await {
                Err(error) if error.code() == Some(OTHER_NODE) => Ok(None),
                answer => answer.map(Some),
            }
        };
        self.redis.within(answer).await
    }

    async fn change<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, InboxStoreError> {
        self.call(call).await?.ok_or(InboxStoreError::OtherNode)
    }

    async fn deliver_piece(
        &self,
        push: &Push,
        piece: &[(UserId, Generation)],
    ) -> Result<Vec<Delivered>, InboxStoreError> {
        let mut call = self.scripts.deliver.prepare_invoke();
        call.arg(inbox_member::token(push.token)).arg(push.keep).arg(trimmed_above(push.keep)).arg(push.nonce.0);
        call.arg(scored(push.row)?);
        for (reader, generation) in piece {
            call.key(self.key(*reader)).arg(generation.0);
        }
        let added: Vec<bool> = self.change(&call).await?;
        if added.len() != piece.len() {
            let mismatch = format!("{} answers about {} inboxes", added.len(), piece.len());
            return Err(StoreError::Unreadable(mismatch).into());
        }
        let delivered = |added| if added { Delivered::Added } else { Delivered::Skipped };
        Ok(added.into_iter().map(delivered).collect())
    }
}

/// The line of Lua that says where inboxes lie: prefix, form and database, in hexadecimal digits.
fn namespace(redis: &Redis) -> String {
    let place = format!("{}/{}", redis.key(FORM), redis.database());
    let digits: Vec<String> = place.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("local NAMESPACE = '{}'\n", digits.concat())
}

fn scored(row: Position) -> Result<(i64, String), StoreError> {
    inbox_member::scored(row).ok_or_else(|| no_score(row.publish_time()))
}

#[async_trait]
impl InboxStore for RedisInboxes {
    async fn identify(&self, bucket: Bucket) -> Result<NodeId, StoreError> {
        let call = self.scripts.identify.key(self.bucket_key(bucket));
        let node: Option<String> = self.call(&call).await?.flatten();
        let node = node.ok_or_else(no_master)?;
        node.parse().map_err(|error| StoreError::Unreadable(format!("{node:?}: {error}")))
    }

    async fn slice(&self, reader: UserId, window: &Window) -> Result<Option<Slice>, StoreError> {
        let (time, member) = match window.bound {
            None => (String::new(), String::new()),
            Some(bound) => (inbox_member::bound_score(bound), inbox_member::member(bound)),
        };
        let older = window.direction == Direction::Older;
        let mut call = self.scripts.slice.key(self.key(reader));
        call.arg(if older { "older" } else { "newer" }).arg(window.limit.min(MAX_ROWS)).arg(time).arg(member);
        let reply: Value = self.call(&call).await?.unwrap_or(Value::Nil);
        let Some((header, mut rows)) = inbox_member::read(&reply)? else { return Ok(None) };
        if older {
            rows.reverse();
        }
        Ok(Some(Slice { header, rows }))
    }

    async fn open(&self, reader: UserId, fence: Fence, nonce: Nonce) -> Result<Revision, InboxStoreError> {
        let mut call = self.scripts.open.key(self.key(reader));
        call.arg(inbox_member::token(fence.token)).arg(self.ttl_ms);
        call.arg(fence.generation.0).arg(nonce.0).arg(inbox_member::floor(Position::NEWEST));
        let revision: String = self.change(&call).await?;
        let unreadable = |_| StoreError::Unreadable(format!("a revision {revision:?}"));
        Ok(Revision(revision.parse().map_err(unreadable)?))
    }

    /// One script for each piece of the recipients, one after the other. If one fails, those before it were done.
    async fn deliver(&self, push: &Push) -> Result<Vec<Delivered>, InboxStoreError> {
        let mut delivered = Vec::with_capacity(push.recipients.len());
        for piece in push.recipients.chunks(MAX_INBOXES) {
            delivered.extend(self.deliver_piece(push, piece).await?);
        }
        Ok(delivered)
    }

    async fn claim(
        &self,
        reader: UserId,
        (token, expected): (BucketToken, Revision),
        claim: &Claim,
        keep: usize,
    ) -> Result<bool, InboxStoreError> {
        let mut call = self.scripts.claim.key(self.key(reader));
        call.arg(inbox_member::token(token)).arg(expected.0).arg(keep).arg(trimmed_above(keep));
        call.arg(claim.nonce.0).arg(claim.basis.0).arg(inbox_member::floor(claim.floor)).arg(self.ttl_ms);
        for row in &claim.rows {
            call.arg(scored(*row)?);
        }
        self.change(&call).await
    }

    async fn cover(&self, reader: UserId, fence: Fence, newest: &Cover, keep: usize) -> Result<bool, InboxStoreError> {
        let mut call = self.scripts.cover.key(self.key(reader));
        call.arg(inbox_member::token(fence.token)).arg(fence.generation.0).arg(keep).arg(trimmed_above(keep));
        call.arg(newest.nonce.0).arg(inbox_member::floor(newest.floor));
        for row in &newest.rows {
            call.arg(scored(*row)?);
        }
        self.change(&call).await
    }

    async fn remove(
        &self,
        reader: UserId,
        (token, expected): (BucketToken, Revision),
        cleared: &Cleared,
    ) -> Result<bool, InboxStoreError> {
        let mut call = self.scripts.remove.key(self.key(reader));
        call.arg(inbox_member::token(token)).arg(expected.0).arg(cleared.nonce.0).arg(cleared.basis.0);
        for row in &cleared.rows {
            call.arg(inbox_member::member(*row));
        }
        self.change(&call).await
    }

    async fn forget(&self, reader: UserId) -> Result<(), StoreError> {
        let mut link = self.redis.commands();
        let mut delete = redis::cmd("UNLINK");
        delete.arg(self.key(reader));
        self.redis.within(delete.exec_async(&mut link)).await
    }
}
