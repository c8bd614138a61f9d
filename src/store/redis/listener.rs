//! The subscription behind announcements. It follows what the node wants to hear of, and is renewed whenever it breaks;
//! listeners then get a gap, because announcements may have been lost in between.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use redis::{Msg, PushInfo, PushKind, Value, cmd};
use tokio::{
    sync::{Notify, broadcast, watch},
    time::{Instant, sleep_until, timeout},
};

use super::{
    channels::{Group, shared_channels},
    connect::Redis,
    error::{late, store_error},
    interest::Interest,
    link::Link,
    retry::Retry,
    wire,
};
use crate::{
    rng::SharedRng,
    store::{StoreError, announcements::Announcement},
    telemetry::metrics::{ANNOUNCEMENT_GROUPS, ANNOUNCEMENTS_RECEIVED},
};

/// Channels that are asked for within the time of one command.
const AT_ONCE: usize = 1_024;

/// Keeps the subscription and forwards each announcement to local listeners.
pub struct Listener {
    redis: Redis,
    interest: Arc<Interest>,
    /// The version of the interest that is subscribed; `None` while the subscription is broken.
    subscribed: watch::Sender<Option<u64>>,
    listeners: broadcast::Sender<Announcement>,
    rng: SharedRng,
}

/// A subscription that stood when it was made.
pub struct Subscription {
    link: Link,
    groups: BTreeSet<Group>,
    broken: Arc<Notify>,
    leaving: Leaving,
}

/// Channels that are being left: the server still has to confirm it.
type Leaving = Arc<Mutex<HashSet<Vec<u8>>>>;

impl Subscription {
    fn measure(&self) {
        metrics::gauge!(ANNOUNCEMENT_GROUPS).set(u32::try_from(self.groups.len()).unwrap_or(u32::MAX));
    }
}

impl Listener {
    /// Subscribes to what `interest` says, and tells in `subscribed` how far; `rng` spreads attempts to reconnect.
    pub const fn new(
        redis: Redis,
        interest: Arc<Interest>,
        subscribed: watch::Sender<Option<u64>>,
        listeners: broadcast::Sender<Announcement>,
        rng: SharedRng,
    ) -> Self {
        Self { redis, interest, subscribed, listeners, rng }
    }

    /// Subscribes to all that is wanted, on a connection of its own.
    pub async fn subscribe(&self) -> Result<Subscription, StoreError> {
        let (broken, leaving) = (Arc::new(Notify::new()), Leaving::default());
        let (listeners, notify, left) = (self.listeners.clone(), Arc::clone(&broken), Arc::clone(&leaving));
        let opening = self.redis.connect_listening(move |push| hear(&listeners, &notify, &left, push));
        let limit = self.redis.options().connect_timeout();
        let link = match timeout(limit, opening).await {
            Ok(link) => link.map_err(store_error)?,
            Err(_) => return Err(late(limit)),
        };
        let mut subscription = Subscription { link, groups: BTreeSet::new(), broken, leaving };
        self.confirm(&mut subscription).await?;
        self.join_wanted(&mut subscription).await?;
        Ok(subscription)
    }

    /// Holds `subscription`, and every one after it, for ever.
    pub async fn run(self, mut subscription: Subscription) {
        loop {
            self.hold(subscription).await;
            self.subscribed.send_replace(None);
            tracing::warn!("The subscription to announcements broke. Subscribing again.");
            subscription = self.resubscribe().await;
            tracing::info!("Announcements are received again.");
            // Sent only now: announcements may have been lost until here, and arrive from here on. Who wanted a group
            // meanwhile and did not wait for it reads again because of the gap, and waits then.
            let _ = self.listeners.send(Announcement::Gap);
        }
    }

