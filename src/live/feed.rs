//! One reader's live feed: which authors to watch, kept true to the reader's follows.

use std::{pin::Pin, sync::Arc};

use futures_util::{Stream, stream};

use super::hub::{Hub, LiveEvent, Registration};
use crate::{
    domain::UserId,
    store::{Follows, StoreError},
};

/// Events of one subscription, until its reader goes.
pub type LiveFeedStream = Pin<Box<dyn Stream<Item = LiveEvent> + Send>>;

/// Opens live feeds.
pub struct LiveFeed {
    hub: Arc<Hub>,
    follows: Arc<dyn Follows>,
}

impl LiveFeed {
    /// Events come from `hub`.
    pub fn new(hub: Arc<Hub>, follows: Arc<dyn Follows>) -> Self {
        Self { hub, follows }
    }

    /// What happens in `reader`'s timeline from the moment on at which this returns.
    ///
    /// A client that reads its timeline after that misses nothing.
    pub async fn subscribe(&self, reader: UserId) -> Result<LiveFeedStream, StoreError> {
        let registration = self.hub.register(reader);
        watch_followed(&registration, &*self.follows, reader).await?;
        let follows = Arc::clone(&self.follows);
        Ok(Box::pin(stream::unfold(registration, move |mut registration| {
            let follows = Arc::clone(&follows);
            async move {
                let event = registration.next().await?;
                if event == LiveEvent::FollowsChanged || event == LiveEvent::Missed {
                    watch_followed(&registration, &*follows, reader)
                        .await
                        .inspect_err(|error| {
                            tracing::warn!(%reader, error = error as &dyn std::error::Error, "a live feed ends");
                        })
                        .ok()?;
                }
                Some((event, registration))
            }
        })))
    }
}

async fn watch_followed(registration: &Registration, follows: &dyn Follows, reader: UserId) -> Result<(), StoreError> {
    let authors = follows.followed_by(reader).await?;
    registration.watch(authors.into_iter().collect());
    Ok(())
}
