//! Checks passwords: in turn between clients, and to the end even if the client leaves.
//!
//! An attempt counts as failed while it is checked, so that many at once cannot guess more. Attempts on one account
//! from one network are therefore checked one after the other: who knows the password is not refused because of
//! attempts that have no result yet.

use std::sync::Arc;

use fair_queue::{Bounds, FairQueue, Limits};
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::{
    digest::digest,
    error::AccountError,
    passwords::{HashingTurn, PasswordError, Passwords},
    viewer::Caller,
};
use crate::{
    clock::SharedClock,
    domain::{account::attempts::SignInDecision, limits::MAX_PASSWORD_BYTES},
    store::{Attempts, StoreError, accounts::PasswordHash, attempts::Subjects},
    telemetry::metrics::SIGN_INS,
};

/// Turns bound what waits here.
const ONE_AFTER_THE_OTHER: Bounds = Bounds {
    all: Limits { running: usize::MAX, waiting: usize::MAX },
    one: Limits { running: 1, waiting: usize::MAX },
};

/// Checks passwords against what is stored, and counts attempts. Clones share everything.
#[derive(Clone)]
pub struct PasswordChecks {
    attempts: Arc<dyn Attempts>,
    passwords: Arc<Passwords>,
    /// By account and network.
    pairs: FairQueue<String>,
    clock: SharedClock,
    tasks: TaskTracker,
}

/// The result of a check.
#[derive(Debug)]
pub enum Checked<T> {
    /// The password is right. It is returned with what it was checked against, and whose it is.
    Right(T, String, PasswordHash),
    /// It is wrong, or there is none.
    Wrong,
    /// Too many attempts have failed, so it was not checked. The next one is allowed at this time, ms UTC.
    NotBefore(i64),
}

impl PasswordChecks {
    /// `tasks`: counts the checks under way.
    pub fn new(attempts: Arc<dyn Attempts>, passwords: Arc<Passwords>, clock: SharedClock, tasks: TaskTracker) -> Self {
        Self { attempts, passwords, pairs: FairQueue::new(ONE_AFTER_THE_OTHER), clock, tasks }
    }

    /// Checks `password` against `credential`, which is read when the attempt is admitted. `account`: the handle, or
    /// empty if the text is not a valid handle. The statements and the hashing are the same for unknown accounts.
    pub async fn check<T: Send + 'static>(
        &self,
        (turn, caller): (HashingTurn, &Caller),
        (account, password): (&str, String),
        credential: impl Future<Output = Result<Option<(T, PasswordHash)>, StoreError>> + Send + 'static,
    ) -> Result<(HashingTurn, Checked<T>), AccountError> {
        let (checks, subjects) = (self.clone(), subjects(account, caller));
        let checking = async move {
            let checked = checks.checked(&turn, &subjects, password, credential).await?;
            Ok((turn, checked))
        };
        // In a task of its own: what is counted has to be settled, even if nobody waits for it any more.
        self.tasks.spawn(checking.in_current_span()).await.map_err(|_| PasswordError::CutOff)?
    }

    async fn checked<T>(
        &self,
        turn: &HashingTurn,
        subjects: &Subjects,
        password: String,
        credential: impl Future<Output = Result<Option<(T, PasswordHash)>, StoreError>>,
    ) -> Result<Checked<T>, AccountError> {
        // There are places for all who have a turn.
        let _after_the_others = self.pairs.take(subjects.pair.clone()).await;
        if let SignInDecision::NotBefore(at) = self.attempts.admit(subjects, self.clock.now_ms()).await? {
            metrics::counter!(SIGN_INS, "outcome" => "waiting").increment(1);
            return Ok(Checked::NotBefore(at));
        }
        let (whose, stored) = credential.await?.unzip();
        // An overlong password never matches, and takes as long to check.
        let too_long = password.len() > MAX_PASSWORD_BYTES;
        let (password, stored) = if too_long { (String::new(), None) } else { (password, stored) };
        let fits = self.passwords.verify(turn, password.clone(), stored.clone()).await?;
        let Some((whose, stored)) = whose.zip(stored).filter(|_| fits) else {
            metrics::counter!(SIGN_INS, "outcome" => "wrong").increment(1);
            return Ok(Checked::Wrong);
        };
        metrics::counter!(SIGN_INS, "outcome" => "good").increment(1);
        self.attempts.succeeded(subjects, self.clock.now_ms()).await?;
        Ok(Checked::Right(whose, password, stored))
    }
}

fn subjects(account: &str, caller: &Caller) -> Subjects {
    let (account, network) = (account.as_bytes(), caller.network_name());
    Subjects {
        pair: digest(&[b"pair", account, network.as_bytes()]),
        account: digest(&[b"account", account]),
        network: digest(&[b"network", network.as_bytes()]),
    }
}
