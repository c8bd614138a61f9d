//! The lists of a copy, each read in pages by key: however long a list is, a page of it is what memory holds.

use std::{collections::HashMap, sync::Arc};

use crate::{
    domain::{
        Content, ContentId, Counters, Listing, PageRequest, Position, Profile, Reaction, UserId,
        account::session::Session,
        kinds::Kinds,
        limits::MAX_PAGE,
        timeline::page::{Direction, InvalidPage, PageSize},
    },
    store::{
        Accounts, Contents, Exclusions, FollowLists, Profiles, Reactions, ReadMarkers, Sessions, StoreError,
        exclusions::Decided,
    },
};

/// What an export reads.
#[derive(Clone)]
pub struct ExportStores {
    /// Profiles.
    pub accounts: Arc<dyn Accounts>,
    /// Open attributes.
    pub profiles: Arc<dyn Profiles>,
    /// Up to where readers have read.
    pub read_markers: Arc<dyn ReadMarkers>,
    /// Sign-ins.
    pub sessions: Arc<dyn Sessions>,
    /// Own contents, and those that were reacted to.
    pub contents: Arc<dyn Contents>,
    /// Followers and the followed.
    pub follow_lists: Arc<dyn FollowLists>,
    /// Likes and bookmarks.
    pub reactions: Arc<dyn Reactions>,
    /// Whom the viewer keeps out.
    pub exclusions: Arc<dyn Exclusions>,
}

/// The lists, in the order of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportList {
    /// Sign-ins that have not ended.
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
pub enum Place {
    /// Below this position, in lists that are ordered by time.
    Below(Position),
    /// Above this user, in lists that are ordered by id.
    Above(UserId),
}

/// Somebody in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Since when they are in it, ms UTC; `None` in lists that keep no time.
    pub since: Option<i64>,
    /// What everybody sees of them.
    pub profile: Profile,
}

/// A content that the viewer has reacted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reacted {
    /// When, ms UTC.
    pub since: i64,
    /// The content and its author; `None` if a block hides it.
    pub content: Option<(Content, Profile)>,
}

/// A page's rows.
#[derive(Debug)]
pub enum Rows {
    /// All of them at once: their number is bounded.
    Sessions(Vec<Session>),
    /// With what others have made of them.
    Contents(Vec<(Content, Counters)>),
    /// Of likes or bookmarks.
    Reacted(Vec<Reacted>),
    /// Of any list of people.
    People(Vec<Person>),
}

/// See [`super::Export::page`].
pub async fn page(
    stores: &ExportStores,
    user: UserId,
    list: ExportList,
    after: Option<Place>,
    now_ms: i64,
) -> Result<(Rows, Option<Place>), StoreError> {
    match list {
        ExportList::Sessions => Ok((Rows::Sessions(stores.sessions.of_user(user, now_ms).await?), None)),
        ExportList::Contents => contents(stores, user, after).await,
        ExportList::Bookmarks => reacted(stores, user, Reaction::Bookmark, after).await,
        ExportList::Likes => reacted(stores, user, Reaction::Like, after).await,
        ExportList::Following => {
            let listed = stores.follow_lists.following(Some(user), &[user], &request(after)?).await?;
            followed(stores, listed).await
        }
        ExportList::Followers => {
            let listed = stores.follow_lists.followers(Some(user), &[user], &request(after)?).await?;
            followed(stores, listed).await
        }
        ExportList::Muted => decided(stores, user, Decided::Muted, after).await,
        ExportList::Blocked => decided(stores, user, Decided::Blocked, after).await,
        ExportList::HiddenFrom => decided(stores, user, Decided::HiddenFrom, after).await,
    }
}

/// The next full page.
fn request(after: Option<Place>) -> Result<PageRequest, StoreError> {
    let unreadable = |error: InvalidPage| StoreError::Unreadable(error.to_string());
    let size = PageSize::try_new(MAX_PAGE.into()).map_err(unreadable)?;
    let bound = match after {
        Some(Place::Below(position)) => Some(position),
        Some(Place::Above(_)) | None => None,
    };
    Ok(PageRequest { direction: Direction::Older, bound, size, kinds: Kinds::ALL })
}

async fn contents(
    stores: &ExportStores,
    user: UserId,
    after: Option<Place>,
) -> Result<(Rows, Option<Place>), StoreError> {
    let request = request(after)?;
    let pages = stores.contents.outbox(Some(user), &[user], &request).await?;
    let ahead = pages.first().map(|page| page.ahead.entries()).unwrap_or_default();
    let entries = &ahead[..ahead.len().min(request.size.get())];
    let next = entries.last().filter(|_| ahead.len() > entries.len()).map(|last| Place::Below(last.position()));
    let ids: Vec<ContentId> = entries.iter().map(|entry| entry.content).collect();
    let mut found = by_id(stores, user, &ids).await?;
    let counters: HashMap<ContentId, Counters> = stores.contents.counters(&ids).await?.into_iter().collect();
    let counted = |content: Content| {
        let counters = counters.get(&content.id).copied().unwrap_or_default();
        (content, counters)
    };
    // One that was removed between the two statements is left out, as it is from any later list.
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
    after: Option<Place>,
) -> Result<(Rows, Option<Place>), StoreError> {
    let listing = stores.reactions.reacted_to(user, reaction, &request(after)?).await?;
    let next = next(&listing, |entry| entry.content.get());
    let ids: Vec<ContentId> = listing.rows.iter().map(|row| row.item.content).collect();
    let mut found = by_id(stores, user, &ids).await?;
    let authors = profiles(stores, found.values().map(|content| content.author)).await?;
    let with_author = |content: Content| authors.get(&content.author).cloned().map(|author| (content, author));
    let rows = listing.rows.iter().map(|row| {
        let content = found.remove(&row.item.content).and_then(with_author);
        Reacted { since: row.since, content }
    });
    Ok((Rows::Reacted(rows.collect()), next))
}

async fn followed(stores: &ExportStores, listed: Vec<Listing<UserId>>) -> Result<(Rows, Option<Place>), StoreError> {
    let Some(listing) = listed.into_iter().next() else { return Ok((Rows::People(Vec::new()), None)) };
    let next = next(&listing, |user| user.get());
    let mut profiles = profiles(stores, listing.rows.iter().map(|row| row.item)).await?;
    let rows = listing.rows.iter().filter_map(|row| {
        let profile = profiles.remove(&row.item)?;
        Some(Person { since: Some(row.since), profile })
    });
    Ok((Rows::People(rows.collect()), next))
}

async fn decided(
    stores: &ExportStores,
    user: UserId,
    what: Decided,
    after: Option<Place>,
) -> Result<(Rows, Option<Place>), StoreError> {
    let above = match after {
        Some(Place::Above(user)) => Some(user),
        Some(Place::Below(_)) | None => None,
    };
    let users = stores.exclusions.decided(user, what, above, MAX_PAGE.into()).await?;
    let next = users.last().filter(|_| users.len() >= usize::from(MAX_PAGE)).copied().map(Place::Above);
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

fn next<T>(listing: &Listing<T>, id: impl Fn(&T) -> i64) -> Option<Place> {
    let last = listing.rows.last().filter(|_| listing.has_older)?;
    Some(Place::Below(last.place(id(&last.item))))
}
