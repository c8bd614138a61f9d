//! Tokens as the transport asks about them.

use async_trait::async_trait;

use super::{TokenError, Tokens, Viewer};
use crate::api::http::{Authenticate, AuthenticateError};

#[async_trait]
impl Authenticate<Viewer> for Tokens {
    async fn authenticate(&self, token: &str) -> Result<Option<Viewer>, AuthenticateError> {
        match self.verify(token) {
            Ok(viewer) => Ok(Some(viewer)),
            Err(error @ (TokenError::Invalid | TokenError::Expired)) => {
                Err(AuthenticateError::Invalid(error.to_string()))
            }
            Err(error @ TokenError::Unsignable) => Err(AuthenticateError::Unavailable(error.to_string())),
        }
    }
}
