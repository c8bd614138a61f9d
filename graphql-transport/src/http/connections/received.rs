//! Counts the bytes that a connection has received, in all and of an incomplete head or message. The incomplete part
//! takes memory, so the ledger of all clients includes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::memory::{Hold, NoRoom};

/// Bytes that a connection's own buffers hold anyway.
pub(in crate::http) const FREE_BYTES: u64 = 8 * 1024;
/// Memory is reserved in pieces of this size.
const PIECE_BYTES: usize = 8 * 1024;

/// The number of bytes received on a connection. Every request on it has it in its extensions. Clones share the count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received(Arc<Mutex<State>>);

/// Why a connection takes no more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreceived {
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// An incomplete message has more bytes than any message may have.
    #[error("the message is too long")]
    TooLong,
}

#[derive(Debug, Default)]
struct State {
    bytes: u64,
    /// Bytes of complete heads and messages.
    whole: u64,
    /// The memory of the rest; `None` while another part counts it.
    hold: Option<Hold>,
    /// Most bytes of the incomplete message, with the heads of its frames; `None` if something else bounds it.
    most: Option<u64>,
    leaves_unread: bool,
    /// Whether a body is read during its answer.
    is_read_while_answered: bool,
}

impl Received {
    /// Bytes since the connection began.
    pub(crate) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// Bytes of the incomplete head or message.
    pub(crate) fn unfinished(&self) -> u64 {
        let state = self.state();
        state.bytes - state.whole
    }

    /// Marks everything received as complete.
    pub(crate) fn finish(&self) {
        self.finish_some(u64::MAX);
    }

    /// Marks `bytes` of the incomplete part as complete.
    pub(crate) fn finish_some(&self, bytes: u64) {
        let mut state = self.state();
        state.whole = state.bytes.min(state.whole.saturating_add(bytes));
        if state.whole == state.bytes
            && let Some(hold) = &mut state.hold
        {
            hold.settle(0);
        }
    }

    /// Marks everything received as complete. From now on `hold`, or the reader of the data, counts what arrives.
    pub(crate) fn hold_with(&self, hold: Option<Hold>) {
        let mut state = self.state();
        state.whole = state.bytes;
        state.hold = hold;
    }

    /// As [`Self::hold_with`], for messages of at most `most` bytes.
    pub(crate) fn hold_messages_with(&self, hold: Hold, most: u64) {
        self.hold_with(Some(hold));
        self.state().most = Some(most);
    }

    /// Notes that the reader stops in the middle of what the client sends.
    pub(crate) fn leave_unread(&self) {
        self.state().leaves_unread = true;
    }

    pub(super) fn leaves_unread(&self) -> bool {
        self.state().leaves_unread
    }

    /// Notes that the body is read during its answer, piece by piece, and that no other request follows it.
    pub(super) fn read_while_answered(&self) {
        self.state().is_read_while_answered = true;
    }

    /// Begins to count what comes behind a request that is answered. `head`: the memory of the next head.
    pub(super) fn answer(&self, head: Hold) {
        if !self.state().is_read_while_answered {
            self.hold_with(Some(head));
        }
    }

    /// Counts `bytes` more.
    pub(super) fn come(&self, bytes: usize) -> Result<(), Unreceived> {
        let mut state = self.state();
        state.bytes += bytes as u64;
        let unfinished = state.bytes - state.whole;
        if state.most.is_some_and(|most| unfinished > most) {
            return Err(Unreceived::TooLong);
        }
        let counted = usize::try_from(unfinished.saturating_sub(FREE_BYTES)).unwrap_or(usize::MAX);
        let room = counted.checked_next_multiple_of(PIECE_BYTES).unwrap_or(counted);
        Ok(state.hold.as_mut().map_or(Ok(()), |hold| hold.grow_to(room))?)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        measurements::MetricNames,
        memory::{Ledger, LedgerLimits},
    };

    #[test]
    fn bytes_of_an_incomplete_request_are_held_until_it_is_complete() {
        let ledger = Ledger::new("tests", LedgerLimits { node: 40_000, client: 0 }, MetricNames::default());
        let received = Received::default();
        assert_eq!(received.come(100_000), Ok(()), "nobody counts yet");
        received.hold_with(Some(ledger.open([None, None])));
        assert_eq!((received.come(8_000), ledger.total()), (Ok(()), 0), "its buffers have room for so much");
        assert_eq!((received.come(8_000), ledger.total()), (Ok(()), 8_192));
        assert_eq!((received.come(40_000), ledger.total()), (Err(NoRoom::Node.into()), 8_192));
        received.finish_some(6);
        assert_eq!((received.unfinished(), ledger.total()), (55_994, 8_192), "the rest of the message is there");
        received.finish();
        assert_eq!((received.unfinished(), ledger.total()), (0, 0));
        assert_eq!((received.come(20_000), ledger.total()), (Ok(()), 16_384));
        drop(received);
        assert_eq!(ledger.total(), 0, "with the connection");
    }
}
