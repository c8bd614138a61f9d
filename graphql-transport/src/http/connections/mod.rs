//! Accepts connections: bounded in number for the node and for each address, and closed when they stay silent.
//!
//! A silent connection holds a file descriptor although it sends no request. The caller passes a router that serves the
//! requests.

mod host;
mod received;
mod seats;
mod wire;

use std::{
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::ConnectInfo,
    http::{Extensions, Request, Response, StatusCode},
    serve::{Listener as _, ListenerExt as _, TapIo},
};
use fair_queue::Gauged;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use ipnet::IpNet;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

pub(super) use self::received::{FREE_BYTES, Received, Unreceived};
use self::{
    seats::{Busy, BusyBody, Requests, Seat, Seats},
    wire::Wire,
};
use super::{
    limits::INCOMING,
    slots::{Slot, Slots},
};
use crate::{
    measurements::MetricNames,
    memory::{Ledger, LedgerLimits},
    payer::Payer,
};

/// Bytes of a connection that are buffered before a handler takes them. A request's head has to fit; the longest URL
/// takes 64 KiB.
pub(super) const BUFFER_BYTES: usize = 72 * 1024;

/// Limits of the connections of one node.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Open connections. Beyond them, the one that has been idle longest gives way, if its client has more than the new
    /// one's. 10,000.
    pub connections: usize,
    /// Open connections of one address (a /64 in IPv6); 0 for no limit. Trusted proxies have no limit. 2,000.
    pub per_address: usize,
    /// Connections beyond these limits, which are answered once with [`Routes::full`]. 64.
    pub spare: usize,
    /// Time from the start of a connection to its first request's head. 10 s.
    pub head_time: Duration,
    /// The same for connections beyond the bound. 2 s.
    pub spare_head_time: Duration,
    /// Time from an answer to the next request's head. 75 s: longer than load balancers wait.
    pub idle_time: Duration,
    /// A client that takes no byte for this long counts as gone. 60 s.
    pub stall_time: Duration,
    /// Bytes of incomplete heads beyond 8 KiB each: 64 MiB; 16 MiB for one address. Clients that send more are
    /// disconnected.
    pub heads: LedgerLimits,
    /// Networks of trusted proxies, each of which serves many clients.
    pub trusted_proxies: Vec<IpNet>,
    /// The names of the metrics.
    pub metrics: MetricNames,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            per_address: 2_000,
            spare: 64,
            head_time: Duration::from_secs(10),
            spare_head_time: Duration::from_secs(2),
            idle_time: Duration::from_secs(75),
            stall_time: Duration::from_mins(1),
            heads: INCOMING,
            trusted_proxies: Vec::new(),
            metrics: MetricNames::default(),
        }
    }
}

/// The routes to serve.
#[derive(Clone)]
pub struct Routes {
    /// For connections within the limit.
    pub all: Router,
    /// For connections beyond the limit: operators' endpoints, and a refusal of everything else.
    pub full: Router,
}

impl Routes {
    /// What serves a connection.
    fn of(&self, is_spare: bool) -> Router {
        if is_spare { self.full.clone() } else { self.all.clone() }
    }
}

/// `listener` with Nagle's algorithm off. Otherwise a small answer waits some 40 ms for the acknowledgement of the
/// previous one.
fn prompt(listener: TcpListener) -> TapIo<TcpListener, fn(&mut TcpStream)> {
    listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set on a connection. Its answers are delayed.");
        }
    })
}

/// For a handler that reads the body of this request while it answers, piece by piece: what arrives meanwhile is not
/// counted as the head of another request. Its answer has `Connection: close`, so that none follows.
pub fn read_while_answering(request: &Extensions) {
    if let Some(received) = request.get::<Received>() {
        received.read_while_answered();
    }
}

/// Serves HTTP/1.1 until `stop`, and until the open requests have ended. Handlers find the peer's address as
/// `ConnectInfo<SocketAddr>`.
pub async fn serve(listener: TcpListener, routes: Routes, limits: ConnectionLimits, stop: CancellationToken) {
    let mut listener = prompt(listener);
    let slots = ConnectionSlots::new(&limits);
    let open = TaskTracker::new();
    let limits = Arc::new(limits);
    // After an error of `accept`, such as too many open files, axum's listener waits for a second.
    while let Some((stream, peer)) = stop.run_until_cancelled(listener.accept()).await {
        match slots.enter(peer) {
            Some(permit) => {
                let served = routes.of(permit.is_spare());
                open.spawn(talk((stream, peer), permit, served, Arc::clone(&limits), (stop.clone(), open.clone())));
            }
            None => drop(stream),
        }
    }
    drop(listener);
    open.close();
    open.wait().await;
}

/// The slots for connections.
struct ConnectionSlots {
    all: Seats,
    spare: Arc<Semaphore>,
    each: Slots<Payer>,
    heads: Ledger,
    trusted_proxies: Vec<IpNet>,
    metrics: MetricNames,
}

/// The slots of one open connection.
struct ConnectionPermit {
    /// `None` for a connection beyond the limit, which has a permit to be answered once.
    seat: Option<Seat>,
    heads: Ledger,
    /// The client whose heads are counted; `None` for proxies, which serve many.
    client: Option<Payer>,
    _spare: Option<OwnedSemaphorePermit>,
    _slot: Option<Slot<Payer>>,
    _gauged: Gauged,
}

