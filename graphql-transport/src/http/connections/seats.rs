//! Bounds the connections of one node. If there is no room for another, the one that has been idle longest, of a client
//! with more than the new one's, gives way: a few addresses that open connections and send nothing keep nobody out.

use std::{
    cmp::Reverse,
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::payer::Payer;

/// Clients whose connections are looked through for an idle one: those with most.
const CLIENTS_LOOKED_AT: usize = 8;

/// The seats of all connections within the limit.
pub(super) struct Seats {
    free: Arc<Semaphore>,
    taken: Arc<Mutex<Taken>>,
}

/// The seats that can give way, by client. Trusted proxies serve many clients, so theirs are not among them.
#[derive(Default)]
struct Taken {
    of: HashMap<Payer, HashMap<u64, Arc<Use>>>,
    next: u64,
}

/// How a connection uses its seat.
struct Use {
    gives_way: CancellationToken,
    state: Mutex<State>,
}

struct State {
    /// `None`: a request is being served, or the connection has become a WebSocket.
    idle_since: Option<Instant>,
    /// `None` once it has given way.
    permit: Option<OwnedSemaphorePermit>,
}

/// The seat of one connection, until it is dropped.
pub(super) struct Seat {
    client: Option<(Payer, u64)>,
    taken: Arc<Mutex<Taken>>,
    used: Arc<Use>,
}

/// Marks a connection as busy until it is dropped.
pub(super) struct Busy(Option<Arc<Use>>);

impl Seats {
    /// `most`: open connections.
    pub(super) fn new(most: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))), taken: Arc::default() }
    }

    /// A seat for a connection of `client`, which is `None` for a trusted proxy. The flag says whether another
    /// connection had to give way. `None`: no seat is free, and none becomes free.
    pub(super) fn take(&self, client: Option<Payer>) -> Option<(Seat, bool)> {
        let mut taken = lock(&self.taken);
        let free = Arc::clone(&self.free).try_acquire_owned().ok();
        let is_free = free.is_some();
        let permit = free.or_else(|| taken.give_way(client))?;
        let state = Mutex::new(State { idle_since: Some(Instant::now()), permit: Some(permit) });
        let used = Arc::new(Use { gives_way: CancellationToken::new(), state });
        let client = client.map(|client| (client, taken.add(client, &used)));
        Some((Seat { client, taken: Arc::clone(&self.taken), used }, !is_free))
    }
}

impl Taken {
    fn add(&mut self, client: Payer, used: &Arc<Use>) -> u64 {
        self.next += 1;
        self.of.entry(client).or_default().insert(self.next, Arc::clone(used));
        self.next
    }

    fn remove(&mut self, client: Payer, id: u64) {
        if let Some(own) = self.of.get_mut(&client) {
            own.remove(&id);
            if own.is_empty() {
                self.of.remove(&client);
            }
        }
    }

    /// Takes the permit of an idle connection of a client that keeps at least as many as the new one's will have.
    fn give_way(&mut self, new: Option<Payer>) -> Option<OwnedSemaphorePermit> {
        let own = new.and_then(|client| self.of.get(&client)).map_or(0, HashMap::len);
        let more = self.of.iter().map(|(client, seats)| (seats.len(), *client));
        let mut more: Vec<_> = more.filter(|(count, _)| *count > own + 1).collect();
        more.sort_unstable_by_key(|(count, _)| Reverse(*count));
        let (client, id) = more.iter().take(CLIENTS_LOOKED_AT).find_map(|(_, client)| {
            let idle = self.of.get(client)?.iter().filter_map(|(id, used)| Some((used.state().idle_since?, *id)));
            idle.min().map(|(_, id)| (*client, id))
        })?;
        let used = Arc::clone(self.of.get(&client)?.get(&id)?);
        self.remove(client, id);
        used.gives_way.cancel();
        used.state().permit.take()
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Use {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// Cancelled when the connection has to close.
    pub(super) fn gives_way(&self) -> CancellationToken {
        self.used.gives_way.clone()
    }

    /// What a request of this connection is counted with.
    pub(super) fn requests(&self) -> Requests {
        Requests(Some(Arc::clone(&self.used)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some((client, id)) = self.client {
            lock(&self.taken).remove(client, id);
        }
    }
}

/// The requests of a connection, or of one that has no seat.
#[derive(Clone, Default)]
pub(super) struct Requests(Option<Arc<Use>>);

impl Requests {
    /// A request begins.
    pub(super) fn begin(&self) -> Busy {
        if let Some(used) = &self.0 {
            used.state().idle_since = None;
        }
        Busy(self.0.clone())
    }
}

impl Busy {
    /// The connection stays busy: it serves another protocol from now on.
    pub(super) fn for_ever(mut self) {
        self.0 = None;
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(used) = &self.0 {
            used.state().idle_since = Some(Instant::now());
        }
    }
}

/// The body of an answer, whose connection is busy until it has been handed over.
pub(super) struct BusyBody {
    body: Body,
    _busy: Option<Busy>,
}

impl BusyBody {
    /// `busy`: of its request.
    pub(super) fn new(body: Body, busy: Option<Busy>) -> Self {
        Self { body, _busy: busy }
    }
}

impl HttpBody for BusyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    const ANN: Option<Payer> = Some(Payer::Viewer(1));
    const BOB: Option<Payer> = Some(Payer::Viewer(2));
    const EVE: Option<Payer> = Some(Payer::Viewer(3));

    async fn taken(seats: &Seats, client: Option<Payer>) -> Seat {
        advance(Duration::from_secs(1)).await;
        seats.take(client).unwrap().0
    }

    fn gave_way(seats: &[&Seat]) -> Vec<bool> {
        seats.iter().map(|seat| seat.gives_way().is_cancelled()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_idle_connection_of_who_has_most_gives_way() {
        let seats = Seats::new(5);
        let (bob, first, second) = (taken(&seats, BOB).await, taken(&seats, EVE).await, taken(&seats, EVE).await);
        let (third, proxy) = (taken(&seats, EVE).await, taken(&seats, None).await);
        let request = first.requests().begin();
        let (ann, others) = seats.take(ANN).unwrap();
        assert_eq!(
            (others, gave_way(&[&bob, &first, &second, &third, &proxy])),
            (true, vec![false, false, true, false, false])
        );
        assert!(seats.take(ANN).is_none(), "Eve has no more than Ann would have");
        drop((second, ann));
        drop(request);
        let (_ann, others) = seats.take(ANN).unwrap();
        assert!(!others, "who gave way leaves nothing, and who was let in leaves a seat");
        assert!(seats.take(EVE).is_none());
        drop((bob, first, third, proxy));
        assert_eq!(lock(&seats.taken).of.len(), 1, "nobody else is remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_again_after_its_answer_unless_it_is_upgraded() {
        let seats = Seats::new(2);
        let (first, second) = (taken(&seats, EVE).await, taken(&seats, EVE).await);
        let (answered, upgraded) = (first.requests().begin(), second.requests().begin());
        assert!(seats.take(ANN).is_none());
        upgraded.for_ever();
        assert!(seats.take(ANN).is_none());
        drop(BusyBody::new(Body::empty(), Some(answered)));
        assert!(seats.take(ANN).is_some_and(|(_, others)| others));
        assert_eq!(gave_way(&[&first, &second]), [true, false]);
    }
}
