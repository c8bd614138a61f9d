//! The bounds and choices of the transport, in structs that a service fills from its configuration.

use std::time::Duration;

use ipnet::IpNet;

use super::{manifest::Manifest, origin::Origins, rate::RateLimits};
use crate::{
    guard::GuardLimits,
    measurements::MetricNames,
    memory::{DEFAULT_ANSWER_BYTES, LedgerLimits},
};

const MIB: usize = 1024 * 1024;
/// Room for what is on its way, of one kind.
pub(super) const INCOMING: LedgerLimits = LedgerLimits { node: 64 * MIB, client: 16 * MIB };

/// How the API is served.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// What a document may be at most.
    pub guard: GuardLimits,
    /// What a request over plain HTTP may be at most.
    pub request: RequestLimits,
    /// How many operations may run and wait.
    pub admission: AdmissionLimits,
    /// What a WebSocket may be at most.
    pub socket: SocketLimits,
    /// What a stream of server-sent events may be at most.
    pub stream: StreamLimits,
    /// Points that clients may spend. `None`: operations have a cost but are not charged.
    pub rate: Option<RateLimits>,
    /// Which documents may be named instead of sent.
    pub persisted: PersistedSettings,
    /// Networks of proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Whose pages may open a WebSocket and read answers, beside those of this very host.
    pub allowed_origins: Origins,
    /// What its measurements are called.
    pub metrics: MetricNames,
}

/// How many operations run and wait at once; more are refused. Subscriptions do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Of queries.
    pub queries: AdmissionLimit,
    /// Of mutations.
    pub mutations: AdmissionLimit,
}

/// Of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionLimit {
    /// Operations that run at once, one at least. 64.
    pub running: usize,
    /// Operations that wait for one of them to end; one more is refused at once. 512.
    pub waiting: usize,
    /// How long one waits; then it is refused. 2 s.
    pub wait_time: Duration,
}

impl Default for AdmissionLimit {
    fn default() -> Self {
        Self { running: 64, waiting: 512, wait_time: Duration::from_secs(2) }
    }
}

/// Documents by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedSettings {
    /// Whether a hash finds a document that was sent before (Apollo's protocol).
    pub automatic: bool,
    /// The documents that the operator trusts.
    pub manifest: Option<Manifest>,
    /// Whether nothing runs that is not in the manifest.
    pub required: bool,
}

impl Default for PersistedSettings {
    fn default() -> Self {
        Self { automatic: true, manifest: None, required: false }
    }
}

/// Bounds of the streams of server-sent events of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Streams open or reserved at once on this node; more are answered 503. 10,000.
    pub streams: usize,
    /// Of them, those of one viewer, or of one address while nobody is signed in; 0 for any number. 200.
    pub per_client: usize,
    /// Operations running at once on one reserved stream. 32.
    pub operations: usize,
    /// Between two comments that keep the connection open. 12 s.
    pub keep_alive: Duration,
    /// Events waiting for one client; an operation that has one more waits. 32.
    pub queued_events: usize,
    /// From a reservation to the stream that fulfils it. 10 s.
    pub reserved_time: Duration,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            streams: 10_000,
            per_client: 200,
            operations: 32,
            keep_alive: Duration::from_secs(12),
            queued_events: 32,
            reserved_time: Duration::from_secs(10),
        }
    }
}

/// Bounds of one request, and of what is remembered of past ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Length of a request's body in bytes. 256 KiB.
    pub body_bytes: usize,
    /// Bytes of bodies and messages, from their arrival until their operations have ended: 64 MiB; of one address 16
    /// MiB.
    pub bodies: LedgerLimits,
    /// Bytes of answers that are made or being made, and unsent: 128 MiB; for one address, and for one viewer, 32 MiB.
    pub unsent: LedgerLimits,
    /// Bytes of an answer, and of an event. 8 MiB.
    pub answer_bytes: usize,
    /// From the request's head to its answer; queries and mutations over WebSocket have it too. 30 s.
    pub time: Duration,
    /// Parsed documents kept. 1,024.
    pub cached_documents: usize,
    /// Bytes of query text of the documents kept, and of what is prepared of them, counted as text that takes as much
    /// when it is parsed: about a tenth of what it takes. 4 MiB.
    pub cached_document_bytes: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            body_bytes: 256 * 1024,
            bodies: INCOMING,
            unsent: LedgerLimits { node: 128 * MIB, client: 32 * MIB },
            answer_bytes: DEFAULT_ANSWER_BYTES,
            time: Duration::from_secs(30),
            cached_documents: 1024,
            cached_document_bytes: 4 * 1024 * 1024,
        }
    }
}

/// Bounds of the sockets of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLimits {
    /// Sockets open at once on this node; more are answered 503. 20,000.
    pub sockets: usize,
    /// Of them, those of one viewer, or of one address until a viewer is known; 0 for any number. 200.
    pub per_client: usize,
    /// Operations running at once on one socket. 32.
    pub operations: usize,
    /// Length of an incoming message, and of a frame, in bytes. 256 KiB.
    pub message_bytes: usize,
    /// How long a message may take to come whole; after twice that at the latest the socket is closed. 20 s.
    pub message_time: Duration,
    /// Characters of an operation's id. 128.
    pub id_chars: usize,
    /// From the opening of the socket to `connection_init`. 3 s.
    pub init_time: Duration,
    /// Between two pings of the server. 12 s.
    pub ping_every: Duration,
    /// How long a client that nothing comes from may take to answer a ping. 15 s.
    pub pong_time: Duration,
    /// Messages waiting for one client; an operation that has one more waits. 32.
    pub queued_messages: usize,
    /// How long the client may leave one message unread before the socket is dropped. 10 s.
    pub send_time: Duration,
    /// How long the closing handshake may take. 2 s.
    pub close_time: Duration,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self {
            sockets: 20_000,
            per_client: 200,
            operations: 32,
            message_bytes: 256 * 1024,
            message_time: Duration::from_secs(20),
            id_chars: 128,
            init_time: Duration::from_secs(3),
            ping_every: Duration::from_secs(12),
            pong_time: Duration::from_secs(15),
            queued_messages: 32,
            send_time: Duration::from_secs(10),
            close_time: Duration::from_secs(2),
        }
    }
}
