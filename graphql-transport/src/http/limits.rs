//! The limits and options of the transport, which a service fills from its configuration.

use std::{num::NonZeroU32, time::Duration};

use ipnet::IpNet;

use super::{
    manifest::Manifest,
    origin::Origins,
    rate::{RateLimits, TokenBucket},
};
use crate::{
    guard::GuardLimits,
    measurements::MetricNames,
    memory::{DEFAULT_ANSWER_BYTES, LedgerLimits},
};

const MIB: usize = 1024 * 1024;
/// Default memory for incoming data of one kind.
pub(super) const INCOMING: LedgerLimits = LedgerLimits { node: 64 * MIB, client: 16 * MIB };

/// Default rate of messages that cost no points. A page that begins and ends operations sends hardly any.
const FREE_MESSAGES: TokenBucket =
    TokenBucket { points: NonZeroU32::MIN.saturating_add(99), per_second: NonZeroU32::MIN.saturating_add(19) };

/// How to serve the API.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// Limits of documents.
    pub guard: GuardLimits,
    /// Limits of plain HTTP requests.
    pub request: RequestLimits,
    /// Limits of running and waiting operations.
    pub admission: AdmissionLimits,
    /// Limits of WebSockets.
    pub socket: SocketLimits,
    /// Limits of event streams.
    pub stream: StreamLimits,
    /// Points that clients may spend. `None`: operations are free.
    pub rate: Option<RateLimits>,
    /// Which documents can be named instead of sent.
    pub persisted: PersistedSettings,
    /// Networks of proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Origins whose pages may open a WebSocket and read answers, in addition to this host's.
    pub allowed_origins: Origins,
    /// The names of the metrics.
    pub metrics: MetricNames,
}

/// How many operations run and wait at once. Subscriptions do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Of queries.
    pub queries: AdmissionLimit,
    /// Of mutations.
    pub mutations: AdmissionLimit,
    /// Of queries and mutations of services, which do not count above. 16 run.
    pub services: AdmissionLimit,
    /// The part of each that one viewer may take, one service, or one address without a viewer. 75 %.
    pub client_percent: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        let (each, services) = (AdmissionLimit::default(), AdmissionLimit { running: 16, ..AdmissionLimit::default() });
        Self { queries: each, mutations: each, services, client_percent: 75 }
    }
}

/// The limit of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionLimit {
    /// Operations that run at once, one at least. 64.
    pub running: usize,
    /// Operations that wait for a permit; any more are refused at once. 512.
    pub waiting: usize,
    /// How long one waits before it is refused. 2 s.
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
    /// Whether only documents of the manifest run.
    pub required: bool,
}

impl Default for PersistedSettings {
    fn default() -> Self {
        Self { automatic: true, manifest: None, required: false }
    }
}

/// Limits of event streams on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Open or reserved streams on this node; any more get 503. 10,000.
    pub streams: usize,
    /// Streams of one viewer, or of one address for anonymous clients; 0 for no limit. 200.
    pub per_client: usize,
    /// Operations running at once on one reserved stream. 32.
    pub operations: usize,
    /// Time between two comments that keep the connection open. 12 s.
    pub keep_alive: Duration,
    /// Events that wait for one client; the operation of any more waits. 32.
    pub queued_events: usize,
    /// Time to open a reserved stream. 10 s.
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

/// Limits of one request, and of the cached documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Length of a request's body in bytes. 256 KiB.
    pub body_bytes: usize,
    /// Bytes of bodies and messages from their arrival to the end of their operations: 64 MiB; 16 MiB for one address.
    pub bodies: LedgerLimits,
    /// Bytes of the operations and requests that running subscriptions keep: 32 MiB; 4 MiB of one address or viewer.
    /// They last, so they take no room of bodies.
    pub documents: LedgerLimits,
    /// Bytes of unsent answers: 128 MiB; 32 MiB for one address and for one viewer.
    pub unsent: LedgerLimits,
    /// Bytes of an answer, and of an event. 8 MiB.
    pub answer_bytes: usize,
    /// Time from a request's head to its answer, and for queries and mutations over WebSocket. 30 s.
    pub time: Duration,
    /// Cached documents. 1,024.
    pub cached_documents: usize,
    /// Weight of the cached documents, in bytes of text that would take the same memory once parsed: about a tenth of
    /// the memory. 4 MiB.
    pub cached_document_bytes: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            body_bytes: 256 * 1024,
            bodies: INCOMING,
            documents: LedgerLimits { node: 32 * MIB, client: 4 * MIB },
            unsent: LedgerLimits { node: 128 * MIB, client: 32 * MIB },
            answer_bytes: DEFAULT_ANSWER_BYTES,
            time: Duration::from_secs(30),
            cached_documents: 1024,
            cached_document_bytes: 4 * 1024 * 1024,
        }
    }
}

/// Limits of WebSockets on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLimits {
    /// Open sockets on this node; any more get 503. 20,000.
    pub sockets: usize,
    /// Sockets of one viewer, or of one address while the viewer is unknown; 0 for no limit. 200.
    pub per_client: usize,
    /// Operations running at once on one socket. 32.
    pub operations: usize,
    /// Length of an incoming message, and of a frame, in bytes. 256 KiB.
    pub message_bytes: usize,
    /// How long a message may take to arrive completely. The socket closes after twice that at the latest. 20 s.
    pub message_time: Duration,
    /// Messages of one socket that cost no points: pings, pongs, and each `complete` without a `subscribe`. A client
    /// that sends more is closed with 4429. 100, and 20 a second.
    pub free_messages: TokenBucket,
    /// Characters of an operation's id. 128.
    pub id_chars: usize,
    /// Time from opening the socket to `connection_init`. 3 s.
    pub init_time: Duration,
    /// Time between two pings of the server. 12 s.
    pub ping_every: Duration,
    /// How long a silent client may take to answer a ping. 15 s.
    pub pong_time: Duration,
    /// Messages that wait for one client; the operation of any more waits. 32.
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
            free_messages: FREE_MESSAGES,
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
