//! Hashes passwords with argon2id and stores them as PHC strings.
//!
//! Each hash takes megabytes and a core for tens of milliseconds: hashing runs on blocking threads, a bounded number
//! at a time, in turn between clients.

use std::sync::Arc;

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{Error as HashError, PasswordHasher as _, PasswordVerifier as _, phc},
};
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use fair_queue::{Bounds, FairQueue, Limits, Turn};
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::viewer::Client;
use crate::{rng::SharedRng, store::accounts::PasswordHash, telemetry::metrics::PASSWORD_KIBIBYTES};

/// Commands under way for each hash that runs: some read and count attempts meanwhile.
const PERMITS_OF_A_SLOT: usize = 4;

const SALT_BYTES: usize = 16;

/// The cost of one hash, and how many run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordSettings {
    /// KiB of one hash. 19456 by default, OWASP's minimum with two passes.
    pub memory_kib: u32,
    /// Passes over that memory. 2.
    pub iterations: u32,
    /// Lanes. 1.
    pub parallelism: u32,
    /// Hashes that run at once. 2.
    pub slots: usize,
    /// Clients' commands that may wait for a turn to hash; any more are refused at once. 128.
    pub waiting: usize,
    /// The part of both that one client may take. 50 %.
    pub client_percent: usize,
}

impl Default for PasswordSettings {
    fn default() -> Self {
        Self { memory_kib: 19_456, iterations: 2, parallelism: 1, slots: 2, waiting: 128, client_percent: 50 }
    }
}

/// Why a password could not be hashed or checked.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// argon2 does not accept the parameters.
    #[error("argon2 does not take these parameters: {0}")]
    Parameters(argon2::Error),
    /// Too many wait already.
    #[error("too many people are signing in at this moment; try again in a few seconds")]
    Busy,
    /// The stored hash is unreadable, or the library failed.
    #[error("the password could not be hashed or checked: {0}")]
    Hash(HashError),
    /// The process is ending, and the task was cancelled.
    #[error("hashing was interrupted")]
    CutOff,
}

/// A turn to hash and to check, for one command of a client.
pub type HashingTurn = Turn<Client>;

/// Hashes passwords and checks them.
pub struct Passwords {
    argon2: Argon2<'static>,
    slots: Arc<Semaphore>,
    commands: FairQueue<Client>,
    rng: SharedRng,
    decoy: PasswordHash,
}

impl Passwords {
    /// Checks the parameters. Hashes nothing.
    pub fn try_new(settings: PasswordSettings, rng: SharedRng) -> Result<Self, PasswordError> {
        let params = Params::new(settings.memory_kib, settings.iterations, settings.parallelism, None)
            .map_err(PasswordError::Parameters)?;
        let decoy = decoy(&params, &rng);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let slots = settings.slots.max(1);
        let all = Limits { running: slots.saturating_mul(PERMITS_OF_A_SLOT), waiting: settings.waiting };
        let commands = FairQueue::new(Bounds::shared(all, settings.client_percent));
        Ok(Self { argon2, slots: Arc::new(Semaphore::new(slots)), commands, rng, decoy })
    }

    /// Waits until it is the client's turn. Refused if too many wait, or too many of this client.
    pub async fn turn(&self, client: Client) -> Result<HashingTurn, PasswordError> {
        self.commands.take(client).await.map_err(|_full| PasswordError::Busy)
    }

    /// The hash of `password` under a fresh salt.
    pub async fn hash(&self, _turn: &HashingTurn, password: String) -> Result<PasswordHash, PasswordError> {
        let (argon2, salt) = (self.argon2.clone(), salt(&self.rng));
        self.apart(move || hash(&argon2, password.as_bytes(), salt)).await
    }

    /// Whether `password` matches `stored`. Without a stored hash it takes as long and returns `false`.
    pub async fn verify(
        &self,
        _turn: &HashingTurn,
        password: String,
        stored: Option<PasswordHash>,
    ) -> Result<bool, PasswordError> {
        let (argon2, exists) = (self.argon2.clone(), stored.is_some());
        let stored = stored.unwrap_or_else(|| self.decoy.clone());
        let fits = self.apart(move || fits(&argon2, password.as_bytes(), &stored)).await?;
        Ok(fits && exists)
    }

