//! Verifies bearer tokens: this service's own (signed, not expired, with an existing session), those of an external
//! issuer, and the keys of other services.
//!
//! Only this module distinguishes them.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::select;
use graphql_transport::{
    http::{self, Authenticate, AuthenticateError},
    payer::Payer,
};

use crate::{
    accounts::{
        ExternalUsers, IssuingKey, Liveness, Principal, SubjectOf, Tokens, Viewer,
        issuer::{Issuer, IssuerError, NoUser, is_external},
        services::{CallLog, ServiceAccess, ServiceRefusal, is_service_key},
    },
    api::graphql::{external_id, user_of_id},
    clock::SharedClock,
    domain::{SessionId, UserId, account::service::ServiceName},
    store::{
        service_keys::{NEVER, ServiceKey},
        service_log::LoggedCall,
    },
};

/// The message for a token whose session has ended.
const SESSION_ENDED: &str = "The session has ended. Sign in again.";

impl http::Viewer for Principal {
    fn payer(&self) -> Payer {
        match self {
            Self::Viewer(viewer, _) => payer_of(viewer),
            Self::Service(key, _) => payer_of_service(&key.service),
        }
    }
}

fn payer_of(viewer: &Viewer) -> Payer {
    Payer::Viewer(viewer.id.get().unsigned_abs())
}

/// All keys of a service share what it may spend.
fn payer_of_service(service: &ServiceName) -> Payer {
    let mut hasher = DefaultHasher::new();
    service.hash(&mut hasher);
    Payer::Service(hasher.finish())
}

/// How the log of services names such a refusal.
const FORBIDDEN: &str = "FORBIDDEN";
/// The header with which a service says as whom it acts.
const ACT_AS: &str = "tidefeed-act-as";

/// Whose tokens are accepted.
pub struct Bearer {
    pub tokens: Arc<Tokens>,
    pub liveness: Arc<Liveness<SessionId>>,
    pub subjects: Arc<Liveness<SubjectOf>>,
    pub issuer: Option<Issuer>,
    pub services: Arc<ServiceAccess>,
    pub calls: Arc<CallLog>,
    pub external_users: Arc<ExternalUsers>,
    pub clock: SharedClock,
}

impl Bearer {
    async fn viewer(&self, token: &str) -> Result<Principal, AuthenticateError> {
        if let Some(issuer) = self.issuer.as_ref().filter(|_| is_external(token)) {
            let (viewer, subject) = issuer.verify(token).await.map_err(|error| refusal(&error))?;
            return Ok(Principal::Viewer(viewer, Some(Arc::new(subject))));
        }
        let viewer = self.tokens.verify(token).map_err(|error| AuthenticateError::Invalid(error.to_string()))?;
        let is_good = match viewer.session {
            Some(session) => self.liveness.is_alive(session).await,
            None => self.services.is_good(viewer.issued_by, viewer.id).await,
        };
        match is_good {
            Ok(true) => Ok(Principal::Viewer(viewer, None)),
            Ok(false) => Err(AuthenticateError::Invalid(SESSION_ENDED.to_owned())),
            Err(error) => Err(AuthenticateError::Unavailable(error.with_causes())),
        }
    }

    async fn service(&self, token: &str, act_as: Option<&str>) -> Result<Principal, ServiceRefusal> {
        let key = self.services.key(token).await?;
        let viewer = match act_as {
            None => None,
            Some(id) => {
                let user = match external_id(id) {
                    Some(external) => self.external_users.find(external).await?,
                    None => user_of_id(id).ok(),
                };
                let user = user.ok_or(ServiceRefusal::NoSuchUser)?;
                Some(self.acting(&key, user).await?)
            }
        };
        Ok(Principal::Service(key, viewer))
    }

