//! The root of subscriptions.

use std::{collections::HashSet, future::pending, pin::Pin, sync::Arc, time::Duration};

use async_graphql::{Context, ID, Subscription};
use futures_util::{Stream, stream};
use graphql_transport::metered::Metered;
use tokio::time::{Instant, sleep_until};

use super::{
    errors::{ApiError, Failure},
    feed_parts,
    feed_share::{FeedShare, OperationKey, SharedValue, operation_key},
    hydration::Hydration,
    ids::{self, NodeId},
    objects::{
        AuthorRemoved, ContentRemoved, EntryAdded, FeedEdge, NewFeedEvent, ReadMarkerMoved, RefetchNeeded,
        RelationChanged, ResumeToken, ShownChanged, TimelineMayDiffer, User,
    },
    scope::{caller, document, hydration},
    selection::ContentSelection,
};
use crate::{
    accounts::Viewer,
    domain::{Entry, ResumePoint, Shown, UserId, limits::MAX_NODES, live::view::Change, timeline::cursor},
    live::{self, Batch, Update},
};

type ShownHints = Pin<Box<dyn Stream<Item = Result<ShownChanged, ApiError>> + Send>>;
type NewFeed = Pin<Box<dyn Stream<Item = Result<NewFeedEvent, ApiError>> + Send>>;

/// The root of subscriptions.
pub struct SubscriptionRoot;

/// Subscriptions.
#[expect(clippy::unused_async, reason = "a subscription is an async function, and one of them waits for nothing")]
#[Subscription(name = "Subscription")]
impl SubscriptionRoot {
    /// Live changes of the viewer's timeline. With `after`, the stream first replays what has changed since then:
    /// removed entries, then new ones, oldest first, then older entries that a new one replaces. Live changes follow,
    /// and no change is sent twice. If too much has changed, it sends `RefetchNeeded` instead.
    ///
    /// Entries are folded, within what `after` covers: a newer entry of a subject removes the older one. When the
    /// newer one is removed, the older one is added again. Without `after`, the stream starts with the subscription
    /// and folds nothing.
    ///
    /// The stream ends when the token expires: with an UNAUTHENTICATED error, or by closing the WebSocket with 4403.
    async fn new_feed(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "Where to resume: a `resumeToken`, or the cursor of an entry if the client holds nothing newer than it."
        )]
        after: Option<String>,
        #[graphql(
            default,
            desc = "Whether to send `TimelineMayDiffer`, after which the client reads its entries again."
        )]
        compares: bool,
    ) -> Result<NewFeed, ApiError> {
        // Boxed: the stream would keep its room.
        match Box::pin(begin(ctx, after.as_deref(), compares)).await {
            Ok(watch) => Ok(watch.into_stream()),
            Err(failure) => Err(failure.into_api_error()),
        }
    }

    /// Hints at contents and users that may have changed, so that a client keeps current what it shows of them: counts,
    /// replies, who likes a content, a user's contents and lists. A hint is sent for any number of changes, a second
    /// after them or later, and says what to read again, for instance with `nodes`. A client reads first and then
    /// subscribes: what may have changed in the ten seconds before counts, also when the server cannot know. Nothing is
    /// told of contents that the viewer does not see. The viewer's bookmarks and changes of a profile itself are not
    /// hinted at. Without a viewer it hints at what anybody sees; how much may be watched so is bounded for each
    /// address and for all together.
    ///
    /// Subscribe again with other ids when the client shows something else, and read once more after the connection
    /// was lost, or when somebody has signed in. With a viewer, the stream ends as that of `newFeed`.
    async fn shown_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Ids of contents and users, at most 100; others are never hinted at.")] ids: Vec<ID>,
    ) -> Result<ShownHints, ApiError> {
        watch(ctx, &ids).map_err(Failure::into_api_error)
    }
}

/// When the viewer's token ends.
fn ends_at(hydration: &Hydration, viewer: Viewer) -> Instant {
    let left = viewer.good_until_ms - hydration.services().clock.now_ms();
    Instant::now() + Duration::from_millis(u64::try_from(left).unwrap_or(0))
}

fn watch(ctx: &Context<'_>, ids: &[ID]) -> Result<ShownHints, Failure> {
    let hydration = hydration(ctx)?;
    if ids.len() > MAX_NODES {
        return Err(Failure::TooManyIds(ids.len()));
    }
    let shown = ids.iter().filter_map(|id| match ids::parse(id).ok()? {
        NodeId::Content(content) => Some(Shown::Content(content)),
        NodeId::User(user) => Some(Shown::User(user)),
        NodeId::Session(_) => None,
    });
    let (shown, live) = (shown.collect(), &hydration.use_cases().live);
    let (watch, ends_at) = match hydration.viewer() {
        Ok(viewer) => {
            let watch = live.watch_shown(viewer.id, viewer.acted_by.is_some(), shown)?;
            (watch, Some(ends_at(&hydration, viewer)))
        }
        Err(Failure::Anonymous) if live.is_open_to_anybody() => {
            (live.watch_shown_anonymously(caller(ctx).network, shown)?, None)
        }
        Err(failure) => return Err(failure),
    };
    Ok(Box::pin(stream::try_unfold(watch, move |mut watch| async move {
        let ended = async { if let Some(at) = ends_at { sleep_until(at).await } else { pending().await } };
        let changed = tokio::select! {
            biased;
            () = ended => return Err(Failure::SignInEnded.into_api_error()),
            changed = watch.next() => changed,
        };
        Ok(Some((hint(changed), watch)))
    })))
}

