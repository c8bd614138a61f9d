//! Pages as Relay's connections: a timeline's, an author's, a search's and a thread's.
//!
//! All but threads are newest first, so the "next" page is older. An entry has no edge if its content was deleted or
//! blocked between the snapshot of the page and the loading of contents.

use std::{borrow::Cow, sync::Arc};

use async_graphql::{
    ContextSelectionSet, OutputType, Positioned, ServerResult, SimpleObject, Value, parser::types::Field,
    registry::Registry,
};
use graphql_transport::{
    guard::OperationId,
    metered::{self, Metered},
    written,
};

use super::Content;
use crate::{
    api::graphql::{
        errors::Failure,
        hydration::{Hydration, PageCards},
        remembered_json::{ContentKey, ShownContent},
        scalars::Timestamp,
        scope::failures,
        selection::ContentSelection,
    },
    domain::{
        ContentId, Entry,
        search::Found,
        timeline::{cursor, folding::Folded},
    },
};

/// Whether a page has neighbours, and how to read them.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
pub(super) struct PageInfo {
    /// Whether older entries follow; in lists of users and in threads, whether more follow. Exact, except after a
    /// short page of a search: there it says that more may follow.
    pub has_next_page: Metered<bool>,
    /// Whether newer entries precede the page; in threads, whether earlier replies do. Exact. Always false in searches
    /// and in lists of muted, blocked or hidden users, which are read forward only.
    pub has_previous_page: Metered<bool>,
    /// The cursor of the first entry. Pass it as `before` to read newer entries. Null on an empty page.
    pub start_cursor: Metered<Option<String>>,
    /// The cursor to pass as `after` for the next page. It is the cursor of the last entry shown, or of an older one
    /// that the page folds into a newer entry of the same subject. On a page of a search it says how far the search
    /// has come. Null if the page is empty and nothing follows.
    pub end_cursor: Metered<Option<String>>,
}

/// A page of a timeline, newest first.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
pub struct TimelineConnection {
    /// The entries with their cursors.
    edges: Vec<Remembered<TimelineEdge>>,
    /// The entries' contents, as in `edges.node`.
    nodes: Vec<Remembered<Option<Content>>>,
    /// Whether and how to read on.
    page_info: PageInfo,
    /// `createdAt` of the oldest entry on the page, folded entries included. Ignore entries of `newFeed` that are
    /// older: the next page brings them. Null on an empty page.
    oldest_created_at: Metered<Option<Timestamp>>,
    /// What a client holds after this page. Pass it as `after` to `newFeed`, which continues from here. When an entry
    /// is removed that had folded an older one of its subject, `newFeed` adds that older one. Covers the newest 64
    /// entries, folded ones included. Null for a filtered page, because the stream has no filter.
    resume_token: Metered<Option<String>>,
}

impl TimelineConnection {
    /// Adds the token from which `newFeed` continues.
    #[must_use]
    pub fn with_token(mut self, token: Option<String>) -> Self {
        self.resume_token = Metered(token);
        self
    }
}

/// An entry of a timeline.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
pub struct TimelineEdge {
    /// Opaque and permanent: valid as `after` or `before` even after the content was deleted.
    cursor: Metered<String>,
    /// The content. An entry whose content is deleted while the page is read has no edge.
    node: Option<Content>,
}

/// A page of contents by an author or from a search, newest first.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
pub struct ContentConnection {
    /// The contents with their cursors.
    edges: Vec<ContentEdge>,
    /// The contents, as in `edges.node`.
    nodes: Vec<Option<Content>>,
    /// Whether and how to read on.
    page_info: PageInfo,
}

/// A content on such a page.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
struct ContentEdge {
    /// Opaque and permanent: valid as `after` or `before` even after the content was deleted.
    cursor: Metered<String>,
    /// The content. An entry whose content is deleted while the page is read has no edge.
    node: Option<Content>,
}