impl ConnectionSlots {
    fn new(limits: &ConnectionLimits) -> Self {
        Self {
            all: Seats::new(limits.connections),
            spare: Arc::new(Semaphore::new(limits.spare)),
            each: Slots::new(limits.per_address),
            heads: Ledger::new("heads", limits.heads, limits.metrics),
            trusted_proxies: limits.trusted_proxies.clone(),
            metrics: limits.metrics,
        }
    }

    /// `None`: there is no slot, not even for a refusal.
    fn enter(&self, peer: SocketAddr) -> Option<ConnectionPermit> {
        let address = peer.ip().to_canonical();
        let is_proxy = self.trusted_proxies.iter().any(|net| net.contains(&address));
        let client = if is_proxy { None } else { Some(Payer::of_address(Some(address))) };
        let slot = client.and_then(|client| self.each.take(client));
        let may_enter = is_proxy || slot.is_some();
        if let Some((seat, others)) = may_enter.then(|| self.all.take(client)).flatten() {
            if others {
                metrics::counter!(self.metrics.connections_refused, "reason" => "cut").increment(1);
                tracing::debug!(%peer, "An idle connection gives way to this one.");
            }
            return Some(self.permit(client, (Some(seat), None), slot));
        }
        let reason = if may_enter { "full" } else { "address" };
        metrics::counter!(self.metrics.connections_refused, "reason" => reason).increment(1);
        tracing::debug!(%peer, reason, "A connection was refused: there are too many.");
        let spare = Arc::clone(&self.spare).try_acquire_owned().ok()?;
        Some(self.permit(client, (None, Some(spare)), None))
    }

    fn permit(
        &self,
        client: Option<Payer>,
        (seat, spare): (Option<Seat>, Option<OwnedSemaphorePermit>),
        slot: Option<Slot<Payer>>,
    ) -> ConnectionPermit {
        let gauged = Gauged::new(self.metrics.connections);
        ConnectionPermit { seat, heads: self.heads.clone(), client, _spare: spare, _slot: slot, _gauged: gauged }
    }
}

impl ConnectionPermit {
    fn is_spare(&self) -> bool {
        self.seat.is_none()
    }

    /// Counts the requests of the connection. The token says that it has to close.
    fn requests(&self) -> (Requests, CancellationToken) {
        self.seat.as_ref().map_or_else(Default::default, |seat| (seat.requests(), seat.gives_way()))
    }
}

/// `response`, during which its connection is busy.
fn until_sent(response: Response<Body>, busy: Busy) -> Response<BusyBody> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        busy.for_ever();
        return response.map(|body| BusyBody::new(body, None));
    }
    response.map(|body| BusyBody::new(body, Some(busy)))
}

/// Waits until the connection has to close, which is for ever if it need not. Returns why.
async fn reason_to_close(gives_way: CancellationToken, head_time: Duration, begun: Arc<AtomicBool>) -> &'static str {
    let begins = gives_way.run_until_cancelled(sleep(head_time)).await;
    if begins.is_some() && !begun.load(Ordering::Relaxed) {
        return "It sent no request.";
    }
    gives_way.cancelled().await;
    "It was idle, and others need its room."
}

/// Serves one connection until its end or its upgrade.
async fn talk(
    (stream, peer): (TcpStream, SocketAddr),
    permit: ConnectionPermit,
    router: Router,
    limits: Arc<ConnectionLimits>,
    (stop, tasks): (CancellationToken, TaskTracker),
) {
    let (is_spare, begun) = (permit.is_spare(), Arc::new(AtomicBool::new(false)));
    let (requests, gives_way) = permit.requests();
    let (received, begins) = (Received::default(), Arc::clone(&begun));
    let (heads, client) = (permit.heads.clone(), [permit.client, None]);
    received.hold_with(Some(heads.open(client)));
    let wire = Wire::new((stream, permit), tasks, received.clone(), limits.stall_time);
    let service = service_fn(move |request: Request<Incoming>| {
        begins.store(true, Ordering::Relaxed);
        let busy = requests.begin();
        let refusal = host::refusal(&request);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(received.clone());
        // The head is complete. From here on the reader of the body counts its memory.
        received.hold_with(None);
        let (router, received, next_head) = (router.clone(), received.clone(), heads.open(client));
        async move {
            let response = match refusal {
                Some(refusal) => Ok(refusal),
                None => router.oneshot(request).await,
            };
            received.answer(next_head);
            response.map(|response| until_sent(response, busy))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.idle_time).keep_alive(!is_spare);
    builder.max_buf_size(BUFFER_BYTES);
    // Stores the header case in the request's extensions, for WebSocket answers.
    builder.preserve_header_case(true);
    let mut conversation = pin!(builder.serve_connection(TokioIo::new(wire), service).with_upgrades());
    let head_time = if is_spare { limits.spare_head_time } else { limits.head_time };
    let (mut closing, mut is_leaving) = (pin!(reason_to_close(gives_way, head_time, begun)), false);
    loop {
        tokio::select! {
            ended = conversation.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "A connection has broken.");
                }
                return;
            }
            reason = closing.as_mut() => {
                tracing::debug!(%peer, reason, "A connection was closed.");
                return;
            }
            () = stop.cancelled(), if !is_leaving => {
                is_leaving = true;
                conversation.as_mut().graceful_shutdown();
            }
        }
    }
}
