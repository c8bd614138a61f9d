//! Whether the store takes writes: what failed writes have told, and a small write that asks again.

use std::sync::Arc;

use sea_orm::Value;
use tokio::{sync::watch, time::error::Elapsed};

use super::SqlStore;
use crate::store::StoreError;

/// Rows of a probe, each of some 100 bytes: as much room as a publish needs.
const PROBE_ROWS: usize = 500;

/// What is known of writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// Nothing else is known.
    #[default]
    Taken,
    /// A write took too long: a probe will tell.
    Doubted,
    /// The store has no room or is read-only; with the reason, for operators.
    Refused(String),
}

/// What is known of writing; clones know the same.
#[derive(Clone, Debug)]
pub(super) struct Writability(Arc<watch::Sender<Writes>>);

impl Default for Writability {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Writes::Taken)))
    }
}

impl Writability {
    /// Learns from how a write has ended. One that was done takes no refusal back: a smaller one may have found the last room. That is for a probe.
    pub(super) fn note<T>(&self, ended: &Result<T, StoreError>) {
        let Err(error) = ended else { return };
        match error {
            StoreError::TakesNoWrites(_) => self.set(Writes::Refused(error.with_causes())),
            error if took_too_long(error) => {
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

    /// Sets what a probe has found; one that finds a lock, or nobody, leaves what is known.
    fn note_probe(&self, ended: &Result<(), StoreError>) {
        match ended {
            Ok(()) => self.set(Writes::Taken),
            Err(error) if matches!(error, StoreError::TakesNoWrites(_)) || took_too_long(error) => {
                self.set(Writes::Refused(error.with_causes()));
            }
            Err(_) => {}
        }
    }

    fn set(&self, found: Writes) {
        self.0.send_if_modified(|writes| {
            let is_new = *writes != found;
            *writes = found;
            is_new
        });
    }
}

fn took_too_long(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(cause) if cause.is::<Elapsed>())
}

impl SqlStore {
    /// What is known of writing, and word of every change.
    pub fn writes(&self) -> watch::Receiver<Writes> {
        self.writability.0.subscribe()
    }

    /// Tries whether the store takes writes: adds some rows that mean nothing, in as much room as a publish needs, and deletes them. [`Self::writes`] knows
    /// what was found.
    pub async fn probe_writes(&self) -> Result<(), StoreError> {
        let ended = self.write_and_delete().await;
        self.writability.note_probe(&ended);
        ended
    }

    /// The rows are sign-in attempts of nobody, without a failure; those that a crash leaves are forgotten with other old ones.
    async fn write_and_delete(&self) -> Result<(), StoreError> {
        let subjects = (0..PROBE_ROWS).map(|number| Value::from(format!("probe:{number:058}")));
        let sql = format!(
            "INSERT INTO sign_in_attempts (subject) VALUES {} {} failures = failures",
            vec!["(?)"; PROBE_ROWS].join(", "),
            self.dialect.on_conflict_update("subject")
        );
        self.write(&sql, subjects).await?;
        let sql = "DELETE FROM sign_in_attempts WHERE subject >= 'probe:' AND subject < 'probe;'";
        self.write(sql, []).await.map(|_| ())
    }
}
