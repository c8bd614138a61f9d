//! Counts and logs notifications that were lost after a commit. Nothing depends on them.

use super::metrics::NOTIFICATIONS_LOST;

/// Counts and logs the notification if sending failed. `to`: the receiver, the metric's label.
pub fn note_lost<E: std::error::Error + 'static>(to: &'static str, sent: Result<(), E>) {
    if let Err(error) = sent {
        metrics::counter!(NOTIFICATIONS_LOST, "to" => to).increment(1);
        tracing::warn!(error = &error as &dyn std::error::Error, to, "A notification was lost.");
    }
}