    async fn hold(&self, mut subscription: Subscription) {
        let broken = Arc::clone(&subscription.broken);
        let every = self.redis.options().subscription_check();
        let mut check_at = Instant::now() + every;
        let mut stands = true;
        while stands {
            stands = tokio::select! {
                biased;
                () = broken.notified() => false,
                // Subscribing again tells whether a silent connection still stands, and does nothing if it does.
                () = sleep_until(check_at) => {
                    let stands = self.confirm(&mut subscription).await.is_ok()
                        && !self.redis.is_led_away_from(&subscription.link).await
                        && self.leave_unwanted(&mut subscription).await.is_ok();
                    check_at = Instant::now() + every;
                    stands
                }
                () = self.interest.grew() => self.join_wanted(&mut subscription).await.is_ok(),
            };
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

    /// One channel of each slot with groups, so that it tells of all of them.
    async fn confirm(&self, subscription: &mut Subscription) -> Result<(), StoreError> {
        self.ask(subscription, "SSUBSCRIBE", shared_channels(&self.redis)).await
    }

    /// From here on, all that was wanted before the call is heard.
    async fn join_wanted(&self, subscription: &mut Subscription) -> Result<(), StoreError> {
        let (version, wanted) = self.interest.groups();
        let new = wanted.difference(&subscription.groups).map(|group| group.channel(&self.redis)).collect();
        self.ask(subscription, "SSUBSCRIBE", new).await?;
        subscription.groups.extend(wanted);
        self.subscribed.send_replace(Some(version));
        subscription.measure();
        Ok(())
    }

    /// By the task that joins, so that a group that is wanted again is joined after it was left.
    async fn leave_unwanted(&self, subscription: &mut Subscription) -> Result<(), StoreError> {
        let (_, wanted) = self.interest.groups();
        let left = subscription.groups.difference(&wanted).map(|group| group.channel(&self.redis));
        let left: Vec<String> = left.collect();
        subscription.groups.retain(|group| wanted.contains(group));
        let asked = left.iter().map(|channel| channel.clone().into_bytes());
        subscription.leaving.lock().unwrap_or_else(PoisonError::into_inner).extend(asked);
        self.ask(subscription, "SUNSUBSCRIBE", left).await?;
        subscription.measure();
        Ok(())
    }

    /// Sends `word` for each channel. An answer that names another channel shows that the library has taken a message
    /// that came unasked for an answer.
    async fn ask(&self, it: &mut Subscription, word: &'static str, channels: Vec<String>) -> Result<(), StoreError> {
        for channels in channels.chunks(AT_ONCE) {
            let commands = channels.iter().map(|channel| cmd(word).arg(channel).to_owned()).collect();
            let answers = self.redis.within(it.link.run_each(commands)).await?;
            for (channel, answer) in channels.iter().zip(answers) {
                let answer = answer.map_err(store_error)?;
                if !is_about(&answer, channel) {
                    return Err(StoreError::Unavailable(format!("{word} of {channel} was answered {answer:?}").into()));
                }
            }
        }
        Ok(())
    }
}

fn is_about(answer: &Value, channel: &str) -> bool {
    matches!(answer, Value::Push { data, .. } if named(data).is_some_and(|named| named == channel.as_bytes()))
}

/// The channel that a push is about.
fn named(data: &[Value]) -> Option<&[u8]> {
    match data.first() {
        Some(Value::BulkString(name)) => Some(name),
        _ => None,
    }
}

/// Called by the connection itself, so it must not wait. It skips what it cannot read:
/// a later version announces that in its own way, too.
fn hear(
    listeners: &broadcast::Sender<Announcement>,
    broken: &Notify,
    leaving: &Mutex<HashSet<Vec<u8>>>,
    push: PushInfo,
) {
    match push.kind {
        PushKind::Disconnection => broken.notify_one(),
        // A node unsubscribes its clients when it gives a channel's slot away.
        PushKind::SUnsubscribe => {
            let mut leaving = leaving.lock().unwrap_or_else(PoisonError::into_inner);
            if !named(&push.data).is_some_and(|channel| leaving.remove(channel)) {
                broken.notify_one();
            }
        }
        PushKind::SMessage => {
            metrics::counter!(ANNOUNCEMENTS_RECEIVED).increment(1);
            let announcement = Msg::from_push_info(push).and_then(|push| wire::decode(push.get_payload_bytes()));
            if let Some(announcement) = announcement {
                // An error means that there is no listener.
                let _ = listeners.send(announcement);
            }
        }
        _ => {}
    }
}
