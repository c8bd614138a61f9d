//! Connections of users ordered by the time they joined the list: followers, followed users, likers.
//!
//! Newest first, readable from both ends. A cursor of one kind of list is refused by the others.

use std::sync::Arc;

use async_graphql::{Context, SimpleObject};
use graphql_transport::metered::Metered;

use super::{User, connection::PageInfo};
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::Hydration,
        scalars::{AnyInt, Timestamp},
        selection::user_parts_of_connection,
    },
    domain::{
        Listing, PageRequest, UserId,
        timeline::{
            cursor::{self, List},
            page::InvalidPage,
        },
    },
    read::lists::PageOf,
};

/// The arguments of a connection.
pub struct PageArguments {
    /// The number of entries towards the past.
    pub first: Option<AnyInt>,
    /// The cursor to read towards the past from.
    pub after: Option<String>,
    /// The number of entries towards the present.
    pub last: Option<AnyInt>,
    /// The cursor to read towards the present from.
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

/// Fields with the four arguments of a connection, and perhaps a filter. `$pages` holds the object that the fields are
/// of: its method of the same name makes the page. The object flattens `$pages`. `entries` or `items` is what the
/// arguments' descriptions call the nodes.
macro_rules! connections {
    (entries: $($fields:tt)*) => {
        connections! {
            { #[expect(clippy::too_many_arguments, reason = "a connection has four arguments by Relay's specification")] }
            "Only entries older than the one with this cursor." "Only entries newer than the one with this cursor."
            $($fields)*
        }
    };
    (items: $($fields:tt)*) => {
        connections! {
            {}
            "Only items older than the one with this cursor." "Only items newer than the one with this cursor."
            $($fields)*
        }
    };
    ({ $($lint:tt)* } $older:tt $newer:tt $pages:ident($object:ty) {
        $($(#[doc = $doc:tt])* $field:ident $(($filter:ident))? -> $connection:ty;)*
    }) => {
        struct $pages($object);

        $($lint)*
        #[async_graphql::Object]
        impl $pages {
            $(
                $(#[doc = $doc])*
                async fn $field(
                    &self,
                    ctx: &async_graphql::Context<'_>,
                    #[graphql(
                        desc = "The number of older items to read, 1 to 100; 20 if neither `first` nor `last` is given."
                    )]
                    first: Option<$crate::api::graphql::scalars::AnyInt>,
                    #[graphql(desc = $older)] after: Option<String>,
                    #[graphql(desc = "The number of newer items to read, 1 to 100. Not with `first` or `after`.")]
                    last: Option<$crate::api::graphql::scalars::AnyInt>,
                    #[graphql(desc = $newer)] before: Option<String>,
                    $(
                        #[graphql(desc = "Which kinds to show; all if omitted.")]
                        $filter: Option<$crate::api::graphql::objects::TimelineFilter>,
                    )?
                ) -> $crate::api::graphql::scope::Answer<$connection> {
                    let page = $crate::api::graphql::objects::PageArguments { first, after, last, before };
                    $crate::api::graphql::scope::answer(ctx, self.0.$field(ctx, page $(, $filter)?)).await
                }
            )*
        }
    };
}
pub(in crate::api::graphql) use connections;

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
    /// The page of the field of `ctx`. Loads what is selected of its users, in one batch for each kind.
    pub async fn load(
        hydration: &Arc<Hydration>,
        ctx: &Context<'_>,
        list: List,
        page: PageOf,
    ) -> Result<Option<Self>, Failure> {
        let listing = hydration.people_in(page).await?;
        let selection = user_parts_of_connection(&ctx.look_ahead());
        if let Some(selection) = selection {
            let users: Vec<UserId> = listing.rows.iter().map(|row| row.item).collect();
            hydration.prime_users(&users, selection).await;
        }
        let mut edges = Vec::with_capacity(listing.rows.len());
        for row in &listing.rows {
            let profile = if selection.is_some() { hydration.profile(row.item).await? } else { None };
            let node = profile.map(|profile| User::new(profile, Arc::clone(hydration)));
            let cursor = Metered(cursor::encode_in(list, row.position(row.item.get())));
            edges.push(UserEdge { cursor, created_at: Metered(Timestamp(row.since)), node });
        }
        let page_info = page_info(&listing, edges.iter().map(|edge| &edge.cursor.0));
        Ok(Some(Self { nodes: edges.iter().map(|edge| edge.node.clone()).collect(), edges, page_info }))
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
