//! Bounds the messages of one socket that cost no points, because each of them takes the processor for a moment.

use super::message::Closing;
use crate::http::rate::{SingleBucket, TokenBucket};

/// The messages that a client may still send without paying.
pub(super) struct FreeMessages {
    limit: TokenBucket,
    bucket: SingleBucket,
    /// Operations that were begun and not ended by the client. A `complete` for each is paid for, even if it crosses
    /// the server's own.
    paid_completes: u64,
}

impl FreeMessages {
    pub(super) fn new(limit: TokenBucket) -> Self {
        Self { limit, bucket: SingleBucket::new(limit), paid_completes: 0 }
    }

    /// Counts a message that costs nothing. `Err`: the client has sent too many.
    pub(super) fn count(&self) -> Result<(), Closing> {
        if self.bucket.take() {
            Ok(())
        } else {
            Err(Closing::TooManyMessages { per_second: self.limit.per_second.get() })
        }
    }

    /// Notes a `subscribe` that pays for itself.
    pub(super) fn note_subscribe(&mut self) {
        self.paid_completes += 1;
    }

    /// Counts a `complete` that no `subscribe` has paid for.
    pub(super) fn count_complete(&mut self) -> Result<(), Closing> {
        match self.paid_completes.checked_sub(1) {
            Some(left) => self.paid_completes = left,
            None => self.count()?,
        }
        Ok(())
    }
}