fn hint(changed: HashSet<Shown>) -> ShownChanged {
    let ids = changed.into_iter().map(|shown| match shown {
        Shown::Content(content) => ids::of_content(content),
        Shown::User(user) => ids::of_user(user),
    });
    ShownChanged { ids: ids.map(Metered).collect() }
}

async fn begin(ctx: &Context<'_>, after: Option<&str>, compares: bool) -> Result<Watch, Failure> {
    let hydration = hydration(ctx)?;
    let viewer = hydration.viewer()?;
    let point = after.map(ResumePoint::decode).transpose()?;
    let live = &hydration.use_cases().live;
    let feed = match viewer.acted_by {
        None => live.subscribe(viewer.id, point).await?,
        Some(_) => live.subscribe_service(viewer.id, point).await?,
    };
    let feed = if compares { feed.comparing() } else { feed };
    let selected = ctx.look_ahead();
    let edge = selected.field("timelineEdge").field("node");
    let ends_at = ends_at(&hydration, viewer);
    let selection = edge.exists().then(|| ContentSelection::of(&edge));
    let selects_token = selected.field("resumeToken").exists();
    let operation = document(ctx).map(|query| operation_key(ctx, query));
    Ok(Watch { feed, hydration, selection, selects_token, operation, ends_at })
}

/// A running subscription.
struct Watch {
    feed: live::Subscription<FeedShare>,
    hydration: Arc<Hydration>,
    selection: Option<ContentSelection>,
    selects_token: bool,
    operation: Option<OperationKey>,
    ends_at: Instant,
}

impl Watch {
    fn into_stream(self) -> NewFeed {
        // Boxed once, because the stream holds it twice: between two events, and while it waits for one.
        Box::pin(stream::try_unfold(Box::new(self), |mut watch| async move {
            let payload = watch.next().await.map_err(Failure::into_api_error)?;
            Ok(Some((payload, watch)))
        }))
    }

    /// The next change that can be shown. A failure ends the subscription.
    async fn next(&mut self) -> Result<NewFeedEvent, Failure> {
        loop {
            let event = tokio::select! {
                biased;
                () = sleep_until(self.ends_at) => return Err(Failure::SignInEnded),
                event = self.feed.next() => event?,
            };
            return Ok(match event.update {
                Update::Change(Change::Added(entry)) => match self.added(&entry, event.batch).await {
                    Some(timeline_edge) => EntryAdded { timeline_edge, resume_token: self.token() }.into(),
                    None => continue,
                },
                Update::Change(Change::Removed(content)) => {
                    let content_id = Metered(ids::of_content(content));
                    ContentRemoved { content_id, resume_token: self.token() }.into()
                }
                Update::Change(Change::AuthorRemoved(author)) => {
                    let author_id = Metered(ids::of_user(author));
                    AuthorRemoved { author_id, resume_token: self.token() }.into()
                }
                Update::Change(Change::Refetch(reason)) => RefetchNeeded { reason: Metered(reason.into()) }.into(),
                Update::ReadUpTo(marker) => {
                    let read_marker = Metered(cursor::encode(marker));
                    ReadMarkerMoved { read_marker, resume_token: self.token() }.into()
                }
                Update::MayDiffer => TimelineMayDiffer { resume_token: self.token() }.into(),
                // Boxed, because it is rare.
                Update::Relation { author, following } => Box::pin(self.relation(author, following)).await.into(),
            });
        }
    }

    /// The resume token after all events so far.
    fn token(&self) -> ResumeToken {
        Metered(if self.selects_token { self.feed.point().map(|point| point.encode()) } else { None })
    }

    /// The new entry with its content as it is now. `None` if the content was removed in between, or could not be
    /// read; then the client is asked to read later.
    async fn added(&mut self, entry: &Entry, batch: Option<Arc<Batch<FeedShare>>>) -> Option<FeedEdge> {
        let batch = batch.unwrap_or_else(|| Batch::of(vec![*entry]));
        let node = match self.selection {
            None => None,
            Some(selection) => match feed_parts::content(self.hydration.services(), &batch, entry).await {
                SharedValue::Unknown => {
                    self.feed.failed_to_show();
                    return None;
                }
                SharedValue::Known(content) => Some((content?, selection)),
            },
        };
        Some(FeedEdge {
            entry: *entry,
            batch,
            node,
            hydration: Arc::clone(&self.hydration),
            operation: self.operation.clone(),
        })
    }

    async fn relation(&self, author: UserId, following: bool) -> RelationChanged {
        let hydration = self.hydration.renewed();
        let profile = hydration.profile(author).await.ok().flatten();
        let user = profile.map(|profile| User::new(profile, hydration));
        RelationChanged { user, viewer_is_following: Metered(following), resume_token: self.token() }
    }
}
