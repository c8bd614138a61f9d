//! Reads the lists beside the timeline: contents by author or thread, people, reactions.
//!
//! Each list comes from one source in one statement, so a page is exact as it was read; `domain::timeline` cuts it.
//! [`ListReader::pages`] reads the lists that hang on every entry of a page together.

mod page_of;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::future::join_all;

use crate::{
    domain::{
        ContentId, Entry, Listing, Page, PageRequest, PageSize, Reaction, UserId,
        limits::MAX_ANCESTORS,
        search::people::{FoundUser, KeyPrefix},
        timeline::merge::exact_page,
    },
    store::{Ports, StoreError, contents::OutboxPage, exclusions::ExclusionList},
};

pub use page_of::{PageOf, Paged};

/// Reads pages of lists.
pub struct ListReader {
    ports: Ports,
    /// Whether all names are known to be indexed in the current form. Nothing changes that.
    names_are_current: AtomicBool,
}

/// The pages that one statement has read, in the order of their keys.
pub type PagesRead = (Vec<PageOf>, Result<Vec<Paged>, StoreError>);

/// A page of a list that can only be read forwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward<T> {
    /// The rows in the order of the list.
    pub rows: Vec<T>,
    /// Whether another row follows the last one.
    pub has_more: bool,
}

impl<T> Forward<T> {
    /// Cuts `rows`, which hold at most one more than `size`.
    fn cut(mut rows: Vec<T>, size: usize) -> Self {
        let has_more = rows.len() > size;
        rows.truncate(size);
        Self { rows, has_more }
    }
}

impl ListReader {
    /// A reader of the lists in `ports`.
    pub fn new(ports: &Ports) -> Self {
        Self { ports: ports.clone(), names_are_current: AtomicBool::new(false) }
    }

    /// The pages of `keys` as `viewer` sees them. One statement reads all pages with the same list and the same
    /// request. If it fails, the other pages are not affected.
    pub async fn pages(&self, viewer: Option<UserId>, keys: &[PageOf]) -> Vec<PagesRead> {
        let mut alike: HashMap<_, Vec<PageOf>> = HashMap::new();
        for key in keys {
            alike.entry(key.statement()).or_default().push(*key);
        }
        let read = |keys: Vec<PageOf>| async move {
            let pages = self.of_one_statement(viewer, &keys).await;
            (keys, pages)
        };
        join_all(alike.into_values().map(read)).await
    }

    async fn of_one_statement(&self, viewer: Option<UserId>, keys: &[PageOf]) -> Result<Vec<Paged>, StoreError> {
        let Some(first) = keys.first() else { return Ok(Vec::new()) };
        let users: Vec<UserId> = keys.iter().filter_map(PageOf::user).collect();
        let contents: Vec<ContentId> = keys.iter().filter_map(PageOf::content).collect();
        let Ports { contents: stored, follows, .. } = &self.ports;
        match first {
            PageOf::Followers(_, request) => Ok(people(follows.followers(viewer, &users, request).await?)),
            PageOf::Following(_, request) => Ok(people(follows.following(viewer, &users, request).await?)),
            PageOf::Likers(_, request) => Ok(people(stored.likers(viewer, &contents, request).await?)),
            PageOf::Outbox(_, request) => entries(stored.outbox(viewer, &users, request).await?, request),
            PageOf::Media(_, request) => entries(stored.with_media(viewer, &users, request).await?, request),
            PageOf::Replies(_, request) => entries(stored.replies(viewer, &contents, request).await?, request),
            PageOf::Ancestors(_) => {
                let above = stored.ancestors(&contents, MAX_ANCESTORS).await?;
                Ok(above.into_iter().map(|above| Paged::Upward(above.into())).collect())
            }
        }
    }

    /// A page of `user`'s followers as `user` sees them, newest follow first.
    pub async fn own_followers(&self, user: UserId, request: &PageRequest) -> Result<Listing<UserId>, StoreError> {
        only(self.ports.follows.followers(Some(user), &[user], request).await?)
    }

