//! Verifies bearer tokens: this service's own (signed, not expired, with an existing session), or those of an external
//! issuer.
//!
//! Only this module distinguishes the two.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use graphql_transport::http::{self, Authenticate, AuthenticateError};

use crate::{
    accounts::{
        Liveness, Tokens, Viewer,
        issuer::{Issuer, IssuerError, is_external},
    },
    clock::SharedClock,
};

/// The message for a token whose session has ended.
const SESSION_ENDED: &str = "The session has ended. Sign in again.";

impl http::Viewer for Viewer {
    fn number(&self) -> u64 {
        self.id.get().unsigned_abs()
    }
}

/// The accepted issuers of tokens.
pub struct Bearer {
    pub tokens: Arc<Tokens>,
    pub liveness: Arc<Liveness>,
    pub issuer: Option<Issuer>,
    pub clock: SharedClock,
}

#[async_trait]
impl Authenticate<Viewer> for Bearer {
    async fn authenticate(&self, token: &str) -> Result<Option<Viewer>, AuthenticateError> {
        if let Some(issuer) = self.issuer.as_ref().filter(|_| is_external(token)) {
            return issuer.verify(token).await.map(Some).map_err(|error| refusal(&error));
        }
        let viewer = self.tokens.verify(token).map_err(|error| AuthenticateError::Invalid(error.to_string()))?;
        let Some(session) = viewer.session else { return Ok(Some(viewer)) };
        match self.liveness.is_alive(session).await {
            Ok(true) => Ok(Some(viewer)),
            Ok(false) => Err(AuthenticateError::Invalid(SESSION_ENDED.to_owned())),
            Err(error) => Err(AuthenticateError::Unavailable(error.with_causes())),
        }
    }

    /// Signatures of external issuers take longer, and their subjects are looked up.
    fn presumed(&self, token: &str) -> Option<u64> {
        if self.issuer.is_some() && is_external(token) {
            return None;
        }
        self.tokens.verify(token).ok().map(|viewer| http::Viewer::number(&viewer))
    }

    fn good_for(&self, viewer: &Viewer) -> Option<Duration> {
        let left = viewer.good_until_ms - self.clock.now_ms();
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    async fn until_revoked(&self, viewer: &Viewer) {
        match viewer.session {
            Some(session) => self.liveness.clone().until_ended(session).await,
            None => std::future::pending().await,
        }
    }
}

fn refusal(error: &IssuerError) -> AuthenticateError {
    match error {
        IssuerError::Token(_) | IssuerError::Stranger => AuthenticateError::Invalid(error.to_string()),
        IssuerError::Keys(_) | IssuerError::User(_) => AuthenticateError::Unavailable(error.to_string()),
    }
}
