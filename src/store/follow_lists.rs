//! Followers and followed users, as lists to show. Deliveries use `follows` instead.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Listing, PageRequest, UserId};

/// Lists of followers and of the followed, as `viewer` sees them: without those between whom and the viewer a block
/// stands; with everybody for the anonymous (`None`). Pages are full, and their flags speak of what the viewer sees. A
/// user's edge to themselves is in none. Pages come in the order of the users, as often as they are given: one
/// statement for up to 64 users, without a bound for up to 128.
#[async_trait]
pub trait FollowLists: Send + Sync {
    /// Who follows each author, newest follow first.
    async fn followers(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError>;

    /// Whom each follower follows, newest follow first.
    async fn following(
        &self,
        viewer: Option<UserId>,
        followers: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError>;
}
