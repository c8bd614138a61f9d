//! Detects clients that never finish a message.
//!
//! The WebSocket library reports complete messages only. So this module compares the bytes received with the bytes of
//! complete messages. Bytes that arrive in one packet with the end of a message count as part of it until more arrive.

use axum::extract::ws::Message;

use crate::{http::connections::Received, memory::Hold};

/// A message of many short frames may have this many times its own length on the wire.
const BYTES_ON_THE_WIRE: u64 = 2;
/// Beside that, a message may have this many bytes of heads and of what comes in one packet with it.
const BYTES_BESIDE: u64 = 4 * 1024;

/// A control frame of a client without payload: two bytes and the mask (RFC 6455 section 5.2).
const CONTROL_HEAD_BYTES: u64 = 6;

/// The bytes of a message that is not complete.
pub(super) struct Unfinished {
    /// `None` if received bytes are not counted.
    received: Option<Received>,
    was_there: bool,
}

impl Unfinished {
    /// `hold` counts the bytes of an unfinished message from now on, which has `most` bytes at most.
    pub(super) fn new(received: Option<Received>, hold: Hold, most: usize) -> Self {
        if let Some(received) = &received {
            received.hold_messages_with(hold, most as u64 * BYTES_ON_THE_WIRE + BYTES_BESIDE);
        }
        Self { received, was_there: false }
    }

    /// Counts a complete message, or a control frame between the parts of one.
    pub(super) fn note_received<E>(&mut self, frame: Option<&Result<Message, E>>) {
        let Some(received) = &self.received else { return };
        match frame {
            Some(Ok(Message::Ping(bytes) | Message::Pong(bytes))) => {
                received.finish_some(bytes.len() as u64 + CONTROL_HEAD_BYTES);
            }
            Some(Err(_)) => {}
            _ => {
                received.finish();
                self.was_there = false;
            }
        }
    }

    /// Called at intervals: whether the same message was incomplete at the last call, too.
    pub(super) fn is_stuck(&mut self) -> bool {
        let is_there = self.received.as_ref().is_some_and(|received| received.unfinished() > 0);
        std::mem::replace(&mut self.was_there, is_there) && is_there
    }
}
