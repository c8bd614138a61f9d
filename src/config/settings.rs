//! The settings by section. Fields are named like the keys in config/default.toml, which explains each.
#![expect(
    missing_docs,
    reason = "config/default.toml says what each key means; saying it twice would let one of them rot"
)]

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    num::NonZeroU32,
};

use ipnet::IpNet;

use super::{Address, Millis, Secret};
use crate::domain::account::service::Scopes;

/// The whole configuration, checked. Sections and fields are named as in config/default.toml.
#[derive(Debug, Clone)]
pub struct Config {
    /// How clients reach this node.
    pub server: ServerSettings,
    /// The primary store: SQL.
    pub store: StoreSettings,
    /// Queue, outbox cache and announcements between nodes.
    pub redis: RedisSettings,
    /// Inboxes in Cassandra.
    pub cassandra: CassandraSettings,
    /// Recent entries of pulled authors.
    pub outbox_cache: OutboxCacheSettings,
    /// Accounts and tokens.
    pub auth: AuthSettings,
    /// An external issuer of tokens.
    pub issuer: IssuerSettings,
    /// Other services.
    pub service: ServiceSettings,
    /// What contents may be to the product.
    pub content: ContentSettings,
    /// Deliveries of contents to inboxes.
    pub delivery: DeliverySettings,
    /// Sizes of inboxes.
    pub inbox: InboxSettings,
    /// Background work.
    pub upkeep: UpkeepSettings,
    /// `[audit]`
    pub audit: AuditSettings,
    /// Bounds of a GraphQL document.
    pub graphql: GraphqlSettings,
    /// How many operations run and wait at once.
    pub admission: AdmissionSettings,
    /// Persisted documents.
    pub persisted: PersistedSettings,
    /// Rate limits in points.
    pub rate_limit: RateLimitSettings,
    /// Pages that anybody may open.
    pub api: PagesSettings,
    /// The sockets of subscriptions.
    pub websocket: WebsocketSettings,
    /// Streams of server-sent events.
    pub sse: SseSettings,
    /// What live subscriptions promise, and its bounds.
    pub live: LiveSettings,
    /// Log lines.
    pub log: LogSettings,
    /// Measurements.
    pub metrics: MetricsSettings,
}

/// `[server]`
#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub listen: SocketAddr,
    pub public_url: String,
    pub allowed_origins: Vec<String>,
    pub trusted_proxies: Vec<IpNet>,
    pub max_connections: usize,
    pub max_connections_per_address: usize,
    pub head_timeout_ms: Millis,
    pub idle_timeout_ms: Millis,
    pub request_timeout_ms: Millis,
    pub max_body_bytes: usize,
    pub max_incoming_bytes: usize,
    pub max_incoming_bytes_per_address: usize,
    pub max_unsent_bytes: usize,
    pub max_unsent_bytes_per_client: usize,
    pub unready_ms: Millis,
    pub drain_ms: Millis,
}

impl ServerSettings {
    /// Where a process of this machine reaches the node.
    pub fn reachable(&self) -> SocketAddr {
        let ip = match self.listen.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.listen.port())
    }

    /// Where clients reach the service, without a slash at its end.
    pub fn base_url(&self) -> String {
        let own = || format!("http://{}", self.reachable());
        if self.public_url.is_empty() { own() } else { self.public_url.trim_end_matches('/').to_owned() }
    }
}

/// `[store]`
#[derive(Debug, Clone)]
pub struct StoreSettings {
    pub url: Address,
    pub replicas: Vec<Address>,
    pub replica_wait_ms: Millis,
    pub max_connections: u32,
    pub delivery_connections: u32,
    pub sqlite_readers: u32,
    pub acquire_timeout_ms: Millis,
    pub statement_timeout_ms: Millis,
    pub migrate_at_start: bool,
}

/// `[redis]`; without urls everything is in process.
#[derive(Debug, Clone)]
pub struct RedisSettings {
    pub urls: Vec<Address>,
    pub cluster: bool,
    pub sentinel_master: String,
    pub sentinel_user: String,
    pub sentinel_password: Secret,
    pub tls_ca: String,
    pub tls_certificate: String,
    pub tls_key: String,
    pub prefix: String,
    pub command_timeout_ms: Millis,
    pub redelivery_ms: Millis,
    pub stream_max_len: u64,
}

/// `[cassandra]`
#[derive(Debug, Clone)]
pub struct CassandraSettings {
    pub contact_points: Vec<String>,
    pub keyspace: String,
    pub replication: u32,
    pub datacenter: String,
    pub user: String,
    pub password: Secret,
    pub tls: bool,
    pub tls_ca: String,
    pub tls_certificate: String,
    pub tls_key: String,
    pub timeout_ms: Millis,
}

/// `[outbox_cache]`
#[derive(Debug, Clone)]
pub struct OutboxCacheSettings {
    pub enabled: bool,
    pub capacity: usize,
    pub ttl_s: u32,
}

/// `[auth]`; [`super::signing_secret`] defines what an empty secret means.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    pub secret: Secret,
    pub former_secrets: Vec<Secret>,
    pub token_ttl_minutes: u32,
    pub session_days: u32,
    pub refresh_grace_s: u32,
    pub revocation_s: u32,
    pub open_registration: bool,
    pub registrations_per_hour: u32,
    pub argon2_memory_kib: u32,
    pub argon2_iterations: u32,
    pub argon2_parallelism: u32,
    pub hashing_slots: usize,
}

/// `[issuer]`; without a url there is no issuer.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    pub url: String,
    pub audience: String,
    pub jwks_url: String,
    pub algorithms: Vec<String>,
    pub keys_s: u32,
    pub unknown_key_wait_s: u32,
    pub provision: bool,
    pub claim_handle: String,
    pub claim_name: String,
    pub claim_avatar: String,
    pub claim_attributes: String,
    pub claim_updated_at: String,
    pub follows_claims: bool,
    pub only: bool,
}

