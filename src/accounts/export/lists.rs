//! Reads the lists of an exported account page by page, so memory never holds more than one page.

use std::{collections::HashMap, sync::Arc};

use crate::{
    domain::{
        Content, ContentId, Counters, Listing, PageRequest, Position, Profile, Reaction, UserId,
        account::session::Session,
        kinds::Kinds,
        limits::MAX_PAGE,
        timeline::page::{Direction, InvalidPage, PageSize},
    },
    read::lists::{Forward, ListReader},
    store::{Accounts, Contents, StoreError, exclusions::ExclusionList},
};

/// What an export reads.
#[derive(Clone)]
pub struct ExportStores {
    /// Profiles, sessions, and the read marker.
    pub accounts: Arc<dyn Accounts>,
    /// Contents and their counters.
    pub contents: Arc<dyn Contents>,
    /// The lists themselves.
    pub lists: Arc<ListReader>,
}

/// The lists, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportList {
    /// Sessions that have not ended.
    Sessions,
    /// What the viewer has published.
    Contents,
    /// What they keep.
    Bookmarks,
    /// What they like.
    Likes,
    /// Whom they follow.
    Following,
    /// Who follows them.
    Followers,
    /// Whom they have muted.
    Muted,
    /// Whom they have blocked.
    Blocked,
    /// From whom they hide.
    HiddenFrom,
}

impl ExportList {
    /// Every list.
    pub const ALL: [Self; 9] = [
        Self::Sessions,
        Self::Contents,
        Self::Bookmarks,
        Self::Likes,
        Self::Following,
        Self::Followers,
        Self::Muted,
        Self::Blocked,
        Self::HiddenFrom,
    ];
}

/// Where the next page of a list begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStart {
    /// Below this position, in lists that are ordered by time.
    Below(Position),
    /// Above this user, in lists that are ordered by id.
    Above(UserId),
}

/// Somebody in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// When they entered the list, ms UTC; `None` in lists that keep no time.
    pub since: Option<i64>,
    /// Their public profile.
    pub profile: Profile,
}

/// A content that the viewer has liked or bookmarked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactedContent {
    /// When, ms UTC.
    pub since: i64,
    /// The content and its author; `None` if a block hides it.
    pub content: Option<(Content, Profile)>,
}

/// A page's rows.
#[derive(Debug)]
pub enum Rows {
    /// All sessions at once: their number is bounded.
    Sessions(Vec<Session>),
    /// With their counters.
    Contents(Vec<(Content, Counters)>),
    /// Of likes or bookmarks.
    Reacted(Vec<ReactedContent>),
    /// Of any list of people.
    People(Vec<Person>),
}

/// See [`super::Export::page`].
pub async fn page(
    stores: &ExportStores,
    user: UserId,
    list: ExportList,
    after: Option<PageStart>,
    now_ms: i64,
) -> Result<(Rows, Option<PageStart>), StoreError> {
    match list {
        ExportList::Sessions => Ok((Rows::Sessions(stores.accounts.of_user(user, now_ms).await?), None)),
        ExportList::Contents => contents(stores, user, after).await,
        ExportList::Bookmarks => reacted(stores, user, Reaction::Bookmark, after).await,
        ExportList::Likes => reacted(stores, user, Reaction::Like, after).await,
        ExportList::Following => followed(stores, stores.lists.own_following(user, &request(after)?).await?).await,
        ExportList::Followers => followed(stores, stores.lists.own_followers(user, &request(after)?).await?).await,
        ExportList::Muted => excluded(stores, user, ExclusionList::Muted, after).await,
        ExportList::Blocked => excluded(stores, user, ExclusionList::Blocked, after).await,
        ExportList::HiddenFrom => excluded(stores, user, ExclusionList::HiddenFrom, after).await,
    }
}

/// The next full page.
fn request(after: Option<PageStart>) -> Result<PageRequest, StoreError> {
    let bound = match after {
        Some(PageStart::Below(position)) => Some(position),
        Some(PageStart::Above(_)) | None => None,
    };
    Ok(PageRequest { direction: Direction::Older, bound, size: size()?, kinds: Kinds::ALL })
}

