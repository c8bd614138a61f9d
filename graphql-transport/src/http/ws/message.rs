//! The messages of graphql-transport-ws, and the codes with which a socket closes: github.com/enisdenjo/graphql-ws,
//! PROTOCOL.md.

use std::{io, time::Duration};

use async_graphql::ServerError;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::{
    http::{
        connections::Unreceived,
        outcome::{Payload, json_within},
    },
    memory::{Hold, NoRoom},
};

/// The subprotocol's name.
pub(super) const SUBPROTOCOL: &str = "graphql-transport-ws";

/// Most bytes of a pong that repeats the payload of its ping.
const PONG_BYTES: usize = 512;

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(super) enum ClientMessage {
    ConnectionInit { payload: Map<String, Json> },
    Ping { payload: Option<Json> },
    Pong,
    Subscribe { id: String, payload: Json },
    Complete { id: String },
}

impl ClientMessage {
    /// `Err`: why it is invalid, short enough for a close frame.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Ok(Json::Object(mut message)) = serde_json::from_str(text) else {
            return Err("a message has to be a JSON object".to_owned());
        };
        let kind = message.remove("type");
        let Some(kind) = kind.as_ref().and_then(Json::as_str) else {
            return Err("a message has to have a \"type\"".to_owned());
        };
        let payload = message.remove("payload").filter(|payload| !payload.is_null());
        match kind {
            "connection_init" => Ok(Self::ConnectionInit { payload: object(payload)?.unwrap_or_default() }),
            "ping" => Ok(Self::Ping { payload: object(payload)?.map(Json::Object) }),
            "pong" => object(payload).map(|_| Self::Pong),
            "subscribe" => {
                let payload = object(payload)?.ok_or("\"subscribe\" has to have a \"payload\"")?;
                Ok(Self::Subscribe { id: id(&message)?, payload: Json::Object(payload) })
            }
            "complete" => Ok(Self::Complete { id: id(&message)? }),
            other => Err(format!("\"{}\" is not a message type", other.chars().take(40).collect::<String>())),
        }
    }
}

fn object(payload: Option<Json>) -> Result<Option<Map<String, Json>>, String> {
    match payload {
        None => Ok(None),
        Some(Json::Object(map)) => Ok(Some(map)),
        Some(_) => Err("\"payload\" has to be an object".to_owned()),
    }
}

fn id(message: &Map<String, Json>) -> Result<String, String> {
    match message.get("id") {
        Some(Json::String(id)) if !id.is_empty() => Ok(id.clone()),
        _ => Err("\"id\" has to be a string that is not empty".to_owned()),
    }
}

/// A message of the server.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ServerMessage<'a> {
    ConnectionAck,
    Pong {
        #[serde(skip_serializing_if = "Option::is_none")]
        payload: Option<Json>,
    },
    Next {
        id: &'a str,
        payload: Payload<'a>,
    },
    Error {
        id: &'a str,
        payload: &'a [ServerError],
    },
    Complete {
        id: &'a str,
    },
}

impl ServerMessage<'_> {
    /// The answer to a ping, with its payload if that is short. The protocol leaves a pong's payload to the server.
    pub(super) fn pong(payload: Option<Json>) -> Message {
        let pong = json_within(&Self::Pong { payload }, PONG_BYTES).and_then(|json| String::from_utf8(json).ok());
        pong.map_or_else(|| Self::Pong { payload: None }.to_frame(), |json| Message::Text(json.into()))
    }

    pub(super) fn to_frame(&self) -> Message {
        let json = json_within(self, usize::MAX).and_then(|json| String::from_utf8(json).ok());
        Message::Text(json.unwrap_or_default().into())
    }

    /// A frame that holds its memory; `None` if it exceeds `most` bytes.
    pub(super) fn to_held_frame(&self, most: usize, mut hold: Hold) -> Option<(Message, Hold)> {
        let mut json = String::from_utf8(json_within(self, most)?).ok()?;
        json.shrink_to_fit();
        hold.settle(json.len());
        Some((Message::Text(json.into()), hold))
    }
}

/// Why the server closes a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Closing {
    GoingAway,
    TooLarge {
        limit: usize,
    },
    Unreadable,
    NotUtf8,
    Unfinished {
        seconds: u64,
    },
    TryAgainLater,
    BadMessage(String),
    Unauthorized,
    Forbidden(String),
    /// The token was valid when the socket began.
    SignInEnded,
    InitTimeout,
    NoPong {
        time: Duration,
    },
    DuplicateId(String),
    TwoInits,
    TooManyOperations {
        limit: usize,
    },
    TooManySockets {
        limit: usize,
    },
    /// More messages that cost no points than come back.
    TooManyMessages {
        per_second: u32,
    },
    /// There is no memory for a longer part of a message.
    NoRoom(NoRoom),
}

