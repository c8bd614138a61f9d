//! The message queue: notifications between the steps of a delivery. A message says where to look, never what to do.
//! The row in SQL guarantees the work, so a lost or repeated message only causes delay.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{StoreError, relations::Pair};
use crate::domain::{ContentId, Entry, UserId};

/// The queues. Their names are an interface to other services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// `event_content_meta_change`: published and removed contents.
    ContentChange,
    /// `timeline_push`: subtasks to run.
    Push,
    /// `timeline_relation`: pairs with a changed follow edge.
    Relation,
    /// `timeline_visit`: readers who were here and may need their inbox reactivated.
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

/// A message. On the wire: JSON with a version, `{"v":1,"type":"contentPublished",...}`; docs/delivery.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Message {
    /// A content was published; its delivery record is committed.
    ContentPublished {
        /// The new entry.
        entry: Entry,
    },
    /// A content was removed.
    ContentRemoved {
        /// The removed entry.
        entry: Entry,
    },
    /// A subtask is ready to run.
    Subtask {
        /// The delivered content.
        content: ContentId,
        /// The start of its range.
        after: i64,
    },
    /// A follow edge was made or ended.
    RelationChanged {
        /// The pair.
        pair: Pair,
    },
    /// A reader was here.
    ReaderSeen {
        /// The reader.
        reader: UserId,
        /// The publish time (ms) down to which a page was read below the floor; 0 for down to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reached: Option<i64>,
    },
}

impl Message {
    /// The queue of this message.
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
    /// The id for [`Queue::acknowledge`].
    pub id: String,
    /// The message; `None` if this version cannot read it. Acknowledge it: the sweepers send a message of their own
    /// version for the same work.
    pub message: Option<Message>,
}

/// The greater of two depths that a reader has reached, as in [`Message::ReaderSeen`].
pub fn deeper(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    [one, other].into_iter().flatten().min()
}

/// The queue. Delivers at least once while the server lives, to one group of consumers for each topic.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Appends messages, in order within a topic. At most one [`Message::ReaderSeen`] of a reader waits to be received,
    /// from all senders together. A deeper one replaces the one that waits; any other is dropped.
    async fn send(&self, messages: &[Message]) -> Result<(), StoreError>;

    /// Takes up to `max` messages that no other consumer has, waiting up to `wait` if there are none. Messages that
    /// were not acknowledged within the redelivery time come first.
    async fn receive(
        &self,
        topic: Topic,
        consumer: &str,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Received>, StoreError>;

    /// Acknowledges messages. Ignores unknown ids.
    async fn acknowledge(&self, topic: Topic, ids: &[String]) -> Result<(), StoreError>;

    /// Messages waiting or unacknowledged; for metrics and tests.
    async fn depth(&self, topic: Topic) -> Result<u64, StoreError>;
}
