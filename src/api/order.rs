//! Keeps what is published one after the other in this order.

use std::time::Duration;

use tokio::time::sleep;

use crate::clock::SharedClock;

/// How often a content waits for the next millisecond, so that it stands above the one before it.
const WAITS: usize = 10;
const WAIT: Duration = Duration::from_millis(1);

/// Waits until the clock is beyond `newest`. Timelines have no order within a millisecond that anybody could choose.
pub async fn wait_beyond(newest: i64, clock: &SharedClock) {
    for _ in 0..WAITS {
        if clock.now_ms() > newest {
            return;
        }
        sleep(WAIT).await;
    }
}
