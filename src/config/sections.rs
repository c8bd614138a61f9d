//! Reads the settings: each key once, with its range.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
};

use ipnet::IpNet;
use tracing_subscriber::EnvFilter;

use super::{
    Address, AdmissionSettings, AuditSettings, AuthSettings, CassandraSettings, Config, ContentSettings,
    DeliverySettings, GraphqlSettings, InboxPlace, InboxSettings, IssuerSettings, LiveSettings, LogFormat, LogSettings,
    MetricsSettings, Millis, OutboxCacheSettings, PagesSettings, PersistedSettings, PolicyName, RateLimitSettings,
    RedisSettings, Secret, ServerSettings, ServiceSettings, SseSettings, StoreSettings, UpkeepSettings,
    WebsocketSettings, origins,
    reader::{Reader, URL_ALIAS},
};
use crate::domain::{
    account::service::{InvalidScopes, Scopes},
    limits::{MAX_CATCH_UP, MIN_CATCH_UP},
};

const MINUTE_MS: u32 = 60_000;
const DAY_MS: u32 = 24 * 60 * MINUTE_MS;
const MIB: usize = 1024 * 1024;

/// Reads every key and reports problems to `reader`.
pub fn read(reader: &mut Reader) -> Config {
    Config {
        server: server(reader),
        store: store(reader),
        redis: redis(reader),
        cassandra: cassandra(reader),
        outbox_cache: outbox_cache(reader),
        auth: auth(reader),
        issuer: issuer(reader),
        service: service(reader),
        content: ContentSettings { schemas: reader.text("content.schemas") },
        delivery: delivery(reader),
        inbox: inbox(reader),
        upkeep: upkeep(reader),
        audit: AuditSettings {
            every_ms: millis(reader, "audit.every_ms", 0, DAY_MS),
            pages: reader.whole("audit.pages", 1..=1000),
            repair: reader.flag("audit.repair"),
        },
        graphql: graphql(reader),
        admission: admission(reader),
        persisted: PersistedSettings {
            automatic: reader.flag("persisted.automatic"),
            manifest: reader.text("persisted.manifest"),
            required: reader.flag("persisted.required"),
        },
        rate_limit: rate_limit(reader),
        api: PagesSettings {
            public_pages: reader.flag("api.public_pages"),
            shows_external_ids: reader.parsed("api.external_ids", |text| match text {
                "public" => Ok(true),
                "service" => Ok(false),
                _ => Err("expected \"public\" or \"service\"".to_owned()),
            }),
        },
        websocket: websocket(reader),
        sse: sse(reader),
        live: live(reader),
        log: log(reader),
        metrics: MetricsSettings { enabled: reader.flag("metrics.enabled") },
    }
}

fn server(reader: &mut Reader) -> ServerSettings {
    let listen = |text: &str| {
        text.parse().map(Listen).map_err(|_| "expected an address and a port, such as 127.0.0.1:8080".to_owned())
    };
    ServerSettings {
        listen: reader.parsed("server.listen", listen).0,
        public_url: origins::public_url(reader),
        allowed_origins: origins::read(reader),
        trusted_proxies: networks(reader, "server.trusted_proxies"),
        max_connections: reader.whole("server.max_connections", 0..=10_000_000),
        max_connections_per_address: reader.whole("server.max_connections_per_address", 0..=10_000_000),
        head_timeout_ms: millis(reader, "server.head_timeout_ms", 100, 10 * MINUTE_MS),
        idle_timeout_ms: millis(reader, "server.idle_timeout_ms", 100, 60 * MINUTE_MS),
        request_timeout_ms: millis(reader, "server.request_timeout_ms", 100, 10 * MINUTE_MS),
        max_body_bytes: reader.whole("server.max_body_bytes", 1024..=64 * MIB),
        max_incoming_bytes: reader.whole("server.max_incoming_bytes", MIB / 16..=1024 * 1024 * MIB),
        max_incoming_bytes_per_address: reader.whole("server.max_incoming_bytes_per_address", 0..=1024 * 1024 * MIB),
        max_unsent_bytes: reader.whole("server.max_unsent_bytes", MIB / 16..=1024 * 1024 * MIB),
        max_unsent_bytes_per_client: reader.whole("server.max_unsent_bytes_per_client", 0..=1024 * 1024 * MIB),
        unready_ms: millis(reader, "server.unready_ms", 0, 10 * MINUTE_MS),
        drain_ms: millis(reader, "server.drain_ms", 0, 10 * MINUTE_MS),
    }
}

