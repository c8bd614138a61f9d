//! Turns the configuration into the settings of each part.

use std::{sync::Arc, time::Duration};

use content_schemas::ContentSchemas;
use graphql_transport::{
    guard::GuardLimits,
    http::{
        AdmissionLimit, AdmissionLimits, ConnectionLimits, HttpSettings, Manifest, ManifestError, Origins,
        PersistedSettings, RateLimits, RequestLimits, SocketLimits, StreamLimits, TokenBucket,
    },
    measurements::MetricNames,
    memory::LedgerLimits,
};

use super::{ApiSettings, AppError, ExternalIssuer, HttpKeys, Settings};
use certificates::CertificateFiles;

use crate::{
    accounts::{
        PasswordSettings, SessionSettings,
        issuer::{ClaimNames, IssuerSettings, KeySettings},
        services::{CONFIGURED, KeyDigest},
    },
    config::{Config, DeliverySettings, Millis, PolicyName, ServerSettings, SqlEngine},
    domain::{
        delivery::{DeliveryPolicy, EdgeRule},
        timeline::tier::InboxTiers,
    },
    live::LiveSettings,
    publish::FirstServed,
    store::service_keys::{NEVER, ServiceKey},
    telemetry::metrics,
};

/// Most batches of a delivery that is one transaction: its rows cost less than the transactions of a chain.
const BATCHES_AT_ONCE: u32 = 4;

const DAY_MS: i64 = 24 * 60 * 60_000;

/// The settings of the use cases.
pub fn use_cases(config: &Config) -> Settings {
    let delivery = &config.delivery;
    Settings {
        policy: DeliveryPolicy { rule: rule(delivery), dormant_days: delivery.dormant_days },
        first: FirstServed {
            most: delivery.first_served,
            beyond_transactions: 1,
            within_ms: i64::from(delivery.first_seen_minutes) * 60_000,
        },
        subtask_size: delivery.subtask_size,
        batch_size: delivery.batch_size,
        batches_at_once: BATCHES_AT_ONCE,
        lease_ms: delivery.lease_ms.as_i64(),
        failing_after: delivery.failing_after,
        tiers: InboxTiers {
            keep: config.inbox.keep,
            step: config.inbox.extend_step,
            deep_keep: config.inbox.deep_keep,
            longest_ms: i64::from(config.inbox.deep_minutes) * 60_000,
        },
        seen_every_ms: config.upkeep.seen_every_ms.as_i64(),
        service_log_ms: i64::from(config.service.log_days) * DAY_MS,
        live: LiveSettings {
            buffer: config.live.buffer,
            catch_up: config.live.catch_up,
            catch_ups: config.live.catch_ups,
            check_every: config.live.check_ms.duration(),
            of_reader: config.live.max_per_viewer,
            anonymous_bytes: config.live.max_anonymous_bytes,
        },
    }
}

fn rule(delivery: &DeliverySettings) -> EdgeRule {
    let DeliverySettings { push_threshold, active_days, push_cost, pull_cost, .. } = *delivery;
    match delivery.policy {
        PolicyName::Threshold => EdgeRule::Threshold { push_threshold, active_days },
        PolicyName::Rates => EdgeRule::Rates { push_cost, pull_cost },
    }
}

/// The settings of the API.
pub fn api(config: &Config, secret: &[u8], schemas: ContentSchemas) -> Result<ApiSettings, AppError> {
    let auth = &config.auth;
    Ok(ApiSettings {
        http: http(config)?,
        base_url: config.server.base_url(),
        secret: secret.to_vec(),
        former_secrets: auth.former_secrets.iter().map(|secret| secret.expose().as_bytes().to_vec()).collect(),
        token_ttl: Duration::from_secs(u64::from(auth.token_ttl_minutes) * 60),
        sessions: SessionSettings {
            idle: Duration::from_hours(u64::from(auth.session_days) * 24),
            grace: Duration::from_secs(u64::from(auth.refresh_grace_s)),
            revocation: Duration::from_secs(u64::from(auth.revocation_s)),
        },
        passwords: PasswordSettings {
            memory_kib: auth.argon2_memory_kib,
            iterations: auth.argon2_iterations,
            parallelism: auth.argon2_parallelism,
            slots: auth.hashing_slots,
            client_percent: config.admission.client_percent,
            ..PasswordSettings::default()
        },
        open_registration: auth.open_registration,
        registrations_per_hour: auth.registrations_per_hour,
        public_pages: config.api.public_pages,
        shows_external_ids: config.api.shows_external_ids,
        content_schemas: Arc::new(schemas),
        issuer: issuer(config)?,
        max_bulks: config.service.max_bulks,
        max_import_bytes: config.service.max_import_bytes,
        service_key: service_key(config),
    })
}

