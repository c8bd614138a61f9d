//! Maps every failure to an error code and a message that reveals nothing internal.
//!
//! Resolvers build errors only here. Expected outcomes of mutations are `userErrors` instead.

use async_graphql::{Error, ErrorExtensionValues};

use super::ids::InvalidId;
use crate::{
    accounts::{AccountError, PasswordError, TokenError},
    domain::{
        account::service::{Scope, ServiceName},
        limits::{MAX_NODES, MAX_UPSERTS},
        live::resume::InvalidResumePoint,
        search::{InvalidSearch, people::InvalidKeyPrefix},
        text::sentence,
        timeline::page::InvalidPage,
    },
    live::LiveError,
    publish::PublishError,
    store::StoreError,
    telemetry::metrics::REFUSED,
};

/// The values of `extensions.code` in resolvers' errors; the transport has more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// An argument is invalid.
    BadUserInput,
    /// The request needs a viewer.
    Unauthenticated,
    /// The key of a service does not allow this.
    Forbidden,
    /// The client should retry later.
    RateLimited,
    /// The server is at fault.
    InternalServerError,
}

impl ErrorCode {
    /// The code in the answer.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::RateLimited => "RATE_LIMITED",
            Self::InternalServerError => "INTERNAL_SERVER_ERROR",
        }
    }
}

const PASSING: &str = "Something went wrong on our side. Try again in a moment.";
const STAYING: &str = "Something went wrong on our side. If it happens again, report the requestId.";
const NO_WRITES: &str =
    "The store takes no writes at the moment: it has no room, or refuses them. Reading goes on. Try again later.";

/// Seconds in which the indexer makes room for another long content.
const INDEXED_WITHIN_S: u64 = 1;

/// Seconds after which a password may be hashed that found no turn.
const BUSY_S: u64 = 2;

/// Why a service may not do this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// Its key lacks a scope.
    #[error(
        "The key of `{service}` lacks the scope `{scope}`, which `{field}` needs. Make a key with it: \
         tidefeed service add NAME --scope {scope},.."
    )]
    Lacks {
        /// Whose key.
        service: ServiceName,
        /// The scope.
        scope: Scope,
        /// What needs it.
        field: String,
    },
    /// Only services do this.
    #[error("`{0}` is for services: it needs the key of one.")]
    ServicesAlone(&'static str),
    /// Only users do this themselves.
    #[error("`{0}` is for users alone. No service can do it for them.")]
    UsersAlone(String),
}