impl Closing {
    fn code_and_reason(&self) -> (u16, String) {
        match self {
            Self::GoingAway => (1001, "Going away: the server stops. Connect again.".to_owned()),
            Self::TooLarge { limit } => (1009, format!("Message too large: the limit is {limit} bytes")),
            Self::Unreadable => (1002, "Protocol error: a frame cannot be read".to_owned()),
            Self::NotUtf8 => (1007, "Invalid text: a message has to be UTF-8".to_owned()),
            Self::Unfinished { seconds } => (1008, format!("A message has to come whole within {seconds} seconds")),
            Self::TryAgainLater => (1013, "Try again later".to_owned()),
            Self::BadMessage(what) => (4400, format!("Invalid message: {what}")),
            Self::Unauthorized => (4401, "Unauthorized: send connection_init first".to_owned()),
            Self::Forbidden(why) => (4403, format!("Forbidden: {why}")),
            Self::SignInEnded => (4403, "Forbidden: the sign-in has ended. Sign in again.".to_owned()),
            Self::InitTimeout => (4408, "Connection initialisation timeout".to_owned()),
            Self::NoPong { time } => (4408, format!("Request timeout: no answer to a ping within {time:?}")),
            Self::DuplicateId(id) => (4409, format!("Subscriber for {id} already exists")),
            Self::TwoInits => (4429, "Too many initialisation requests".to_owned()),
            Self::TooManyOperations { limit } => {
                (4429, format!("Too many operations: the limit is {limit} on one socket"))
            }
            Self::TooManySockets { limit } => (4429, format!("Too many sockets: the limit is {limit} for one viewer")),
            Self::TooManyMessages { per_second } => {
                (4429, format!("Too many messages: send at most {per_second} pings, pongs and the like a second"))
            }
            Self::NoRoom(NoRoom::Node) => (1013, "No room for another message. Try again later.".to_owned()),
            Self::NoRoom(NoRoom::Client) => {
                (4429, "Too many bytes of messages are on their way from your address".to_owned())
            }
        }
    }

    /// Why a message could not be read. `limit`: its most bytes.
    pub(super) fn unreadable(error: axum::Error, limit: usize) -> Self {
        match error.into_inner().downcast_ref() {
            Some(tungstenite::Error::Utf8(_)) => Self::NotUtf8,
            Some(tungstenite::Error::Capacity(_)) => Self::TooLarge { limit },
            Some(tungstenite::Error::Io(error)) => match unreceived(error) {
                Some(Unreceived::NoRoom(no_room)) => Self::NoRoom(no_room),
                Some(Unreceived::TooLong) => Self::TooLarge { limit },
                None => Self::Unreadable,
            },
            _ => Self::Unreadable,
        }
    }

    /// The close frame. Its reason is cut to the 123 bytes of a control frame.
    pub(super) fn to_frame(&self) -> Message {
        let (code, mut reason) = self.code_and_reason();
        reason.truncate(reason.floor_char_boundary(123));
        Message::Close(Some(CloseFrame { code, reason: Utf8Bytes::from(reason) }))
    }
}

/// Why reading stopped, if we have stopped it.
fn unreceived(error: &io::Error) -> Option<Unreceived> {
    error.get_ref()?.downcast_ref().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_message_is_refused_with_its_reason() {
        for (text, why) in [
            ("", "JSON object"),
            ("[]", "JSON object"),
            ("{}", "\"type\""),
            ("{\"type\": 1}", "\"type\""),
            ("{\"type\": \"start\"}", "\"start\" is not a message type"),
            ("{\"type\": \"connection_init\", \"payload\": 1}", "\"payload\" has to be an object"),
            ("{\"type\": \"pong\", \"payload\": \"x\"}", "\"payload\" has to be an object"),
            ("{\"type\": \"subscribe\", \"id\": \"1\"}", "has to have a \"payload\""),
            ("{\"type\": \"subscribe\", \"payload\": {}}", "\"id\""),
            ("{\"type\": \"complete\", \"id\": \"\"}", "\"id\""),
            ("{\"type\": \"complete\", \"id\": 1}", "\"id\""),
        ] {
            let parsed = ClientMessage::parse(text);
            assert!(parsed.as_ref().is_err_and(|parsed| parsed.contains(why)), "{text}: {parsed:?}");
        }
    }

    #[test]
    fn a_null_payload_is_none() {
        let init = ClientMessage::parse("{\"type\": \"connection_init\", \"payload\": null}");
        assert_eq!(init, Ok(ClientMessage::ConnectionInit { payload: Map::new() }));
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let Message::Close(Some(frame)) = Closing::DuplicateId("é".repeat(100)).to_frame() else {
            unreachable!("a closing is a close frame")
        };
        assert!((120..=123).contains(&frame.reason.len()));
        assert_eq!(frame.code, 4409);
    }
}
