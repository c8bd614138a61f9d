//! Builds what loads the files of imports, over ports.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use crate::{
    accounts::{ExternalUsers, PRODUCT, UserStates},
    ambient::Ambient,
    domain::{ContentId, UserId, account::external::ExternalId},
    import::{Loader, Neighbours},
    publish::Publisher,
    store::{Ports, StoreError, identities::Identity},
};

/// The use cases of a node, as the API has them.
struct UseCases {
    users: ExternalUsers,
    states: UserStates,
    publisher: Publisher,
}

#[async_trait]
impl Neighbours for UseCases {
    fn identity(&self, id: &ExternalId) -> Identity {
        self.users.identity(id.as_str())
    }

    async fn remove(&self, author: UserId, content: ContentId) -> Result<(), StoreError> {
        self.publisher.remove(author, content).await.map(drop)
    }

    async fn deactivate(&self, user: UserId) -> Result<(), StoreError> {
        self.states.deactivate(user).await
    }

    async fn reactivate(&self, user: UserId) -> Result<(), StoreError> {
        self.states.reactivate(user).await
    }
}

/// A loader over these ports. `issuer`: whose subjects the external ids of users are; `None`: the product's own.
pub fn loader(ports: &Ports, issuer: Option<&str>, ambient: &Ambient) -> Loader {
    let issuer = issuer.unwrap_or(PRODUCT).to_owned();
    let users = ExternalUsers::new(ports.accounts.clone(), issuer, Duration::ZERO, ambient.clone());
    let (states, publisher) = (UserStates::new(ports, ambient), Publisher::new(ports, ambient));
    Loader::new(ports, Arc::new(UseCases { users, states, publisher }), ambient)
}