fn size() -> Result<PageSize, StoreError> {
    let unreadable = |error: InvalidPage| StoreError::Unreadable(error.to_string());
    PageSize::try_new(MAX_PAGE.into()).map_err(unreadable)
}

async fn contents(
    stores: &ExportStores,
    user: UserId,
    after: Option<PageStart>,
) -> Result<(Rows, Option<PageStart>), StoreError> {
    let page = stores.lists.own_outbox(user, &request(after)?).await?;
    let next = page.entries.last().filter(|_| page.has_older).map(|last| PageStart::Below(last.position()));
    let ids: Vec<ContentId> = page.entries.iter().map(|entry| entry.content).collect();
    let mut found = by_id(stores, user, &ids).await?;
    let counters: HashMap<ContentId, Counters> = stores.contents.counters(&ids).await?.into_iter().collect();
    let counted = |content: Content| {
        let counters = counters.get(&content.id).copied().unwrap_or_default();
        (content, counters)
    };
    // Leaves out a content that was removed between the two statements.
    Ok((Rows::Contents(ids.iter().filter_map(|id| found.remove(id)).map(counted).collect()), next))
}

async fn by_id(
    stores: &ExportStores,
    user: UserId,
    ids: &[ContentId],
) -> Result<HashMap<ContentId, Content>, StoreError> {
    let found = stores.contents.by_ids(Some(user), ids).await?;
    Ok(found.into_iter().map(|content| (content.id, content)).collect())
}

async fn reacted(
    stores: &ExportStores,
    user: UserId,
    reaction: Reaction,
    after: Option<PageStart>,
) -> Result<(Rows, Option<PageStart>), StoreError> {
    let listing = stores.lists.reacted_to(user, reaction, &request(after)?).await?;
    let next = next(&listing, |entry| entry.content.get());
    let ids: Vec<ContentId> = listing.rows.iter().map(|row| row.item.content).collect();
    let mut found = by_id(stores, user, &ids).await?;
    let authors = profiles(stores, found.values().map(|content| content.author)).await?;
    let with_author = |content: Content| authors.get(&content.author).cloned().map(|author| (content, author));
    let rows = listing.rows.iter().map(|row| {
        let content = found.remove(&row.item.content).and_then(with_author);
        ReactedContent { since: row.since, content }
    });
    Ok((Rows::Reacted(rows.collect()), next))
}

async fn followed(stores: &ExportStores, listing: Listing<UserId>) -> Result<(Rows, Option<PageStart>), StoreError> {
    let next = next(&listing, |user| user.get());
    let mut profiles = profiles(stores, listing.rows.iter().map(|row| row.item)).await?;
    let rows = listing.rows.iter().filter_map(|row| {
        let profile = profiles.remove(&row.item)?;
        Some(Person { since: Some(row.since), profile })
    });
    Ok((Rows::People(rows.collect()), next))
}

async fn excluded(
    stores: &ExportStores,
    user: UserId,
    what: ExclusionList,
    after: Option<PageStart>,
) -> Result<(Rows, Option<PageStart>), StoreError> {
    let above = match after {
        Some(PageStart::Above(user)) => Some(user),
        Some(PageStart::Below(_)) | None => None,
    };
    let Forward { rows: users, has_more } = stores.lists.excluded(user, what, above, size()?).await?;
    let next = users.last().filter(|_| has_more).copied().map(PageStart::Above);
    let mut profiles = profiles(stores, users.iter().copied()).await?;
    let rows = users.iter().filter_map(|user| Some(Person { since: None, profile: profiles.remove(user)? }));
    Ok((Rows::People(rows.collect()), next))
}

async fn profiles(
    stores: &ExportStores,
    users: impl Iterator<Item = UserId>,
) -> Result<HashMap<UserId, Profile>, StoreError> {
    let mut users: Vec<UserId> = users.collect();
    users.sort_unstable();
    users.dedup();
    if users.is_empty() {
        return Ok(HashMap::new());
    }
    let found = stores.accounts.profiles(&users).await?;
    Ok(found.into_iter().map(|profile| (profile.id, profile)).collect())
}

fn next<T>(listing: &Listing<T>, id: impl Fn(&T) -> i64) -> Option<PageStart> {
    let last = listing.rows.last().filter(|_| listing.has_older)?;
    Some(PageStart::Below(last.position(id(&last.item))))
}
