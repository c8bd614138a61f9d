//! Why a node cannot start.

use content_schemas::UnusableSchema;
use graphql_transport::{guard::UnreadableSchema, http::ManifestError};

use crate::{
    accounts::{PasswordError, WeakSecret},
    config::SecretError,
    store::{StoreError, redis::ConnectError},
};

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// SQL cannot be used as configured.
    #[error("the store (store.url) cannot be used (run `tidefeed doctor` for details)")]
    Store(#[source] StoreError),
    /// Tables are missing or old, and `store.migrate_at_start` is off.
    #[error("the tables are not up to date ({0} migrations pending): run `tidefeed migrate`")]
    NotMigrated(usize),
    /// Redis cannot be reached as configured.
    #[error("redis (redis.urls) cannot be used (run `tidefeed doctor` for details)")]
    Redis(#[source] ConnectError),
    /// Announcements cannot be listened to.
    #[error("subscribing to announcements failed; Tidefeed needs Redis 7 or later")]
    Announcements(#[source] StoreError),
    /// `auth.secret` is missing or cannot be read.
    #[error("auth.secret cannot be used")]
    SigningSecret(#[from] SecretError),
    /// The secret is too short.
    #[error("auth.secret is too short")]
    Secret(#[source] WeakSecret),
    /// argon2 refuses its parameters.
    #[error("the auth.argon2 parameters cannot be used")]
    Passwords(#[source] PasswordError),
    /// The schema cannot be read back.
    #[error("the schema cannot be used")]
    Schema(#[source] UnreadableSchema),
    /// The manifest of trusted documents is not valid.
    #[error("the manifest (persisted.manifest) cannot be used")]
    Manifest(#[source] ManifestError),
    /// A JSON Schema for the attributes of contents is none.
    #[error("the JSON Schemas (content.schemas) cannot be used")]
    ContentSchemas(#[from] UnusableSchema),
    /// No HTTP client for the issuer's keys could be made.
    #[error("the issuer (issuer.jwks_url) cannot be used")]
    Issuer(#[source] reqwest::Error),
}
