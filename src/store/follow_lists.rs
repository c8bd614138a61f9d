//! Who follows whom, as lists to be shown. Apart from the edges' own port: nothing here is about deliveries.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Listing, PageRequest, UserId};

/// Lists of followers and of the followed. A user's edge to themselves is in none.
#[async_trait]
pub trait FollowLists: Send + Sync {
    /// Who follows `author`, newest follow first. One statement.
    async fn followers(&self, author: UserId, request: &PageRequest) -> Result<Listing<UserId>, StoreError>;

    /// Whom `follower` follows, newest follow first. One statement.
    async fn following(&self, follower: UserId, request: &PageRequest) -> Result<Listing<UserId>, StoreError>;
}
