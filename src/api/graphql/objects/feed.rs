//! What `newFeed` tells, as clients see it.

use std::{borrow::Cow, sync::Arc};

use async_graphql::{
    ContextSelectionSet, Enum, ID, OutputType, Positioned, ServerResult, SimpleObject, Value, parser::types::Field,
    registry::Registry,
};
use graphql_transport::metered::Metered;

use super::{TimelineEdge, User};
use crate::{
    api::graphql::{
        feed_share::{FeedShare, RenderKey},
        ids,
        viewer_dependence::ViewerDependence,
    },
    domain::{ContentId, Position, UserId, live::view::Reason, timeline::cursor},
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

/// The viewer followed or unfollowed somebody, on this device or another.
#[derive(SimpleObject)]
pub struct RelationChange {
    /// The other user. Null if they cannot be read now.
    pub user: Option<User>,
    /// Since the subscription last knew.
    pub viewer_is_following: Metered<bool>,
}

/// A change of the viewer's timeline. Exactly one of `timelineEdge`, `removedContentId`, `removedAuthorId`,
/// `relationChange`, `readMarker`, `refetch` and `mayDiffer` is set.
#[derive(SimpleObject, Default)]
pub struct NewFeedPayload {
    /// An entry that the viewer's timeline shows from now on: a new one, or one that stands again because the newer
    /// one of its subject has left. Its place is before the first entry whose `publishTime` is not later: nearly
    /// always the front, but it may be below entries that the client shows already.
    timeline_edge: Option<FeedEdge>,
    /// The id of a content that has left it, or for which a newer entry of the same subject stands from now on: that
    /// one was told just before.
    removed_content_id: Metered<Option<ID>>,
    /// The id of an author all of whose contents have left it.
    removed_author_id: Metered<Option<ID>>,
    /// Whom the viewer follows has changed. What that adds to the timeline follows as edges, as far as the client's
    /// entries reach; what it takes away as `removedAuthorId`.
    relation_change: Option<RelationChange>,
    /// The cursor up to which the viewer has read, moved by one of their devices: this one or another.
    read_marker: Metered<Option<String>>,
    /// Read the timeline again, and subscribe anew with its `resumeToken`.
    refetch: Metered<bool>,
    /// The reason, if `refetch` is true.
    refetch_reason: Metered<Option<RefetchReason>>,
    /// What the client holds may differ from the timeline in what no event tells: below the 64 entries of which a
    /// token speaks, and, in a list of some kinds, where a newer entry of another kind stands. It reads that again.
    /// Told with `compares` alone: once what was missed has been told, and whenever it may be so again.
    may_differ: Metered<bool>,
    /// What the client holds once it has taken this change in: pass the last one as `after` to go on from here, on any
    /// node. Null if the subscription began without `after`, and after a refetch.
    resume_token: Metered<Option<String>>,
}

impl NewFeedPayload {
    /// An entry has come.
    pub fn added(edge: FeedEdge) -> Self {
        Self { timeline_edge: Some(edge), ..Self::default() }
    }

    /// A content has left.
    pub fn removed(content: ContentId) -> Self {
        Self { removed_content_id: Metered(Some(ids::of_content(content))), ..Self::default() }
    }

    /// All of an author's have left.
    pub fn author_removed(author: UserId) -> Self {
        Self { removed_author_id: Metered(Some(ids::of_user(author))), ..Self::default() }
    }

    /// The viewer's own follows.
    pub fn relation(user: Option<User>, viewer_is_following: bool) -> Self {
        Self {
            relation_change: Some(RelationChange { user, viewer_is_following: Metered(viewer_is_following) }),
            ..Self::default()
        }
    }

    /// The viewer's marker stands here.
    pub fn read_up_to(marker: Position) -> Self {
        Self { read_marker: Metered(Some(cursor::encode(marker))), ..Self::default() }
    }

    /// The client must read again.
    pub fn read_again(reason: Reason) -> Self {
        Self { refetch: Metered(true), refetch_reason: Metered(Some(reason.into())), ..Self::default() }
    }

    /// What the client holds may differ.
    pub fn compare() -> Self {
        Self { may_differ: Metered(true), ..Self::default() }
    }

    /// With what the client can resume after it.
    #[must_use]
    pub fn with_token(mut self, token: Option<String>) -> Self {
        self.resume_token = Metered(token);
        self
    }
}

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
