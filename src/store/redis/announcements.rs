//! Announcements as sharded publish/subscribe, which a single server and a cluster know alike: sixteen channels, chosen by
//! whom an announcement is about, so that a cluster spreads them over its nodes.

use async_trait::async_trait;
use redis::cmd;
use tokio::sync::broadcast;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{connect::Redis, listener::Listener, wire};
use crate::{
    domain::UserId,
    draw::Draw,
    store::{Announcements, StoreError, announcements::Announcement},
};

/// Channels; a constant of the interface between nodes, which must agree on it.
const CHANNELS: i64 = 16;

/// Announcements on Redis: channels `{prefix}announcements:0` to `15`, payloads as JSON with a version. Whoever listens is
/// told [`Announcement::Gap`] each time the subscription had to be made anew.
pub struct RedisAnnouncements {
    redis: Redis,
    listeners: broadcast::Sender<Announcement>,
}

impl RedisAnnouncements {
    /// Subscribes, and has a task in `tracker` hold the subscription until `stop`; `draw` spreads its attempts to
    /// reconnect. What is announced after this has returned is heard.
    pub async fn start(
        redis: Redis,
        tracker: &TaskTracker,
        stop: &CancellationToken,
        draw: Draw,
    ) -> Result<Self, StoreError> {
        let listeners = broadcast::Sender::new(redis.options().announcement_buffer);
        let channels = (0..CHANNELS).map(|number| channel(&redis, number)).collect();
        let listener = Listener::new(redis.clone(), channels, listeners.clone(), draw);
        let subscription = listener.subscribe().await?;
        tracker.spawn(stop.clone().run_until_cancelled_owned(listener.run(subscription)));
        Ok(Self { redis, listeners })
    }
}

fn channel(redis: &Redis, number: i64) -> String {
    redis.key(&format!("announcements:{number}"))
}

/// Whom it is about; nobody for what is never sent.
const fn subject(announcement: &Announcement) -> Option<UserId> {
    match announcement {
        Announcement::Published { entry } | Announcement::Removed { entry } => Some(entry.author),
        Announcement::FollowsChanged { reader } | Announcement::ReadMarkerMoved { reader, .. } => Some(*reader),
        Announcement::Gap => None,
    }
}

#[async_trait]
impl Announcements for RedisAnnouncements {
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError> {
        let Some(subject) = subject(announcement) else { return Ok(()) };
        let mut publish = cmd("SPUBLISH");
        publish.arg(channel(&self.redis, subject.get() % CHANNELS)).arg(wire::encode(announcement)?);
        let mut link = self.redis.commands();
        self.redis.within(publish.exec_async(&mut link)).await
    }

    fn listen(&self) -> broadcast::Receiver<Announcement> {
        self.listeners.subscribe()
    }
}
