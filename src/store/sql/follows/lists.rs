//! Followers and the followed as lists, in SQL: ranges of the two indexes that order edges by time.

use async_trait::async_trait;
use sql_driver::{Dialect, Fragment};

use super::super::{
    SqlStore,
    keyset::Columns,
    listing::List,
    rows::{DomainColumns as _, Row},
    visibility::not_blocked,
};
use crate::{
    domain::{Listing, PageRequest, UserId},
    store::{FollowLists, StoreError},
};

#[async_trait]
impl FollowLists for SqlStore {
    async fn followers(
        &self,
        viewer: Option<UserId>,
        authors: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError> {
        let lists: Vec<List> = authors.iter().map(|author| followers(self.dialect, viewer, *author)).collect();
        self.listings(&lists, request, user).await
    }

    async fn following(
        &self,
        viewer: Option<UserId>,
        followers: &[UserId],
        request: &PageRequest,
    ) -> Result<Vec<Listing<UserId>>, StoreError> {
        let lists: Vec<List> = followers.iter().map(|follower| following(self.dialect, viewer, *follower)).collect();
        self.listings(&lists, request, user).await
    }
}

fn user(row: &Row) -> Result<UserId, StoreError> {
    row.user(2)
}

/// The author's followers, themselves left out.
pub(in super::super) fn followers(dialect: Dialect, viewer: Option<UserId>, author: UserId) -> List {
    let index = dialect.in_order_of("followers_by_time");
    let text =
        format!("SELECT followed_at, follower_id FROM follows{index} WHERE author_id = ? AND follower_id <> author_id");
    let columns = Columns { time: "followed_at", id: "follower_id" };
    List {
        rows: Fragment::new(text, [author.get()]).then(not_blocked(dialect, viewer, "follows.follower_id")),
        columns,
    }
}

/// The users whom the follower follows, themselves left out.
pub(in super::super) fn following(dialect: Dialect, viewer: Option<UserId>, follower: UserId) -> List {
    let index = dialect.in_order_of("following_by_time");
    let text =
        format!("SELECT followed_at, author_id FROM follows{index} WHERE follower_id = ? AND author_id <> follower_id");
    let columns = Columns { time: "followed_at", id: "author_id" };
    List {
        rows: Fragment::new(text, [follower.get()]).then(not_blocked(dialect, viewer, "follows.author_id")),
        columns,
    }
}
