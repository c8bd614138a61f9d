//! Reads the settings: each key once, with its range.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
};

use ipnet::IpNet;
use tracing_subscriber::EnvFilter;

use super::{
    AdmissionSettings, AuditSettings, AuthSettings, Config, ContentSettings, DeliverySettings, GraphqlSettings,
    InboxPlace, InboxSettings, IssuerSettings, LiveSettings, LogFormat, LogSettings, MetricsSettings, PagesSettings,
    PersistedSettings, PolicyName, RateLimitSettings, Secret, ServerSettings, ServiceSettings, SseSettings,
    UpkeepSettings, WebsocketSettings, origins,
    reader::{DAY_MS, MINUTE_MS, Reader},
    stores,
};
use crate::domain::{
    account::service::{InvalidScopes, Scopes},
    limits::{MAX_CATCH_UP, MIN_CATCH_UP},
};

const MIB: usize = 1024 * 1024;

/// Reads every key and reports problems to `reader`.
pub fn read(reader: &mut Reader) -> Config {
    Config {
        server: server(reader),
        store: stores::store(reader),
        redis: stores::redis(reader),
        cassandra: stores::cassandra(reader),
        outbox_cache: stores::outbox_cache(reader),
        auth: auth(reader),
        issuer: issuer(reader),
        service: service(reader),
        content: ContentSettings { schemas: reader.text("content.schemas") },
        delivery: delivery(reader),
        inbox: inbox(reader),
        upkeep: upkeep(reader),
        audit: AuditSettings {
            every_ms: reader.millis("audit.every_ms", 0, DAY_MS),
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
        head_timeout_ms: reader.millis("server.head_timeout_ms", 100, 10 * MINUTE_MS),
        idle_timeout_ms: reader.millis("server.idle_timeout_ms", 100, 60 * MINUTE_MS),
        request_timeout_ms: reader.millis("server.request_timeout_ms", 100, 10 * MINUTE_MS),
        max_body_bytes: reader.whole("server.max_body_bytes", 1024..=64 * MIB),
        max_incoming_bytes: reader.whole("server.max_incoming_bytes", MIB / 16..=1024 * 1024 * MIB),
        max_incoming_bytes_per_address: reader.whole("server.max_incoming_bytes_per_address", 0..=1024 * 1024 * MIB),
        max_unsent_bytes: reader.whole("server.max_unsent_bytes", MIB / 16..=1024 * 1024 * MIB),
        max_unsent_bytes_per_client: reader.whole("server.max_unsent_bytes_per_client", 0..=1024 * 1024 * MIB),
        unready_ms: reader.millis("server.unready_ms", 0, 10 * MINUTE_MS),
        drain_ms: reader.millis("server.drain_ms", 0, 10 * MINUTE_MS),
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
        claim_attributes: reader.text("issuer.claim_attributes"),
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
        lease_ms: reader.millis("delivery.lease_ms", 1000, 60 * MINUTE_MS),
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
        sweep_ms: reader.millis("upkeep.sweep_ms", 10, 60 * MINUTE_MS),
        relation_workers: reader.whole("upkeep.relation_workers", 1..=1024),
        trim_ms: reader.millis("upkeep.trim_ms", 10, DAY_MS),
        seen_every_ms: reader.millis("upkeep.seen_every_ms", 1000, DAY_MS),
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
        init_timeout_ms: reader.millis("websocket.init_timeout_ms", 100, MINUTE_MS),
        message_timeout_ms: reader.millis("websocket.message_timeout_ms", 100, 60 * MINUTE_MS),
        ping_ms: reader.millis("websocket.ping_ms", 100, 60 * MINUTE_MS),
        pong_timeout_ms: reader.millis("websocket.pong_timeout_ms", 100, 60 * MINUTE_MS),
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
        check_ms: reader.millis("live.check_ms", 0, DAY_MS),
    }
}

fn admission(reader: &mut Reader) -> AdmissionSettings {
    AdmissionSettings {
        queries: reader.whole("admission.queries", 0..=1_000_000),
        queries_waiting: reader.whole("admission.queries_waiting", 0..=1_000_000),
        queries_wait_ms: reader.millis("admission.queries_wait_ms", 1, 10 * MINUTE_MS),
        mutations: reader.whole("admission.mutations", 0..=1_000_000),
        mutations_waiting: reader.whole("admission.mutations_waiting", 0..=1_000_000),
        mutations_wait_ms: reader.millis("admission.mutations_wait_ms", 1, 10 * MINUTE_MS),
        services: reader.whole("admission.services", 0..=1_000_000),
        services_waiting: reader.whole("admission.services_waiting", 0..=1_000_000),
        services_wait_ms: reader.millis("admission.services_wait_ms", 1, 10 * MINUTE_MS),
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
        keep_alive_ms: reader.millis("sse.keep_alive_ms", 100, 60 * MINUTE_MS),
        reserved_ms: reader.millis("sse.reserved_ms", 100, MINUTE_MS),
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

/// Networks or single addresses.
fn networks(reader: &mut Reader, key: &str) -> Vec<IpNet> {
    let net = |text: &String| text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let read: Option<Vec<_>> = reader.list(key).iter().map(net).collect();
    read.unwrap_or_else(|| {
        reader.refuse(key, "expected networks such as 10.0.0.0/8, or addresses".to_owned());
        Vec::new()
    })
}

/// An address whose default never takes effect, as [`Reader::parsed`] needs a default.
struct Listen(SocketAddr);

impl Default for Listen {
    fn default() -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}
