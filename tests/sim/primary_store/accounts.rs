//! Users in the model.

use async_trait::async_trait;
use tidefeed::{
    domain::{EdgeMode, Floor, Handle, Profile, UserId, account::profile::ProfileCounts},
    store::{
        Accounts, StoreError,
        accounts::{NewAccount, PasswordHash, Registered},
    },
};

use super::{
    inboxes::OFF,
    tables::{Change, Counts, Edge, Head, State, User},
    transaction::{PrimaryStore, Tx, transaction},
};

#[async_trait]
impl Accounts for PrimaryStore {
    async fn register(&self, account: NewAccount) -> Result<Registered, StoreError> {
        transaction!(self, tx => register(tx, &account))
    }

    async fn credential(&self, handle: &Handle) -> Result<Option<(UserId, PasswordHash)>, StoreError> {
        self.read(|tables| {
            let mut users = tables.users.iter();
            users
                .find(|(_, user)| user.registration.handle == *handle)
                .and_then(|(id, user)| Some((*id, PasswordHash(user.password_hash.clone()?))))
        })
        .await
    }

    async fn credential_of(&self, user: UserId) -> Result<Option<(Handle, PasswordHash)>, StoreError> {
        self.read(|tables| {
            let user = tables.users.get(&user)?;
            Some((user.registration.handle.clone(), PasswordHash(user.password_hash.clone()?)))
        })
        .await
    }

    async fn replace_password(&self, _: UserId, _: &PasswordHash, _: &PasswordHash) -> Result<bool, StoreError> {
        Err(StoreError::Refused("the simulation changes no passwords".into()))
    }

    async fn profiles(&self, ids: &[UserId]) -> Result<Vec<Profile>, StoreError> {
        self.read_anywhere(|tables| ids.iter().filter_map(|id| Some(profile(*id, tables.users.get(id)?))).collect())
            .await
    }

    async fn by_handle(&self, handle: &Handle) -> Result<Option<Profile>, StoreError> {
        self.read(|tables| {
            let mut users = tables.users.iter();
            users.find(|(_, user)| user.registration.handle == *handle).map(|(id, user)| profile(*id, user))
        })
        .await
    }

    async fn counts(&self, ids: &[UserId]) -> Result<Vec<(UserId, ProfileCounts)>, StoreError> {
        let shown =
            |it: Counts| ProfileCounts { followers: it.followers, following: it.following, contents: it.contents };
        self.read_anywhere(|tables| ids.iter().filter_map(|id| Some((*id, shown(tables.whole_counts(*id)?)))).collect())
            .await
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.read(|tables| tables.users.len() as u64).await
    }
}

async fn register(mut tx: Tx, account: &NewAccount) -> Result<Registered, StoreError> {
    let id = account.id;
    let handle = &account.registration.handle;
    let user = User {
        registration: account.registration.clone(),
        created_at: account.now_ms,
        profile_version: 0,
        password_hash: account.password_hash.as_ref().map(|hash| hash.0.clone()),
    };
    let taken = tx.look(|tables| tables.users.values().any(|user| user.registration.handle == *handle));
    if taken && !tx.look(|tables| tables.users.contains_key(&id)) {
        return tx.roll_back(Registered::HandleTaken).await;
    }
    if !tx.insert(Change::User(id, Some(user), None)).await? {
        return tx.roll_back(Registered::IdTaken).await;
    }
    let state = State { floor: Floor::OPEN, rev: 0, last_seen: Some(account.now_ms), ..OFF };
    tx.insert(Change::Counts(id, Some(Counts::default()), None)).await?;
    tx.insert(Change::State(id, Some(state), None)).await?;
    let head = Head { version: 0, published_at: None, publish_every: None };
    tx.insert(Change::Head(id, Some(head), None)).await?;
    tx.insert(Change::Edge((id, id), Some(Edge { mode: EdgeMode::Push, incarnation: account.incarnation }), None))
        .await?;
    tx.commit(Registered::Created).await
}

/// As others see it.
pub fn profile(id: UserId, user: &User) -> Profile {
    let it = user.registration.clone();
    Profile {
        id,
        handle: it.handle,
        name: it.name,
        bio: it.bio,
        avatar_url: it.avatar_url,
        created_at: user.created_at,
        version: user.profile_version,
    }
}