/// The rule by which edges are pushed or pulled: [`crate::domain::delivery::EdgeRule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyName {
    /// `"threshold"`
    #[default]
    Threshold,
    /// `"rates"`
    Rates,
}

/// `[delivery]`
#[derive(Debug, Clone)]
pub struct DeliverySettings {
    pub policy: PolicyName,
    pub push_threshold: u64,
    pub active_days: u32,
    pub push_cost: u32,
    pub pull_cost: u32,
    pub dormant_days: u32,
    pub first_served: u32,
    pub first_seen_minutes: u32,
    pub subtask_size: u32,
    pub batch_size: u32,
    pub dispatchers: usize,
    pub executors: usize,
    pub lease_ms: Millis,
    pub failing_after: u32,
}

/// `[inbox]`
#[derive(Debug, Clone)]
pub struct InboxSettings {
    pub keep: u32,
    pub extend_step: u32,
    pub deep_keep: u32,
    pub deep_minutes: u32,
    pub store: InboxPlace,
    pub outside_hours: u32,
    pub redis_ttl_hours: u32,
    pub builds_at_once: usize,
}

/// Where readers who come have their inboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InboxPlace {
    /// In the primary store.
    #[default]
    Sql,
    /// In Redis.
    Redis,
    /// In Cassandra.
    #[cfg(feature = "cassandra")]
    Cassandra,
}

impl InboxPlace {
    /// Whether it is Cassandra. Never in a binary that was built without.
    pub fn is_cassandra(self) -> bool {
        !matches!(self, Self::Sql | Self::Redis)
    }
}

/// `[upkeep]`
#[derive(Debug, Clone)]
pub struct UpkeepSettings {
    pub sweep_ms: Millis,
    pub relation_workers: usize,
    pub trim_ms: Millis,
    pub seen_every_ms: Millis,
}

/// `[audit]`
#[derive(Debug, Clone)]
pub struct AuditSettings {
    pub every_ms: Millis,
    pub pages: u32,
    pub repair: bool,
}

/// `[graphql]`
#[derive(Debug, Clone)]
pub struct GraphqlSettings {
    pub max_bytes: usize,
    pub max_nesting: usize,
    pub max_tokens: usize,
    pub max_fields: u64,
    pub max_aliases: u64,
    pub max_depth: usize,
    pub max_operations: usize,
    pub max_fragments: usize,
    pub max_directives: usize,
    pub max_variable_bytes: usize,
    pub max_variable_nesting: usize,
    pub max_cost: u64,
    pub max_answer_bytes: usize,
    pub introspection: bool,
    pub graphiql: bool,
    pub cached_documents: usize,
}

/// `[service]`
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    pub key: Secret,
    pub scopes: Scopes,
    pub log_days: u32,
    pub max_bulks: usize,
    pub max_import_bytes: u64,
}

/// `[content]`
#[derive(Debug, Clone)]
pub struct ContentSettings {
    pub schemas: String,
}

/// `[admission]`
#[derive(Debug, Clone)]
pub struct AdmissionSettings {
    pub queries: usize,
    pub queries_waiting: usize,
    pub queries_wait_ms: Millis,
    pub mutations: usize,
    pub mutations_waiting: usize,
    pub mutations_wait_ms: Millis,
    pub services: usize,
    pub services_waiting: usize,
    pub services_wait_ms: Millis,
    pub client_percent: usize,
}

/// `[persisted]`
#[derive(Debug, Clone)]
pub struct PersistedSettings {
    pub automatic: bool,
    pub manifest: String,
    pub required: bool,
}

/// `[rate_limit]`
#[derive(Debug, Clone)]
pub struct RateLimitSettings {
    pub enabled: bool,
    pub viewer_points: NonZeroU32,
    pub viewer_points_per_s: NonZeroU32,
    pub service_points: NonZeroU32,
    pub service_points_per_s: NonZeroU32,
    pub anonymous_points: NonZeroU32,
    pub anonymous_points_per_s: NonZeroU32,
    pub max_known: usize,
}

/// `[sse]`
#[derive(Debug, Clone)]
pub struct SseSettings {
    pub max_streams: usize,
    pub max_streams_per_client: usize,
    pub keep_alive_ms: Millis,
    pub reserved_ms: Millis,
    pub max_operations: usize,
    pub buffer: usize,
}

/// `[websocket]`
#[derive(Debug, Clone)]
pub struct WebsocketSettings {
    pub max_sockets: usize,
    pub max_sockets_per_client: usize,
    pub init_timeout_ms: Millis,
    pub message_timeout_ms: Millis,
    pub ping_ms: Millis,
    pub pong_timeout_ms: Millis,
    pub max_operations: usize,
    pub buffer: usize,
    pub free_messages: NonZeroU32,
    pub free_messages_per_s: NonZeroU32,
}

/// `[live]`
#[derive(Debug, Clone)]
pub struct LiveSettings {
    pub buffer: usize,
    pub catch_up: u16,
    pub max_per_viewer: usize,
    pub max_anonymous_bytes: usize,
    pub catch_ups: usize,
    pub check_ms: Millis,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// `[log]`
#[derive(Debug, Clone)]
pub struct LogSettings {
    pub format: LogFormat,
    pub filter: String,
}

/// `[api]`
#[derive(Debug, Clone)]
pub struct PagesSettings {
    pub public_pages: bool,
    pub shows_external_ids: bool,
}

/// `[metrics]`
#[derive(Debug, Clone)]
pub struct MetricsSettings {
    pub enabled: bool,
}
