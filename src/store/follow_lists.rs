//! Who follows whom, as lists to be shown. Apart from the edges' own port: nothing here is about deliveries.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Listing, PageRequest, UserId};

/// Lists of followers and of the followed, as `viewer` sees them: without those between whom and the viewer a block stands; with everybody for the
/// anonymous (`None`). Pages are full, and their flags speak of what the viewer sees. A user's edge to themselves is in none.
#[async_trait]
pub trait FollowLists: Send + Sync {
    /// Who follows `author`, newest follow first. One statement.
    async fn followers(
        &self,
        viewer: Option<UserId>,
        author: UserId,
        request: &PageRequest,
    ) -> Result<Listing<UserId>, StoreError>;

    /// Whom `follower` follows, newest follow first. One statement.
    async fn following(
        &self,
        viewer: Option<UserId>,
        follower: UserId,
        request: &PageRequest,
    ) -> Result<Listing<UserId>, StoreError>;
}
