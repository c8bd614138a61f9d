//! Encodes results as server-sent events.

/// A comment, which keeps the connection open.
pub(super) const COMMENT: &[u8] = b":\n\n";

/// An event with one line of data, which may be empty.
pub(super) fn event(name: &str, json: &[u8]) -> Vec<u8> {
    let begin = format!("event: {name}\ndata: ");
    [begin.as_bytes(), json, b"\n\n"].concat()
}

/// The whole stream of an operation with one result that is known already.
pub fn only_result(json: &[u8]) -> Vec<u8> {
    [event("next", json), event("complete", b"")].concat()
}
