//! Connections of users ordered by the time they joined the list: followers, followed users, likers.
//!
//! Newest first, readable from both ends. A cursor of one kind of list is refused by the others.

use std::sync::Arc;

use async_graphql::SimpleObject;
use graphql_transport::metered::Metered;

use super::{User, connection::PageInfo};
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        scalars::{AnyInt, Timestamp},
        selection::UserSelection,
    },
    domain::{
        Listing, PageRequest, UserId,
        timeline::{
            cursor::{self, List},
            page::InvalidPage,
        },
    },
};

/// The arguments of a connection.
pub struct PageArguments {
    /// Towards the past.
    pub first: Option<AnyInt>,
    /// From where.
    pub after: Option<String>,
    /// Towards the present.
    pub last: Option<AnyInt>,
    /// From where.
    pub before: Option<String>,
}

impl PageArguments {
    /// The request for a list of contents.
    pub fn of_contents(&self) -> Result<PageRequest, InvalidPage> {
        let (first, last) = (self.first.map(|it| it.0), self.last.map(|it| it.0));
        PageRequest::from_connection(first, self.after.as_deref(), last, self.before.as_deref())
    }

    /// The request for a list with this kind of cursor.
    pub fn request(&self, of: List) -> Result<PageRequest, InvalidPage> {
        let (first, last) = (self.first.map(|it| it.0), self.last.map(|it| it.0));
        PageRequest::in_list(of, first, self.after.as_deref(), last, self.before.as_deref())
    }
}

/// A page of users, newest in the list first.
#[derive(SimpleObject)]
pub struct UserConnection {
    /// The users with their cursors.
    edges: Vec<UserEdge>,
    /// The users, as in `edges.node`.
    nodes: Vec<Option<User>>,
    /// Whether and how to read on.
    page_info: PageInfo,
}

/// A user in a list.
#[derive(SimpleObject)]
struct UserEdge {
    /// Opaque; valid as `after` or `before` even after the user has left the list.
    cursor: Metered<String>,
    /// When the follow or like was made.
    created_at: Metered<Timestamp>,
    /// The user. Null if they cannot be read now.
    node: Option<User>,
}

impl UserConnection {
    /// Loads the parts in `selection`, in one batch for each kind; only cursors if it is `None`.
    pub async fn load(
        hydration: &Arc<Hydration>,
        list: List,
        listing: &Listing<UserId>,
        selection: Option<UserSelection>,
    ) -> Result<Self, Failure> {
        if let Some(selection) = selection {
            let users: Vec<UserId> = listing.rows.iter().map(|row| row.item).collect();
            hydration.prime_users(&users, selection).await;
        }
        let mut edges = Vec::with_capacity(listing.rows.len());
        for row in &listing.rows {
            let profile = if selection.is_some() { hydration.profile(row.item).await? } else { None };
            let node = profile.map(|profile| User::new(profile, Arc::clone(hydration)));
            let cursor = Metered(cursor::encode_in(list, row.place(row.item.get())));
            edges.push(UserEdge { cursor, created_at: Metered(Timestamp(row.since)), node });
        }
        let page_info = page_info(listing, edges.iter().map(|edge| &edge.cursor.0));
        Ok(Self { nodes: edges.iter().map(|edge| edge.node.clone()).collect(), edges, page_info })
    }
}

/// The page info of a page with these cursors.
pub(super) fn page_info<'a, T>(
    listing: &Listing<T>,
    mut cursors: impl DoubleEndedIterator<Item = &'a String> + Clone,
) -> PageInfo {
    PageInfo {
        has_next_page: Metered(listing.has_older),
        has_previous_page: Metered(listing.has_newer),
        start_cursor: Metered(cursors.clone().next().cloned()),
        end_cursor: Metered(cursors.next_back().cloned()),
    }
}
