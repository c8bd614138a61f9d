//! Detects clients that never finish a message.
//!
//! The WebSocket library reports complete messages only. So this module compares the bytes received with the bytes of
//! complete messages. Bytes that arrive in one packet with the end of a message count as part of it until more arrive.

use axum::extract::ws::Message;

use crate::{http::connections::Received, memory::Hold};

/// A client's control frame without its payload: two bytes and the mask (RFC 6455 section 5.2).
const CONTROL_HEAD_BYTES: u64 = 6;

/// What has come of a socket and is no whole message yet.
pub(super) struct Unfinished {
    /// Without it nobody knows.
    received: Option<Received>,
    was_there: bool,
}

impl Unfinished {
    /// `hold` counts the bytes of an unfinished message from now on.
    pub(super) fn new(received: Option<Received>, hold: Hold) -> Self {
        if let Some(received) = &received {
            received.hold_with(Some(hold));
        }
        Self { received, was_there: false }
    }

    /// A whole message, or a control frame, which may come between the parts of one.
    pub(super) fn heard<E>(&mut self, frame: Option<&Result<Message, E>>) {
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

    /// Asked at intervals: whether a part of the same message was there the last time already.
    pub(super) fn is_stuck(&mut self) -> bool {
        let is_there = self.received.as_ref().is_some_and(|received| received.unfinished() > 0);
        std::mem::replace(&mut self.was_there, is_there) && is_there
    }
}