/// A page with its loaded contents.
pub struct Shown {
    rows: Vec<ShownEntry>,
    page_info: PageInfo,
    is_whole: bool,
    oldest_created_at: Metered<Option<Timestamp>>,
}

/// An entry of such a page.
struct ShownEntry {
    cursor: String,
    /// `None` if no contents are selected.
    node: Option<Content>,
    /// See [`Remembered`].
    remembered: Option<(ShownContent, Arc<Hydration>)>,
}

impl Shown {
    /// Loads the parts in `selection`, in one batch for each kind; nothing if it is `None`.
    pub async fn load(
        hydration: &Arc<Hydration>,
        page: &Folded,
        selection: Option<ContentSelection>,
    ) -> Result<Self, Failure> {
        Self::prime(hydration, &page.entries, selection).await;
        Self::of(hydration, page, selection, &PageCards::default()).await
    }

    /// The page with these cards. Contents without one are found in the loaders.
    pub async fn of(
        hydration: &Arc<Hydration>,
        page: &Folded,
        selection: Option<ContentSelection>,
        cards: &PageCards,
    ) -> Result<Self, Failure> {
        let rows = Self::rows(hydration, &page.entries, selection, cards).await?;
        let page_info = PageInfo {
            has_next_page: Metered(page.has_older),
            has_previous_page: Metered(page.has_newer),
            start_cursor: Metered(rows.first().map(|row| row.cursor.clone())),
            end_cursor: Metered(page.end().map(cursor::encode)),
        };
        let oldest_created_at = Metered(page.end().map(|end| Timestamp(end.publish_time())));
        Ok(Self { is_whole: rows.len() == page.entries.len(), rows, page_info, oldest_created_at })
    }

    /// As [`Self::load`], for search results.
    pub async fn found(
        hydration: &Arc<Hydration>,
        page: &Found,
        selection: Option<ContentSelection>,
    ) -> Result<Self, Failure> {
        Self::prime(hydration, &page.entries, selection).await;
        let rows = Self::rows(hydration, &page.entries, selection, &PageCards::default()).await?;
        let page_info = PageInfo {
            has_next_page: Metered(page.has_older),
            has_previous_page: Metered(false),
            start_cursor: Metered(rows.first().map(|row| row.cursor.clone())),
            end_cursor: Metered(page.end.map(cursor::encode)),
        };
        Ok(Self { is_whole: rows.len() == page.entries.len(), rows, page_info, oldest_created_at: Metered(None) })
    }

    /// Whether all entries of the page still have their contents.
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    async fn prime(hydration: &Hydration, entries: &[Entry], selection: Option<ContentSelection>) {
        if let Some(selection) = selection {
            let contents: Vec<ContentId> = entries.iter().map(|entry| entry.content).collect();
            hydration.prime_contents(&contents, selection).await;
        }
    }

    async fn rows(
        hydration: &Arc<Hydration>,
        entries: &[Entry],
        selection: Option<ContentSelection>,
        cards: &PageCards,
    ) -> Result<Vec<ShownEntry>, Failure> {
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            let cursor = cursor::encode(entry.position());
            let (node, remembered) = match (selection, cards.get(&entry.content)) {
                (None, _) => (None, None),
                (Some(_), Some(None)) => continue,
                (Some(selection), Some(Some(card))) => {
                    let shown = hydration.shown(card, selection).await;
                    let is_reposted = shown.as_ref().and_then(ShownContent::is_reposted);
                    let content = Content::of_card(Arc::clone(card), is_reposted, Arc::clone(hydration));
                    (Some(content), shown.map(|shown| (shown, Arc::clone(hydration))))
                }
                (Some(_), None) => {
                    let Some(content) = hydration.content(entry.content).await? else { continue };
                    (Some(Content::new(content, Arc::clone(hydration))), None)
                }
            };
            rows.push(ShownEntry { cursor, node, remembered });
        }
        Ok(rows)
    }

    /// The same page, oldest first: next and previous are swapped.
    pub fn reversed(self) -> Self {
        let PageInfo { has_next_page, has_previous_page, start_cursor, end_cursor } = self.page_info;
        let page_info = PageInfo {
            has_next_page: has_previous_page,
            has_previous_page: has_next_page,
            start_cursor: end_cursor,
            end_cursor: start_cursor,
        };
        Self { rows: self.rows.into_iter().rev().collect(), page_info, ..self }
    }

    fn nodes(&self) -> Vec<Option<Content>> {
        self.rows.iter().map(|row| row.node.clone()).collect()
    }
}

