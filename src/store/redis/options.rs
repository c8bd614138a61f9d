//! The settings of a Redis connection: addresses, time-outs and sizes. Checks them before anything connects.

use std::time::Duration;

use certificates::CertificateFiles;
use redis::{ConnectionInfo, IntoConnectionInfo as _};

/// Entries of a cached outbox at most: beyond it, one script call would pass more arguments than Lua's stack holds.
const MAX_OUTBOX_CAPACITY: usize = 2_000;

/// Where Redis is and what Tidefeed keeps there.
///
/// No `Debug`: addresses may hold passwords.
#[derive(Clone)]
pub struct RedisOptions {
    /// `redis://[user:password@]host:port/`; one, or some nodes of a cluster, from which the others are found, or
    /// Sentinels. `rediss://` speaks TLS, `redis+unix:///path` is a socket.
    pub urls: Vec<String>,
    /// Whether the servers form a cluster.
    pub cluster: bool,
    /// The servers are Sentinels, which know where the Redis is.
    pub sentinel: Option<SentinelOptions>,
    /// For addresses of `rediss://`.
    pub certificates: CertificateFiles,
    /// What every key and channel begins with. Changing it disowns all that is kept, which is called for after SQL has
    /// lost commits in a fail-over: cached outboxes may then name numbers that come to mean something else.
    pub prefix: String,
    /// Milliseconds that a connection attempt may take.
    pub connect_timeout_ms: u64,
    /// Milliseconds that a command may take, reconnecting included; the wait of a blocking read comes on top.
    pub command_timeout_ms: u64,
    /// Milliseconds after which an unacknowledged message goes to another consumer.
    pub redelivery_ms: u64,
    /// Messages of each topic, roughly: beyond it the oldest go, which delays what they were about until a sweeper
    /// comes.
    pub stream_max_len: usize,
    /// Entries of each cached outbox, 1 to 2000. Up to 500, Redis stores them compactly if `zset-max-listpack-entries`
    /// is 512 or more.
    pub outbox_capacity: usize,
    /// Milliseconds for which an outbox stays cached after its last change.
    pub outbox_ttl_ms: u64,
    /// Milliseconds for which an inbox lives after it was built.
    pub inbox_ttl_ms: u64,
    /// Announcements that the slowest listener may be behind.
    pub announcement_buffer: usize,
    /// Milliseconds between two checks that the subscription to announcements still stands.
    pub subscription_check_ms: u64,
}

/// How Sentinels are asked.
///
/// No `Debug`: it holds a password.
#[derive(Clone)]
pub struct SentinelOptions {
    /// The name under which they know the Redis.
    pub master: String,
    /// Empty: the default user.
    pub user: String,
    /// Empty: they ask for none.
    pub password: String,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            urls: vec!["redis://127.0.0.1:6379/".to_owned()],
            cluster: false,
            sentinel: None,
            certificates: CertificateFiles::default(),
            prefix: "tidefeed:".to_owned(),
            connect_timeout_ms: 1_000,
            command_timeout_ms: 500,
            redelivery_ms: 30_000,
            stream_max_len: 100_000,
            outbox_capacity: 500,
            outbox_ttl_ms: 24 * 60 * 60 * 1_000,
            inbox_ttl_ms: 30 * 24 * 60 * 60 * 1_000,
            announcement_buffer: 4_096,
            subscription_check_ms: 5_000,
        }
    }
}

/// Why options cannot work. Addresses are named by their place in the list, because they may hold passwords.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRedisOptions {
    /// The list is empty.
    #[error("no address: name at least one, as in redis://127.0.0.1:6379/")]
    NoAddress,
    /// Several addresses that form no cluster.
    #[error("{0} addresses but no cluster: name one, or set `cluster` to true")]
    ManyAddresses(usize),
    /// Not an address.
    #[error("address {number} is not valid: expected redis://[user:password@]host:port/ ({reason})")]
    Address {
        /// 1 is the first.
        number: usize,
        /// The client library's words.
        reason: String,
    },
    /// A number out of its range.
    #[error("`{key}` is {value}: expected {expected}")]
    Number {
        /// The field.
        key: &'static str,
        /// What it was set to.
        value: u64,
        /// What would do.
        expected: &'static str,
    },
}

impl RedisOptions {
    /// Checks everything that can be checked without a server, and parses the addresses.
    pub(super) fn addresses(&self) -> Result<Vec<ConnectionInfo>, InvalidRedisOptions> {
        self.check_numbers()?;
        match self.urls.len() {
            0 => return Err(InvalidRedisOptions::NoAddress),
            many if many > 1 && !self.cluster && self.sentinel.is_none() => {
                return Err(InvalidRedisOptions::ManyAddresses(many));
            }
            _ => {}
        }
        let parse = |(index, url): (usize, &String)| {
            let refused = |error: redis::RedisError| InvalidRedisOptions::Address {
                number: index + 1,
                reason: error.to_string(),
            };
            url.as_str().into_connection_info().map_err(refused)
        };
        self.urls.iter().enumerate().map(parse).collect()
    }

    fn check_numbers(&self) -> Result<(), InvalidRedisOptions> {
        let size = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        for (key, value) in [
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("command_timeout_ms", self.command_timeout_ms),
            ("redelivery_ms", self.redelivery_ms),
            ("stream_max_len", size(self.stream_max_len)),
            ("outbox_ttl_ms", self.outbox_ttl_ms),
            ("inbox_ttl_ms", self.inbox_ttl_ms),
            ("announcement_buffer", size(self.announcement_buffer)),
            ("subscription_check_ms", self.subscription_check_ms),
        ] {
            if value == 0 {
                return Err(InvalidRedisOptions::Number { key, value, expected: "1 or more" });
            }
        }
        if !(1..=MAX_OUTBOX_CAPACITY).contains(&self.outbox_capacity) {
            let value = size(self.outbox_capacity);
            return Err(InvalidRedisOptions::Number { key: "outbox_capacity", value, expected: "1 to 2000" });
        }
        Ok(())
    }

    pub(super) const fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms)
    }

    pub(super) const fn subscription_check(&self) -> Duration {
        Duration::from_millis(self.subscription_check_ms)
    }

    pub(super) const fn command_timeout(&self) -> Duration {
        Duration::from_millis(self.command_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_work_say_what_to_do() {
        let refused = |change: fn(&mut RedisOptions)| {
            let mut options = RedisOptions::default();
            change(&mut options);
            options.addresses().err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(refused(|_| {}), "");
        assert!(refused(|options| options.urls.clear()).starts_with("no address: name at least one"));
        assert!(refused(|options| options.urls.push(String::new())).starts_with("2 addresses but no cluster"));
        assert!(refused(|options| options.outbox_capacity = 2_001).ends_with("expected 1 to 2000"));
        assert!(refused(|options| options.redelivery_ms = 0).starts_with("`redelivery_ms` is 0"));
    }

    #[test]
    fn a_refused_address_is_named_by_its_index_without_its_password() {
        let options = RedisOptions { urls: vec!["rodis://:secret@host:1/".to_owned()], ..RedisOptions::default() };
        let message = options.addresses().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.starts_with("address 1 is not valid") && !message.contains("secret"), "{message}");
    }
}
