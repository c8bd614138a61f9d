//! Keeps users out and lets them in again, beside nodes that have their sessions.

use std::sync::Arc;

use super::sessions::announce_ended;
use crate::{
    ambient::Ambient,
    domain::UserId,
    store::{Accounts, Announcements, Ports, StoreError},
};

/// Changes the states of users in a process that may hold none of their sessions.
pub struct UserStates {
    accounts: Arc<dyn Accounts>,
    announcements: Arc<dyn Announcements>,
    ambient: Ambient,
}

impl UserStates {
    /// Over these ports.
    pub fn new(ports: &Ports, ambient: &Ambient) -> Self {
        let (accounts, announcements) = (ports.accounts.clone(), ports.announcements.clone());
        Self { accounts, announcements, ambient: ambient.clone() }
    }

    /// As [`crate::store::Deactivations::deactivate`]; announces the sessions that end.
    pub async fn deactivate(&self, user: UserId) -> Result<(), StoreError> {
        let ended = self.accounts.deactivate(user, self.ambient.now_ms()).await?.unwrap_or_default();
        announce_ended(&*self.announcements, user, &ended).await;
        Ok(())
    }

    /// As [`crate::store::Deactivations::reactivate`].
    pub async fn reactivate(&self, user: UserId) -> Result<(), StoreError> {
        self.accounts.reactivate(user).await.map(drop)
    }
}
