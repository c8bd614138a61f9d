//! Checks between settings that are valid one by one.

use url::{Host, Url};

use super::{
    Address, CassandraSettings, Config, InboxPlace, InboxSettings, RedisSettings, SqlEngine, StoreSettings,
    reader::Reader, signing_secret::MIN_SECRET_BYTES,
};

/// Each former secret is tried on tokens that name none of our keys.
const MAX_FORMER_SECRETS: usize = 4;

/// What a service's key begins with, and 32 characters.
const MIN_SERVICE_KEY_BYTES: usize = 36;

/// Algorithms that an issuer may use: only those with public keys.
const ALGORITHMS: [&str; 9] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

/// Reports to `reader` which valid settings contradict each other.
pub fn check(config: &Config, reader: &mut Reader) {
    secret(config, reader);
    service(config, reader);
    issuer(config, reader);
    delivery(config, reader);
    store(&config.store, reader);
    redis(config, reader);
    cassandra(&config.cassandra, reader);
    server(config, reader);
    graphql(config, reader);
    inbox(config, reader);
}

fn inbox(config: &Config, reader: &mut Reader) {
    if config.inbox.deep_keep < config.inbox.keep {
        reader.refuse("inbox.deep_keep", format!("expected at least inbox.keep, {}", config.inbox.keep));
    }
    if config.inbox.store == InboxPlace::Redis && config.redis.urls.is_empty() {
        reader.refuse("inbox.store", "\"redis\" needs redis.urls".to_owned());
    }
    if config.inbox.store.is_cassandra() && config.cassandra.contact_points.is_empty() {
        reader.refuse("inbox.store", "\"cassandra\" needs cassandra.contact_points".to_owned());
    }
    let InboxSettings { outside_hours, redis_ttl_hours, .. } = config.inbox;
    if !config.inbox.store.is_cassandra() && redis_ttl_hours < outside_hours {
        reader.refuse("inbox.redis_ttl_hours", format!("expected at least inbox.outside_hours, {outside_hours}"));
    }
    let dormant = config.delivery.dormant_days;
    if config.inbox.store != InboxPlace::Sql && u64::from(outside_hours) > u64::from(dormant) * 24 {
        let days = format!("expected at most delivery.dormant_days, {dormant} days");
        reader.refuse("inbox.outside_hours", days);
    }
}

fn store(store: &StoreSettings, reader: &mut Reader) {
    if store.replicas.is_empty() {
        return;
    }
    let is_file = |address: &Address| address.engine() == SqlEngine::Sqlite;
    if is_file(&store.url) {
        let why = "is for MySQL and MariaDB: a SQLite file has no replicas, and is read on this machine alone";
        reader.refuse("store.replicas", why.to_owned());
    } else if store.replicas.iter().any(is_file) {
        reader.refuse("store.replicas", "expected mysql://user:password@host:3306/database in each".to_owned());
    }
}

fn secret(config: &Config, reader: &mut Reader) {
    let make = "make one with `openssl rand -base64 48`, the same on every node";
    let secret = &config.auth.secret;
    if secret.is_empty() && config.store.url.engine() == SqlEngine::MySql {
        reader.refuse("auth.secret", format!("is empty; with MySQL tokens need a secret: {make}"));
    } else if !secret.is_empty() && secret.expose().len() < MIN_SECRET_BYTES {
        let length = secret.expose().len();
        reader.refuse("auth.secret", format!("has {length} bytes, expected at least {MIN_SECRET_BYTES}: {make}"));
    }
    let former = &config.auth.former_secrets;
    if former.len() > MAX_FORMER_SECRETS || former.iter().any(|secret| secret.expose().len() < MIN_SECRET_BYTES) {
        let expected = format!("expected at most {MAX_FORMER_SECRETS} secrets of at least {MIN_SECRET_BYTES} bytes");
        reader.refuse("auth.former_secrets", expected);
    }
}

fn service(config: &Config, reader: &mut Reader) {
    let key = config.service.key.expose();
    let fits =
        key.starts_with("tfs_") && key.len() >= MIN_SERVICE_KEY_BYTES && key.chars().all(|c| c.is_ascii_graphic());
    if !key.is_empty() && !fits {
        let make = "expected \"tfs_\" and at least 32 characters: make one with `echo \"tfs_$(openssl rand -hex 32)\"`";
        reader.refuse("service.key", make.to_owned());
    }
}

fn issuer(config: &Config, reader: &mut Reader) {
    let issuer = &config.issuer;
    if issuer.url.is_empty() {
        if issuer.only {
            reader.refuse(
                "issuer.only",
                "is true, but issuer.url is empty: set issuer.url, or nobody can sign in".to_owned(),
            );
        }
        return;
    }
    if issuer.audience.is_empty() {
        let why = "is empty: a token that the issuer has made for another service would be taken";
        reader.refuse("issuer.audience", why.to_owned());
    }
    let url = Url::parse(&issuer.jwks_url).ok();
    if !url.as_ref().is_some_and(|url| url.scheme() == "https" || is_on_this_machine(url)) {
        reader.refuse("issuer.jwks_url", "expected https://.., or http:// on this very machine".to_owned());
    }
    if issuer.algorithms.is_empty() || issuer.algorithms.iter().any(|name| !ALGORITHMS.contains(&name.as_str())) {
        reader.refuse("issuer.algorithms", format!("expected at least one, and only of {}", ALGORITHMS.join(", ")));
    }
}

/// An address without a user: `http://127.0.0.1:x@host` leads to `host`.
fn is_on_this_machine(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && url.username().is_empty() && url.password().is_none() && is_loopback
}

