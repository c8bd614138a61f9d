//! The reading half of a socket: decides what a client may send, and when. Operations and sending run beside it.

use std::sync::Arc;

use axum::extract::ws::Message;
use futures_util::{Stream, StreamExt as _, future::BoxFuture};
use serde_json::{Map, Value as Json};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout},
};
use tracing::Instrument as _;

use super::{
    liveness::{Liveness, Step},
    message::{ClientMessage, Closing, ServerMessage},
    operation::{self, OperationSink, Register},
    queues::{NotDraining, Queues},
    unfinished::Unfinished,
};
use crate::{
    execution::PreparedExecutor,
    http::{
        connections::Received,
        mask,
        params::Params,
        request_id::RequestId,
        runner::{UnpreparedOperation, malformed, over},
        slots::Slot,
        state::Core,
        viewer::{AuthenticateError, Client, Credentials, Scope, Viewer},
    },
    payer::Payer,
};

/// How a socket ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The server closes.
    Close(Closing),
    /// The client has closed. Reading on answers its close frame.
    Closed,
    /// The client has left, or stopped reading.
    Lost,
}

impl From<NotDraining> for Ending {
    fn from(_: NotDraining) -> Self {
        Self::Lost
    }
}

/// The connection with one client.
pub(super) struct Conversation<E, V: Viewer> {
    core: Arc<Core<E, V>>,
    caller: Caller,
    phase: Phase<V>,
    /// Completes when the phase must not last longer.
    over: BoxFuture<'static, ()>,
    queues: Arc<Queues>,
    register: Register,
    tasks: JoinSet<()>,
}

enum Phase<V> {
    /// Waiting for `connection_init` until this moment.
    Waiting(Instant),
    /// Open until the token expires or the sign-in is revoked.
    Open { viewer: Option<V> },
}

impl<V> Phase<V> {
    /// Why the socket closes at the phase's end.
    fn closing(&self) -> Closing {
        match self {
            Self::Waiting(_) => Closing::InitTimeout,
            Self::Open { .. } => Closing::SignInEnded,
        }
    }
}

/// The client of a socket.
pub(super) struct Caller {
    pub(super) id: RequestId,
    /// The credentials in the upgrade request.
    pub(super) credentials: Credentials,
    pub(super) client: Client,
    /// Bytes received on the connection; `None` if they are not counted.
    pub(super) received: Option<Received>,
    /// The slot of the address; once a viewer is known, the viewer's.
    pub(super) slot: Slot<Payer>,
}

impl<E: PreparedExecutor, V: Viewer> Conversation<E, V> {
    pub(super) fn new(core: Arc<Core<E, V>>, caller: Caller, queues: Arc<Queues>) -> Self {
        let deadline = Instant::now() + core.settings.socket.init_time;
        let (phase, over) = (Phase::Waiting(deadline), Box::pin(sleep_until(deadline)));
        Self { core, caller, phase, over, queues, register: Register::default(), tasks: JoinSet::new() }
    }

