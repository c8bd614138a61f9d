//! Makes the rows of a batch of its records, by the ids that are known.

use std::collections::{HashMap, HashSet};

use ::import::{
    fault::{Code, Fault},
    record::{self, ContentReference, Patch, Record, UserState},
};

use crate::{
    ambient::Ambient,
    domain::{
        ContentId, ContentObject, Position, Reference, UserId,
        account::{attributes::Attributes, external::ExternalId},
        content::Draft,
    },
    store::{
        contents::NewContent,
        identities::{Identity, Revision},
        imports::{
            ImportBatch, ImportedExclusion, ImportedExclusionKind, ImportedFollow, ImportedMarker, ImportedReaction,
            ImportedTombstone, ImportedUser,
        },
        new_account::NewAccount,
        profiles::ProfileEdit,
        relations::Pair,
    },
};

/// Why a content is no good as what another line names.
pub(super) const UNSEEN: &str = "the content is removed, or behind a block";

/// What there is of what the records name.
#[derive(Default)]
pub(super) struct Known {
    pub users: HashMap<ExternalId, UserId>,
    /// Removed ones, too.
    pub contents: HashMap<ExternalId, ContentId>,
    /// What each of the contents shows: a repost's original, otherwise itself.
    pub subjects: HashMap<ContentId, ContentId>,
    /// Reposts that an author, to whose new content they lead, does not see: removed, or behind a block.
    pub hidden: HashSet<(UserId, ContentId)>,
    /// Users whom the caller has kept out, or let in, because of their lines.
    pub restated: HashSet<ExternalId>,
    /// Contents that the caller has removed because of a tombstone.
    pub removed: Vec<ContentId>,
}

/// The last ids that were drawn. Later ones are larger, so that contents of equal times keep the order of the file.
#[derive(Default)]
pub(super) struct Drawn {
    content: i64,
    user: i64,
}

/// A row of any kind.
pub(super) enum Row {
    User(Box<ImportedUser>),
    Content(Box<NewContent>),
    Follow(ImportedFollow),
    Reaction(ImportedReaction),
    Exclusion(ImportedExclusion),
    Marker(ImportedMarker),
    Tombstone(ImportedTombstone),
}

/// Makes rows of records that come in the order of the file.
pub(super) struct RowMaker<'a> {
    pub known: Known,
    pub drawn: &'a mut Drawn,
    pub ambient: &'a Ambient,
    pub identify: &'a (dyn Fn(&ExternalId) -> Identity + Send + Sync),
    pub now_ms: i64,
}

