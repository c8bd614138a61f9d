//! The reading half of a socket: decides what a client may send, and when. Operations and sending run beside it.

use std::sync::Arc;

use axum::extract::ws::Message;
use futures_util::{Stream, StreamExt as _, future::BoxFuture};
use serde_json::{Map, Value as Json};
use tokio::{
    sync::Notify,
    task::{JoinSet, yield_now},
    time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout},
};
use tracing::Instrument as _;

use super::{
    free_messages::FreeMessages,
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
        viewer::{AuthenticateError, Client, Credentials, RequestContext, Viewer},
    },
    memory::{Hold, NoRoom},
    payer::Payer,
};

/// Tasks that a socket may have for each operation that it may run. An operation that has ended keeps its task until
/// its last message has room.
const TASKS_OF_AN_OPERATION: usize = 2;

/// A client that sends more messages after the server's close is not listened to any longer.
const DRAINED_MESSAGES: usize = 100;

/// How a socket ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The server closes.
    Close(Closing),
    /// The client has closed. Reading on answers its close frame.
    Closed,
    /// The client has left.
    Lost,
    /// The client leaves too much unread.
    Unread,
}

impl Ending {
    /// What the client has done wrong, as the label of a metric, if it wants more than it may have.
    pub(super) fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Unread => Some("unread"),
            Self::Close(Closing::TooManyMessages { .. }) => Some("messages"),
            Self::Close(Closing::TooManyOperations { .. }) => Some("operations"),
            Self::Close(Closing::TooManySockets { .. }) => Some("sockets"),
            Self::Close(_) | Self::Closed | Self::Lost => None,
        }
    }
}

impl From<NotDraining> for Ending {
    fn from(_: NotDraining) -> Self {
        Self::Unread
    }
}