fn store(reader: &mut Reader) -> StoreSettings {
    StoreSettings {
        url: reader.parsed("store.url", Address::store),
        replicas: addresses(reader, "store.replicas", Address::store),
        replica_wait_ms: millis(reader, "store.replica_wait_ms", 1, MINUTE_MS),
        max_connections: reader.whole("store.max_connections", 2..=10_000),
        delivery_connections: reader.whole("store.delivery_connections", 0..=5_000),
        sqlite_readers: reader.whole("store.sqlite_readers", 0..=1_000),
        acquire_timeout_ms: millis(reader, "store.acquire_timeout_ms", 10, 10 * MINUTE_MS),
        statement_timeout_ms: millis(reader, "store.statement_timeout_ms", 100, 10 * MINUTE_MS),
        migrate_at_start: reader.flag("store.migrate_at_start"),
    }
}

fn redis(reader: &mut Reader) -> RedisSettings {
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
        command_timeout_ms: millis(reader, "redis.command_timeout_ms", 10, MINUTE_MS),
        redelivery_ms: millis(reader, "redis.redelivery_ms", 100, DAY_MS),
        stream_max_len: reader.whole("redis.stream_max_len", 1000..=1_000_000_000),
    }
}

fn cassandra(reader: &mut Reader) -> CassandraSettings {
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
        timeout_ms: millis(reader, "cassandra.timeout_ms", 10, MINUTE_MS),
    }
}

fn outbox_cache(reader: &mut Reader) -> OutboxCacheSettings {
    OutboxCacheSettings {
        enabled: reader.flag("outbox_cache.enabled"),
        capacity: reader.whole("outbox_cache.capacity", 20..=2_000),
        ttl_s: reader.whole("outbox_cache.ttl_s", 1..=30 * 86_400),
        max_authors: reader.whole("outbox_cache.max_authors", 1..=10_000_000),
    }
}

fn auth(reader: &mut Reader) -> AuthSettings {
    AuthSettings {
        secret: Secret::new(reader.text("auth.secret")),
        former_secrets: reader.list("auth.former_secrets").into_iter().map(Secret::new).collect(),
        token_ttl_minutes: reader.whole("auth.token_ttl_minutes", 1..=525_600),
        session_days: reader.whole("auth.session_days", 1..=3_650),
        refresh_grace_s: reader.whole("auth.refresh_grace_s", 0..=600),
        revocation_s: reader.whole("auth.revocation_s", 0..=600),
        open_registration: reader.flag("auth.open_registration"),
        registrations_per_hour: reader.whole("auth.registrations_per_hour", 0..=1_000_000),
        argon2_memory_kib: reader.whole("auth.argon2_memory_kib", 19_456..=4_194_304),
        argon2_iterations: reader.whole("auth.argon2_iterations", 2..=100),
        argon2_parallelism: reader.whole("auth.argon2_parallelism", 1..=64),
        hashing_slots: reader.whole("auth.hashing_slots", 1..=1024),
    }
}

fn service(reader: &mut Reader) -> ServiceSettings {
    let scopes = reader.list("service.scopes").join(",").parse().map_err(|invalid: InvalidScopes| invalid.to_string());
    ServiceSettings {
        key: Secret::new(reader.text("service.key")),
        scopes: scopes.unwrap_or_else(|expected| {
            reader.refuse("service.scopes", expected);
            Scopes::default()
        }),
        log_days: reader.whole("service.log_days", 1..=36_500),
        max_bulks: reader.whole("service.max_bulks", 0..=10_000),
        max_import_bytes: reader.whole("service.max_import_bytes", 0..=1_099_511_627_776),
    }
}

fn issuer(reader: &mut Reader) -> IssuerSettings {
    IssuerSettings {
        url: reader.text("issuer.url"),
        audience: reader.text("issuer.audience"),
        jwks_url: reader.text("issuer.jwks_url"),
        algorithms: reader.list("issuer.algorithms"),
        keys_s: reader.whole("issuer.keys_s", 10..=86_400),
        unknown_key_wait_s: reader.whole("issuer.unknown_key_wait_s", 1..=3_600),
        provision: reader.flag("issuer.provision"),
        claim_handle: reader.text("issuer.claim_handle"),
        claim_name: reader.text("issuer.claim_name"),
        claim_avatar: reader.text("issuer.claim_avatar"),
        claim_updated_at: reader.text("issuer.claim_updated_at"),
        follows_claims: reader.parsed("issuer.sync", |text| match text {
            "once" => Ok(false),
            "newer" => Ok(true),
            _ => Err("expected \"once\" or \"newer\"".to_owned()),
        }),
        only: reader.flag("issuer.only"),
    }
}

