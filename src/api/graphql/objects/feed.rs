//! What `newFeed` tells, as clients see it.

use std::{borrow::Cow, sync::Arc};

use async_graphql::{
    ContextSelectionSet, Enum, ID, OutputType, Positioned, ServerResult, SimpleObject, Union, Value,
    parser::types::Field, registry::Registry,
};
use graphql_transport::metered::Metered;

use super::{TimelineEdge, User};
use crate::{
    api::graphql::{
        feed_share::{FeedShare, RenderKey},
        viewer_dependence::ViewerDependence,
    },
    domain::{ContentId, live::view::Reason},
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

/// An entry was added to the timeline: a new one, or an older one of a subject whose newer entry was removed.
#[derive(SimpleObject)]
pub struct EntryAdded {
    /// The entry. Insert it before the first entry whose `createdAt` is not later. That is nearly always the front, but
    /// it may be below entries that the client shows already.
    pub timeline_edge: FeedEdge,
    /// What the client holds after this event. Pass the last token as `after` to resume from here, on any node. Null if
    /// the subscription began without `after`.
    pub resume_token: ResumeToken,
}

/// A content was removed from the timeline, or a newer entry of the same subject, sent just before, replaces it.
#[derive(SimpleObject)]
pub struct ContentRemoved {
    /// The id of the content.
    pub content_id: Metered<ID>,
    /// Where to go on from; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// All contents of an author have left the timeline.
#[derive(SimpleObject)]
pub struct AuthorRemoved {
    /// The id of the author.
    pub author_id: Metered<ID>,
    /// Where to go on from; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// The viewer has followed or unfollowed somebody, on this device or another. What that adds to the timeline follows as
/// `EntryAdded`, as far as the client's entries reach; what it takes away as `AuthorRemoved`.
#[derive(SimpleObject)]
pub struct RelationChanged {
    /// The other user. Null if they cannot be read now.
    pub user: Option<User>,
    /// Whether the viewer follows them now.
    pub viewer_is_following: Metered<bool>,
    /// Where to go on from; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// One of the viewer's devices, this one or another, has marked the timeline as read further than before.
#[derive(SimpleObject)]
pub struct ReadMarkerMoved {
    /// The cursor up to which the viewer has read.
    pub read_marker: Metered<String>,
    /// Where to go on from; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// Entries that the client shows may be outdated without an event: those below the 64 that a token covers, and, if the
/// client filters by kind, those that a newer entry of another kind replaces. Read them again. Sent only with
/// `compares`: after the replay, and whenever it may have happened again.
#[derive(SimpleObject)]
pub struct TimelineMayDiffer {
    /// Where to go on from; see `EntryAdded.resumeToken`.
    pub resume_token: ResumeToken,
}

/// Read the timeline again, and subscribe anew with its `resumeToken`.
#[derive(SimpleObject)]
pub struct RefetchNeeded {
    /// What has happened.
    pub reason: Metered<RefetchReason>,
}

/// A change of the viewer's timeline, as `newFeed` tells it.
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

/// `None` unless the subscription knows what the client holds, and the client asks.
pub type ResumeToken = Metered<Option<String>>;

/// A new entry's edge, made once for all subscribers who are shown the same. To clients a [`TimelineEdge`].
pub struct FeedEdge {
    /// As this subscriber would be shown it.
    pub edge: TimelineEdge,
    /// Of which content.
    pub content: ContentId,
    /// Shared with whom.
    pub share: Arc<FeedShare>,
    /// What this subscriber asks; nothing is shared if that is not known.
    pub shape: Option<Arc<str>>,
    /// Whether the viewer was looked at.
    pub viewer_dependence: ViewerDependence,
}

impl OutputType for FeedEdge {
    fn type_name() -> Cow<'static, str> {
        TimelineEdge::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        TimelineEdge::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        let Some(shape) = self.shape.clone() else {
            metrics::counter!(LIVE_RENDERINGS, "way" => "for_one").increment(1);
            return self.edge.resolve(ctx, field).await;
        };
        let content = self.content;
        let rendered = self.share.rendered(RenderKey { content, shape, field: (field.pos.line, field.pos.column) });
        let mut own = None;
        let shared = rendered.get_or_init(async || {
            let before = (self.viewer_dependence.uses(), failures(ctx));
            let value = self.edge.resolve(ctx, field).await;
            let same_for_all = before == (self.viewer_dependence.uses(), failures(ctx));
            let kept = value.as_ref().ok().filter(|_| same_for_all).cloned();
            own = Some(value);
            kept
        });
        let (way, value) = match (shared.await.clone(), own) {
            (Some(_), Some(value)) => ("for_all", value),
            (None, Some(value)) => ("for_one", value),
            (Some(value), None) => ("shared", Ok(value)),
            (None, None) => ("for_one", self.edge.resolve(ctx, field).await),
        };
        metrics::counter!(LIVE_RENDERINGS, "way" => way).increment(1);
        value
    }
}

/// Of the fields of this event so far.
fn failures(ctx: &ContextSelectionSet<'_>) -> usize {
    ctx.query_env.errors.lock().unwrap_or_else(std::sync::PoisonError::into_inner).len()
}
