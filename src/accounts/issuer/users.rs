//! Maps a user of the issuer to an account, and creates one for a new user.
//!
//! The new account gets the handle that the issuer suggests if it is free. A suggested name proves nothing: it never
//! leads to an existing account.

use std::sync::Arc;

use crate::{
    accounts::{
        adoption::Adoption,
        external_users::ExternalUsers,
        profiles::{ProfileChange, checked},
        upserts::AHEAD_MS,
        viewer::SubjectDigest,
    },
    domain::{
        Handle, UserId,
        account::profile::Registration,
        limits::{MAX_HANDLE_CHARS, MAX_NAME_CHARS},
    },
    store::{
        StoreError,
        identities::{Identified, Revision, Standing, handle_digits, made_handle},
        profiles::ProfileEdit,
    },
};

/// Why a valid token has no user.
#[derive(Debug, thiserror::Error)]
pub enum NoUser {
    /// For the client.
    #[error("There is no account here for the token's user.")]
    Stranger,
    /// For the client.
    #[error("The account of the token's user is deactivated.")]
    Deactivated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Every id or handle drawn was taken.
    #[error("no free id or handle")]
    NothingFree,
}

/// What the issuer says of a user, unchecked.
pub struct Profiled {
    /// The preferred handle.
    pub handle: Option<String>,
    /// The name to show.
    pub name: Option<String>,
    /// The address of a picture.
    pub avatar: Option<String>,
    /// All open attributes, as keys and values.
    pub attributes: Option<Vec<(String, String)>>,
    /// Since when this is so, ms UTC; `None`: a present profile does not follow it.
    pub updated_at: Option<i64>,
}

/// The users of an external issuer.
pub struct Users {
    known: Arc<ExternalUsers>,
    provisions: bool,
}

impl Users {
    /// `known`: those of this issuer. `provisions`: whether unknown users get an account.
    pub const fn new(known: Arc<ExternalUsers>, provisions: bool) -> Self {
        Self { known, provisions }
    }

    /// Stands for `subject` of this issuer.
    pub fn subject(&self, subject: &str) -> SubjectDigest {
        self.known.subject(subject)
    }

    /// The user whom the issuer calls `subject`.
    pub async fn of(&self, subject: &str, profiled: &Profiled) -> Result<UserId, NoUser> {
        match self.known.known(subject).await? {
            Some(Identified { user, standing: Standing::Active, as_of, .. }) => {
                // A time far ahead would keep all that is said later from being heard.
                let until = self.known.ambient.now_ms().saturating_add(AHEAD_MS);
                if profiled.updated_at.is_some_and(|at| at > as_of && at <= until) {
                    self.follow(subject, profiled).await;
                }
                Ok(user)
            }
            Some(Identified { standing: Standing::Deactivated, .. }) => Err(NoUser::Deactivated),
            Some(Identified { standing: Standing::Deleted, .. }) => Err(NoUser::Stranger),
            None if !self.provisions => Err(NoUser::Stranger),
            None => {
                let registrations = registrations(self.known.ambient.rng.u64(), profiled);
                match self.known.adopt(subject, (registrations, self.known.ambient.now_ms())).await? {
                    Adoption::Created(user) => {
                        if profiled.attributes.is_some() {
                            self.follow(subject, profiled).await;
                        }
                        Ok(user)
                    }
                    Adoption::Known(user) => Ok(user),
                    Adoption::HandlesTaken | Adoption::NoFreeId => Err(NoUser::NothingFree),
                }
            }
        }
    }
}

impl Users {
    /// Brings the profile up to date. A claim that is invalid changes nothing, and neither does a taken handle.
    async fn follow(&self, subject: &str, profiled: &Profiled) {
        let said = |change: ProfileChange| checked(change).unwrap_or_default();
        let name = said(ProfileChange { name: profiled.name.clone(), ..ProfileChange::default() }).name;
        let avatar = profiled.avatar.clone().map(Some);
        let avatar_url = said(ProfileChange { avatar_url: avatar, ..ProfileChange::default() }).avatar_url;
        let attributes = ProfileChange { attributes: profiled.attributes.clone(), ..ProfileChange::default() };
        let attributes = said(attributes).attributes;
        let revision = Revision {
            handle: profiled.handle.as_deref().and_then(|handle| Handle::try_new(handle).ok()),
            edit: ProfileEdit { name, avatar_url, attributes, ..ProfileEdit::default() },
            as_of: Some(profiled.updated_at.unwrap_or(0)),
            now_ms: self.known.ambient.now_ms(),
            version: self.known.ambient.rng.version(),
        };
        if let Err(error) = self.known.revise_newer(subject, revision).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "A profile could not follow its issuer's claims.");
        }
    }
}

/// The registrations to try, best first: with the suggested handle, with added digits, with digits alone.
fn registrations(random: u64, profiled: &Profiled) -> Vec<Registration> {
    let digits = handle_digits(random);
    let suggested = profiled.handle.as_deref().unwrap_or_default().to_lowercase();
    let stem: String = suggested.chars().take(MAX_HANDLE_CHARS - digits.len() - 1).collect();
    let handles = [suggested.clone(), format!("{stem}_{digits}"), made_handle(random)];
    let register = |handle: &String| {
        let shown = profiled.name.as_deref().map_or("", str::trim);
        let name: String = if shown.is_empty() { handle } else { shown }.chars().take(MAX_NAME_CHARS).collect();
        // An invalid name or picture does not prevent a registration.
        let named = |avatar| Registration::try_new(handle, &name, "", avatar);
        let named = named(profiled.avatar.clone()).or_else(|_| named(None));
        named.or_else(|_| Registration::try_new(handle, handle, "", None)).ok()
    };
    handles.iter().filter_map(register).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handles(handle: Option<&str>, name: Option<&str>) -> Vec<(String, String)> {
        let profiled = Profiled {
            handle: handle.map(str::to_owned),
            name: name.map(str::to_owned),
            avatar: None,
            attributes: None,
            updated_at: None,
        };
        let pair = |it: Registration| (it.handle.as_str().to_owned(), it.name);
        registrations(0x0123_4567_89ab_cdef, &profiled).into_iter().map(pair).collect()
    }

    fn pair(handle: &str, name: &str) -> (String, String) {
        (handle.to_owned(), name.to_owned())
    }

    #[test]
    fn the_suggested_handle_comes_first_and_a_unique_one_last() {
        let own = [pair("ann", "Ann"), pair("ann_0123456789ab", "Ann"), pair("user_0123456789ab", "Ann")];
        assert_eq!(handles(Some("Ann"), Some("Ann")), own);
        assert_eq!(handles(None, None).last(), Some(&pair("user_0123456789ab", "user_0123456789ab")));
    }

    #[test]
    fn an_unusable_handle_or_name_is_replaced_or_shortened() {
        assert_eq!(handles(Some("ann@example.org"), Some("  ")), [pair("user_0123456789ab", "user_0123456789ab")]);
        let long = "x".repeat(500);
        let found = handles(Some(&long), Some(&long));
        assert!(found.iter().all(|(handle, name)| handle.len() <= 30 && name.len() <= 60), "{found:?}");
        assert_eq!(found.len(), 2);
    }
}
