//! Export of the whole: all that a product may take with it, as the records of the file with which it moves in.
//!
//! A user without an id of the product's has the id `tidefeed:` with the number of the user here, a content likewise.

use std::{
    collections::{HashMap, HashSet},
    io,
    sync::Arc,
};

use ::import::record::{
    Content as ContentRecord, ContentReference, Follow, Pair, Patch, Reacted, ReadMarker, Record, Tombstone, User,
    UserState,
};

use crate::{
    domain::{
        Content, ContentId, Reference, UserId,
        account::{attributes::Attributes, external::ExternalId, profile::Profile},
        object::ContentType,
    },
    store::{
        Accounts, Contents, Export, StoreError,
        export::Keyed,
        identities::Membership,
        imports::{ImportedExclusion, ImportedExclusionKind},
    },
};

/// Rows of a page.
const ROWS: u64 = 500;

/// Reads everything, in pages.
pub struct Exporter {
    store: Arc<dyn Export>,
    accounts: Arc<dyn Accounts>,
    contents: Arc<dyn Contents>,
    issuer: String,
}

/// Why an export has ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A page cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record cannot be kept.
    #[error(transparent)]
    Kept(#[from] io::Error),
}

/// Takes each record, with its place among those of its kind and time.
type Take<'a> = &'a mut (dyn FnMut(Record, u64) -> io::Result<()> + Send);

/// Ids of the file.
type Names<T> = HashMap<T, ExternalId>;

impl Exporter {
    /// `issuer`: whose subjects are the external ids of users.
    pub fn new(
        store: Arc<dyn Export>,
        accounts: Arc<dyn Accounts>,
        contents: Arc<dyn Contents>,
        issuer: String,
    ) -> Self {
        Self { store, accounts, contents, issuer }
    }

    /// Hands on every record. What others refer to is read after them, so what comes meanwhile breaks no reference;
    /// what is removed meanwhile may. Tombstones are read after contents, so none is missing of what is removed in
    /// between.
    pub async fn each(&self, take: Take<'_>) -> Result<(), ExportError> {
        self.markers(take).await?;
        self.exclusions(take).await?;
        self.reactions(take).await?;
        self.follows(take).await?;
        self.contents(take).await?;
        self.tombstones(take).await?;
        self.users(take).await
    }

    async fn users(&self, take: Take<'_>) -> Result<(), ExportError> {
        each_page(
            async |after| self.store.all_users(after, ROWS).await,
            async |page| {
                let members = self.accounts.memberships(&self.issuer, &page).await?.into_iter();
                let members: HashMap<UserId, Membership> = members.map(|it| (it.user, it)).collect();
                let mut attributes: HashMap<UserId, Attributes> =
                    self.accounts.attributes(&page).await?.into_iter().collect();
                for profile in self.accounts.profiles(&page).await? {
                    let attributes = attributes.remove(&profile.id);
                    if let Some(member) = members.get(&profile.id) {
                        take(user(member, profile, attributes)?, 0)?;
                    }
                }
                Ok(())
            },
        )
        .await
    }

    async fn contents(&self, take: Take<'_>) -> Result<(), ExportError> {
        each_page(
            async |after| self.store.all_contents(after, ROWS).await,
            async |page| {
                let contents = self.contents.by_ids(None, &page).await?;
                let authors = self.names_of_users(contents.iter().map(|content| content.author)).await?;
                let references =
                    self.names_of_contents(contents.iter().filter_map(|it| it.reference.content())).await?;
                for content in contents {
                    let number = content.id.get().unsigned_abs();
                    if let Some(record) = content_record(content, &authors, &references) {
                        take(record, number)?;
                    }
                }
                Ok(())
            },
        )
        .await
    }

    async fn tombstones(&self, take: Take<'_>) -> Result<(), ExportError> {
        each_page(
            async |after| self.store.all_tombstones(after, ROWS).await,
            async |page| {
                for content in page.into_iter().flatten() {
                    take(Record::Tombstone(Tombstone { content }), 0)?;
                }
                Ok(())
            },
        )
        .await
    }

    async fn follows(&self, take: Take<'_>) -> Result<(), ExportError> {
        each_page(
            async |after| self.store.all_follows(after, ROWS).await,
            async |page| {
                let names = self.names_of_users(page.iter().flat_map(|it| [it.pair.follower, it.pair.author])).await?;
                for follow in page {
                    let pair = [names.get(&follow.pair.follower), names.get(&follow.pair.author)];
                    if let [Some(follower), Some(author)] = pair {
                        let (follower, author) = (follower.clone(), author.clone());
                        take(Record::Follow(Follow { follower, author, created_at: Some(follow.followed_at) }), 0)?;
                    }
                }
                Ok(())
            },
        )
        .await
    }

    async fn reactions(&self, take: Take<'_>) -> Result<(), ExportError> {
        each_page(
            async |after| self.store.all_reactions(after, ROWS).await,
            async |page| {
                let users = self.names_of_users(page.iter().map(|it| it.user)).await?;
                let contents = self.names_of_contents(page.iter().map(|it| it.content)).await?;
                for it in page {
                    if let (Some(user), Some(content)) = (users.get(&it.user), contents.get(&it.content)) {
                        let (user, content, created_at) = (user.clone(), content.clone(), Some(it.reacted_at));
                        take(Record::Reaction(Reacted { user, content, kind: it.reaction, created_at }), 0)?;
                    }
                }
                Ok(())
            },
        )
        .await
    }

