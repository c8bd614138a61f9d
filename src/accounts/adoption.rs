//! Gives an identity an account.

use crate::{
    ambient::Ambient,
    domain::{UserId, account::profile::Registration},
    store::{
        Identities, StoreError,
        accounts::{NewAccount, Registered},
        identities::{Adopted, Identity},
    },
};

/// How an adoption ends.
pub(super) enum Adoption {
    /// The identity has a new account.
    Created(UserId),
    /// It had one already.
    Known(UserId),
    /// Others have the handles of all registrations.
    HandlesTaken,
    /// Every id drawn was taken.
    NoFreeId,
}

/// Creates an account without a password for `identity`, unless it has one: with the first of `registrations` whose
/// handle is free. `created_at`: when the user joined, ms UTC.
pub(super) async fn adopt(
    identities: &dyn Identities,
    identity: &Identity,
    (registrations, created_at): (Vec<Registration>, i64),
    ambient: &Ambient,
) -> Result<Adoption, StoreError> {
    let mut registrations = registrations.into_iter();
    let Some(mut registration) = registrations.next() else { return Ok(Adoption::HandlesTaken) };
    for random in ambient.rng.draws() {
        let id = UserId::generate(ambient.now_ms(), random);
        let account = NewAccount {
            id,
            registration: registration.clone(),
            password_hash: None,
            incarnation: ambient.rng.incarnation(),
            now_ms: created_at,
        };
        match identities.adopt(&account, identity).await? {
            Adopted::Created => return Ok(Adoption::Created(id)),
            Adopted::Known(user) => return Ok(Adoption::Known(user)),
            Adopted::Not(Registered::HandleTaken) => match registrations.next() {
                Some(next) => registration = next,
                None => return Ok(Adoption::HandlesTaken),
            },
            Adopted::Not(_) => {}
        }
    }
    Ok(Adoption::NoFreeId)
}
