//! Accounts and sign-in: passwords, sessions, tokens, external issuers, keys of services, profiles, exports, and the
//! cleanup of ended sessions and deleted accounts.
//!
//! Nothing here knows GraphQL or HTTP: the transport carries tokens, and the schema asks for a viewer.

mod adoption;
mod checks;
mod commands;
mod digest;
mod error;
pub mod export;
mod external_users;
pub mod issuer;
mod liveness;
mod passwords;
mod profiles;
mod pruner;
mod refresh;
mod registrations;
mod remover;
pub mod services;
mod sessions;
mod signatures;
mod tokens;
mod upserts;
mod user_states;
mod viewer;

pub use self::{
    commands::{AccountsService, DeleteOutcome, NewUser, PasswordOutcome, RegisterOutcome, SignInOutcome},
    error::AccountError,
    external_users::{ExternalUsers, PRODUCT, RebindOutcome},
    liveness::{Liveness, Mortal, SubjectOf},
    passwords::{PasswordError, PasswordSettings, Passwords},
    profiles::{EditOutcome, InvalidChange, ProfileChange, ProfilesService, RenameOutcome},
    pruner::Pruner,
    registrations::Registrations,
    remover::AccountRemover,
    sessions::{RefreshOutcome, SessionSettings, SessionsService, SignedIn},
    tokens::{Token, TokenError, TokenKey, Tokens, WeakSecret},
    upserts::{InvalidUpsert, ProductUser, Upserted},
    user_states::UserStates,
    viewer::{Caller, Client, IssuingKey, Principal, Viewer},
};
