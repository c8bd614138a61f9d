//! Lists of followers and followed users to show. Deliveries use `follows` instead.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Listing, PageRequest, UserId};

/// Lists of followers and followed users, without those behind a block with `viewer`; anonymous viewers (`None`) see
/// everybody. Pages are full, and their flags count only visible users. No list has a user's edge to themselves. Pages
/// are in the order of the users, including repetitions. One statement for up to 64 users, without a bound for up to
/// 128.
#[async_trait]
pub trait FollowLists: Send + Sync {
    /// The followers of each author, newest follow first.
    async fn followers(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError>;

    /// The users whom each follower follows, newest follow first.
    async fn following(
        &self,
        viewer: Option<UserId>,
        followers: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError>;
}
