//! The message queue: notifications between the steps of delivery. A message says where to look, never what to do, so
//! that losing or repeating any of them changes nothing but the delay: the row in SQL is the promise.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{StoreError, relations::Pair};
use crate::domain::{ContentId, Entry, UserId};

/// The queues; their names are part of the interface to other services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// `event_content_meta_change`: contents that were published or removed.
    ContentChange,
    /// `timeline_push`: subtasks to run.
    Push,
    /// `timeline_relation`: pairs whose follow edge has changed.
    Relation,
    /// `timeline_visit`: readers who have come, whose inbox may have to be brought back.
    Visit,
}

impl Topic {
    /// Every queue.
    pub const ALL: [Self; 4] = [Self::ContentChange, Self::Push, Self::Relation, Self::Visit];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContentChange => "event_content_meta_change",
            Self::Push => "timeline_push",
            Self::Relation => "timeline_relation",
            Self::Visit => "timeline_visit",
        }
    }
}

/// What a message says. On the wire: JSON with a version, `{"v":1,"type":"contentPublished",...}`; docs/delivery.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Message {
    /// A content was published; its delivery record is committed.
    ContentPublished {
        /// What, when, by whom.
        entry: Entry,
    },
    /// A content was removed.
    ContentRemoved {
        /// What, when it had been published, by whom.
        entry: Entry,
    },
    /// A subtask may be run.
    Subtask {
        /// Whose delivery.
        content: ContentId,
        /// The start of its range.
        after: i64,
    },
    /// An edge was made or ended.
    RelationChanged {
        /// Between whom.
        pair: Pair,
    },
    /// A reader has read their timeline.
    ReaderSeen {
        /// Who.
        reader: UserId,
        /// A page was read from below the floor, down to this publish time (ms); 0 if down to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reached: Option<i64>,
    },
}

impl Message {
    /// The queue it belongs to.
    pub const fn topic(&self) -> Topic {
        match self {
            Self::ContentPublished { .. } | Self::ContentRemoved { .. } => Topic::ContentChange,
            Self::Subtask { .. } => Topic::Push,
            Self::RelationChanged { .. } => Topic::Relation,
            Self::ReaderSeen { .. } => Topic::Visit,
        }
    }
}

/// A message that was received and not yet acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// For [`Queue::acknowledge`].
    pub id: String,
    /// What it says; `None` if this version cannot read it (acknowledge it: sweepers look after what it was about).
    pub message: Option<Message>,
}

/// The queue. Delivery is at least once as long as the server lives; one group of consumers per topic.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Appends messages, in order within a topic.
    async fn send(&self, messages: &[Message]) -> Result<(), StoreError>;

    /// Up to `max` messages that no other consumer of the group has, waiting up to `wait` if there are none. First
    /// those that some consumer received longer ago than the redelivery time and did not acknowledge.
    async fn receive(
        &self,
        topic: Topic,
        consumer: &str,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Received>, StoreError>;

    /// These have been dealt with. Unknown ids are passed over.
    async fn acknowledge(&self, topic: Topic, ids: &[String]) -> Result<(), StoreError>;

    /// Messages waiting or unacknowledged; for metrics and tests.
    async fn depth(&self, topic: Topic) -> Result<u64, StoreError>;
}
