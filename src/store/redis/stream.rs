//! The commands on one topic's stream and its group of consumers, as pure builders.

use std::time::Duration;

use redis::{Cmd, Value, cmd, streams::StreamId};

use super::wire;
use crate::store::queue::{Message, Received};

/// The group of consumers that all nodes form. Services of others that read a stream name a group of their own.
pub const GROUP: &str = "tidefeed";
/// The field of an entry that holds the JSON.
pub const FIELD: &str = "payload";
/// Where a scan begins, and what it says at its end.
pub const START: &str = "0-0";

/// Acknowledges, and deletes what is acknowledged unless some other group may still want it: acknowledged entries
/// would stay otherwise.
pub const ACKNOWLEDGE: &str = r"
local acknowledged = redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, 2))
if acknowledged > 0 and #redis.call('XINFO', 'GROUPS', KEYS[1]) == 1 then
  redis.call('XDEL', KEYS[1], unpack(ARGV, 2))
end
return acknowledged
";

/// As [`ACKNOWLEDGE`], of visits: forgets which of them were sent last.
pub const ACKNOWLEDGE_VISITS: &str = include_str!("visits_acknowledge.lua");

/// Appends visits, each unless one of the same reader waits that is as deep. A deeper one takes its place.
pub const SEND_VISITS: &str = include_str!("visits_send.lua");

/// Appends one payload; beyond about `max_len` entries the oldest go.
pub fn append(key: &str, max_len: usize, payload: &[u8]) -> Cmd {
    let mut append = cmd("XADD");
    append.arg(key).arg("MAXLEN").arg("~").arg(max_len).arg("*").arg(FIELD).arg(payload);
    append
}

/// Creates stream and group; what was sent before belongs to the group.
pub fn create_group(key: &str) -> Cmd {
    let mut create = cmd("XGROUP");
    create.arg("CREATE").arg(key).arg(GROUP).arg(START).arg("MKSTREAM");
    create
}

/// Takes over up to `max` entries that nobody acknowledged for `idle_ms`, looking from entry `from` on.
pub fn claim(key: &str, consumer: &str, idle_ms: u64, from: &str, max: usize) -> Cmd {
    let mut claim = cmd("XAUTOCLAIM");
    claim.arg(key).arg(GROUP).arg(consumer).arg(idle_ms).arg(from).arg("COUNT").arg(max);
    claim
}

/// Takes up to `max` entries that no consumer has had, waiting up to `wait`; not at all if it is less than a
/// millisecond.
pub fn read(key: &str, consumer: &str, max: usize, wait: Duration) -> Cmd {
    let mut read = cmd("XREADGROUP");
    read.arg("GROUP").arg(GROUP).arg(consumer).arg("COUNT").arg(max);
    if wait.as_millis() > 0 {
        // BLOCK 0 would wait for ever.
        read.arg("BLOCK").arg(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    read.arg("STREAMS").arg(key).arg(">");
    read
}

/// What an entry says; no message if it has no payload or one that cannot be read.
pub fn received(entry: StreamId) -> Received {
    let message = match entry.map.get(FIELD) {
        Some(Value::BulkString(payload)) => wire::decode::<Message>(payload),
        _ => None,
    };
    Received { id: entry.id, message }
}

/// Whether `id` has the form of an entry's id. Redis refuses a whole command for one that has not.
pub fn is_id(id: &str) -> bool {
    id.split_once('-').is_some_and(|(time, number)| time.parse::<u64>().is_ok() && number.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_redis_would_accept_counts_as_an_id() {
        for (id, is) in [("1700000000000-0", true), ("0-1", true), ("7", false), ("a-b", false), ("1-", false)] {
            assert_eq!(is_id(id), is, "{id}");
        }
    }

    #[test]
    fn an_entry_without_a_payload_is_a_message_that_cannot_be_read() {
        let entry = StreamId { id: "1-1".to_owned(), ..StreamId::default() };
        assert_eq!(received(entry), Received { id: "1-1".to_owned(), message: None });
    }

    #[test]
    fn a_wait_of_nothing_never_becomes_a_wait_for_ever() {
        let sent = |wait| String::from_utf8_lossy(&read("k", "c", 1, wait).get_packed_command()).into_owned();
        assert!(!sent(Duration::from_micros(900)).contains("BLOCK"));
        assert!(sent(Duration::from_millis(7)).contains("BLOCK\r\n$1\r\n7\r\n"));
    }
}
