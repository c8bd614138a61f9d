//! Lists the buffers between a client and the node, those of libraries included. Operators' documents show the list.

use super::{connections, limits::HttpSettings, params, ws};
use crate::guard::Prepared;

/// A buffer that a client can fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buffer {
    /// What it holds, and whose it is if it is a library's.
    pub what: &'static str,
    /// Its most bytes.
    pub bytes: usize,
    /// Who has one.
    pub of: &'static str,
    /// The `what` of the metric of held bytes that counts it, and from when on.
    pub counted: &'static str,
}

// Rows name these numbers.
const _: () = assert!(ws::KEPT_BYTES == 16 * 1024 && connections::FREE_BYTES == 8 * 1024);

impl std::fmt::Display for Buffer {
    /// A row of a table.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, bytes, of, counted } = self;
        let (mib, kib) = (bytes / (1024 * 1024), bytes / 1024);
        match (bytes % (1024 * 1024), bytes % 1024) {
            (0, _) => write!(f, "| {what} | {mib} MiB for each {of} | {counted} |"),
            _ => write!(f, "| {what} | {kib} KiB for each {of} | {counted} |"),
        }
    }
}

/// All buffers of a transport with these settings.
pub fn buffers(settings: &HttpSettings) -> Vec<Buffer> {
    let HttpSettings { request, socket, stream, .. } = settings;
    let (head, message, answer) = (connections::BUFFER_BYTES, socket.message_bytes, request.answer_bytes);
    let buffer = |what, (bytes, of), counted| Buffer { what, bytes, of, counted };
    vec![
        buffer("a request's head, and what comes behind it (hyper)", (head, "connection"), "`heads`, beyond 8 KiB"),
        buffer("heads of answers, and parts that are not sent yet (hyper)", (head, "connection"), "parts: `answers`"),
        buffer("a body", (request.body_bytes, "request"), "`bodies`"),
        buffer(
            "its variables and extensions in memory",
            (params::most_bytes(request.body_bytes), "request"),
            "`bodies`",
        ),
        buffer("an answer", (answer, "request"), "`answers`"),
        buffer("what has come of a frame (tungstenite)", (message, "WebSocket"), "`bodies`, beyond 8 KiB"),
        buffer("what has come of a message in parts (tungstenite)", (message, "WebSocket"), "`bodies`, beyond 8 KiB"),
        buffer("acknowledgements, pings and pongs that wait", (ws::CONTROL_BYTES, "WebSocket"), "`answers`"),
        buffer("pongs of the protocol that wait (tungstenite)", (ws::CONTROL_BYTES, "WebSocket"), "`answers`"),
        buffer("results that wait", (socket.queued_messages.saturating_mul(answer), "WebSocket"), "`answers`"),
        buffer("one result, or a few short ones, on the way (tungstenite)", (answer, "WebSocket"), "`answers`"),
        buffer(
            "the room of the longest result so far (tungstenite)",
            (answer, "WebSocket"),
            "`answers`, beyond 16 KiB",
        ),
        buffer("results that wait", (stream.queued_events.saturating_mul(answer), "stream of events"), "`answers`"),
        buffer("the request of a subscription", (request.body_bytes, "subscription"), "`documents`"),
        buffer(
            "the operation of a subscription, one for all that are equal",
            (Prepared::MOST_BYTES, "document"),
            "`documents`",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_the_bounds_that_the_libraries_are_given() {
        let settings = HttpSettings::default();
        let rows: Vec<String> = buffers(&settings).iter().map(ToString::to_string).collect();
        assert_eq!(
            rows[0],
            "| a request's head, and what comes behind it (hyper) | 72 KiB for each connection | `heads`, beyond 8 KiB |"
        );
        assert!(rows.iter().all(|row| !row.contains(" 0 KiB")), "{rows:#?}");
        assert_eq!((ws::WRITE_BUFFER_BYTES, ws::READ_BUFFER_BYTES), (4 * 1024, 1024));
        let library = ws::most_written(settings.request.answer_bytes);
        assert!(library < settings.request.answer_bytes + 2 * ws::CONTROL_BYTES, "{library}");
    }
}
