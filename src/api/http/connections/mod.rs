//! The connections of a node: so many and no more, of one address fewer, and none that is silent for ever.
//!
//! Apart from what is served on them, because a connection that says nothing is no request, and yet costs a descriptor. It
//! refuses to know routes.

mod host;
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

use axum::{Router, body::Body, extract::ConnectInfo, http::Request, serve::Listener as _};
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

pub(super) use self::wire::Received;
use self::wire::Wire;
use super::{
    places::{Gauged, Place, Places},
    prompt,
};
use crate::{
    api::payer::Payer,
    telemetry::metrics::{CONNECTIONS, CONNECTIONS_REFUSED},
};

/// Bytes that are read of a connection before somebody takes them; a request's head has to fit. The longest URL takes 64 KiB.
pub(super) const BUFFER_BYTES: usize = 72 * 1024;

/// Bounds of the connections of one node.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections open at once. 10,000.
    pub connections: usize,
    /// Of them, those of one address (IPv6: of one /64); 0 for any number. Trusted proxies have no bound. 2,000.
    pub per_address: usize,
    /// Beyond all of these: connections that are answered once, and only what [`Routes::full`] has. 64.
    pub spare: usize,
    /// From the beginning of a connection to its first request's head. 10 s.
    pub head_time: Duration,
    /// The same for connections beyond the bound. 2 s.
    pub spare_head_time: Duration,
    /// From an answer to the next request's head. 75 s: longer than balancers keep theirs.
    pub idle_time: Duration,
    /// A client that takes no byte of what is sent to it for so long has left. 60 s.
    pub stall_time: Duration,
    /// Networks whose machines are proxies: one of them speaks for many.
    pub trusted_proxies: Vec<IpNet>,
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
            trusted_proxies: Vec::new(),
        }
    }
}

/// What is served.
#[derive(Clone)]
pub struct Routes {
    /// To everybody for whom there is room.
    pub all: Router,
    /// To those who come when there is none: what operators and balancers ask, and for everything else the refusal.
    pub full: Router,
}

/// Serves until `stop`, and until the requests that are open then have ended. A connection is HTTP/1.1; a handler finds the
/// peer's address as `ConnectInfo<SocketAddr>`.
pub async fn serve(listener: TcpListener, routes: Routes, limits: ConnectionLimits, stop: CancellationToken) {
    let mut listener = prompt(listener);
    let doors = Doors::new(&limits);
    let open = TaskTracker::new();
    let limits = Arc::new(limits);
    // After an error of `accept`, such as too many open files, axum's listener waits for a second.
    while let Some((stream, peer)) = stop.run_until_cancelled(listener.accept()).await {
        match doors.enter(peer) {
            Some(room) => {
                let served = if room.is_spare { &routes.full } else { &routes.all };
                open.spawn(talk((stream, peer), room, served.clone(), Arc::clone(&limits), stop.clone()));
            }
            None => drop(stream),
        }
    }
    drop(listener);
    open.close();
    open.wait().await;
}

/// Who may come in.
struct Doors {
    all: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    each: Places<Payer>,
    trusted_proxies: Vec<IpNet>,
}

/// What a connection holds as long as it is open.
struct Room {
    is_spare: bool,
    _permit: OwnedSemaphorePermit,
    _place: Option<Place<Payer>>,
    _gauged: Gauged,
}

impl Doors {
    fn new(limits: &ConnectionLimits) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            spare: Arc::new(Semaphore::new(limits.spare)),
            each: Places::new(limits.per_address),
            trusted_proxies: limits.trusted_proxies.clone(),
        }
    }

    /// `None`: not even for a refusal.
    fn enter(&self, peer: SocketAddr) -> Option<Room> {
        let address = peer.ip().to_canonical();
        let is_proxy = self.trusted_proxies.iter().any(|net| net.contains(&address));
        let place = if is_proxy { None } else { self.each.take(Payer::of_address(Some(address))) };
        let permit = if is_proxy || place.is_some() { Arc::clone(&self.all).try_acquire_owned().ok() } else { None };
        if let Some(permit) = permit {
            return Some(Room { is_spare: false, _permit: permit, _place: place, _gauged: Gauged::new(CONNECTIONS) });
        }
        let reason = if is_proxy || place.is_some() { "full" } else { "address" };
        metrics::counter!(CONNECTIONS_REFUSED, "reason" => reason).increment(1);
        tracing::debug!(%peer, reason, "no room for another connection");
        let permit = Arc::clone(&self.spare).try_acquire_owned().ok()?;
        Some(Room { is_spare: true, _permit: permit, _place: None, _gauged: Gauged::new(CONNECTIONS) })
    }
}

/// One connection, from its first byte to its end, or to its upgrade.
async fn talk(
    (stream, peer): (TcpStream, SocketAddr),
    room: Room,
    router: Router,
    limits: Arc<ConnectionLimits>,
    stop: CancellationToken,
) {
    let is_spare = room.is_spare;
    let wire = Wire::new(stream, room, limits.stall_time);
    let (received, begun) = (wire.received(), Arc::new(AtomicBool::new(false)));
    let begins = Arc::clone(&begun);
    let service = service_fn(move |request: Request<Incoming>| {
        begins.store(true, Ordering::Relaxed);
        let refusal = host::refusal(&request);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(received.clone());
        let router = router.clone();
        async move {
            match refusal {
                Some(refusal) => Ok(refusal),
                None => router.oneshot(request).await,
            }
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.idle_time).keep_alive(!is_spare);
    builder.max_buf_size(BUFFER_BYTES);
    // The extensions of a request have it then; WebSockets are answered so.
    builder.preserve_header_case(true);
    let mut conversation = pin!(builder.serve_connection(TokioIo::new(wire), service).with_upgrades());
    let mut late = pin!(sleep(if is_spare { limits.spare_head_time } else { limits.head_time }));
    let (mut is_new, mut is_leaving) = (true, false);
    loop {
        tokio::select! {
            ended = conversation.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "a connection has broken");
                }
                return;
            }
            () = late.as_mut(), if is_new => {
                is_new = false;
                if !begun.load(Ordering::Relaxed) {
                    tracing::debug!(%peer, "a connection asked for nothing");
                    return;
                }
            }
            () = stop.cancelled(), if !is_leaving => {
                is_leaving = true;
                conversation.as_mut().graceful_shutdown();
            }
        }
    }
}
