//! Whether a client keeps the server waiting for the rest of a message.
//!
//! Apart, because the library tells of whole messages only: what has come is held against what was whole. What comes in one packet with the
//! end of a whole message counts as part of that one until more comes.

use axum::extract::ws::Message;

use crate::api::http::connections::Received;

/// A client's control frame without its payload: two bytes and the mask (RFC 6455 section 5.2).
const CONTROL_HEAD_BYTES: u64 = 6;

/// What has come of a socket and is no whole message yet.
pub(super) struct Unfinished {
    /// Without it nobody knows.
    received: Option<Received>,
    whole: u64,
    was_there: bool,
}

impl Unfinished {
    pub(super) fn new(received: Option<Received>) -> Self {
        let whole = received.as_ref().map_or(0, Received::bytes);
        Self { received, whole, was_there: false }
    }

    /// A whole message, or a control frame, which may come between the parts of one.
    pub(super) fn heard<E>(&mut self, frame: Option<&Result<Message, E>>) {
        let come = self.received.as_ref().map_or(0, Received::bytes);
        if let Some(Ok(Message::Ping(bytes) | Message::Pong(bytes))) = frame {
            self.whole = come.min(self.whole + bytes.len() as u64 + CONTROL_HEAD_BYTES);
        } else {
            (self.whole, self.was_there) = (come, false);
        }
    }

    /// Asked at intervals: whether a part of the same message was there the last time already.
    pub(super) fn is_stuck(&mut self) -> bool {
        let come = self.received.as_ref().map_or(0, Received::bytes);
        let is_there = come > self.whole;
        std::mem::replace(&mut self.was_there, is_there) && is_there
    }
}