fn delivery(config: &Config, reader: &mut Reader) {
    let delivery = &config.delivery;
    if delivery.batch_size > delivery.subtask_size {
        reader.refuse(
            "delivery.batch_size",
            format!("expected at most delivery.subtask_size, {}", delivery.subtask_size),
        );
    }
    if i64::from(delivery.first_seen_minutes) * 60_000 < config.upkeep.seen_every_ms.as_i64() {
        let every = config.upkeep.seen_every_ms;
        reader.refuse("delivery.first_seen_minutes", format!("expected at least upkeep.seen_every_ms, {every}"));
    }
    if delivery.active_days > delivery.dormant_days {
        reader.refuse(
            "delivery.active_days",
            format!("expected at most delivery.dormant_days, {}", delivery.dormant_days),
        );
    }
    if delivery.lease_ms < config.store.statement_timeout_ms {
        let timeout = config.store.statement_timeout_ms;
        reader.refuse("delivery.lease_ms", format!("expected at least store.statement_timeout_ms, {timeout}"));
    }
    if delivery.lease_ms >= config.redis.redelivery_ms {
        let redelivery = config.redis.redelivery_ms;
        reader.refuse("delivery.lease_ms", format!("expected less than redis.redelivery_ms, {redelivery}"));
    }
}

fn server(config: &Config, reader: &mut Reader) {
    let server = &config.server;
    let expected = format!("expected at least server.max_body_bytes, {}", server.max_body_bytes);
    if server.max_incoming_bytes < server.max_body_bytes {
        reader.refuse("server.max_incoming_bytes", expected.clone());
    }
    if (1..server.max_body_bytes).contains(&server.max_incoming_bytes_per_address) {
        reader.refuse("server.max_incoming_bytes_per_address", expected);
    }
}

fn redis(config: &Config, reader: &mut Reader) {
    let redis = &config.redis;
    if redis.cluster && redis.urls.is_empty() {
        reader.refuse("redis.cluster", "is true without redis.urls; name at least one node of the cluster".to_owned());
    }
    if !redis.cluster && redis.sentinel_master.is_empty() && redis.urls.len() > 1 {
        let expected = "several urls are for a cluster or Sentinels: set redis.cluster = true or \
                        redis.sentinel_master, or name one";
        reader.refuse("redis.urls", expected.to_owned());
    }
    redis_transport(redis, reader);
}

/// How Redis is reached.
fn redis_transport(redis: &RedisSettings, reader: &mut Reader) {
    let is_led = !redis.sentinel_master.is_empty();
    if is_led && (redis.cluster || redis.urls.is_empty()) {
        let expected = "expected redis.urls to name Sentinels, and redis.cluster to be false";
        reader.refuse("redis.sentinel_master", expected.to_owned());
    }
    let asks = !redis.sentinel_user.is_empty() || !redis.sentinel_password.is_empty();
    if asks && !is_led {
        reader.refuse("redis.sentinel_user", "is set without redis.sentinel_master".to_owned());
    }
    if redis.urls.iter().any(Address::is_redis_socket) && (redis.cluster || is_led) {
        reader.refuse("redis.urls", "a socket leads to one server: no cluster, and no Sentinel".to_owned());
    }
    if is_led && redis.urls.windows(2).any(|pair| !pair[0].differs_by_host_alone(&pair[1])) {
        let expected = "expected the same scheme, user, password and database in each: they are for the Redis that the \
                        Sentinels name";
        reader.refuse("redis.urls", expected.to_owned());
    }
    let over_tls = redis.urls.iter().filter(|url| url.is_rediss()).count();
    if over_tls > 0 && over_tls < redis.urls.len() {
        reader.refuse("redis.urls", "expected rediss:// in all of them, or in none".to_owned());
    }
    for (key, file) in [("ca", &redis.tls_ca), ("certificate", &redis.tls_certificate), ("key", &redis.tls_key)] {
        if over_tls == 0 && !file.is_empty() {
            reader.refuse(&format!("redis.tls_{key}"), "is set, but no url begins with rediss://".to_owned());
        }
    }
    if redis.tls_certificate.is_empty() != redis.tls_key.is_empty() {
        reader.refuse("redis.tls_certificate", "expected redis.tls_certificate and redis.tls_key together".to_owned());
    }
}

fn cassandra(cassandra: &CassandraSettings, reader: &mut Reader) {
    let files = [&cassandra.tls_ca, &cassandra.tls_certificate, &cassandra.tls_key];
    if !cassandra.tls && files.iter().any(|file| !file.is_empty()) {
        reader.refuse("cassandra.tls", "is false, but a file of certificates is named: set it to true".to_owned());
    }
    if cassandra.tls_certificate.is_empty() != cassandra.tls_key.is_empty() {
        let expected = "expected cassandra.tls_certificate and cassandra.tls_key together";
        reader.refuse("cassandra.tls_certificate", expected.to_owned());
    }
}

fn graphql(config: &Config, reader: &mut Reader) {
    if config.persisted.required && config.persisted.manifest.is_empty() {
        let expected = "is true without persisted.manifest: name the file, or nothing at all would run";
        reader.refuse("persisted.required", expected.to_owned());
    }
    let rate = &config.rate_limit;
    for (key, points) in [
        ("viewer_points", rate.viewer_points),
        ("service_points", rate.service_points),
        ("anonymous_points", rate.anonymous_points),
    ] {
        if u64::from(points.get()) < config.graphql.max_cost {
            let expected = format!("expected at least graphql.max_cost, {}", config.graphql.max_cost);
            reader.refuse(&format!("rate_limit.{key}"), expected);
        }
    }
}
