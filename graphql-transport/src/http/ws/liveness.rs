//! Decides when to send a ping, and when to give up on a client that does not answer. The socket sends.

use std::time::Duration;

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::http::connections::Received;

/// The next step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Ping,
    GiveUp,
}

/// What the server knows about whether the client is alive.
pub(super) struct Liveness<'a> {
    every: Duration,
    /// When the next ping is due.
    ping_at: Instant,
    /// Notified when a ping has been sent.
    pinged: &'a Notify,
    time: Duration,
    /// Counts received bytes: a part of a message shows life as a pong does. Without it, only complete frames count.
    received: Option<Received>,
    phase: Phase,
}

#[derive(Clone, Copy)]
enum Phase {
    Quiet,
    /// A ping waits in the queue, whose own deadline applies.
    Queued,
    /// A ping was sent when this many bytes had arrived.
    Sent {
        deadline: Instant,
        bytes: u64,
    },
}

impl<'a> Liveness<'a> {
    /// `every`: time between pings. `time`: time to answer one.
    pub(super) fn new(every: Duration, time: Duration, pinged: &'a Notify, received: Option<Received>) -> Self {
        Self { every, ping_at: Instant::now() + every, pinged, time, received, phase: Phase::Quiet }
    }

    /// Waits for the next step. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Step {
        loop {
            let due = match self.phase {
                Phase::Quiet => Some(self.ping_at),
                Phase::Queued => None,
                Phase::Sent { deadline, .. } => Some(deadline),
            };
            tokio::select! {
                biased;
                // Queued -> Sent.
                () = self.pinged.notified() => {
                    self.phase = Phase::Sent { deadline: Instant::now() + self.time, bytes: self.bytes() };
                }
                () = sleep_until(due.unwrap_or(self.ping_at)), if due.is_some() => {
                    if let Some(step) = self.step() {
                        return step;
                    }
                }
            }
        }
    }

    /// Sent -> Quiet: a frame has arrived.
    pub(super) fn note_received(&mut self) {
        if matches!(self.phase, Phase::Sent { .. }) {
            self.phase = Phase::Quiet;
        }
    }

    /// The step at the time that the phase has set.
    fn step(&mut self) -> Option<Step> {
        match self.phase {
            // Quiet -> Queued.
            Phase::Quiet => {
                self.ping_at = Instant::now() + self.every;
                self.phase = Phase::Queued;
                Some(Step::Ping)
            }
            Phase::Queued => None,
            // Sent -> Quiet. The client is gone if not even a part of a frame has arrived.
            Phase::Sent { bytes, .. } => {
                self.phase = Phase::Quiet;
                (self.bytes() == bytes).then_some(Step::GiveUp)
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.received.as_ref().map_or(0, Received::bytes)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const EVERY: Duration = Duration::from_secs(12);
    const TIME: Duration = Duration::from_secs(15);

    #[tokio::test(start_paused = true)]
    async fn a_client_silent_for_the_pong_time_is_given_up() {
        let pinged = Notify::new();
        let mut client = Liveness::new(EVERY, TIME, &pinged, None);
        let begin = Instant::now();
        assert_eq!(client.next().await, Step::Ping);
        pinged.notify_one();
        assert_eq!(client.next().await, Step::GiveUp);
        assert_eq!(begin.elapsed(), EVERY + TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn the_pong_deadline_starts_only_once_the_ping_is_sent() {
        let pinged = Notify::new();
        let mut client = Liveness::new(EVERY, TIME, &pinged, None);
        assert_eq!(client.next().await, Step::Ping);
        assert!(timeout(10 * TIME, client.next()).await.is_err(), "neither another ping nor the end");
        client.note_received();
        pinged.notify_one();
        assert_eq!(client.next().await, Step::GiveUp, "what came before the ping went is no answer to it");
    }

    #[tokio::test(start_paused = true)]
    async fn who_answers_is_asked_again() {
        let pinged = Notify::new();
        let mut client = Liveness::new(EVERY, TIME, &pinged, None);
        for _ in 0..5 {
            assert_eq!(client.next().await, Step::Ping);
            pinged.notify_one();
            assert!(timeout(TIME / 2, client.next()).await.is_err());
            client.note_received();
        }
    }
}
