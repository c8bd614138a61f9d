//! Notifications that are sent after a commit: nothing depends on them, so a lost one is counted and logged.

use super::metrics::NOTIFICATIONS_LOST;

/// Counts and logs the notification if it was lost. `to`: where it was sent, the metric's label.
pub fn note_lost<E: std::error::Error + 'static>(to: &'static str, sent: Result<(), E>) {
    if let Err(error) = sent {
        metrics::counter!(NOTIFICATIONS_LOST, "to" => to).increment(1);
        tracing::warn!(error = &error as &dyn std::error::Error, to, "A notification was lost.");
    }
}