/// The key in the configuration, if there is one.
fn service_key(config: &Config) -> Option<(KeyDigest, ServiceKey)> {
    let text = config.service.key.expose();
    let service = CONFIGURED.parse().ok().filter(|_| !text.is_empty())?;
    let (scopes, expires_at) = (config.service.scopes, NEVER);
    Some((KeyDigest::of(text), ServiceKey { id: None, service, scopes, created_at: 0, expires_at, last_used_at: 0 }))
}

/// An empty address means no issuer.
fn issuer(config: &Config) -> Result<Option<ExternalIssuer>, AppError> {
    let issuer = &config.issuer;
    if issuer.url.is_empty() {
        return Ok(None);
    }
    Ok(Some(ExternalIssuer {
        issuer: IssuerSettings {
            issuer: issuer.url.clone(),
            audience: issuer.audience.clone(),
            algorithms: issuer.algorithms.iter().filter_map(|name| name.parse().ok()).collect(),
        },
        keys: KeySettings {
            max_age: Duration::from_secs(u64::from(issuer.keys_s)),
            wait: Duration::from_secs(u64::from(issuer.unknown_key_wait_s)),
        },
        source: Arc::new(HttpKeys::try_new(&issuer.jwks_url).map_err(AppError::Issuer)?),
        provisions: issuer.provision,
        claims: ClaimNames {
            handle: issuer.claim_handle.clone(),
            name: issuer.claim_name.clone(),
            avatar: issuer.claim_avatar.clone(),
            attributes: issuer.claim_attributes.clone(),
            updated_at: issuer.follows_claims.then(|| issuer.claim_updated_at.clone()),
        },
        only: issuer.only,
    }))
}

/// The message for a page of an origin that is not listed.
const ORIGIN_REFUSAL: &str = "Pages of this origin may not use this server. Add the origin to server.allowed_origins.";

/// The names of the transport's metrics.
const METRICS: MetricNames = MetricNames {
    connections: metrics::CONNECTIONS,
    connections_refused: metrics::CONNECTIONS_REFUSED,
    held_bytes: metrics::HELD_BYTES,
    held_bytes_refused: metrics::HELD_BYTES_REFUSED,
    sockets: metrics::SOCKETS,
    sockets_cut_off: metrics::SOCKETS_CUT_OFF,
    streams: metrics::STREAMS,
    refused: metrics::REFUSED,
    operations_running: metrics::OPERATIONS_RUNNING,
    operations_waiting: metrics::OPERATIONS_WAITING,
    operations_refused: metrics::OPERATIONS_REFUSED,
};

/// The bounds of incoming bytes, separately for bodies and heads.
fn incoming(server: &ServerSettings) -> LedgerLimits {
    LedgerLimits { node: server.max_incoming_bytes, client: server.max_incoming_bytes_per_address }
}

/// The bounds of what running subscriptions keep.
fn documents(server: &ServerSettings) -> LedgerLimits {
    let LedgerLimits { node, client } = incoming(server);
    LedgerLimits { node: node / 2, client: client / 4 }
}

