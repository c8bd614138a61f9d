//! The events of `newFeed`.

use std::{borrow::Cow, sync::Arc};

use async_graphql::{
    ContextSelectionSet, Enum, ID, OutputType, Positioned, ServerResult, SimpleObject, Union, Value,
    parser::types::Field, registry::Registry,
};
use graphql_transport::{
    metered::Metered,
    written::{SharedDocument, written},
};

use super::{TimelineEdge, User, content as shown};
use crate::{
    api::graphql::{
        feed_parts,
        feed_share::{FeedShare, OperationKey, RenderKey},
        hydration::Hydration,
        scope::failures,
        selection::ContentSelection,
    },
    domain::{Content, Entry, live::view::Reason},
    live::Batch,
    telemetry::metrics::LIVE_RENDERINGS,
};

/// Why the timeline must be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum RefetchReason {
    /// More has happened since `after` than the stream replays.
    GapTooLarge,
    /// The set of authors in the viewer's timeline has changed, and the subscription began without `after`.
    FollowsChanged,
    /// Changes may have been missed, or one could not be shown.
    Missed,
}

impl From<Reason> for RefetchReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::GapTooLarge => Self::GapTooLarge,
            Reason::FollowsChanged => Self::FollowsChanged,
            Reason::Missed => Self::Missed,
        }
    }
}

/// An entry was added to the timeline: a new one, or an older one that a removed entry of its subject had replaced.
#[derive(SimpleObject)]
#[graphql(crate = "graphql_transport::objects")]
pub struct EntryAdded {
    /// The entry. Insert it before the first entry whose `createdAt` is not later. That is nearly always the front,
    /// but it may be below entries that the client shows already.
    pub timeline_edge: FeedEdge,
    /// What the client holds after this event. Pass the last token as `after` to resume from here, on any node. Null
    /// if the subscription began without `after`.
    pub resume_token: ResumeToken,
}

/// A content was removed from the timeline, or a newer entry of the same subject, sent just before, replaces it.
#[derive(SimpleObject)]
pub struct ContentRemoved {
    /// The id of the content.
    pub content_id: Metered<ID>,
    /// Where to resume; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// All contents of an author have left the timeline.
#[derive(SimpleObject)]
pub struct AuthorRemoved {
    /// The id of the author.
    pub author_id: Metered<ID>,
    /// Where to resume; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// The viewer has followed or unfollowed an author, on this device or another. After a follow, the author's contents
/// arrive as `EntryAdded`, down to the oldest entry that the client holds. After an unfollow, `AuthorRemoved` removes
/// them.
#[derive(SimpleObject)]
pub struct RelationChanged {
    /// The other user. Null if they cannot be read now.
    pub user: Option<User>,
    /// Whether the viewer follows them now.
    pub viewer_is_following: Metered<bool>,
    /// Where to resume; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// One of the viewer's devices, this one or another, has marked the timeline as read further than before.
#[derive(SimpleObject)]
pub struct ReadMarkerMoved {
    /// The cursor up to which the viewer has read.
    pub read_marker: Metered<String>,
    /// Where to resume; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// Some entries that the client shows may have changed without an event of their own. These are the entries below the
/// newest 64 (a `resumeToken` covers only 64) and, in a list of some kinds, those that a newer entry of another kind
/// replaces. Read them again. Sent only with `compares`: after the replay, and whenever such a change is possible.
#[derive(SimpleObject)]
pub struct TimelineMayDiffer {
    /// Where to resume; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// Read the timeline again, and subscribe again with its `resumeToken`.
#[derive(SimpleObject)]
pub struct RefetchNeeded {
    /// The reason.
    pub reason: Metered<RefetchReason>,
}

/// Contents and users that may have changed, and lists of theirs: read again what is shown of them.
#[derive(SimpleObject)]
pub struct ShownChanged {
    /// Some of the subscription's ids, in any order.
    pub ids: Vec<Metered<ID>>,
}

/// A change of the viewer's timeline, as `newFeed` reports it.
#[derive(Union)]
pub enum NewFeedEvent {
    EntryAdded(EntryAdded),
    ContentRemoved(ContentRemoved),
    AuthorRemoved(AuthorRemoved),
    RelationChanged(RelationChanged),
    ReadMarkerMoved(ReadMarkerMoved),
    TimelineMayDiffer(TimelineMayDiffer),
    RefetchNeeded(RefetchNeeded),
}

/// `None` unless the client asks for it and it is known what the client holds.
pub type ResumeToken = Metered<Option<String>>;

/// The edge of a new entry, built once for all subscribers who are shown the same. Clients see a [`TimelineEdge`].
pub struct FeedEdge {
    /// The entry.
    pub entry: Entry,
    /// The batch that it came with, and the data shared through it.
    pub batch: Arc<Batch<FeedShare>>,
    /// The content and its selected parts; `None` if nothing of it is selected.
    pub node: Option<(Arc<Content>, ContentSelection)>,
    /// The subscription's hydration.
    pub hydration: Arc<Hydration>,
    /// What this subscriber selects. Without it, nothing is shared.
    pub operation: Option<OperationKey>,
}

impl FeedEdge {
    /// The edge for this subscriber.
    async fn edge(&self) -> TimelineEdge {
        let Some((content, selection)) = &self.node else { return TimelineEdge::new(&self.entry, None) };
        let hydration = self.hydration.renewed();
        let parts = feed_parts::parts(hydration.services(), &self.batch, &self.entry, *selection).await;
        hydration.remember_entry(&self.entry, Arc::clone(content), parts).await;
        TimelineEdge::new(&self.entry, Some(shown::Content::new(Arc::clone(content), hydration)))
    }

    /// The rendered value, and whether it is the same for all.
    async fn own(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> (ServerResult<Value>, bool) {
        let uses = || self.hydration.viewer_dependence().uses();
        let before = (uses(), failures(ctx));
        let value = self.edge().await.resolve(ctx, field).await;
        let is_same_for_all = before == (uses(), failures(ctx)) && value.is_ok();
        (value, is_same_for_all)
    }
}

impl OutputType for FeedEdge {
    fn type_name() -> Cow<'static, str> {
        TimelineEdge::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        TimelineEdge::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        let Some(operation) = self.operation.clone() else {
            metrics::counter!(LIVE_RENDERINGS, "way" => "for_one").increment(1);
            return Box::pin(self.own(ctx, field)).await.0;
        };
        let (content, is_written) = (self.entry.content, ctx.data_opt::<SharedDocument>().is_some());
        let key = RenderKey { content, operation, field: (field.pos.line, field.pos.column), is_written };
        let rendered = self.batch.shared().rendered(key);
        let mut own = None;
        let shared = rendered.get_or_init(async || {
            let (value, is_same_for_all) = Box::pin(self.own(ctx, field)).await;
            let kept = value.as_ref().ok().filter(|_| is_same_for_all);
            let kept = if is_written { kept.and_then(written) } else { kept.cloned() };
            own = Some(value);
            kept
        });
        let (way, value) = match (shared.await.clone(), own) {
            (Some(value), Some(_)) => ("for_all", Ok(value)),
            (Some(value), None) => ("shared", Ok(value)),
            (None, Some(value)) => ("for_one", value),
            (None, None) => ("for_one", Box::pin(self.own(ctx, field)).await.0),
        };
        metrics::counter!(LIVE_RENDERINGS, "way" => way).increment(1);
        value
    }
}
