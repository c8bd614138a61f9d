//! Reads the settings of what keeps data: SQL, Redis, Cassandra, the cached outboxes.

use super::{
    Address, CassandraSettings, OutboxCacheSettings, RedisSettings, Secret, StoreSettings,
    reader::{DAY_MS, MINUTE_MS, Reader, URL_ALIAS},
};

pub(super) fn store(reader: &mut Reader) -> StoreSettings {
    StoreSettings {
        url: reader.parsed("store.url", Address::store),
        replicas: addresses(reader, "store.replicas", Address::store),
        replica_wait_ms: reader.millis("store.replica_wait_ms", 1, MINUTE_MS),
        max_connections: reader.whole("store.max_connections", 2..=10_000),
        delivery_connections: reader.whole("store.delivery_connections", 0..=5_000),
        sqlite_readers: reader.whole("store.sqlite_readers", 0..=1_000),
        acquire_timeout_ms: reader.millis("store.acquire_timeout_ms", 10, 10 * MINUTE_MS),
        statement_timeout_ms: reader.millis("store.statement_timeout_ms", 100, 10 * MINUTE_MS),
        migrate_at_start: reader.flag("store.migrate_at_start"),
    }
}

pub(super) fn redis(reader: &mut Reader) -> RedisSettings {
    RedisSettings {
        urls: redis_urls(reader),
        cluster: reader.flag("redis.cluster"),
        sentinel_master: reader.text("redis.sentinel_master"),
        sentinel_user: reader.text("redis.sentinel_user"),
        sentinel_password: Secret::new(reader.text("redis.sentinel_password")),
        tls_ca: reader.text("redis.tls_ca"),
        tls_certificate: reader.text("redis.tls_certificate"),
        tls_key: reader.text("redis.tls_key"),
        prefix: reader.parsed("redis.prefix", prefix),
        command_timeout_ms: reader.millis("redis.command_timeout_ms", 10, MINUTE_MS),
        redelivery_ms: reader.millis("redis.redelivery_ms", 100, DAY_MS),
        stream_max_len: reader.whole("redis.stream_max_len", 1000..=1_000_000_000),
    }
}

pub(super) fn cassandra(reader: &mut Reader) -> CassandraSettings {
    CassandraSettings {
        contact_points: contact_points(reader),
        keyspace: reader.parsed("cassandra.keyspace", keyspace),
        replication: reader.whole("cassandra.replication", 1..=9),
        datacenter: reader.text("cassandra.datacenter"),
        user: reader.text("cassandra.user"),
        password: Secret::new(reader.text("cassandra.password")),
        tls: reader.flag("cassandra.tls"),
        tls_ca: reader.text("cassandra.tls_ca"),
        tls_certificate: reader.text("cassandra.tls_certificate"),
        tls_key: reader.text("cassandra.tls_key"),
        timeout_ms: reader.millis("cassandra.timeout_ms", 10, MINUTE_MS),
    }
}

pub(super) fn outbox_cache(reader: &mut Reader) -> OutboxCacheSettings {
    OutboxCacheSettings {
        enabled: reader.flag("outbox_cache.enabled"),
        capacity: reader.whole("outbox_cache.capacity", 20..=2_000),
        ttl_s: reader.whole("outbox_cache.ttl_s", 1..=30 * 86_400),
    }
}

fn redis_urls(reader: &mut Reader) -> Vec<Address> {
    let alias = reader.is_set(URL_ALIAS);
    let key = if alias { URL_ALIAS } else { "redis.urls" };
    if alias && !reader.list("redis.urls").is_empty() {
        reader.refuse(URL_ALIAS, "redis.urls is set as well; keep one of them".to_owned());
    }
    addresses(reader, key, Address::redis)
}

fn addresses(reader: &mut Reader, key: &str, parse: fn(&str) -> Result<Address, String>) -> Vec<Address> {
    let texts = reader.list(key);
    let read: Result<Vec<_>, _> = texts.iter().filter(|text| !text.is_empty()).map(|text| parse(text)).collect();
    read.unwrap_or_else(|expected| {
        reader.refuse(key, expected);
        Vec::new()
    })
}

fn contact_points(reader: &mut Reader) -> Vec<String> {
    let key = "cassandra.contact_points";
    let points: Vec<String> = reader.list(key).into_iter().filter(|point| !point.is_empty()).collect();
    let is_address = |point: &String| {
        let port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
        point.rsplit_once(':').is_some_and(|(host, after)| !host.is_empty() && port(after))
    };
    if !points.iter().all(is_address) {
        reader.refuse(key, "expected host:9042".to_owned());
    }
    points
}

/// A name that needs no quotes.
fn keyspace(text: &str) -> Result<String, String> {
    let fits = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= 48
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if fits {
        Ok(text.to_owned())
    } else {
        Err("expected up to 48 lower-case letters, digits and underscores, a letter first".to_owned())
    }
}

/// Braces would move the hash tags that keep one author's keys on one cluster node.
fn prefix(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.len() <= 64 && text.chars().all(|c| c.is_ascii_graphic() && !"{}".contains(c));
    if fits {
        Ok(text.to_owned())
    } else {
        Err("expected 1 to 64 printable ASCII characters without { and }".to_owned())
    }
}
