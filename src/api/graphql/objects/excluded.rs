//! The lists of users whom the viewer mutes, blocks or hides from. Only the viewer sees them.

use std::sync::Arc;

use async_graphql::SimpleObject;
use graphql_transport::metered::Metered;

use super::{User, connection::PageInfo};
use crate::{
    api::graphql::{errors::Failure, hydration::Hydration, ids},
    domain::{
        PageSize, UserId,
        timeline::{cursor::InvalidCursor, page::InvalidPage},
    },
    store::cards::UserParts,
    store::exclusions::ExclusionList,
};

/// A page of users whom the viewer mutes, blocks or hides from.
#[derive(SimpleObject)]
pub struct ExcludedUserConnection {
    /// The users with their cursors.
    edges: Vec<ExcludedUserEdge>,
    /// The users, as in `edges.node`.
    nodes: Vec<Option<User>>,
    /// Whether and how to read on.
    page_info: PageInfo,
}

/// A user of such a page.
#[derive(SimpleObject)]
struct ExcludedUserEdge {
    /// Opaque; valid as `after` even after the user has left the list.
    cursor: Metered<String>,
    /// The user. Null if they cannot be read now.
    node: Option<User>,
}

impl ExcludedUserConnection {
    /// The viewer's page, in one statement and one batch a kind; `None` unless the viewer is the owner.
    pub async fn load(
        hydration: &Arc<Hydration>,
        owner: UserId,
        what: ExclusionList,
        (first, after): (Option<i64>, Option<&str>),
        selection: UserParts,
    ) -> Result<Option<Self>, Failure> {
        if !hydration.shows_private(owner) {
            return Ok(None);
        }
        let size = first.map_or(Ok(PageSize::default()), PageSize::try_new)?;
        let after = after.map(ids::parse_user).transpose();
        let after = after.map_err(|_| InvalidPage::After(InvalidCursor::Malformed))?;
        let page = hydration.use_cases().lists.excluded(owner, what, after, size).await?;
        let users = page.rows;
        hydration.prime_users(&users, selection).await;
        let mut edges = Vec::with_capacity(users.len());
        for user in users {
            let node = hydration.profile(user).await?.map(|profile| User::new(profile, Arc::clone(hydration)));
            edges.push(ExcludedUserEdge { cursor: Metered(ids::of_user(user).0), node });
        }
        let page_info = PageInfo {
            has_next_page: Metered(page.has_more),
            has_previous_page: Metered(false),
            start_cursor: Metered(edges.first().map(|it| it.cursor.0.clone())),
            end_cursor: Metered(edges.last().map(|it| it.cursor.0.clone())),
        };
        Ok(Some(Self { nodes: edges.iter().map(|it| it.node.clone()).collect(), edges, page_info }))
    }
}
