//! Tracks whether the database takes writes, from failed writes and probes.

use std::sync::Arc;

use store_error::StoreError;
use tokio::{sync::watch, time::error::Elapsed};

/// What is known about writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// No write is known to have failed.
    #[default]
    Taken,
    /// A write took too long, or was refused for another reason; a probe will decide.
    Doubted,
    /// The store has no room, is read-only, or refuses this user's writes; with the reason, for operators.
    Refused(String),
}

/// The last known state of writing. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Writability(Arc<watch::Sender<Writes>>);

impl Default for Writability {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Writes::Taken)))
    }
}

impl Writability {
    /// Notes the outcome of a write. A success does not end a refusal, because a smaller write may have used the last
    /// room: only a probe does.
    pub(crate) fn note<T>(&self, ended: &Result<T, StoreError>) {
        let Err(error) = ended else { return };
        match error {
            StoreError::TakesNoWrites(_) => self.set(Writes::Refused(error.with_causes())),
            error if leaves_doubt(error) => {
                self.0.send_if_modified(|writes| {
                    let is_new = *writes == Writes::Taken;
                    if is_new {
                        *writes = Writes::Doubted;
                    }
                    is_new
                });
            }
            _ => {}
        }
    }

    /// Records the outcome of a probe. A locked or unreachable store changes nothing.
    pub(crate) fn note_probe(&self, ended: &Result<(), StoreError>) {
        match ended {
            Ok(()) => self.set(Writes::Taken),
            Err(error) if matches!(error, StoreError::TakesNoWrites(_)) || leaves_doubt(error) => {
                self.set(Writes::Refused(error.with_causes()));
            }
            Err(_) => {}
        }
    }

    /// A receiver of all changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Writes> {
        self.0.subscribe()
    }

    fn set(&self, found: Writes) {
        self.0.send_if_modified(|writes| {
            let is_new = *writes != found;
            *writes = found;
            is_new
        });
    }
}

fn leaves_doubt(error: &StoreError) -> bool {
    match error {
        StoreError::Refused(_) => true,
        StoreError::Unavailable(cause) => cause.is::<Elapsed>(),
        _ => false,
    }
}