impl RowMaker<'_> {
    /// The row of a record, or why there is none.
    pub fn row(&mut self, record: &Record) -> Result<Row, Fault> {
        Ok(match record {
            Record::User(user) => Row::User(Box::new(self.user_row(user)?)),
            Record::Content(content) => Row::Content(Box::new(self.content_row(content)?)),
            Record::Follow(it) => {
                let pair =
                    Pair { follower: self.user("follower", &it.follower)?, author: self.user("author", &it.author)? };
                Row::Follow(ImportedFollow { pair, followed_at: self.past(it.created_at) })
            }
            Record::Reaction(it) => Row::Reaction(ImportedReaction {
                user: self.user("user", &it.user)?,
                content: self.content("content", &it.content)?,
                reaction: it.kind,
                reacted_at: self.past(it.created_at),
            }),
            Record::Mute(pair) => self.exclusion(pair, ImportedExclusionKind::Mute)?,
            Record::Hide(pair) => self.exclusion(pair, ImportedExclusionKind::Hide)?,
            Record::Block(pair) => self.exclusion(pair, ImportedExclusionKind::Block)?,
            Record::ReadMarker(it) => Row::Marker(ImportedMarker {
                reader: self.user("user", &it.user)?,
                position: Position::bound(self.past(Some(it.at)), i64::MAX),
            }),
            Record::Tombstone(it) => {
                let known = self.known.contents.get(&it.content);
                let is_removed_now = known.is_some_and(|content| self.known.removed.contains(content));
                Row::Tombstone(ImportedTombstone {
                    id: self.new_content(),
                    external_id: it.content.clone(),
                    is_removed_now,
                })
            }
        })
    }

    fn user_row(&mut self, user: &record::User) -> Result<ImportedUser, Fault> {
        let identity = (self.identify)(&user.external_id);
        let revision = Revision {
            handle: user.handle.clone(),
            edit: ProfileEdit {
                name: user.name.clone(),
                bio: changed(&user.bio, String::clone, String::new),
                avatar_url: changed(&user.avatar_url, |url| Some(url.clone()), || None),
                attributes: changed(&user.attributes, Attributes::clone, Attributes::default),
            },
            // A file is as old as its export, which it does not say.
            as_of: Some(0),
            now_ms: self.ambient.now_ms(),
            version: self.ambient.rng.version(),
        };
        let registrations = revision.registrations([self.ambient.rng.u64(), self.ambient.rng.u64()]);
        let registrations = registrations.map_err(|invalid| invalid_user(&invalid.to_string()))?;
        let mut registrations = registrations.into_iter();
        let registration = registrations.next().ok_or_else(|| invalid_user("a user needs a handle"))?;
        let account = NewAccount {
            id: self.new_user(),
            registration,
            password_hash: None,
            incarnation: self.ambient.rng.incarnation(),
            now_ms: self.past(user.created_at),
        };
        Ok(ImportedUser {
            account,
            other_handle: registrations.next().map(|it| it.handle),
            identity,
            revision,
            is_deactivated: user.state.map(|state| state == UserState::Deactivated),
            is_restated_now: self.known.restated.contains(&user.external_id),
        })
    }

    fn content_row(&mut self, content: &record::Content) -> Result<NewContent, Fault> {
        let author = self.user("author", &content.author)?;
        let reference = match &content.reference {
            ContentReference::Nothing => Reference::Nothing,
            ContentReference::ReplyTo(other) => Reference::ReplyTo(self.shown(author, "replyTo", other)?),
            ContentReference::RepostOf(other) => Reference::RepostOf(self.shown(author, "repostOf", other)?),
        };
        let id = self.new_content();
        // One that is there keeps its id, and is published under none.
        self.known.contents.entry(content.external_id.clone()).or_insert(id);
        let object = ContentObject {
            external_id: Some(content.external_id.clone()),
            content_type: content.content_type.clone().unwrap_or_default(),
            url: content.url.clone(),
            attributes: content.attributes.clone(),
        };
        let draft = Draft {
            text: content.text.clone(),
            media: content.media.clone(),
            idempotency_key: None,
            reference,
            object: Some(Box::new(object)),
        };
        Ok(NewContent { id, author, draft, publish_time: content.created_at, version: 0 })
    }

    fn exclusion(&self, pair: &record::Pair, kind: ImportedExclusionKind) -> Result<Row, Fault> {
        let (user, other) = (self.user("user", &pair.user)?, self.user("other", &pair.other)?);
        Ok(Row::Exclusion(ImportedExclusion { user, other, kind }))
    }

    fn user(&self, field: &str, id: &ExternalId) -> Result<UserId, Fault> {
        self.known.users.get(id).copied().ok_or_else(|| not_found(field, "there is no user of this id"))
    }

    fn content(&self, field: &str, id: &ExternalId) -> Result<ContentId, Fault> {
        self.known.contents.get(id).copied().ok_or_else(|| not_found(field, "there is no content of this id"))
    }

    /// What a content of `author` refers to: a repost leads to its original.
    fn shown(&self, author: UserId, field: &str, id: &ExternalId) -> Result<ContentId, Fault> {
        let content = self.content(field, id)?;
        if self.known.hidden.contains(&(author, content)) {
            return Err(not_found(field, UNSEEN));
        }
        Ok(self.known.subjects.get(&content).copied().unwrap_or(content))
    }

    /// A time that may be unknown, or lie a little ahead.
    fn past(&self, at: Option<i64>) -> i64 {
        at.unwrap_or(self.now_ms).min(self.now_ms)
    }

    fn new_content(&mut self) -> ContentId {
        let (now, random) = (self.now_ms, self.ambient.rng.u32());
        let id = ContentId::generate(now, random);
        let id = ContentId::try_new(after(self.drawn.content, id.get(), random)).unwrap_or(id);
        self.drawn.content = id.get();
        id
    }

    fn new_user(&mut self) -> UserId {
        let (now, random) = (self.now_ms, self.ambient.rng.u32());
        let id = UserId::generate(now, random);
        let id = UserId::try_new(after(self.drawn.user, id.get(), random)).unwrap_or(id);
        self.drawn.user = id.get();
        id
    }
}

/// `id`, or a number a little larger than the last one.
fn after(last: i64, id: i64, random: u32) -> i64 {
    if id > last { id } else { last + 1 + i64::from(random & 0xff) }
}

fn changed<T, U>(patch: &Patch<T>, value: impl FnOnce(&T) -> U, null: impl FnOnce() -> U) -> Option<U> {
    match patch {
        Patch::LeftOut => None,
        Patch::Null => Some(null()),
        Patch::Value(it) => Some(value(it)),
    }
}

fn invalid_user(message: &str) -> Fault {
    Fault::at(&["data"], Code::Invalid, message)
}

fn not_found(field: &str, message: &str) -> Fault {
    Fault::at(&["data", field], Code::NotFound, message)
}

/// The batch of rows of one kind.
pub(super) fn batch(rows: Vec<Row>) -> ImportBatch {
    let mut batch = ImportBatch::Nothing;
    for row in rows {
        match (&mut batch, row) {
            (ImportBatch::Users(rows), Row::User(row)) => rows.push(*row),
            (ImportBatch::Contents(rows), Row::Content(row)) => rows.push(*row),
            (ImportBatch::Follows(rows), Row::Follow(row)) => rows.push(row),
            (ImportBatch::Reactions(rows), Row::Reaction(row)) => rows.push(row),
            (ImportBatch::Exclusions(rows), Row::Exclusion(row)) => rows.push(row),
            (ImportBatch::Markers(rows), Row::Marker(row)) => rows.push(row),
            (ImportBatch::Tombstones(rows), Row::Tombstone(row)) => rows.push(row),
            (batch, row) => *batch = first(row),
        }
    }
    batch
}

fn first(row: Row) -> ImportBatch {
    match row {
        Row::User(row) => ImportBatch::Users(vec![*row]),
        Row::Content(row) => ImportBatch::Contents(vec![*row]),
        Row::Follow(row) => ImportBatch::Follows(vec![row]),
        Row::Reaction(row) => ImportBatch::Reactions(vec![row]),
        Row::Exclusion(row) => ImportBatch::Exclusions(vec![row]),
        Row::Marker(row) => ImportBatch::Markers(vec![row]),
        Row::Tombstone(row) => ImportBatch::Tombstones(vec![row]),
    }
}