fn delivery(reader: &mut Reader) -> DeliverySettings {
    let policy = |text: &str| match text {
        "threshold" => Ok(PolicyName::Threshold),
        "rates" => Ok(PolicyName::Rates),
        _ => Err("expected \"threshold\" or \"rates\"".to_owned()),
    };
    DeliverySettings {
        policy: reader.parsed("delivery.policy", policy),
        push_threshold: reader.whole("delivery.push_threshold", 0..=1_000_000_000_000),
        active_days: reader.whole("delivery.active_days", 0..=36_500),
        push_cost: reader.whole("delivery.push_cost", 1..=1_000_000),
        pull_cost: reader.whole("delivery.pull_cost", 1..=1_000_000),
        dormant_days: reader.whole("delivery.dormant_days", 1..=36_500),
        first_served: reader.whole("delivery.first_served", 0..=10_000),
        first_seen_minutes: reader.whole("delivery.first_seen_minutes", 1..=10_080),
        subtask_size: reader.whole("delivery.subtask_size", 1..=100_000),
        batch_size: reader.whole("delivery.batch_size", 1..=10_000),
        dispatchers: reader.whole("delivery.dispatchers", 1..=64),
        executors: reader.whole("delivery.executors", 1..=1024),
        lease_ms: millis(reader, "delivery.lease_ms", 1000, 60 * MINUTE_MS),
        failing_after: reader.whole("delivery.failing_after", 1..=1000),
    }
}

fn inbox(reader: &mut Reader) -> InboxSettings {
    let place = |text: &str| match text {
        "sql" => Ok(InboxPlace::Sql),
        "redis" => Ok(InboxPlace::Redis),
        #[cfg(feature = "cassandra")]
        "cassandra" => Ok(InboxPlace::Cassandra),
        #[cfg(not(feature = "cassandra"))]
        "cassandra" => Err("this binary was built without Cassandra. Take one of a release, or build one with: \
                            cargo build --release --features cassandra"
            .to_owned()),
        _ => Err("expected \"sql\", \"redis\" or \"cassandra\"".to_owned()),
    };
    InboxSettings {
        keep: reader.whole("inbox.keep", 20..=10_000),
        extend_step: reader.whole("inbox.extend_step", 20..=10_000),
        deep_keep: reader.whole("inbox.deep_keep", 20..=100_000),
        deep_minutes: reader.whole("inbox.deep_minutes", 0..=525_600),
        store: reader.parsed("inbox.store", place),
        outside_hours: reader.whole("inbox.outside_hours", 1..=8_760),
        redis_ttl_hours: reader.whole("inbox.redis_ttl_hours", 1..=87_600),
        builds_at_once: reader.whole("inbox.builds_at_once", 1..=256),
    }
}

fn upkeep(reader: &mut Reader) -> UpkeepSettings {
    UpkeepSettings {
        sweep_ms: millis(reader, "upkeep.sweep_ms", 10, 60 * MINUTE_MS),
        relation_workers: reader.whole("upkeep.relation_workers", 1..=1024),
        trim_ms: millis(reader, "upkeep.trim_ms", 10, DAY_MS),
        seen_every_ms: millis(reader, "upkeep.seen_every_ms", 1000, DAY_MS),
    }
}

fn graphql(reader: &mut Reader) -> GraphqlSettings {
    GraphqlSettings {
        max_bytes: reader.whole("graphql.max_bytes", 256..=16 * MIB),
        max_nesting: reader.whole("graphql.max_nesting", 8..=256),
        max_tokens: reader.whole("graphql.max_tokens", 100..=1_000_000),
        max_fields: reader.whole("graphql.max_fields", 10..=1_000_000),
        max_aliases: reader.whole("graphql.max_aliases", 0..=100_000),
        max_depth: reader.whole("graphql.max_depth", 3..=32),
        max_operations: reader.whole("graphql.max_operations", 1..=10_000),
        max_fragments: reader.whole("graphql.max_fragments", 0..=100_000),
        max_directives: reader.whole("graphql.max_directives", 1..=1000),
        max_variable_bytes: reader.whole("graphql.max_variable_bytes", 256..=64 * MIB),
        max_variable_nesting: reader.whole("graphql.max_variable_nesting", 2..=100),
        max_cost: reader.whole("graphql.max_cost", 100..=1_000_000_000),
        max_answer_bytes: reader.whole("graphql.max_answer_bytes", 64 * 1024..=1024 * MIB),
        introspection: reader.flag("graphql.introspection"),
        graphiql: reader.flag("graphql.graphiql"),
        cached_documents: reader.whole("graphql.cached_documents", 1..=1_000_000),
    }
}

fn websocket(reader: &mut Reader) -> WebsocketSettings {
    WebsocketSettings {
        max_sockets: reader.whole("websocket.max_sockets", 1..=10_000_000),
        max_sockets_per_client: reader.whole("websocket.max_sockets_per_client", 0..=10_000_000),
        init_timeout_ms: millis(reader, "websocket.init_timeout_ms", 100, MINUTE_MS),
        message_timeout_ms: millis(reader, "websocket.message_timeout_ms", 100, 60 * MINUTE_MS),
        ping_ms: millis(reader, "websocket.ping_ms", 100, 60 * MINUTE_MS),
        pong_timeout_ms: millis(reader, "websocket.pong_timeout_ms", 100, 60 * MINUTE_MS),
        max_operations: reader.whole("websocket.max_operations", 1..=10_000),
        buffer: reader.whole("websocket.buffer", 1..=100_000),
        free_messages: points(reader, "websocket.free_messages"),
        free_messages_per_s: points(reader, "websocket.free_messages_per_s"),
    }
}

