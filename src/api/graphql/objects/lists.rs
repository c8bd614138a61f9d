//! Lists that are ordered by when something came into them, as connections: who follows, who likes, what is kept.
//!
//! Newest first, readable from both ends. A cursor of one kind of list is refused by the others.

use std::sync::Arc;

use async_graphql::SimpleObject;

use super::{Content, User, connection::PageInfo};
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        metered::Metered,
        scalars::{AnyInt, Timestamp},
        wants::{ContentWants, UserWants},
    },
    domain::{
        ContentId, Entry, Listing, PageRequest, UserId,
        cursor::{self, List},
        page::InvalidPage,
    },
};

/// The arguments of a connection.
pub struct Window {
    /// Towards the past.
    pub first: Option<AnyInt>,
    /// From where.
    pub after: Option<String>,
    /// Towards the present.
    pub last: Option<AnyInt>,
    /// From where.
    pub before: Option<String>,
}

impl Window {
    /// What is asked for, the cursors being of this kind of list.
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
    /// Opaque, and good as `after` or `before` even when the user has left the list.
    cursor: Metered<String>,
    /// Since when they are in it.
    since: Metered<Timestamp>,
    /// The user. Null if they cannot be read now.
    node: Option<User>,
}

/// A page of favourites, the one kept last first.
#[derive(SimpleObject)]
pub struct FavouriteConnection {
    /// The contents with their cursors.
    edges: Vec<FavouriteEdge>,
    /// The contents, as in `edges.node`.
    nodes: Vec<Option<Content>>,
    /// Whether and how to read on.
    page_info: PageInfo,
}

/// A favourite.
#[derive(SimpleObject)]
struct FavouriteEdge {
    /// Opaque, and good as `after` or `before` even when it is no favourite any more.
    cursor: Metered<String>,
    /// Since when it is one.
    since: Metered<Timestamp>,
    /// The content. Null if it was deleted while the page was read, or if a block stands between its author and the viewer.
    node: Option<Content>,
}

impl UserConnection {
    /// The page, with what `wants` says in one batch a kind; only places if it is `None`.
    pub async fn load(
        hydration: &Arc<Hydration>,
        list: List,
        listing: &Listing<UserId>,
        wants: Option<UserWants>,
    ) -> Result<Self, Failure> {
        if let Some(wants) = wants {
            let users: Vec<UserId> = listing.rows.iter().map(|row| row.item).collect();
            hydration.prime_users(&users, wants).await;
        }
        let mut edges = Vec::with_capacity(listing.rows.len());
        for row in &listing.rows {
            let profile = if wants.is_some() { hydration.profile(row.item).await? } else { None };
            let node = profile.map(|profile| User::new(profile, Arc::clone(hydration)));
            let cursor = Metered(cursor::encode_in(list, row.place(row.item.get())));
            edges.push(UserEdge { cursor, since: Metered(Timestamp(row.since)), node });
        }
        let page_info = page_info(listing, edges.iter().map(|edge| &edge.cursor.0));
        Ok(Self { nodes: edges.iter().map(|edge| edge.node.clone()).collect(), edges, page_info })
    }
}

impl FavouriteConnection {
    /// As [`UserConnection::load`].
    pub async fn load(
        hydration: &Arc<Hydration>,
        listing: &Listing<Entry>,
        wants: Option<ContentWants>,
    ) -> Result<Self, Failure> {
        if let Some(wants) = wants {
            let contents: Vec<ContentId> = listing.rows.iter().map(|row| row.item.content).collect();
            let authors: Vec<UserId> = listing.rows.iter().map(|row| row.item.author).collect();
            hydration.prime_contents(&contents, &authors, wants).await;
        }
        let mut edges = Vec::with_capacity(listing.rows.len());
        for row in &listing.rows {
            let id = row.item.content;
            let content = if wants.is_some() { hydration.content(id).await? } else { None };
            let node = content.map(|content| Content::new(content, Arc::clone(hydration)));
            let cursor = Metered(cursor::encode_in(List::Favourites, row.place(id.get())));
            edges.push(FavouriteEdge { cursor, since: Metered(Timestamp(row.since)), node });
        }
        let page_info = page_info(listing, edges.iter().map(|edge| &edge.cursor.0));
        Ok(Self { nodes: edges.iter().map(|edge| edge.node.clone()).collect(), edges, page_info })
    }
}

fn page_info<'a, T>(
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
