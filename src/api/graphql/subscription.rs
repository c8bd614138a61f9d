//! The entry points for watching.

use std::{pin::Pin, sync::Arc, time::Duration};

use async_graphql::{Context, ID, SimpleObject, Subscription};
use futures_util::{Stream, StreamExt as _, stream};
use tokio::time::{Instant, sleep_until};

use super::{
    errors::{ApiError, Failure},
    hydration::Hydration,
    ids,
    objects::{Content, TimelineEdge},
    scope::{hydration, request_id},
    wants::ContentWants,
};
use crate::{
    domain::{Entry, Position, cursor},
    live::{LiveEvent, LiveFeedStream},
};

/// A change of the viewer's timeline. Exactly one of its four fields is set: an edge, an id, a marker, or `refetch`.
#[derive(SimpleObject)]
pub struct NewFeedPayload {
    /// An entry that has come to the viewer's timeline.
    timeline_edge: Option<TimelineEdge>,
    /// The id of a content that has left it.
    removed_content_id: Option<ID>,
    /// The cursor up to which the viewer has read, moved by one of their devices: this one or another.
    read_marker: Option<String>,
    /// Events may have been missed, or the viewer's follows have changed: read the timeline again.
    refetch: bool,
}

impl NewFeedPayload {
    const NOTHING: Self = Self { timeline_edge: None, removed_content_id: None, read_marker: None, refetch: false };
    const REFETCH: Self = Self { refetch: true, ..Self::NOTHING };

    fn read_up_to(marker: Position) -> Self {
        Self { read_marker: Some(cursor::encode(marker)), ..Self::NOTHING }
    }
}

type NewFeed = Pin<Box<dyn Stream<Item = Result<NewFeedPayload, ApiError>> + Send>>;

/// The root of subscriptions.
pub struct SubscriptionRoot;

/// A request's entry points for watching.
#[Subscription(name = "Subscription")]
impl SubscriptionRoot {
    /// What changes in the viewer's timeline, as it happens, from the moment on at which the subscription has begun: read the
    /// timeline after that and nothing is missed. Ends with an UNAUTHENTICATED error when the token does.
    async fn new_feed(&self, ctx: &Context<'_>) -> Result<NewFeed, ApiError> {
        let begun = async {
            let hydration = hydration(ctx)?;
            let viewer = hydration.viewer()?;
            let feed = hydration.services().live.subscribe(viewer.id).await?;
            let edge = ctx.look_ahead().field("timelineEdge").field("node");
            let left = viewer.good_until_ms - hydration.services().clock.now_ms();
            let ends_at = Instant::now() + Duration::from_millis(u64::try_from(left).unwrap_or(0));
            let wants = edge.exists().then(|| ContentWants::of(&edge));
            Ok(Watch { feed, hydration, wants, ends_at })
        };
        match begun.await {
            Ok(watch) => Ok(watch.into_stream()),
            Err(failure) => Err(Failure::told(failure, request_id(ctx))),
        }
    }
}

/// A running subscription.
struct Watch {
    feed: LiveFeedStream,
    hydration: Arc<Hydration>,
    wants: Option<ContentWants>,
    ends_at: Instant,
}

impl Watch {
    fn into_stream(self) -> NewFeed {
        Box::pin(stream::unfold(Some(self), |watch| async {
            let mut watch = watch?;
            match watch.next().await {
                Ok(payload) => Some((Ok(payload), Some(watch))),
                Err(failure) => Some((Err(failure.told(watch.hydration.request_id())), None)),
            }
        }))
    }

    /// The next change that can be shown; whatever is returned as failure is the last word.
    async fn next(&mut self) -> Result<NewFeedPayload, Failure> {
        loop {
            let event = tokio::select! {
                biased;
                () = sleep_until(self.ends_at) => return Err(Failure::SignInEnded),
                event = self.feed.next() => event.ok_or(Failure::FeedEnded)?,
            };
            match event {
                LiveEvent::Added(entry) => {
                    if let Some(payload) = added(&self.hydration, self.wants, &entry).await {
                        return Ok(payload);
                    }
                }
                LiveEvent::Removed(content) => {
                    let removed_content_id = Some(ids::of_content(content));
                    return Ok(NewFeedPayload { removed_content_id, ..NewFeedPayload::NOTHING });
                }
                LiveEvent::ReadMarkerMoved(marker) => return Ok(NewFeedPayload::read_up_to(marker)),
                LiveEvent::FollowsChanged | LiveEvent::Missed => return Ok(NewFeedPayload::REFETCH),
            }
        }
    }
}

/// The new entry with its content as it is now; `None` if it was removed meanwhile. What cannot be read now, the client is
/// asked to read later.
async fn added(hydration: &Hydration, wants: Option<ContentWants>, entry: &Entry) -> Option<NewFeedPayload> {
    let hydration = hydration.renewed();
    if let Some(wants) = wants {
        hydration.prime_contents(&[entry.content], &[entry.author], wants).await;
    }
    match hydration.content(entry.content).await {
        Ok(Some(content)) => {
            let edge = TimelineEdge::new(entry, Some(Content::new(content, hydration)));
            Some(NewFeedPayload { timeline_edge: Some(edge), ..NewFeedPayload::NOTHING })
        }
        Ok(None) => None,
        Err(_logged) => Some(NewFeedPayload::REFETCH),
    }
}