fn http(config: &Config) -> Result<HttpSettings, AppError> {
    let (server, graphql, websocket) = (&config.server, &config.graphql, &config.websocket);
    Ok(HttpSettings {
        guard: guard(config),
        request: RequestLimits {
            body_bytes: server.max_body_bytes,
            bodies: incoming(server),
            documents: documents(server),
            unsent: LedgerLimits { node: server.max_unsent_bytes, client: server.max_unsent_bytes_per_client },
            answer_bytes: graphql.max_answer_bytes,
            time: server.request_timeout_ms.duration(),
            cached_documents: graphql.cached_documents,
            ..RequestLimits::default()
        },
        socket: SocketLimits {
            sockets: websocket.max_sockets,
            per_client: websocket.max_sockets_per_client,
            operations: websocket.max_operations,
            message_bytes: server.max_body_bytes,
            init_time: websocket.init_timeout_ms.duration(),
            message_time: websocket.message_timeout_ms.duration(),
            ping_every: websocket.ping_ms.duration(),
            pong_time: websocket.pong_timeout_ms.duration(),
            queued_messages: websocket.buffer,
            free_messages: TokenBucket { points: websocket.free_messages, per_second: websocket.free_messages_per_s },
            ..SocketLimits::default()
        },
        stream: StreamLimits {
            streams: config.sse.max_streams,
            per_client: config.sse.max_streams_per_client,
            operations: config.sse.max_operations,
            keep_alive: config.sse.keep_alive_ms.duration(),
            queued_events: config.sse.buffer,
            reserved_time: config.sse.reserved_ms.duration(),
        },
        admission: admission(config),
        rate: rate(config),
        persisted: PersistedSettings {
            automatic: config.persisted.automatic,
            manifest: manifest(&config.persisted.manifest).map_err(AppError::Manifest)?,
            required: config.persisted.required,
        },
        trusted_proxies: server.trusted_proxies.clone(),
        allowed_origins: Origins {
            listed: server.allowed_origins.clone(),
            // SQLite and a local address: a developer's machine.
            local: config.store.url.engine() == SqlEngine::Sqlite && server.listen.ip().is_loopback(),
            refusal: ORIGIN_REFUSAL,
        },
        metrics: METRICS,
    })
}

/// Files that a node opens beside its connections: standard streams, Redis, pages, the log.
const OTHER_FILES: usize = 128;

/// The limits of connections. `files`: how many files the process may open, if known.
pub fn connections(config: &Config, files: Option<usize>) -> ConnectionLimits {
    let (server, defaults) = (&config.server, ConnectionLimits::default());
    // SQLite opens three files for each connection.
    let stores = config.store.max_connections.max(config.store.sqlite_readers.saturating_add(1));
    let taken = OTHER_FILES + defaults.spare + 3 * usize::try_from(stores).unwrap_or(usize::MAX / 8);
    let room = files.map_or(defaults.connections, |files| files.saturating_sub(taken).max(files / 4)).max(1);
    let connections = if server.max_connections == 0 { room } else { server.max_connections.min(room) };
    let half = (connections / 2).max(1);
    ConnectionLimits {
        connections,
        per_address: match server.max_connections_per_address {
            0 => 0,
            some => some.min(half),
        },
        head_time: server.head_timeout_ms.duration(),
        idle_time: server.idle_timeout_ms.duration(),
        heads: incoming(server),
        trusted_proxies: server.trusted_proxies.clone(),
        metrics: METRICS,
        ..defaults
    }
}

/// Default number of operations of a kind that run at once for each processor: enough to keep it busy while some wait
/// for the store. Mutations wait more than they compute, and share commits: of 8 at once instead of 32, SQLite commits
/// three quarters as many publishes a second.
const QUERIES_A_PROCESSOR: usize = 8;
const MUTATIONS_A_PROCESSOR: usize = 16;
/// Default number of operations that wait for each running one. Such short queues end before a client notices.
const QUERIES_WAITING_FOR_ONE: usize = 4;
const MUTATIONS_WAITING_FOR_ONE: usize = 6;
/// A service has time, and repeats what is refused.
const SERVICES_WAITING_FOR_ONE: usize = 16;
/// Of the queries that run at once, as many more may be operations of services as one of this many.
const QUERIES_FOR_A_SERVICE: usize = 4;

