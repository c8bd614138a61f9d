//! Ports that no timeline depends on. The simulation never calls them; a call fails.

use async_trait::async_trait;
use tidefeed::{
    domain::{
        ContentId, Listing, PageRequest, Position, ServiceKeyId, SessionId, UserId,
        account::{
            attempts::SignInDecision,
            service::{Scopes, ServiceName},
            session::{Presented, Session},
        },
        search::{
            Candidates, Look, Source, Span,
            people::{FoundUser, KeyPrefix},
        },
    },
    store::{
        Attempts, Deactivations, FollowLists, Identities, People, ReadMarkers, SearchTerms, ServiceKeys, ServiceLog,
        Sessions, SpreadCounts, StoreError,
        accounts::NewAccount,
        attempts::Subjects,
        identities::{Adopted, Bound, Identified, Identity, Membership, Rebound, Revised, Revision},
        search_terms::{Indexed, Unindexed},
        service_keys::{NewKey, ServiceKey},
        service_log::LoggedCall,
        sessions::{Begun, Rotation},
    },
};

use super::transaction::PrimaryStore;

/// There is no such thing.
pub fn refused<T>() -> Result<T, StoreError> {
    Err(StoreError::Refused("the simulation has no such thing".into()))
}

#[async_trait]
impl SpreadCounts for PrimaryStore {
    async fn gather(&self, _: u64) -> Result<u64, StoreError> {
        refused()
    }
}

#[async_trait]
impl Attempts for PrimaryStore {
    async fn admit(&self, _: &Subjects, _: i64) -> Result<SignInDecision, StoreError> {
        refused()
    }

    async fn succeeded(&self, _: &Subjects, _: i64) -> Result<(), StoreError> {
        refused()
    }

    async fn forget(&self, _: i64, _: i64, _: u64) -> Result<u64, StoreError> {
        refused()
    }
}

#[async_trait]
impl Sessions for PrimaryStore {
    async fn begin(&self, _: &Session, _: u32) -> Result<Begun, StoreError> {
        refused()
    }

    async fn find(&self, _: SessionId) -> Result<Option<Session>, StoreError> {
        refused()
    }

    async fn living(&self, _: &[SessionId], _: i64) -> Result<Vec<SessionId>, StoreError> {
        refused()
    }

    async fn rotate(&self, _: &Rotation) -> Result<(Presented, Option<UserId>), StoreError> {
        refused()
    }

    async fn end(&self, _: UserId, _: SessionId) -> Result<bool, StoreError> {
        refused()
    }

    async fn end_all(&self, _: UserId, _: Option<SessionId>) -> Result<Vec<SessionId>, StoreError> {
        refused()
    }

    async fn of_user(&self, _: UserId, _: i64) -> Result<Vec<Session>, StoreError> {
        refused()
    }

    async fn forget(&self, _: i64, _: u64) -> Result<u64, StoreError> {
        refused()
    }
}

#[async_trait]
impl People for PrimaryStore {
    async fn named(
        &self,
        _: Option<UserId>,
        _: &KeyPrefix,
        _: Option<&FoundUser>,
        _: usize,
    ) -> Result<Vec<FoundUser>, StoreError> {
        refused()
    }

    async fn is_current(&self) -> Result<bool, StoreError> {
        refused()
    }

    async fn index_next(&self) -> Result<bool, StoreError> {
        refused()
    }

    async fn suggested(&self, _: Option<UserId>, _: usize) -> Result<Vec<UserId>, StoreError> {
        refused()
    }
}

#[async_trait]
impl Identities for PrimaryStore {
    async fn identified(&self, _: &[String]) -> Result<Vec<Identified>, StoreError> {
        refused()
    }

    async fn memberships(&self, _: &str, _: &[UserId]) -> Result<Vec<Membership>, StoreError> {
        refused()
    }

    async fn adopt(&self, _: &NewAccount, _: &Identity) -> Result<Adopted, StoreError> {
        refused()
    }