    /// The viewer whom the service is as `user`. That it may not be anybody stands in the log of services.
    async fn acting(&self, key: &ServiceKey, user: UserId) -> Result<Viewer, ServiceRefusal> {
        let acting = self.services.act_as(key, user).await;
        if matches!(acting, Err(ServiceRefusal::MayNotAct(_))) {
            let refused = LoggedCall {
                at_ms: self.clock.now_ms(),
                service: key.service.clone(),
                user: Some(user),
                operation: ACT_AS.to_owned(),
                outcome: FORBIDDEN.to_owned(),
            };
            self.calls.note_read(refused).await;
        }
        acting
    }
}

#[async_trait]
impl Authenticate<Principal> for Bearer {
    async fn authenticate(&self, token: &str, act_as: Option<&str>) -> Result<Option<Principal>, AuthenticateError> {
        if is_service_key(token) {
            return self.service(token, act_as).await.map(Some).map_err(refused_service);
        }
        if act_as.is_some() {
            let message = format!("Only a service may act as somebody: send its key with {ACT_AS}, or leave that out.");
            return Err(AuthenticateError::Forbidden(message));
        }
        self.viewer(token).await.map(Some)
    }

    fn act_as(&self) -> Option<&'static str> {
        Some(ACT_AS)
    }

    /// Signatures of external issuers take longer, and their subjects are looked up.
    fn presumed(&self, token: &str) -> Option<Payer> {
        if is_service_key(token) {
            return self.services.remembered(token).map(|key| payer_of_service(&key.service));
        }
        if self.issuer.is_some() && is_external(token) {
            return None;
        }
        self.tokens.verify(token).ok().map(|viewer| payer_of(&viewer))
    }

    fn good_for(&self, principal: &Principal) -> Option<Duration> {
        let good_until_ms = match principal {
            Principal::Viewer(viewer, _) => viewer.good_until_ms,
            Principal::Service(key, _) if key.expires_at == NEVER => return None,
            Principal::Service(key, _) => key.expires_at,
        };
        let left = good_until_ms.saturating_sub(self.clock.now_ms());
        Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    async fn until_revoked(&self, principal: &Principal) {
        match principal {
            Principal::Viewer(Viewer { session: Some(session), .. }, _) => {
                self.liveness.clone().until_ended(*session).await;
            }
            Principal::Viewer(Viewer { id, .. }, Some(subject)) => {
                // Boxed: otherwise every socket would have room for both, and most rest on a session.
                let rebound = Box::pin(self.subjects.clone().until_ended(SubjectOf(*id, **subject)));
                let gone = Box::pin(self.services.until_ended(None, Some(*id)));
                select(rebound, gone).await;
            }
            Principal::Viewer(Viewer { id, issued_by, .. }, None) => {
                let key = if let Some(IssuingKey::Stored(key)) = issued_by { Some(*key) } else { None };
                self.services.until_ended(key, Some(*id)).await;
            }
            Principal::Service(key, viewer) => self.services.until_ended(key.id, viewer.map(|viewer| viewer.id)).await,
        }
    }
}

fn refusal(error: &IssuerError) -> AuthenticateError {
    match error {
        IssuerError::Token(_) | IssuerError::User(NoUser::Stranger | NoUser::Deactivated) => {
            AuthenticateError::Invalid(error.to_string())
        }
        IssuerError::Keys(_) | IssuerError::User(NoUser::Store(_) | NoUser::NothingFree) => {
            AuthenticateError::Unavailable(error.to_string())
        }
    }
}

fn refused_service(refusal: ServiceRefusal) -> AuthenticateError {
    match refusal {
        ServiceRefusal::UnknownKey => AuthenticateError::Invalid(refusal.to_string()),
        ServiceRefusal::MayNotAct(_) => AuthenticateError::Forbidden(refusal.to_string()),
        ServiceRefusal::NoSuchUser => AuthenticateError::NoSuchViewer(refusal.to_string()),
        ServiceRefusal::Store(error) => AuthenticateError::Unavailable(error.with_causes()),
    }
}
