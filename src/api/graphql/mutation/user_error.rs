//! `userErrors`: refusals in a mutation's payload, written for the person who uses the client.

use std::iter;

use async_graphql::{Enum, SimpleObject};
use content_schemas::Violations;

use crate::domain::{account::profile::InvalidProfile, content::InvalidDraft, object::InvalidObject, text::sentence};

/// The reason of a refusal, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum UserErrorCode {
    /// A value does not have the required form.
    Invalid,
    /// A value is too long.
    TooLong,
    /// Another user has it already.
    Taken,
    /// It does not exist, or was deleted.
    NotFound,
    /// The viewer may not do this.
    NotAllowed,
    /// The handle and the password do not match.
    WrongCredentials,
    /// The request contradicts an earlier one.
    Conflict,
    /// Too many attempts have failed; the payload says when to try again.
    TooManyAttempts,
    /// The session is over: sign in again.
    SessionEnded,
}

/// Why a mutation was refused.
#[derive(Debug, Clone, PartialEq, Eq, SimpleObject)]
pub struct UserError {
    /// A sentence for people, in English.
    message: String,
    /// The code for programs.
    pub(super) code: UserErrorCode,
    /// The path to the faulty argument, such as `["input", "handle"]`. Null if no single argument is at fault.
    field: Option<Vec<String>>,
}

impl UserError {
    /// An error about no argument in particular.
    pub fn general(code: UserErrorCode, message: &str) -> Self {
        Self { message: sentence(message), code, field: None }
    }

    /// An error about the value of `input` at `path`.
    pub fn about(path: &[&str], code: UserErrorCode, message: &str) -> Self {
        let field = iter::once("input").chain(path.iter().copied()).map(str::to_owned).collect();
        Self { message: sentence(message), code, field: Some(field) }
    }
}

impl UserError {
    /// The error of a part of the input, which is at `path` in it.
    #[must_use]
    pub fn within(self, path: &[&str]) -> Self {
        let inner = self.field.unwrap_or_default();
        let outer = path.iter().map(|part| (*part).to_owned());
        let field = inner.iter().take(1).cloned().chain(outer).chain(inner.iter().skip(1).cloned()).collect();
        Self { field: Some(field), ..self }
    }

    /// An error about a value of a profile, in the input's `field`.
    pub fn about_profile(field: &str, fault: InvalidProfile) -> Self {
        let code = if fault.is_length() { UserErrorCode::TooLong } else { UserErrorCode::Invalid };
        Self::about(&[field], code, &fault.to_string())
    }
}

impl From<InvalidProfile> for UserError {
    fn from(fault: InvalidProfile) -> Self {
        Self::about_profile(fault.field(), fault)
    }
}

impl From<InvalidDraft> for UserError {
    fn from(fault: InvalidDraft) -> Self {
        use UserErrorCode::{Invalid, TooLong};
        let message = fault.to_string();
        let medium = |index: usize, field, code| Self::about(&["media", &index.to_string(), field], code, &message);
        match fault {
            InvalidDraft::Empty | InvalidDraft::Text => Self::about(&["text"], Invalid, &message),
            InvalidDraft::TextTooLong(_) => Self::about(&["text"], TooLong, &message),
            InvalidDraft::TooManyMedia(_) => Self::about(&["media"], TooLong, &message),
            InvalidDraft::MediaUrl(index) => medium(index, "url", Invalid),
            InvalidDraft::MediaUrlTooLong(index) => medium(index, "url", TooLong),
            InvalidDraft::MediaSize(index) => medium(index, "width", Invalid),
            InvalidDraft::MediaAlt(index) => medium(index, "alt", Invalid),
            InvalidDraft::MediaAltTooLong(index) => medium(index, "alt", TooLong),
            InvalidDraft::IdempotencyKey => Self::about(&["idempotencyKey"], Invalid, &message),
            InvalidDraft::IdempotencyKeyTooLong => Self::about(&["idempotencyKey"], TooLong, &message),
        }
    }
}

impl From<InvalidObject> for UserError {
    fn from(fault: InvalidObject) -> Self {
        let code = if fault.is_length() { UserErrorCode::TooLong } else { UserErrorCode::Invalid };
        let field = match fault {
            InvalidObject::ExternalId(_) => "externalId",
            InvalidObject::Type | InvalidObject::TypeTooLong => "type",
            InvalidObject::Url | InvalidObject::UrlTooLong => "url",
            InvalidObject::Attributes(_) => "attributes",
        };
        Self::about(&[field], code, &fault.to_string())
    }
}

impl From<Violations> for UserError {
    /// Leads to the first value that does not fit. The message says the others, too.
    fn from(found: Violations) -> Self {
        let path = found.first().map(|it| it.path.as_slice()).unwrap_or_default();
        let path: Vec<&str> = iter::once("attributes").chain(path.iter().map(String::as_str)).collect();
        Self::about(&path, UserErrorCode::Invalid, &found.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_leads_to_the_value_at_fault() {
        let path = |error: UserError| error.field.unwrap_or_default().join(".");
        assert_eq!(path(InvalidProfile::Avatar.into()), "input.avatarUrl");
        assert_eq!(path(InvalidDraft::MediaUrl(2).into()), "input.media.2.url");
        assert_eq!(path(UserError::from(InvalidProfile::Avatar).within(&["users", "2"])), "input.users.2.avatarUrl");
        assert_eq!(path(InvalidDraft::IdempotencyKey.into()), "input.idempotencyKey");
        assert_eq!(UserError::general(UserErrorCode::NotAllowed, "no").field, None);
    }
}
