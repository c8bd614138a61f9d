//! The bytes of one answer: counted as resolvers put them in, so that an operation stops before the memory is spent.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use async_graphql::{ErrorExtensionValues, ServerError};

/// The code of an answer that would be larger than the bound.
pub const ANSWER_TOO_LARGE: &str = "ANSWER_TOO_LARGE";

/// Bytes of an answer, if nothing else is configured: four times a page of 100 of the longest texts in four-byte characters.
pub const DEFAULT_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// How much the answer of one operation, or one event of a subscription, may show and read. Clones count together.
#[derive(Debug, Clone)]
pub struct AnswerBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: u64,
    shown: AtomicU64,
    read: AtomicU64,
    stopped: OnceLock<ServerError>,
}

impl AnswerBudget {
    /// `most`: bytes of JSON that the answer may have, and bytes of contents and profiles that may be read for it.
    pub fn new(most: u64) -> Self {
        Self(Arc::new(Inner { most, shown: AtomicU64::new(0), read: AtomicU64::new(0), stopped: OnceLock::new() }))
    }

    /// Counts `bytes` of JSON that the answer has for sure. False if that is too much: the operation has to stop.
    #[must_use]
    pub fn show(&self, bytes: usize) -> bool {
        self.count(&self.0.shown, bytes)
    }

    /// Counts `bytes` that are held to make the answer, be they shown or not. False as of [`Self::show`].
    #[must_use]
    pub fn read(&self, bytes: usize) -> bool {
        self.count(&self.0.read, bytes)
    }

    fn count(&self, counted: &AtomicU64, bytes: usize) -> bool {
        let bytes = bytes as u64;
        counted.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.0.most
    }

    /// Stops the operation with `place` of the field at which the answer became too large. The first one to stop counts.
    pub fn stop(&self, place: impl FnOnce(ServerError) -> ServerError) {
        self.0.stopped.get_or_init(|| place(too_large(self.0.most)));
    }

    /// Why the operation has to stop, if it has to.
    pub fn stopped(&self) -> Option<ServerError> {
        self.0.stopped.get().cloned()
    }

    /// The next answer of the same operation begins with nothing.
    pub fn begin_again(&self) {
        self.0.shown.store(0, Ordering::Relaxed);
        self.0.read.store(0, Ordering::Relaxed);
    }
}

/// What a client reads of an answer of more than `most` bytes.
pub fn too_large(most: u64) -> ServerError {
    let message = format!(
        "The answer would have more than {most} bytes. Ask for less at once: smaller pages, fewer fields, fewer aliases."
    );
    let mut error = ServerError::new(message, None);
    let mut extensions = ErrorExtensionValues::default();
    extensions.set("code", ANSWER_TOO_LARGE);
    error.extensions = Some(extensions);
    error
}