    /// A page of the users whom `user` follows, as `user` sees them, newest follow first.
    pub async fn own_following(&self, user: UserId, request: &PageRequest) -> Result<Listing<UserId>, StoreError> {
        only(self.ports.follows.following(Some(user), &[user], request).await?)
    }

    /// A page of `user`'s own contents.
    pub async fn own_outbox(&self, user: UserId, request: &PageRequest) -> Result<Page, StoreError> {
        page_of(only(self.ports.contents.outbox(Some(user), &[user], request).await?)?, request)
    }

    /// A page of the contents that `user` has liked or bookmarked, newest reaction first.
    pub async fn reacted_to(
        &self,
        user: UserId,
        reaction: Reaction,
        request: &PageRequest,
    ) -> Result<Listing<Entry>, StoreError> {
        self.ports.contents.reacted_to(user, reaction, request).await
    }

    /// A page of the users whom `user` has muted, hidden from or blocked, with ids above `after`, ascending.
    pub async fn excluded(
        &self,
        user: UserId,
        what: ExclusionList,
        after: Option<UserId>,
        size: PageSize,
    ) -> Result<Forward<UserId>, StoreError> {
        let users = self.ports.exclusions.excluded(user, what, after, size.one_more().get()).await?;
        Ok(Forward::cut(users, size.get()))
    }

    /// A page of the users whose names begin with `prefix` and come behind `after`, as `viewer` sees them. While names
    /// are indexed anew, it also looks for the keys that the former rules gave them.
    pub async fn named(
        &self,
        viewer: Option<UserId>,
        prefix: &KeyPrefix,
        after: Option<&FoundUser>,
        size: PageSize,
    ) -> Result<Forward<FoundUser>, StoreError> {
        let (people, limit) = (&self.ports.accounts, size.one_more().get());
        let mut users = match prefix.former() {
            // A name leaves its former keys for the current ones: so those are read first.
            Some(former) if !self.has_current_names().await? => people.named(viewer, &former, after, limit).await?,
            _ => Vec::new(),
        };
        users.extend(people.named(viewer, prefix, after, limit).await?);
        users.sort();
        let mut met = HashSet::new();
        users.retain(|found| met.insert(found.user));
        Ok(Forward::cut(users, size.get()))
    }

    async fn has_current_names(&self) -> Result<bool, StoreError> {
        if !self.names_are_current.load(Ordering::Relaxed) && self.ports.accounts.is_current().await? {
            self.names_are_current.store(true, Ordering::Relaxed);
        }
        Ok(self.names_are_current.load(Ordering::Relaxed))
    }

    /// At most `size` users whom `viewer` could follow: see [`crate::store::People::suggested`].
    pub async fn suggested(&self, viewer: Option<UserId>, size: PageSize) -> Result<Vec<UserId>, StoreError> {
        self.ports.accounts.suggested(viewer, size.get()).await
    }
}

fn people(listings: Vec<Listing<UserId>>) -> Vec<Paged> {
    listings.into_iter().map(|listing| Paged::Users(Arc::new(listing))).collect()
}

fn entries(outboxes: Vec<OutboxPage>, request: &PageRequest) -> Result<Vec<Paged>, StoreError> {
    let pages = outboxes.into_iter().map(|outbox| page_of(outbox, request));
    pages.map(|page| Ok(Paged::Entries(Arc::new(page?.into())))).collect()
}

fn page_of(outbox: OutboxPage, request: &PageRequest) -> Result<Page, StoreError> {
    let behind = outbox.behind.as_slice();
    exact_page(request, &[outbox.ahead], behind)
        .ok_or_else(|| StoreError::Unreadable("the only source of a list does not complete its page".to_owned()))
}

/// The page of a request for one user.
fn only<T>(pages: Vec<T>) -> Result<T, StoreError> {
    let first = pages.into_iter().next();
    first.ok_or_else(|| StoreError::Unreadable("no page for the requested user".to_owned()))
}
