//! Announcements as sharded publish/subscribe, which a single server and a cluster know alike. A node hears the
//! channels that all nodes share, and those of the groups of contents and users that it wants to hear of.

use std::sync::Arc;

use async_trait::async_trait;
use redis::cmd;
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{channels::channel_of, connect::Redis, interest::Interest, listener::Listener, retry::Retry, wire};
use crate::{
    domain::Shown,
    rng::SharedRng,
    store::{Announcements, StoreError, announcements::Announcement, recent_changes::RecentChanges},
};

/// Announcements on Redis. Payloads are JSON with a version. Listeners get [`Announcement::Gap`] each time the
/// subscription was renewed, and each time a node could not send.
pub struct RedisAnnouncements {
    redis: Redis,
    listeners: broadcast::Sender<Announcement>,
    /// An announcement was not sent, or whether it was is unknown.
    lost: Arc<Notify>,
    recent: RecentChanges,
    interest: Arc<Interest>,
    /// The version of the interest that is subscribed; `None` while the subscription is broken.
    subscribed: watch::Receiver<Option<u64>>,
}

impl RedisAnnouncements {
    /// Subscribes, and has a task in `tracker` hold the subscription until `stop`; `rng` spreads its attempts to
    /// reconnect. Listeners get every announcement to all nodes that is sent after this has returned, or a gap.
    pub async fn start(
        redis: Redis,
        tracker: &TaskTracker,
        stop: &CancellationToken,
        rng: SharedRng,
    ) -> Result<Self, StoreError> {
        let listeners = broadcast::Sender::new(redis.options().announcement_buffer);
        let (interest, (subscribing, subscribed)) = (Arc::<Interest>::default(), watch::channel(None));
        let listener = Listener::new(redis.clone(), Arc::clone(&interest), subscribing, listeners.clone(), rng.clone());
        let subscription = listener.subscribe().await?;
        tracker.spawn(stop.clone().run_until_cancelled_owned(listener.run(subscription)));
        let lost = Arc::new(Notify::new());
        let announcing = announce_gaps(redis.clone(), Arc::clone(&lost), rng);
        tracker.spawn(stop.clone().run_until_cancelled_owned(announcing));
        Ok(Self { redis, listeners, lost, recent: RecentChanges::default(), interest, subscribed })
    }
}

async fn send(redis: &Redis, announcement: &Announcement) -> Result<(), StoreError> {
    let mut publish = cmd("SPUBLISH");
    publish.arg(channel_of(redis, announcement)).arg(wire::encode(announcement)?);
    let mut link = redis.commands();
    redis.within(publish.exec_async(&mut link)).await
}

/// Announces a gap after each announcement that could not be sent, as soon as Redis takes one.
async fn announce_gaps(redis: Redis, lost: Arc<Notify>, rng: SharedRng) {
    loop {
        lost.notified().await;
        let mut retry = Retry::new(&rng);
        while send(&redis, &Announcement::Gap).await.is_err() {
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

#[async_trait]
impl Announcements for RedisAnnouncements {
    async fn announce(&self, announcement: &Announcement) -> Result<(), StoreError> {
        if *announcement == Announcement::Gap || self.recent.contains(announcement) {
            return Ok(());
        }
        let lost = NotifyUnlessSent(Some(&self.lost));
        send(&self.redis, announcement).await?;
        lost.sent();
        Ok(())
    }

    fn listen(&self) -> broadcast::Receiver<Announcement> {
        self.listeners.subscribe()
    }

    fn want(&self, shown: Shown) {
        self.interest.want(shown);
    }

    fn unwant(&self, shown: Shown) {
        self.interest.unwant(shown);
    }

    async fn settled(&self) {
        let (wanted, mut subscribed) = (self.interest.version(), self.subscribed.clone());
        // An error means that the task has been stopped.
        let _ = subscribed.wait_for(|subscribed| subscribed.is_none_or(|version| version >= wanted)).await;
    }
}