    async fn exclusions(&self, take: Take<'_>) -> Result<(), ExportError> {
        each_page(
            async |after| self.store.all_exclusions(after, ROWS).await,
            async |page| {
                let names = self.names_of_users(page.iter().flat_map(|it| [it.user, it.other])).await?;
                for it in page {
                    if let Some(record) = exclusion(&it, &names) {
                        take(record, 0)?;
                    }
                }
                Ok(())
            },
        )
        .await
    }

    async fn markers(&self, take: Take<'_>) -> Result<(), ExportError> {
        each_page(
            async |after| self.store.all_markers(after, ROWS).await,
            async |page| {
                let names = self.names_of_users(page.iter().map(|it| it.reader)).await?;
                for it in page {
                    if let Some(user) = names.get(&it.reader) {
                        take(Record::ReadMarker(ReadMarker { user: user.clone(), at: it.position.publish_time() }), 0)?;
                    }
                }
                Ok(())
            },
        )
        .await
    }

    /// The ids of those users who have an account.
    async fn names_of_users(&self, users: impl Iterator<Item = UserId>) -> Result<Names<UserId>, StoreError> {
        let users: Vec<UserId> = users.collect::<HashSet<_>>().into_iter().collect();
        let members = self.accounts.memberships(&self.issuer, &users).await?;
        members.iter().map(|it| Ok((it.user, name_of_user(it)?))).collect()
    }

    /// The ids of those contents that are there.
    async fn names_of_contents(&self, ids: impl Iterator<Item = ContentId>) -> Result<Names<ContentId>, StoreError> {
        let ids: Vec<ContentId> = ids.collect::<HashSet<_>>().into_iter().collect();
        let contents = self.contents.by_ids(None, &ids).await?;
        contents.iter().map(|content| Ok((content.id, name_of_content(content)?))).collect()
    }
}

/// Reads page after page, and hands them on.
async fn each_page<const COLUMNS: usize, T>(
    read: impl AsyncFn([i64; COLUMNS]) -> Result<Keyed<COLUMNS, T>, StoreError>,
    mut act: impl AsyncFnMut(Vec<T>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let mut after = [0; COLUMNS];
    loop {
        let page = read(after).await?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = *last;
        act(page.into_iter().map(|(_, row)| row).collect()).await?;
    }
}

/// The id in the file of what has none of the product's.
fn own_name(number: i64) -> Result<ExternalId, StoreError> {
    ExternalId::try_new(&format!("tidefeed:{number}")).map_err(|error| StoreError::Unreadable(error.to_string()))
}

fn name_of_user(member: &Membership) -> Result<ExternalId, StoreError> {
    let given = member.subject.as_deref().and_then(|subject| ExternalId::try_new(subject).ok());
    given.map_or_else(|| own_name(member.user.get()), Ok)
}

fn name_of_content(content: &Content) -> Result<ExternalId, StoreError> {
    let given = content.object.as_ref().and_then(|object| object.external_id.clone());
    given.map_or_else(|| own_name(content.id.get()), Ok)
}

fn user(member: &Membership, profile: Profile, attributes: Option<Attributes>) -> Result<Record, StoreError> {
    Ok(Record::User(User {
        external_id: name_of_user(member)?,
        handle: Some(profile.handle),
        name: Some(profile.name),
        bio: if profile.bio.is_empty() { Patch::LeftOut } else { Patch::Value(profile.bio) },
        avatar_url: profile.avatar_url.map_or(Patch::LeftOut, Patch::Value),
        attributes: attributes.filter(|it| !it.is_empty()).map_or(Patch::LeftOut, Patch::Value),
        state: member.is_deactivated.then_some(UserState::Deactivated),
        created_at: Some(profile.created_at),
    }))
}

/// `None` for a content whose author is gone, and for a repost of what is gone. A reply to what is gone has no
/// reference.
fn content_record(content: Content, authors: &Names<UserId>, references: &Names<ContentId>) -> Option<Record> {
    let external_id = name_of_content(&content).ok()?;
    let reference = match content.reference {
        Reference::Nothing => ContentReference::Nothing,
        Reference::ReplyTo(id) => references.get(&id).cloned().map_or_else(Default::default, ContentReference::ReplyTo),
        Reference::RepostOf(id) => ContentReference::RepostOf(references.get(&id)?.clone()),
    };
    let object = content.object.map(|object| *object).unwrap_or_default();
    Some(Record::Content(ContentRecord {
        external_id,
        author: authors.get(&content.author)?.clone(),
        text: content.text,
        media: content.media,
        url: object.url,
        content_type: Some(object.content_type).filter(|it| *it != ContentType::default()),
        attributes: object.attributes,
        reference,
        created_at: content.publish_time,
        edited_at: None,
    }))
}

fn exclusion(it: &ImportedExclusion, names: &Names<UserId>) -> Option<Record> {
    let pair = Pair { user: names.get(&it.user)?.clone(), other: names.get(&it.other)?.clone() };
    Some(match it.kind {
        ImportedExclusionKind::Mute => Record::Mute(pair),
        ImportedExclusionKind::Hide => Record::Hide(pair),
        ImportedExclusionKind::Block => Record::Block(pair),
    })
}
