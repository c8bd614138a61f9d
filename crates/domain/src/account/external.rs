//! Ids of the product that uses this service: of a user, which is the subject of its issuer, or of a content.

use crate::limits::MAX_EXTERNAL_ID_BYTES;

/// A product's id of a user or a content: 1 to [`MAX_EXTERNAL_ID_BYTES`] bytes without control characters, compared
/// byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExternalId(String);

/// A text that is no external id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an external id has 1 to {MAX_EXTERNAL_ID_BYTES} bytes and no control characters")]
pub struct InvalidExternalId;

impl ExternalId {
    /// Checks the text.
    pub fn try_new(text: &str) -> Result<Self, InvalidExternalId> {
        if text.is_empty() || text.len() > MAX_EXTERNAL_ID_BYTES || text.chars().any(char::is_control) {
            return Err(InvalidExternalId);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_external_id_is_as_long_as_a_subject_of_openid_connect() {
        for (text, fits) in [("42", true), ("auth0|6f", true), ("", false), ("a\n", false)] {
            assert_eq!(ExternalId::try_new(text).is_ok(), fits, "{text:?}");
        }
        assert!(ExternalId::try_new(&"\u{e9}".repeat(127)).is_ok());
        assert_eq!(ExternalId::try_new(&"\u{e9}".repeat(128)), Err(InvalidExternalId));
    }
}
