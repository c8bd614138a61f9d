//! The state that all handlers share.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    engine::Engine,
    entropy::Entropy,
    limits::HttpSettings,
    slots::Slots,
    sse::streams::Streams,
    viewer::{Authenticate, Viewer},
};
use crate::{memory::Ledger, payer::Payer};

/// The state that all handlers share.
pub(super) struct Core<E, V: Viewer> {
    pub(super) engine: Engine<E, V>,
    pub(super) authenticate: Arc<dyn Authenticate<V>>,
    pub(super) public_operations: &'static [&'static str],
    pub(super) settings: HttpSettings,
    pub(super) entropy: Entropy,
    pub(super) stop: CancellationToken,
    pub(super) sockets: TaskTracker,
    pub(super) bodies: Ledger,
    pub(super) free_sockets: Arc<Semaphore>,
    pub(super) socket_slots: Slots<Payer>,
    pub(super) streams: Streams,
    pub(super) free_streams: Arc<Semaphore>,
    pub(super) stream_slots: Slots<Payer>,
}
