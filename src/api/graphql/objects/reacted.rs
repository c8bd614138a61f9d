//! Connections of the contents that a user likes or has bookmarked, newest reaction first.

use std::sync::Arc;

use async_graphql::SimpleObject;
use graphql_transport::metered::Metered;

use super::{Content, connection::PageInfo, lists::page_info};
use crate::{
    api::graphql::{errors::Failure, hydration::Hydration, scalars::Timestamp, selection::ContentSelection},
    domain::{
        ContentId, Entry, Listing,
        timeline::cursor::{self, List},
    },
};

/// A page of bookmarks, the newest first.
#[derive(SimpleObject)]
pub struct BookmarkConnection {
    /// The contents with their cursors.
    edges: Vec<BookmarkEdge>,
    /// The contents, as in `edges.node`.
    nodes: Vec<Option<Content>>,
    /// Whether and how to read on.
    page_info: PageInfo,
}

/// A bookmark.
#[derive(SimpleObject)]
struct BookmarkEdge {
    /// Opaque; valid as `after` or `before` even after the bookmark was removed.
    cursor: Metered<String>,
    /// When the bookmark was made.
    created_at: Metered<Timestamp>,
    /// The content. Null if it was deleted while the page was read, or is hidden by a block.
    node: Option<Content>,
}

/// A page of likes, the newest like first.
#[derive(SimpleObject)]
pub struct LikeConnection {
    /// The contents with their cursors.
    edges: Vec<LikeEdge>,
    /// The contents, as in `edges.node`.
    nodes: Vec<Option<Content>>,
    /// Whether and how to read on.
    page_info: PageInfo,
}

/// A like.
#[derive(SimpleObject)]
struct LikeEdge {
    /// Opaque; valid as `after` or `before` even after the like was taken back.
    cursor: Metered<String>,
    /// When the like was made.
    created_at: Metered<Timestamp>,
    /// The content. Null if it was deleted while the page was read, or is hidden by a block.
    node: Option<Content>,
}

/// A page with its loaded contents.
pub struct ReactedPage {
    rows: Vec<(Metered<String>, Metered<Timestamp>, Option<Content>)>,
    page_info: PageInfo,
}

impl ReactedPage {
    /// A page of `list` with the parts in `selection`, in one batch for each kind; only cursors if it is `None`.
    pub async fn load(
        hydration: &Arc<Hydration>,
        list: List,
        listing: &Listing<Entry>,
        selection: Option<ContentSelection>,
    ) -> Result<Self, Failure> {
        if let Some(selection) = selection {
            let contents: Vec<ContentId> = listing.rows.iter().map(|row| row.item.content).collect();
            hydration.prime_contents(&contents, selection).await;
        }
        let mut rows = Vec::with_capacity(listing.rows.len());
        for row in &listing.rows {
            let id = row.item.content;
            let content = if selection.is_some() { hydration.content(id).await? } else { None };
            let node = content.map(|content| Content::new(content, Arc::clone(hydration)));
            let cursor = Metered(cursor::encode_in(list, row.place(id.get())));
            rows.push((cursor, Metered(Timestamp(row.since)), node));
        }
        let page_info = page_info(listing, rows.iter().map(|row| &row.0.0));
        Ok(Self { rows, page_info })
    }

    fn nodes(&self) -> Vec<Option<Content>> {
        self.rows.iter().map(|row| row.2.clone()).collect()
    }
}

impl From<ReactedPage> for BookmarkConnection {
    fn from(page: ReactedPage) -> Self {
        let nodes = page.nodes();
        let edges =
            page.rows.into_iter().map(|(cursor, created_at, node)| BookmarkEdge { cursor, created_at, node }).collect();
        Self { edges, nodes, page_info: page.page_info }
    }
}

impl From<ReactedPage> for LikeConnection {
    fn from(page: ReactedPage) -> Self {
        let nodes = page.nodes();
        let edges =
            page.rows.into_iter().map(|(cursor, created_at, node)| LikeEdge { cursor, created_at, node }).collect();
        Self { edges, nodes, page_info: page.page_info }
    }
}
