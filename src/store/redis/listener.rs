//! The subscription behind announcements. It is renewed whenever it breaks; listeners then get a gap, because
//! announcements may have been lost in between.

use std::sync::Arc;

use redis::{Cmd, Msg, PushInfo, PushKind, cmd};
use tokio::{
    sync::{Notify, broadcast},
    time::{sleep, timeout},
};

use super::{
    connect::Redis,
    error::{late, store_error},
    link::Link,
    retry::Retry,
    wire,
};
use crate::{
    rng::SharedRng,
    store::{StoreError, announcements::Announcement},
};

/// Keeps a subscription to some channels and forwards each announcement to local listeners.
pub struct Listener {
    redis: Redis,
    channels: Vec<String>,
    listeners: broadcast::Sender<Announcement>,
    rng: SharedRng,
}

/// A subscription that stood when it was made.
pub struct Subscription {
    link: Link,
    broken: Arc<Notify>,
}

impl Listener {
    /// For these channels; `rng` spreads attempts to reconnect.
    pub const fn new(
        redis: Redis,
        channels: Vec<String>,
        listeners: broadcast::Sender<Announcement>,
        rng: SharedRng,
    ) -> Self {
        Self { redis, channels, listeners, rng }
    }

    /// Subscribes to all channels on a connection of its own.
    pub async fn subscribe(&self) -> Result<Subscription, StoreError> {
        let broken = Arc::new(Notify::new());
        let (listeners, notify) = (self.listeners.clone(), Arc::clone(&broken));
        let opening = self.redis.connect_listening(move |push| hear(&listeners, &notify, push));
        let limit = self.redis.options().connect_timeout();
        let link = match timeout(limit, opening).await {
            Ok(link) => link.map_err(store_error)?,
            Err(_) => return Err(late(limit)),
        };
        let mut subscription = Subscription { link, broken };
        self.confirm(&mut subscription).await?;
        Ok(subscription)
    }

    /// Holds `subscription`, and every one after it, for ever.
    pub async fn run(self, mut subscription: Subscription) {
        loop {
            self.hold(subscription).await;
            tracing::warn!("The subscription to announcements broke. Subscribing again.");
            subscription = self.resubscribe().await;
            tracing::info!("Announcements are received again.");
            // Sent only now: announcements may have been lost until here, and arrive from here on.
            let _ = self.listeners.send(Announcement::Gap);
        }
    }

    async fn hold(&self, mut subscription: Subscription) {
        let broken = Arc::clone(&subscription.broken);
        let check = self.redis.options().subscription_check();
        loop {
            tokio::select! {
                () = broken.notified() => return,
                // Subscribing again tells whether a silent connection still stands, and does nothing if it does.
                () = sleep(check) => {
                    let stands = self.confirm(&mut subscription).await.is_ok();
                    if !stands || self.redis.is_led_away_from(&subscription.link).await {
                        return;
                    }
                }
            }
        }
    }

    async fn resubscribe(&self) -> Subscription {
        let mut retry = Retry::new(&self.rng);
        loop {
            match self.subscribe().await {
                Ok(subscription) => return subscription,
                Err(error) => tracing::debug!(
                    attempts = retry.failures(),
                    error = &error as &dyn std::error::Error,
                    "Subscribing to announcements failed. It will be tried again."
                ),
            }
            retry.wait().await;
        }
    }

    async fn confirm(&self, subscription: &mut Subscription) -> Result<(), StoreError> {
        let subscribe = |channel: &String| -> Cmd {
            let mut subscribe = cmd("SSUBSCRIBE");
            subscribe.arg(channel);
            subscribe
        };
        let commands = self.channels.iter().map(subscribe).collect();
        let answers = self.redis.within(subscription.link.run_each(commands)).await?;
        answers.into_iter().try_for_each(|answer| answer.map(drop)).map_err(store_error)
    }
}

/// Called by the connection itself, so it must not wait. It skips what it cannot read:
/// a later version announces that in its own way, too.
fn hear(listeners: &broadcast::Sender<Announcement>, broken: &Notify, push: PushInfo) {
    match push.kind {
        // A node unsubscribes its clients when it gives a channel's slot away. This process never unsubscribes.
        PushKind::Disconnection | PushKind::SUnsubscribe => broken.notify_one(),
        PushKind::SMessage => {
            let announcement = Msg::from_push_info(push).and_then(|push| wire::decode(push.get_payload_bytes()));
            if let Some(announcement) = announcement {
                // An error means that there is no listener.
                let _ = listeners.send(announcement);
            }
        }
        _ => {}
    }
}