    /// Whether `stored` is cheaper than the settings ask, or unreadable.
    pub fn is_outdated(&self, stored: &PasswordHash) -> bool {
        let Ok(Ok(was)) = phc::PasswordHash::new(&stored.0).map(|hash| Params::try_from(&hash)) else { return true };
        let now = self.argon2.params();
        was.m_cost() < now.m_cost() || was.t_cost() < now.t_cost() || was.p_cost() < now.p_cost()
    }

    /// Runs `work` when a slot is free. If the caller is dropped, the slot is freed only when the work is done.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, PasswordError> {
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(|_| PasswordError::CutOff)?;
        let task = spawn_blocking(move || {
            let _held = slot;
            work()
        });
        task.await.map_err(|_| PasswordError::CutOff)?
    }
}

fn salt(rng: &SharedRng) -> [u8; SALT_BYTES] {
    let mut salt = [0; SALT_BYTES];
    rng.fill(&mut salt);
    salt
}

/// A hash that costs as much to check as a real one. Its digest is random, so no password matches it.
fn decoy(params: &Params, rng: &SharedRng) -> PasswordHash {
    let mut digest = [0; Params::DEFAULT_OUTPUT_LEN];
    rng.fill(&mut digest);
    let (memory, passes, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
    let [salt, digest] = [&salt(rng)[..], &digest].map(|bytes| STANDARD_NO_PAD.encode(bytes));
    PasswordHash(format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${digest}"))
}

fn hash(argon2: &Argon2<'_>, password: &[u8], salt: [u8; SALT_BYTES]) -> Result<PasswordHash, PasswordError> {
    paid(argon2.params());
    let hash: phc::PasswordHash = argon2.hash_password_with_salt(password, &salt).map_err(PasswordError::Hash)?;
    Ok(PasswordHash(hash.to_string()))
}

/// Checks with the parameters in the stored hash, so hashes made under older settings stay valid.
fn fits(argon2: &Argon2<'_>, password: &[u8], stored: &PasswordHash) -> Result<bool, PasswordError> {
    let stored = phc::PasswordHash::new(&stored.0).map_err(|_| PasswordError::Hash(HashError::EncodingInvalid))?;
    paid(&Params::try_from(&stored).map_err(|_| PasswordError::Hash(HashError::EncodingInvalid))?);
    match argon2.verify_password(password, &stored) {
        Ok(()) => Ok(true),
        Err(HashError::PasswordInvalid) => Ok(false),
        Err(error) => Err(PasswordError::Hash(error)),
    }
}

/// Counts the cost of a hash whatever its result, so that the metric does not reveal which accounts exist.
fn paid(params: &Params) {
    metrics::counter!(PASSWORD_KIBIBYTES).increment(u64::from(params.m_cost()) * u64::from(params.t_cost()));
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use futures_util::future::join_all;

    use super::*;
    use crate::domain::UserId;

    fn passwords(slots: usize, waiting: usize) -> Passwords {
        let settings =
            PasswordSettings { memory_kib: 64, iterations: 1, parallelism: 1, slots, waiting, client_percent: 100 };
        Passwords::try_new(settings, SharedRng::from_seed(1)).unwrap()
    }

    const SOMEBODY: Client = Client::Network(None);

    async fn hash(passwords: &Passwords, password: &str) -> Result<PasswordHash, PasswordError> {
        passwords.hash(&passwords.turn(SOMEBODY).await?, password.to_owned()).await
    }

    async fn verify(
        passwords: &Passwords,
        password: &str,
        stored: Option<PasswordHash>,
    ) -> Result<bool, PasswordError> {
        passwords.verify(&passwords.turn(SOMEBODY).await?, password.to_owned(), stored).await
    }

    #[tokio::test]
    async fn only_the_right_password_fits() {
        let passwords = passwords(2, 2);
        let stored = hash(&passwords, "correct horse").await.unwrap();
        assert!(stored.0.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{}", stored.0);
        assert!(verify(&passwords, "correct horse", Some(stored.clone())).await.unwrap());
        assert!(!verify(&passwords, "correct horsf", Some(stored)).await.unwrap());
    }

    #[tokio::test]
    async fn the_same_password_has_another_hash_each_time() {
        let passwords = passwords(2, 2);
        let [one, two] = [hash(&passwords, "a").await.unwrap(), hash(&passwords, "a").await.unwrap()];
        assert_ne!(one.0, two.0);
    }

    #[tokio::test]
    async fn an_unknown_account_costs_a_full_hash_and_is_refused() {
        let passwords = passwords(2, 2);
        assert!(!verify(&passwords, "anything", None).await.unwrap());
        let real = hash(&passwords, "anything").await.unwrap();
        let [decoy, real] = [&passwords.decoy, &real].map(|it| phc::PasswordHash::new(&it.0).unwrap());
        let cost = |it: &phc::PasswordHash| (it.algorithm, it.version, it.params.clone(), it.hash.unwrap().len());
        assert_eq!(cost(&decoy), cost(&real), "the decoy costs what real hashes cost");
        assert_eq!(decoy.salt.unwrap().len(), real.salt.unwrap().len());
    }

    #[tokio::test]
    async fn older_parameters_stay_good() {
        let old = hash(&passwords(2, 2), "a").await.unwrap();
        let settings = PasswordSettings { memory_kib: 128, iterations: 2, ..PasswordSettings::default() };
        let new = Passwords::try_new(settings, SharedRng::from_seed(2)).unwrap();
        assert!(new.is_outdated(&old));
        assert!(verify(&new, "a", Some(old)).await.unwrap());
        assert!(!new.is_outdated(&hash(&new, "a").await.unwrap()));
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once() {
        let passwords = passwords(1, 1);
        let mut taken = Vec::new();
        for _ in 0..PERMITS_OF_A_SLOT {
            taken.push(passwords.turn(SOMEBODY).await.unwrap());
        }
        let (waited, refused) = futures_util::join!(hash(&passwords, "a"), async {
            let refused = passwords.turn(SOMEBODY).await;
            taken.clear();
            refused
        });
        assert!(waited.is_ok() && matches!(refused, Err(PasswordError::Busy)));
        assert!(hash(&passwords, "a").await.is_ok(), "the turns are free again");
    }

    #[tokio::test]
    async fn who_floods_leaves_turns_and_places_to_others() {
        let settings = PasswordSettings { memory_kib: 64, iterations: 1, slots: 1, ..PasswordSettings::default() };
        let passwords = Passwords::try_new(settings, SharedRng::from_seed(1)).unwrap();
        let [eve, ann] = [1, 2].map(|id| Client::Viewer(UserId::try_new(id).unwrap()));
        let flood = (0..1_000).map(|_| async {
            let turn = passwords.turn(eve).await?;
            passwords.hash(&turn, "a".to_owned()).await
        });
        let (flooded, served) = futures_util::join!(join_all(flood), passwords.turn(ann));
        let refused = flooded.iter().filter(|it| matches!(it, Err(PasswordError::Busy))).count();
        assert!(served.is_ok() && refused > 900, "{refused}");
    }

    #[tokio::test]
    async fn an_unreadable_stored_hash_is_an_error_and_no_mismatch() {
        let result = verify(&passwords(1, 1), "a", Some(PasswordHash("plain".to_owned()))).await;
        assert!(matches!(result, Err(PasswordError::Hash(_))));
    }

    #[test]
    fn impossible_parameters_are_refused_when_the_service_is_made() {
        let settings = PasswordSettings { memory_kib: 1, ..PasswordSettings::default() };
        assert!(matches!(Passwords::try_new(settings, SharedRng::from_seed(1)), Err(PasswordError::Parameters(_))));
    }
}
