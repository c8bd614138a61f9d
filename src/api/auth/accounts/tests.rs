//! Registering and signing in, over accounts that remember only what these commands need.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::{collections::HashMap, sync::Mutex, time::Duration};

use async_trait::async_trait;

use super::*;
use crate::{
    api::auth::{PasswordSettings, TokenKey},
    clock::ManualClock,
    domain::{Profile, profile::ProfileCounts},
    store::accounts::PasswordHash,
};

/// Says `IdTaken` as often as it is told to.
#[derive(Default)]
struct Remembered {
    by_handle: Mutex<HashMap<Handle, (UserId, PasswordHash)>>,
    collisions: Mutex<usize>,
}

#[async_trait]
impl Accounts for Remembered {
    async fn register(&self, account: NewAccount) -> Result<Registered, StoreError> {
        let mut collisions = self.collisions.lock().unwrap();
        if *collisions > 0 {
            *collisions -= 1;
            return Ok(Registered::IdTaken);
        }
        let mut by_handle = self.by_handle.lock().unwrap();
        if by_handle.contains_key(&account.registration.handle) {
            return Ok(Registered::HandleTaken);
        }
        by_handle.insert(account.registration.handle, (account.id, account.password_hash));
        Ok(Registered::Created)
    }

    async fn credential(&self, handle: &Handle) -> Result<Option<(UserId, PasswordHash)>, StoreError> {
        Ok(self.by_handle.lock().unwrap().get(handle).cloned())
    }

    async fn profiles(&self, _: &[UserId]) -> Result<Vec<Profile>, StoreError> {
        Ok(Vec::new())
    }

    async fn by_handle(&self, _: &Handle) -> Result<Option<Profile>, StoreError> {
        Ok(None)
    }

    async fn counts(&self, _: &[UserId]) -> Result<Vec<(UserId, ProfileCounts)>, StoreError> {
        Ok(Vec::new())
    }

    async fn count(&self) -> Result<u64, StoreError> {
        Ok(self.by_handle.lock().unwrap().len() as u64)
    }
}

fn service(collisions: usize) -> (AccountsService, Arc<Tokens>) {
    let accounts = Remembered { collisions: Mutex::new(collisions), ..Remembered::default() };
    let clock: SharedClock = Arc::new(ManualClock::at(1_800_000_000_000));
    let draw = Draw::from_seed(1);
    let settings = PasswordSettings { memory_kib: 64, iterations: 1, ..PasswordSettings::default() };
    let passwords = Arc::new(Passwords::try_new(settings, draw.clone()).unwrap());
    let key = TokenKey::try_new("1", &[7; 32]).unwrap();
    let tokens = Arc::new(Tokens::new(key, Duration::from_mins(1), clock.clone()));
    (AccountsService::new(Arc::new(accounts), passwords, tokens.clone(), clock, draw), tokens)
}

fn ann() -> NewUser {
    NewUser {
        handle: "Ann".to_owned(),
        name: "Ann".to_owned(),
        password: "long enough".to_owned(),
        bio: String::new(),
        avatar_url: None,
    }
}

async fn registered(service: &AccountsService, new: NewUser) -> SignedIn {
    match service.register(new).await.unwrap() {
        RegisterOutcome::Registered(signed_in) => Some(signed_in),
        _ => None,
    }
    .unwrap()
}

#[tokio::test]
async fn whoever_registers_is_signed_in_and_can_sign_in_again() {
    let (service, tokens) = service(0);
    let first = registered(&service, ann()).await;
    assert_eq!(tokens.verify(&first.token.text).unwrap().id, first.viewer.id);
    let SignInOutcome::SignedIn(again) = service.sign_in("@ANN", "long enough".to_owned()).await.unwrap() else {
        return assert_eq!("", "signed in");
    };
    assert_eq!(again.viewer.id, first.viewer.id);
}

#[tokio::test]
async fn wrong_passwords_unknown_impossible_and_oversized_ones_end_alike() {
    let (service, _) = service(0);
    registered(&service, ann()).await;
    let long = "x".repeat(MAX_PASSWORD_BYTES + 1);
    for (handle, password) in
        [("ann", "wrong"), ("bob", "long enough"), ("!", "long enough"), ("ann", &long), ("ann", "")]
    {
        let outcome = service.sign_in(handle, password.to_owned()).await.unwrap();
        assert_eq!(outcome, SignInOutcome::WrongCredentials, "{handle}");
    }
}

#[tokio::test]
async fn a_taken_id_is_drawn_again_and_again_but_not_for_ever() {
    let (lucky, _) = service(MAX_DRAWS - 1);
    registered(&lucky, ann()).await;
    let (unlucky, _) = service(MAX_DRAWS);
    assert!(matches!(unlucky.register(ann()).await, Err(AccountError::NoFreeId)));
}

#[tokio::test]
async fn expected_refusals_are_outcomes() {
    let (service, _) = service(0);
    registered(&service, ann()).await;
    assert_eq!(service.register(ann()).await.unwrap(), RegisterOutcome::HandleTaken);
    let short = NewUser { password: "short".to_owned(), ..ann() };
    assert_eq!(service.register(short).await.unwrap(), RegisterOutcome::Invalid(InvalidProfile::Password));
    let closed = service.with_registration(false);
    assert_eq!(closed.register(ann()).await.unwrap(), RegisterOutcome::Closed);
}