impl From<Closing> for Ending {
    fn from(closing: Closing) -> Self {
        Self::Close(closing)
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
    free_messages: FreeMessages,
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
        let free_messages = FreeMessages::new(core.settings.socket.free_messages);
        let (register, tasks) = (Register::default(), JoinSet::new());
        Self { core, caller, phase, over, queues, free_messages, register, tasks }
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
        let (hold, cut) = self.core.bodies.open_unfinished(self.caller.client.holders());
        let mut unfinished = Unfinished::new(self.caller.received.clone(), hold, limits.message_bytes);
        let most_tasks = limits.operations.saturating_mul(TASKS_OF_AN_OPERATION);
        let mut checks = interval_at(Instant::now() + limits.message_time, limits.message_time);
        // Two checks in a row would treat a message that had no time to arrive as stuck.
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let turn = tokio::select! {
                biased;
                () = stop.cancelled() => Err(Ending::Close(Closing::GoingAway)),
                () = &mut self.over => Err(Ending::Close(self.phase.closing())),
                () = cut.cancelled() => Err(Ending::Close(Closing::NoRoom(NoRoom::Client))),
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
                frame = frames.next(), if self.tasks.len() < most_tasks => {
                    liveness.note_received();
                    unfinished.note_received(frame.as_ref());
                    let heard = self.hear(frame).await;
                    // What is answered gets out, and others their turn, before the next message is read.
                    yield_now().await;
                    heard
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
        let text = match frame {
            None => return Err(Ending::Lost),
            Some(Err(error)) => {
                let limit = self.core.settings.socket.message_bytes;
                return Err(Closing::unreadable(error, limit).into());
            }
            Some(Ok(Message::Close(_))) => return Err(Ending::Closed),
            Some(Ok(Message::Ping(payload))) => {
                self.free_messages.count()?;
                // The library answers, but writes nothing unless it is told to.
                return Ok(self.queues.flush(payload.len(), self.hold())?);
            }
            Some(Ok(Message::Pong(_))) => return Ok(self.free_messages.count()?),
            Some(Ok(Message::Binary(_))) => {
                return Err(Closing::BadMessage("a message has to be text".to_owned()).into());
            }
            Some(Ok(Message::Text(text))) => text,
        };
        match ClientMessage::parse(&text).map_err(Closing::BadMessage)? {
            // Boxed: it runs once, and idle sockets need not reserve its room.
            ClientMessage::ConnectionInit { payload } => Box::pin(self.init(&payload)).await,
            ClientMessage::Ping { payload } => {
                self.free_messages.count()?;
                self.send(ServerMessage::pong(payload))
            }
            ClientMessage::Pong => Ok(self.free_messages.count()?),
            ClientMessage::Subscribe { id, payload } => Ok(self.subscribe(id, payload, text.len())?),
            ClientMessage::Complete { id } => {
                self.free_messages.count_complete()?;
                if let Some(operation) = self.register.remove(&id) {
                    operation.cancel();
                }
                Ok(())
            }
        }
    }

    /// Answers the client itself, not one of its operations.
    fn send(&self, frame: Message) -> Result<(), Ending> {
        Ok(self.queues.send(frame, self.hold())?)
    }

    /// Nothing yet of the memory of an answer.
    fn hold(&self) -> Hold {
        let viewer = match &self.phase {
            Phase::Open { viewer: Some(viewer) } => Some(viewer.payer()),
            _ => None,
        };
        let [address, _] = self.caller.client.holders();
        self.core.engine.answers.open([address, viewer])
    }

    /// Waiting -> Open, once.
    async fn init(&mut self, payload: &Map<String, Json>) -> Result<(), Ending> {
        let Phase::Waiting(deadline) = &self.phase else {
            return Err(Ending::Close(Closing::TwoInits));
        };
        let credentials = self.caller.credentials.or_of_init(payload, self.core.authenticate.act_as());
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
            Err(
                AuthenticateError::Invalid(why)
                | AuthenticateError::Forbidden(why)
                | AuthenticateError::NoSuchViewer(why),
            ) => return Err(Ending::Close(Closing::Forbidden(why))),
            Err(error @ AuthenticateError::Unavailable(_)) => {
                mask::unserved(&error);
                return Err(Ending::Close(Closing::TryAgainLater));
            }
        }
        self.send(ServerMessage::ConnectionAck.to_frame())
    }

    /// Moves the socket from its address's slot to the viewer's.
    fn count(&mut self, viewer: Option<&V>) -> Result<(), Ending> {
        let Some(viewer) = viewer else { return Ok(()) };
        let limit = self.core.settings.socket.per_client;
        let slot = self.core.socket_slots.take(viewer.payer());
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
            Err(error) => {
                self.free_messages.count()?;
                Err(malformed(&error))
            }
            Ok(params) => params.held_by(self.core.bodies.open(self.caller.client.holders()), bytes),
        };
        if self.register.contains(&id) {
            return Err(Closing::DuplicateId(id));
        }
        if self.register.len() >= limits.operations {
            return Err(Closing::TooManyOperations { limit: limits.operations });
        }
        let request_id = RequestId::new(&self.core.entropy);
        let context = RequestContext { viewer: viewer.clone(), request_id, client: self.caller.client.clone() };
        let span = tracing::error_span!(
            "graphql", request_id = %context.request_id, transport = "websocket", socket = %self.caller.id,
            operation = tracing::field::Empty, name = tracing::field::Empty
        );
        self.free_messages.note_subscribe();
        let stop = self.register.add(&id);
        let (register, queues, hold) = (self.register.clone(), Arc::clone(&self.queues), self.hold());
        let answer_bytes = self.core.settings.request.answer_bytes;
        let sink = OperationSink { id, stop, register, queues, answer_bytes, hold };
        let unprepared = Box::new(UnpreparedOperation { params, context });
        self.tasks.spawn(operation::run(Arc::clone(&self.core), unprepared, sink).instrument(span));
        Ok(())
    }
}

/// Reads and ignores until the client has closed, too, or `time` is up.
pub(super) async fn drain(
    frames: &mut (impl Stream<Item = Result<Message, axum::Error>> + Unpin),
    time: std::time::Duration,
) {
    let to_the_end = async {
        for _ in 0..DRAINED_MESSAGES {
            if !matches!(frames.next().await, Some(Ok(_))) {
                break;
            }
            yield_now().await;
        }
    };
    let _ = timeout(time, to_the_end).await;
}
