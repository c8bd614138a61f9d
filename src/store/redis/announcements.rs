//! Announcements as sharded publish/subscribe, which a single server and a cluster know alike: sixteen channels,
//! chosen by whom an announcement is about, so that a cluster spreads them over its nodes.

use std::sync::Arc;

use async_trait::async_trait;
use redis::cmd;
use tokio::sync::{Notify, broadcast};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{connect::Redis, listener::Listener, retry::Retry, wire};
use crate::{
    domain::UserId,
    rng::SharedRng,
    store::{Announcements, StoreError, announcements::Announcement},
};

/// Channels; a constant of the interface between nodes, which must agree on it.
const CHANNELS: i64 = 16;

/// Announcements on Redis: channels `{prefix}announcements:0` to `15`, or `{prefix}{database}:announcements:0` with
/// another database than 0, because all databases of a server share their channels. Payloads are JSON with a version.
/// Listeners get [`Announcement::Gap`] each time the subscription was renewed, and each time a node could not send.
pub struct RedisAnnouncements {
    redis: Redis,
    listeners: broadcast::Sender<Announcement>,
    /// An announcement was not sent, or whether it was is unknown.
    lost: Arc<Notify>,
}

impl RedisAnnouncements {
    /// Subscribes, and has a task in `tracker` hold the subscription until `stop`; `rng` spreads its attempts to
    /// reconnect. Listeners get every announcement that is sent after this has returned, or a gap.
    pub async fn start(
        redis: Redis,
        tracker: &TaskTracker,
        stop: &CancellationToken,
        rng: SharedRng,
    ) -> Result<Self, StoreError> {
        let listeners = broadcast::Sender::new(redis.options().announcement_buffer);
        let channels = (0..CHANNELS).map(|number| channel(&redis, number)).collect();
        let listener = Listener::new(redis.clone(), channels, listeners.clone(), rng.clone());
        let subscription = listener.subscribe().await?;
        tracker.spawn(stop.clone().run_until_cancelled_owned(listener.run(subscription)));
        let lost = Arc::new(Notify::new());
        let announcing = announce_gaps(redis.clone(), Arc::clone(&lost), rng);
        tracker.spawn(stop.clone().run_until_cancelled_owned(announcing));
        Ok(Self { redis, listeners, lost })
    }
}

fn channel(redis: &Redis, number: i64) -> String {
    match redis.database() {
        0 => redis.key(&format!("announcements:{number}")),
        database => redis.key(&format!("{database}:announcements:{number}")),
    }
}

async fn send(redis: &Redis, number: i64, announcement: &Announcement) -> Result<(), StoreError> {
    let mut publish = cmd("SPUBLISH");
    publish.arg(channel(redis, number)).arg(wire::encode(announcement)?);
    let mut link = redis.commands();
    redis.within(publish.exec_async(&mut link)).await
}

/// Announces a gap after each announcement that could not be sent, as soon as Redis takes one. One channel suffices,
/// because every node listens to all of them.
async fn announce_gaps(redis: Redis, lost: Arc<Notify>, rng: SharedRng) {
    loop {
        lost.notified().await;
        let mut retry = Retry::new(&rng);
        while send(&redis, 0, &Announcement::Gap).await.is_err() {
            retry.wait().await;
        }
    }
}

/// Notifies when it is dropped before [`Self::sent`]: after a failure, and when the caller gave up waiting.
struct NotifyUnlessSent<'a>(Option<&'a Notify>);

impl NotifyUnlessSent<'_> {
    fn sent(mut self) {
        self.0 = None;
    }
}

impl Drop for NotifyUnlessSent<'_> {
    fn drop(&mut self) {
        if let Some(lost) = self.0 {
            lost.notify_one();
        }
    }
}

/// The user whom it is about; `None` for announcements that are never sent.
const fn subject(announcement: &Announcement) -> Option<UserId> {
    match announcement {
        Announcement::Published { entry, .. } | Announcement::Removed { entry } => Some(entry.author),
        Announcement::FollowsChanged { reader, .. } | Announcement::ReadMarkerMoved { reader, .. } => Some(*reader),
        Announcement::SessionEnded { user, .. } | Announcement::AccountDeleted { user } => Some(*user),
        Announcement::Gap => None,
    }
}

#[async_trait]
impl Announcements for RedisAnnouncements {
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError> {
        let Some(subject) = subject(announcement) else { return Ok(()) };
        let lost = NotifyUnlessSent(Some(&self.lost));
        send(&self.redis, subject.get() % CHANNELS, announcement).await?;
        lost.sent();
        Ok(())
    }

    fn listen(&self) -> broadcast::Receiver<Announcement> {
        self.listeners.subscribe()
    }
}