impl TimelineEdge {
    /// The edge of `entry` with its content.
    pub fn new(entry: &Entry, node: Option<Content>) -> Self {
        Self { cursor: Metered(cursor::encode(entry.position())), node }
    }
}

impl From<Shown> for TimelineConnection {
    fn from(shown: Shown) -> Self {
        let nodes = shown.rows.iter().map(|row| Remembered::new(row.node.clone(), row.remembered.clone())).collect();
        let edge = |ShownEntry { cursor, node, remembered }| {
            Remembered::new(TimelineEdge { cursor: Metered(cursor), node }, remembered)
        };
        let edges = shown.rows.into_iter().map(edge).collect();
        Self {
            edges,
            nodes,
            page_info: shown.page_info,
            oldest_created_at: shown.oldest_created_at,
            resume_token: Metered(None),
        }
    }
}

/// A page of the replies to a content, oldest first.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
pub struct ReplyConnection {
    /// The replies with their cursors.
    edges: Vec<ReplyEdge>,
    /// The replies, as in `edges.node`.
    nodes: Vec<Option<Content>>,
    /// Whether and how to read on.
    page_info: PageInfo,
}

/// A reply in a thread.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
struct ReplyEdge {
    /// Opaque and permanent: valid as `after` even after the reply was deleted.
    cursor: Metered<String>,
    /// The reply. A reply that is deleted while the page is read has no edge.
    node: Option<Content>,
}

impl From<Shown> for ReplyConnection {
    fn from(shown: Shown) -> Self {
        let nodes = shown.nodes();
        let edges =
            shown.rows.into_iter().map(|row| ReplyEdge { cursor: Metered(row.cursor), node: row.node }).collect();
        Self { edges, nodes, page_info: shown.page_info }
    }
}

impl From<Shown> for ContentConnection {
    fn from(shown: Shown) -> Self {
        let nodes = shown.nodes();
        let edges =
            shown.rows.into_iter().map(|row| ContentEdge { cursor: Metered(row.cursor), node: row.node }).collect();
        Self { edges, nodes, page_info: shown.page_info }
    }
}

/// What a page shows of a content, from memory if the same was shown before. Clients see a `T`.
struct Remembered<T> {
    value: T,
    /// What decides the JSON, and the viewer's hydration. `None` if more decides it.
    shown: Option<(ShownContent, Arc<Hydration>)>,
}

impl<T> Remembered<T> {
    /// `value`, whose JSON `shown` decides.
    const fn new(value: T, shown: Option<(ShownContent, Arc<Hydration>)>) -> Self {
        Self { value, shown }
    }
}

impl<T: OutputType> OutputType for Remembered<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn qualified_type_name() -> String {
        T::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        let (Some((shown, hydration)), Some(&operation)) = (&self.shown, ctx.data_opt::<OperationId>()) else {
            return Box::pin(self.value.resolve(ctx, field)).await;
        };
        let key = ContentKey::new(operation, field, shown.clone());
        let memory = &hydration.services().json;
        if let Some(json) = memory.get(&key) {
            return Ok(metered::insert(ctx, json).await);
        }
        let before = failures(ctx);
        let value = Box::pin(self.value.resolve(ctx, field)).await?;
        // A viewer whose sign-in ended meanwhile was shown less than the key says.
        if failures(ctx) == before
            && hydration.viewer().is_ok()
            && let Some(json) = written::json(&value)
        {
            memory.insert(key, json);
        }
        Ok(value)
    }
}
