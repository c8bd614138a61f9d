//! Followers and the followed as lists, in SQL: ranges of the two indexes that order edges by time.

use async_trait::async_trait;

use super::{SqlStore, dialect::Dialect, keyset::Columns, listing::List, part::Part, rows::Row};
use crate::{
    domain::{Listing, PageRequest, UserId},
    store::{FollowLists, StoreError},
};

#[async_trait]
impl FollowLists for SqlStore {
    async fn followers(&self, author: UserId, request: &PageRequest) -> Result<Listing<UserId>, StoreError> {
        self.listing(&followers(self.dialect, author), request, user).await
    }

    async fn following(&self, follower: UserId, request: &PageRequest) -> Result<Listing<UserId>, StoreError> {
        self.listing(&following(self.dialect, follower), request, user).await
    }
}

fn user(row: &Row) -> Result<UserId, StoreError> {
    row.user(2)
}

/// The author's followers, themselves left out.
pub(super) fn followers(dialect: Dialect, author: UserId) -> List {
    let index = dialect.in_order_of("followers_by_time");
    let text =
        format!("SELECT followed_at, follower_id FROM follows{index} WHERE author_id = ? AND follower_id <> author_id");
    let columns = Columns { time: "followed_at", id: "follower_id" };
    List { rows: Part::new(text, [author.get()]), columns }
}

/// Whom the follower follows, themselves left out.
pub(super) fn following(dialect: Dialect, follower: UserId) -> List {
    let index = dialect.in_order_of("following_by_time");
    let text =
        format!("SELECT followed_at, author_id FROM follows{index} WHERE follower_id = ? AND author_id <> follower_id");
    let columns = Columns { time: "followed_at", id: "author_id" };
    List { rows: Part::new(text, [follower.get()]), columns }
}