    async fn rebind(&self, _: UserId, _: &Identity, _: i64) -> Result<Rebound, StoreError> {
        refused()
    }

    async fn release(&self, _: &str) -> Result<bool, StoreError> {
        refused()
    }

    async fn former_issuer(&self, _: &str) -> Result<Option<String>, StoreError> {
        refused()
    }

    async fn of_issuer(&self, _: &str, _: &str, _: usize) -> Result<Vec<Bound>, StoreError> {
        refused()
    }

    async fn revise(&self, _: &str, _: &Revision) -> Result<Revised, StoreError> {
        refused()
    }
}

#[async_trait]
impl Deactivations for PrimaryStore {
    async fn deactivate(&self, _: UserId, _: i64) -> Result<Option<Vec<SessionId>>, StoreError> {
        refused()
    }

    async fn reactivate(&self, _: UserId) -> Result<bool, StoreError> {
        refused()
    }

    async fn active_among(&self, _: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        refused()
    }
}

#[async_trait]
impl FollowLists for PrimaryStore {
    async fn followers(
        &self,
        _: Option<UserId>,
        _: &[UserId],
        _: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError> {
        refused()
    }

    async fn following(
        &self,
        _: Option<UserId>,
        _: &[UserId],
        _: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError> {
        refused()
    }
}

#[async_trait]
impl ReadMarkers for PrimaryStore {
    async fn advance(&self, _: UserId, _: Position) -> Result<(), StoreError> {
        refused()
    }

    async fn marker(&self, _: UserId) -> Result<Option<Position>, StoreError> {
        refused()
    }
}

#[async_trait]
impl SearchTerms for PrimaryStore {
    async fn count(&self, _: &[Source], _: Span) -> Result<Vec<usize>, StoreError> {
        refused()
    }

    async fn candidates(&self, _: Option<UserId>, _: &Look, _: Span, _: usize) -> Result<Candidates, StoreError> {
        refused()
    }

    async fn unindexed(&self, _: Option<UserId>, _: Option<UserId>, _: Span) -> Result<Unindexed, StoreError> {
        refused()
    }

    async fn texts(&self, _: &[ContentId]) -> Result<Vec<(ContentId, String)>, StoreError> {
        refused()
    }

    async fn is_current(&self) -> Result<bool, StoreError> {
        refused()
    }

    async fn index_next(&self) -> Result<Indexed, StoreError> {
        refused()
    }
}

#[async_trait]
impl ServiceKeys for PrimaryStore {
    async fn add_key(&self, _: &ServiceName, _: Scopes, _: &NewKey) -> Result<bool, StoreError> {
        refused()
    }

    async fn rotate_key(&self, _: &ServiceName, _: &NewKey, _: i64) -> Result<Option<ServiceKey>, StoreError> {
        refused()
    }

    async fn revoke_keys(&self, _: &ServiceName) -> Result<u64, StoreError> {
        refused()
    }

    async fn key(&self, _: &str) -> Result<Option<ServiceKey>, StoreError> {
        refused()
    }

    async fn keys(&self) -> Result<Vec<ServiceKey>, StoreError> {
        refused()
    }

    async fn living_keys(&self, _: &[ServiceKeyId], _: i64) -> Result<Vec<ServiceKeyId>, StoreError> {
        refused()
    }

    async fn note_used(&self, _: ServiceKeyId, _: i64) -> Result<(), StoreError> {
        refused()
    }

    async fn forget_keys(&self, _: i64) -> Result<u64, StoreError> {
        refused()
    }
}

#[async_trait]
impl ServiceLog for PrimaryStore {
    async fn log_calls(&self, _: &[(LoggedCall, i64)]) -> Result<(), StoreError> {
        refused()
    }

    async fn logged_calls(&self, _: Option<&ServiceName>, _: u64) -> Result<Vec<LoggedCall>, StoreError> {
        refused()
    }

    async fn forget_calls(&self, _: i64, _: u64) -> Result<u64, StoreError> {
        refused()
    }
}
