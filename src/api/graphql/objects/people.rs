//! Users as search results and as suggestions.

use std::sync::Arc;

use async_graphql::SimpleObject;
use graphql_transport::metered::Metered;

use super::{User, connection::PageInfo};
use crate::{
    api::graphql::{errors::Failure, hydration::Hydration},
    domain::{
        PageSize, UserId,
        search::people::{FoundUser, KeyPrefix},
        timeline::page::InvalidPage,
    },
    store::cards::UserParts,
};

/// A page of found users, in the order of their matching names.
#[derive(SimpleObject)]
pub struct FoundUserConnection {
    /// The users with their cursors.
    edges: Vec<FoundUserEdge>,
    /// The users, as in `edges.node`.
    nodes: Vec<Option<User>>,
    /// Whether and how to read on.
    page_info: PageInfo,
}

/// A found user.
#[derive(SimpleObject)]
struct FoundUserEdge {
    /// Opaque; valid as `after` even after the user was renamed.
    cursor: Metered<String>,
    /// The user. Null if they cannot be read now.
    node: Option<User>,
}

impl FoundUserConnection {
    /// The page, in one statement and one batch for each kind in `selection`; only cursors if it is `None`.
    pub async fn load(
        hydration: &Arc<Hydration>,
        text: &str,
        (first, after): (Option<i64>, Option<&str>),
        selection: Option<UserParts>,
    ) -> Result<Self, Failure> {
        let prefix = KeyPrefix::try_new(text)?;
        let size = first.map_or(Ok(PageSize::default()), PageSize::try_new)?;
        let after = after.map(FoundUser::at).transpose().map_err(InvalidPage::After)?;
        let viewer = hydration.viewer_id();
        let found = hydration.use_cases().lists.named(viewer, &prefix, after.as_ref(), size).await?;
        let users: Vec<UserId> = found.rows.iter().map(|it| it.user).collect();
        if let Some(selection) = selection {
            hydration.prime_users(&users, selection).await;
        }
        let mut edges = Vec::with_capacity(users.len());
        for found_user in found.rows {
            let profile = if selection.is_some() { hydration.profile(found_user.user).await? } else { None };
            let node = profile.map(|profile| User::new(profile, Arc::clone(hydration)));
            edges.push(FoundUserEdge { cursor: Metered(found_user.cursor()), node });
        }
        let page_info = PageInfo {
            has_next_page: Metered(found.has_more),
            has_previous_page: Metered(false),
            start_cursor: Metered(edges.first().map(|it| it.cursor.0.clone())),
            end_cursor: Metered(edges.last().map(|it| it.cursor.0.clone())),
        };
        Ok(Self { nodes: edges.iter().map(|it| it.node.clone()).collect(), edges, page_info })
    }
}

/// The suggested users, without those who disappear in between.
pub async fn suggested(
    hydration: &Arc<Hydration>,
    first: Option<i64>,
    selection: UserParts,
) -> Result<Vec<User>, Failure> {
    let size = first.map_or(Ok(PageSize::default()), PageSize::to_suggest)?;
    let users = hydration.use_cases().lists.suggested(hydration.viewer_id(), size).await?;
    hydration.prime_users(&users, selection).await;
    let mut suggested = Vec::with_capacity(users.len());
    for user in users {
        let profile = hydration.profile(user).await?;
        suggested.extend(profile.map(|profile| User::new(profile, Arc::clone(hydration))));
    }
    Ok(suggested)
}