fn live(reader: &mut Reader) -> LiveSettings {
    LiveSettings {
        buffer: reader.whole("live.buffer", 1..=100_000),
        catch_up: reader.whole("live.catch_up", MIN_CATCH_UP..=MAX_CATCH_UP),
        max_per_viewer: reader.whole("live.max_per_viewer", 1..=1_000_000),
        max_anonymous_bytes: reader.whole("live.max_anonymous_bytes", 0..=1024 * 1024 * MIB),
        catch_ups: reader.whole("live.catch_ups", 1..=10_000),
        check_ms: millis(reader, "live.check_ms", 0, DAY_MS),
    }
}

fn admission(reader: &mut Reader) -> AdmissionSettings {
    AdmissionSettings {
        queries: reader.whole("admission.queries", 0..=1_000_000),
        queries_waiting: reader.whole("admission.queries_waiting", 0..=1_000_000),
        queries_wait_ms: millis(reader, "admission.queries_wait_ms", 1, 10 * MINUTE_MS),
        mutations: reader.whole("admission.mutations", 0..=1_000_000),
        mutations_waiting: reader.whole("admission.mutations_waiting", 0..=1_000_000),
        mutations_wait_ms: millis(reader, "admission.mutations_wait_ms", 1, 10 * MINUTE_MS),
        services: reader.whole("admission.services", 0..=1_000_000),
        services_waiting: reader.whole("admission.services_waiting", 0..=1_000_000),
        services_wait_ms: millis(reader, "admission.services_wait_ms", 1, 10 * MINUTE_MS),
        client_percent: reader.whole("admission.client_percent", 1..=100),
    }
}

fn points(reader: &mut Reader, key: &str) -> NonZeroU32 {
    NonZeroU32::new(reader.whole(key, 1..=1_000_000_000)).unwrap_or(NonZeroU32::MIN)
}

fn rate_limit(reader: &mut Reader) -> RateLimitSettings {
    RateLimitSettings {
        enabled: reader.flag("rate_limit.enabled"),
        viewer_points: points(reader, "rate_limit.viewer_points"),
        viewer_points_per_s: points(reader, "rate_limit.viewer_points_per_s"),
        service_points: points(reader, "rate_limit.service_points"),
        service_points_per_s: points(reader, "rate_limit.service_points_per_s"),
        anonymous_points: points(reader, "rate_limit.anonymous_points"),
        anonymous_points_per_s: points(reader, "rate_limit.anonymous_points_per_s"),
        max_known: reader.whole("rate_limit.max_known", 100..=100_000_000),
    }
}

fn sse(reader: &mut Reader) -> SseSettings {
    SseSettings {
        max_streams: reader.whole("sse.max_streams", 1..=10_000_000),
        max_streams_per_client: reader.whole("sse.max_streams_per_client", 0..=10_000_000),
        keep_alive_ms: millis(reader, "sse.keep_alive_ms", 100, 60 * MINUTE_MS),
        reserved_ms: millis(reader, "sse.reserved_ms", 100, MINUTE_MS),
        max_operations: reader.whole("sse.max_operations", 1..=10_000),
        buffer: reader.whole("sse.buffer", 1..=100_000),
    }
}

fn log(reader: &mut Reader) -> LogSettings {
    let format = |text: &str| match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("expected \"text\" or \"json\"".to_owned()),
    };
    let filter = |text: &str| match EnvFilter::builder().parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("expected a level, or levels by module such as \"info,tidefeed=debug\" ({error})")),
    };
    LogSettings { format: reader.parsed("log.format", format), filter: reader.parsed("log.filter", filter) }
}

fn millis(reader: &mut Reader, key: &str, least: u32, most: u32) -> Millis {
    Millis::new(reader.whole(key, least..=most))
}

/// Networks or single addresses.
fn networks(reader: &mut Reader, key: &str) -> Vec<IpNet> {
    let net = |text: &String| text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let read: Option<Vec<_>> = reader.list(key).iter().map(net).collect();
    read.unwrap_or_else(|| {
        reader.refuse(key, "expected networks such as 10.0.0.0/8, or addresses".to_owned());
        Vec::new()
    })
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

/// An address whose default never takes effect, as [`Reader::parsed`] needs a default.
struct Listen(SocketAddr);

impl Default for Listen {
    fn default() -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}
