//! The sending half of a socket: writes the frames that wait, and gives up on a client that does not read.
//!
//! A client that does not read cannot keep the server from reading.

use std::{time::Duration, vec};

use axum::extract::ws::Message;
use futures_util::{Sink, SinkExt as _};
use tokio::{sync::Notify, time::timeout};

use super::queues::{Batch, Event, Kind, Queues};
use crate::memory::Hold;

/// Memory of a frame up to this length is not counted.
const KEPT_BYTES: usize = 64 * 1024;

/// Sends until the last frames are sent, a frame takes longer than `send_time`, or the socket fails.
///
/// Frames that wait together are written together, such as a result and its `complete`. `pinged` is notified of each
/// sent ping.
pub(super) async fn write(
    sink: &mut (impl Sink<Message> + Unpin),
    queues: &Queues,
    send_time: Duration,
    pinged: &Notify,
) {
    // The library keeps the memory of its longest frame.
    let mut kept: Option<Hold> = None;
    loop {
        let Batch { events, kind } = queues.next().await;
        let (mut events, mut unsent) = (events.into_iter(), Vec::new());
        while let Some(frame) = next_frame(&mut events, &mut unsent) {
            if !matches!(timeout(send_time, sink.feed(frame)).await, Ok(Ok(()))) {
                return;
            }
        }
        if !matches!(timeout(send_time, sink.flush()).await, Ok(Ok(()))) {
            return;
        }
        let longest = unsent.into_iter().chain(kept.take()).max_by_key(Hold::bytes);
        kept = longest.filter(|held| held.bytes() > KEPT_BYTES);
        match kind {
            Kind::Frames => {}
            Kind::Ping => pinged.notify_one(),
            Kind::Last => return,
        }
    }
}

/// The frame of the next event that is not over; `unsent` gets its memory.
fn next_frame(events: &mut vec::IntoIter<Event>, unsent: &mut Vec<Hold>) -> Option<Message> {
    let event = events.find(|event| !event.is_over())?;
    unsent.extend(event.held);
    Some(event.frame)
}