    /// Reads until the socket must end. `pinged` is notified of each sent ping.
    pub(super) async fn run(
        &mut self,
        frames: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
        pinged: &Notify,
    ) -> Ending {
        let limits = self.core.settings.socket;
        let stop = self.core.stop.clone();
        let received = self.caller.received.clone();
        let mut liveness = Liveness::new(limits.ping_every, limits.pong_time, pinged, received);
        let hold = self.core.bodies.open(self.caller.client.holders());
        let mut unfinished = Unfinished::new(self.caller.received.clone(), hold);
        let mut checks = interval_at(Instant::now() + limits.message_time, limits.message_time);
        // Two checks in a row would treat a message that had no time to arrive as stuck.
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let turn = tokio::select! {
                biased;
                () = stop.cancelled() => Err(Ending::Close(Closing::GoingAway)),
                () = &mut self.over => Err(Ending::Close(self.phase.closing())),
                due = liveness.next() => match due {
                    Step::Ping => self.queues.ping().map_err(Ending::from),
                    Step::GiveUp => Err(Ending::Close(Closing::NoPong { time: self.core.settings.socket.pong_time })),
                },
                _ = checks.tick() => if unfinished.is_stuck() {
                    let seconds = self.core.settings.socket.message_time.as_secs();
                    Err(Ending::Close(Closing::Unfinished { seconds }))
                } else {
                    Ok(())
                },
                Some(_) = self.tasks.join_next(), if !self.tasks.is_empty() => Ok(()),
                frame = frames.next() => {
                    liveness.note_received();
                    unfinished.note_received(frame.as_ref());
                    self.hear(frame).await
                }
            };
            if let Err(ending) = turn {
                if let (Ending::Close(_), Some(received)) = (&ending, &self.caller.received) {
                    received.leave_unread();
                }
                return ending;
            }
        }
    }

    /// Stops all operations and returns the `complete` messages of the running ones.
    pub(super) async fn stop_operations(&mut self) -> Vec<Message> {
        self.tasks.shutdown().await;
        let running = self.register.take_all();
        running.keys().map(|id| ServerMessage::Complete { id }.to_frame()).collect()
    }

    async fn hear(&mut self, frame: Option<Result<Message, axum::Error>>) -> Result<(), Ending> {
        let limit = self.core.settings.socket.message_bytes;
        let text = match frame {
            None => return Err(Ending::Lost),
            Some(Err(error)) => return Err(Ending::Close(Closing::unreadable(error, limit))),
            Some(Ok(Message::Close(_))) => return Err(Ending::Closed),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Ok(()),
            Some(Ok(Message::Binary(_))) => {
                return Err(Ending::Close(Closing::BadMessage("a message has to be text".to_owned())));
            }
            Some(Ok(Message::Text(text))) if text.len() > limit => {
                return Err(Ending::Close(Closing::TooLarge { limit }));
            }
            Some(Ok(Message::Text(text))) => text,
        };
        let message = ClientMessage::parse(&text).map_err(|what| Ending::Close(Closing::BadMessage(what)))?;
        match message {
            // Boxed: it runs once, and idle sockets need not reserve its room.
            ClientMessage::ConnectionInit { payload } => Box::pin(self.init(&payload)).await,
            ClientMessage::Ping { payload } => Ok(self.queues.send(ServerMessage::Pong { payload }.to_frame())?),
            ClientMessage::Pong => Ok(()),
            ClientMessage::Subscribe { id, payload } => self.subscribe(id, payload, text.len()).map_err(Ending::Close),
            ClientMessage::Complete { id } => {
                if let Some(operation) = self.register.remove(&id) {
                    operation.cancel();
                }
                Ok(())
            }
        }
    }

    /// Waiting -> Open, once.
    async fn init(&mut self, payload: &Map<String, Json>) -> Result<(), Ending> {
        let Phase::Waiting(deadline) = &self.phase else {
            return Err(Ending::Close(Closing::TwoInits));
        };
        let given = payload.iter().find(|(name, _)| name.eq_ignore_ascii_case("authorization")).map(|(_, value)| value);
        let credentials = match given {
            None | Some(Json::Null) => self.caller.credentials.clone(),
            Some(Json::String(text)) => Credentials::of_text(text),
            Some(_) => Credentials::Unreadable,
        };
        // The client's deadline does not include authentication, which has the time of a request.
        let until = *deadline + self.core.settings.request.time;
        let viewer = tokio::select! {
            viewer = credentials.viewer(&*self.core.authenticate) => viewer,
            () = self.core.stop.cancelled() => return Err(Ending::Close(Closing::GoingAway)),
            () = sleep_until(until) => Err(AuthenticateError::Unavailable("no answer in time".to_owned())),
        };
        match viewer {
            Ok(viewer) => {
                self.count(viewer.as_ref())?;
                self.over = over(&self.core, viewer.clone());
                self.phase = Phase::Open { viewer };
            }
            Err(AuthenticateError::Invalid(why)) => return Err(Ending::Close(Closing::Forbidden(why))),
            Err(error @ AuthenticateError::Unavailable(_)) => {
                mask::failed(&error);
                return Err(Ending::Close(Closing::TryAgainLater));
            }
        }
        Ok(self.queues.send(ServerMessage::ConnectionAck.to_frame())?)
    }

    /// Moves the socket from its address's slot to the viewer's.
    fn count(&mut self, viewer: Option<&V>) -> Result<(), Ending> {
        let Some(viewer) = viewer else { return Ok(()) };
        let limit = self.core.settings.socket.per_client;
        let slot = self.core.socket_slots.take(Payer::Viewer(viewer.number()));
        self.caller.slot = slot.ok_or(Ending::Close(Closing::TooManySockets { limit }))?;
        Ok(())
    }

    /// `bytes`: the length of the message.
    fn subscribe(&mut self, id: String, payload: Json, bytes: usize) -> Result<(), Closing> {
        let Phase::Open { viewer } = &self.phase else {
            return Err(Closing::Unauthorized);
        };
        let limits = self.core.settings.socket;
        if id.chars().count() > limits.id_chars {
            return Err(Closing::BadMessage(format!("\"id\" is longer than {} characters", limits.id_chars)));
        }
        let params = match Params::of_json(payload) {
            Err(error) if error.is_of_form() => return Err(Closing::BadMessage(error.to_string())),
            Err(error) => Err(malformed(&error)),
            Ok(params) => params.held_by(self.core.bodies.open(self.caller.client.holders()), bytes),
        };
        if self.register.contains(&id) {
            return Err(Closing::DuplicateId(id));
        }
        if self.register.len() >= limits.operations {
            return Err(Closing::TooManyOperations { limit: limits.operations });
        }
        let request_id = RequestId::new(&self.core.entropy);
        let scope = Scope { viewer: viewer.clone(), request_id, client: self.caller.client.clone() };
        let span = tracing::error_span!(
            "graphql", request_id = %scope.request_id, transport = "websocket", socket = %self.caller.id,
            operation = tracing::field::Empty, name = tracing::field::Empty
        );
        let stop = self.register.add(&id);
        let (register, queues) = (self.register.clone(), Arc::clone(&self.queues));
        let sink = OperationSink { id, stop, register, queues, answer_bytes: self.core.settings.request.answer_bytes };
        let unprepared = Box::new(UnpreparedOperation { params, scope });
        self.tasks.spawn(operation::run(Arc::clone(&self.core), unprepared, sink).instrument(span));
        Ok(())
    }
}

/// Reads and ignores until the client has closed, too, or `time` is up.
pub(super) async fn drain(
    frames: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
    time: std::time::Duration,
) {
    let to_the_end = async { while let Some(Ok(_)) = frames.next().await {} };
    let _ = timeout(time, to_the_end).await;
}