fn admission(config: &Config) -> AdmissionLimits {
    let admission = &config.admission;
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let connections = match config.store.url.engine() {
        SqlEngine::Sqlite => 0,
        SqlEngine::MySql => usize::try_from(config.store.max_connections).unwrap_or(usize::MAX),
    };
    let limit = |running: usize, waiting: usize, wait: Millis, (each, waiting_for_one): (usize, usize)| {
        let running = if running == 0 { (each * processors).max(connections) } else { running };
        let waiting = if waiting == 0 { running.saturating_mul(waiting_for_one) } else { waiting };
        AdmissionLimit { running, waiting, wait_time: wait.duration() }
    };
    let queries = (admission.queries, admission.queries_waiting, admission.queries_wait_ms);
    let mutations = (admission.mutations, admission.mutations_waiting, admission.mutations_wait_ms);
    let queries = limit(queries.0, queries.1, queries.2, (QUERIES_A_PROCESSOR, QUERIES_WAITING_FOR_ONE));
    let quarter = (queries.running / QUERIES_FOR_A_SERVICE).max(1);
    let services = if admission.services == 0 { quarter } else { admission.services };
    let (waiting, wait) = (admission.services_waiting, admission.services_wait_ms);
    AdmissionLimits {
        queries,
        services: limit(services, waiting, wait, (1, SERVICES_WAITING_FOR_ONE)),
        mutations: limit(mutations.0, mutations.1, mutations.2, (MUTATIONS_A_PROCESSOR, MUTATIONS_WAITING_FOR_ONE)),
        client_percent: admission.client_percent,
    }
}

fn guard(config: &Config) -> GuardLimits {
    let graphql = &config.graphql;
    GuardLimits {
        query_bytes: graphql.max_bytes,
        nesting: graphql.max_nesting,
        tokens: graphql.max_tokens,
        expanded_fields: graphql.max_fields,
        aliases: graphql.max_aliases,
        depth: graphql.max_depth,
        operations: graphql.max_operations,
        fragments: graphql.max_fragments,
        directives: graphql.max_directives,
        variable_bytes: graphql.max_variable_bytes,
        variable_nesting: graphql.max_variable_nesting,
        cost: graphql.max_cost,
        introspection: graphql.introspection,
        ..GuardLimits::default()
    }
}

fn rate(config: &Config) -> Option<RateLimits> {
    let rate = &config.rate_limit;
    rate.enabled.then_some(RateLimits {
        viewer: TokenBucket { points: rate.viewer_points, per_second: rate.viewer_points_per_s },
        service: TokenBucket { points: rate.service_points, per_second: rate.service_points_per_s },
        address: TokenBucket { points: rate.anonymous_points, per_second: rate.anonymous_points_per_s },
        known: rate.max_known,
    })
}

/// An empty path means no manifest.
fn manifest(path: &str) -> Result<Option<Manifest>, ManifestError> {
    if path.is_empty() {
        return Ok(None);
    }
    let unreadable = |error| ManifestError::because(format!("{path}: cannot be read: {error}"));
    Manifest::parse(&std::fs::read_to_string(path).map_err(unreadable)?).map(Some)
}

/// The files for connections to Cassandra; `None` if those are in the clear.
pub fn files_for_cassandra(config: &Config) -> Option<CertificateFiles> {
    let it = &config.cassandra;
    it.tls.then(|| CertificateFiles::named([&it.tls_ca, &it.tls_certificate, &it.tls_key]))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use graphql_transport::http::buffers;

    use super::*;
    use crate::{domain::limits::MAX_FOLLOWS, store::redis::RedisOptions};

    #[test]
    fn every_buffer_is_listed_with_its_bound() {
        let page = include_str!("../../docs/operations.md");
        let rows = buffers(&http(&Config::defaults().unwrap()).unwrap());
        let table: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert!(page.contains(&table.join("\n")), "the table of docs/operations.md is:\n{}", table.join("\n"));
    }
    #[test]
    fn operators_are_told_the_bounds_between_a_node_and_its_stores() {
        let page = include_str!("../../docs/operations.md");
        let announcements = RedisOptions::default().announcement_buffer;
        for row in [
            format!("| announcements that wait to be passed on | {announcements}; "),
            format!("a page and one row, a batch of work, or {} followed authors |", MAX_FOLLOWS + 1),
        ] {
            assert!(page.contains(&row), "{row}");
        }
    }

    #[test]
    fn the_bounds_of_libraries_are_those_of_the_versions_in_use() {
        let (page, lock) = (include_str!("../../docs/operations.md"), include_str!("../../Cargo.lock"));
        for library in ["hyper", "redis", "reqwest", "rusqlite", "scylla", "sqlx-mysql", "tungstenite"] {
            let (_, found) = lock.split_once(&format!("name = \"{library}\"\nversion = \"")).unwrap();
            let named = format!("{library} {}", found.split('"').next().unwrap());
            let remedy = "read its code: do its rows in docs/operations.md still hold? Then name this version there";
            assert!(page.contains(&named), "{named}: {remedy}");
        }
    }
}