/// Every failure of a resolver.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The request has no viewer.
    #[error("Sign in first: this needs a bearer token. A service names a user in tidefeed-act-as.")]
    Anonymous,
    /// The request comes from a service that may not do this.
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    /// The token expired after the connection began, or the user was deleted.
    #[error("The sign-in has ended. Sign in again.")]
    SignInEnded,
    /// An invalid id.
    #[error(transparent)]
    Id(#[from] InvalidId),
    /// Invalid connection arguments.
    #[error(transparent)]
    Page(#[from] InvalidPage),
    /// An invalid search.
    #[error(transparent)]
    Search(#[from] InvalidSearch),
    /// An invalid search for people.
    #[error(transparent)]
    People(#[from] InvalidKeyPrefix),
    /// An invalid `after` of `newFeed`.
    #[error("`after` is {0}.")]
    Resume(#[from] InvalidResumePoint),
    /// More ids than `nodes` accepts.
    #[error("{0} ids are too many. Ask for at most {MAX_NODES} at a time.")]
    TooManyIds(usize),
    /// More users than `upsertUsers` accepts.
    #[error("{0} users are too many. Send at most {MAX_UPSERTS} at a time.")]
    TooManyUpserts(usize),
    /// A store failed.
    #[error("a store failed")]
    Store(#[from] StoreError),
    /// A publish failed.
    #[error("publishing failed")]
    Publish(#[from] PublishError),
    /// A registration or a sign-in failed.
    #[error("an operation on an account failed")]
    Account(#[from] AccountError),
    /// A live subscription cannot begin or go on. What is to be logged of it is logged.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The request was executed without its scope.
    #[error("the request has no scope: the transport did not attach it")]
    NoScope,
    /// The answer would read more than it may show. The whole operation fails with this error.
    #[error("The answer would be too large. Ask for fewer objects or fields at once.")]
    TooMuchRead,
    /// A loader failed. Its batch has logged that once.
    #[error("{}", .0.message)]
    Logged(ApiError),
}

impl Failure {
    /// The code for clients.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Anonymous | Self::SignInEnded => ErrorCode::Unauthenticated,
            Self::Forbidden(_) => ErrorCode::Forbidden,
            Self::Id(_)
            | Self::Page(_)
            | Self::Search(_)
            | Self::People(_)
            | Self::Resume(_)
            | Self::TooManyIds(_)
            | Self::TooManyUpserts(_)
            | Self::TooMuchRead => ErrorCode::BadUserInput,
            Self::Publish(PublishError::TooManyUnindexed)
            | Self::Live(LiveError::TooMany(_) | LiveError::TooManyOfAddress(_) | LiveError::NoRoom) => {
                ErrorCode::RateLimited
            }
            Self::Account(error) => match error {
                AccountError::Password(PasswordError::Busy) | AccountError::TooManyRegistrations(_) => {
                    ErrorCode::RateLimited
                }
                AccountError::Password(
                    PasswordError::Parameters(_) | PasswordError::Hash(_) | PasswordError::CutOff,
                )
                | AccountError::Token(TokenError::Invalid | TokenError::Expired | TokenError::Unsignable)
                | AccountError::Store(_)
                | AccountError::Deactivated
                | AccountError::NoFreeId => ErrorCode::InternalServerError,
            },
            Self::Store(
                StoreError::Unavailable(_)
                | StoreError::TakesNoWrites(_)
                | StoreError::Contended(_)
                | StoreError::Unreadable(_)
                | StoreError::Refused(_),
            )
            | Self::Publish(PublishError::Store(_) | PublishError::NoFreeId)
            | Self::Live(LiveError::Store(_) | LiveError::Abandoned)
            | Self::NoScope => ErrorCode::InternalServerError,
            Self::Logged(error) => error.code,
        }
    }

    /// The bound that refused it, as the label of a metric.
    const fn bound(&self) -> Option<&'static str> {
        match self {
            Self::Live(LiveError::TooMany(_) | LiveError::TooManyOfAddress(_)) => Some("subscriptions"),
            Self::Live(LiveError::NoRoom) => Some("anonymous_subscriptions"),
            Self::Account(AccountError::Password(PasswordError::Busy)) => Some("passwords"),
            Self::Account(AccountError::TooManyRegistrations(_)) => Some("registrations"),
            _ => None,
        }
    }

    /// The message for a failure of our own, without internal details.
    fn in_words(&self) -> &'static str {
        let error = match self {
            Self::Store(error)
            | Self::Publish(PublishError::Store(error))
            | Self::Account(AccountError::Store(error)) => error,
            Self::Live(LiveError::Store(error)) => error,
            Self::Live(LiveError::Abandoned) | Self::Account(AccountError::Password(PasswordError::Busy)) => {
                return PASSING;
            }
            _ => return STAYING,
        };
        match error {
            StoreError::TakesNoWrites(_) => NO_WRITES,
            StoreError::Unavailable(_) | StoreError::Contended(_) => PASSING,
            StoreError::Unreadable(_) | StoreError::Refused(_) => STAYING,
        }
    }

    /// The error for clients. Logs the failure with its causes, inside the span that has the request's id.
    pub fn into_api_error(self) -> ApiError {
        if self.code() == ErrorCode::InternalServerError && !matches!(self, Self::Logged(_) | Self::Live(_)) {
            tracing::error!(error = &self as &dyn std::error::Error, "A request failed.");
        }
        self.shown()
    }

    /// As [`Self::into_api_error`], without logging.
    pub fn shown(self) -> ApiError {
        let code = self.code();
        if let Some(bound) = self.bound() {
            metrics::counter!(REFUSED, "bound" => bound).increment(1);
        }
        let retry_after_s = match &self {
            Self::Logged(error) => return error.clone(),
            Self::Account(AccountError::TooManyRegistrations(seconds)) => Some(*seconds),
            Self::Publish(PublishError::TooManyUnindexed) => Some(INDEXED_WITHIN_S),
            Self::Account(AccountError::Password(PasswordError::Busy))
            | Self::Live(LiveError::TooMany(_) | LiveError::TooManyOfAddress(_) | LiveError::NoRoom) => Some(BUSY_S),
            _ => None,
        };
        if code != ErrorCode::InternalServerError {
            let message = match &self {
                Self::Account(error) => sentence(&error.to_string()),
                Self::Publish(error) => sentence(&error.to_string()),
                Self::Live(error) => sentence(&error.to_string()),
                Self::Page(error) => sentence(&error.to_string()),
                Self::Search(error) => sentence(&error.to_string()),
                Self::People(error) => sentence(&error.to_string()),
                other => other.to_string(),
            };
            return ApiError { code, message, retry_after_s };
        }
        ApiError { code, message: self.in_words().to_owned(), retry_after_s }
    }
}

/// An error for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// `extensions.code`.
    pub code: ErrorCode,
    /// Without internal details.
    pub message: String,
    /// `extensions.retryAfter`: seconds after which to retry.
    pub retry_after_s: Option<u64>,
}

impl From<ApiError> for Error {
    fn from(api_error: ApiError) -> Self {
        let mut extensions = ErrorExtensionValues::default();
        extensions.set("code", api_error.code.as_str());
        if let Some(seconds) = api_error.retry_after_s {
            extensions.set("retryAfter", seconds);
        }
        Self { message: api_error.message, source: None, extensions: Some(extensions) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(text: &str) -> StoreError {
        StoreError::Refused(text.into())
    }

    #[test]
    fn internals_are_masked() {
        for failure in [
            Failure::Store(store("SELECT secret")),
            Failure::Store(StoreError::Unreadable("secret".to_owned())),
            Failure::Publish(PublishError::Store(store("secret"))),
            Failure::Account(AccountError::Store(store("secret"))),
            Failure::Account(AccountError::Token(TokenError::Unsignable)),
            Failure::NoScope,
        ] {
            let api_error = failure.into_api_error();
            assert_eq!(api_error.code, ErrorCode::InternalServerError);
            assert_eq!(
                api_error.message,
                "Something went wrong on our side. If it happens again, report the requestId."
            );
        }
    }

    #[test]
    fn a_passing_failure_invites_to_try_again() {
        let api_error = Failure::Store(StoreError::Unavailable("10.0.0.7 refused".into())).into_api_error();
        assert_eq!(api_error.message, "Something went wrong on our side. Try again in a moment.");
    }

    #[test]
    fn a_full_store_is_reported_without_internal_details() {
        let full = || StoreError::TakesNoWrites("/var/secret.db is full".into());
        for failure in [
            Failure::Store(full()),
            Failure::Publish(PublishError::Store(full())),
            Failure::Account(AccountError::Store(full())),
        ] {
            let api_error = failure.into_api_error();
            assert_eq!((api_error.code, api_error.message.as_str()), (ErrorCode::InternalServerError, NO_WRITES));
        }
    }

    #[test]
    fn errors_of_the_client_have_readable_messages() {
        let page = Failure::Page(InvalidPage::Mixed).into_api_error();
        assert_eq!(page.code, ErrorCode::BadUserInput);
        assert!(page.message.contains("first"), "{}", page.message);
        let id = Failure::Id(InvalidId::NotAUser).into_api_error();
        assert_eq!(
            (id.code, id.message.as_str()),
            (ErrorCode::BadUserInput, "This is not the id of a user. Those begin with U_.")
        );
        assert_eq!(Failure::Anonymous.into_api_error().code, ErrorCode::Unauthenticated);
        let busy = Failure::Account(AccountError::Password(PasswordError::Busy)).into_api_error();
        assert_eq!(busy.code, ErrorCode::RateLimited);
        assert!(busy.message.starts_with("Too many people"), "{}", busy.message);
    }

    #[test]
    fn too_many_registrations_and_long_texts_are_answered_with_a_retry_time() {
        for (failure, seconds) in [
            (Failure::Account(AccountError::TooManyRegistrations(7)), 7),
            (Failure::Publish(PublishError::TooManyUnindexed), 1),
        ] {
            let error = Error::from(failure.into_api_error());
            let extension = |name| error.extensions.as_ref().and_then(|extensions| extensions.get(name)).cloned();
            assert_eq!(extension("code"), Some("RATE_LIMITED".into()), "{}", error.message);
            assert_eq!(extension("retryAfter"), Some(async_graphql::Value::from(seconds)));
        }
    }

    #[test]
    fn an_error_that_was_logged_keeps_its_message() {
        let api_error = Failure::Store(store("secret")).into_api_error();
        assert_eq!(Failure::Logged(api_error.clone()).into_api_error(), api_error);
    }

    #[test]
    fn the_code_reaches_the_extensions() {
        let error = Error::from(Failure::Anonymous.into_api_error());
        let code = error.extensions.as_ref().and_then(|extensions| extensions.get("code"));
        assert_eq!(code, Some(&async_graphql::Value::from("UNAUTHENTICATED")));
    }
}
