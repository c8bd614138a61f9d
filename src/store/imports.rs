//! Imports: how far each file has come, and the rows that a batch of its lines brings.
//!
//! Nothing here makes an exception from docs/protocol.md: contents go by P1, edges that are trusted from the start are
//! those of readers whose inbox claims nothing (docs/protocol.md#imported-edges).

use async_trait::async_trait;

use super::{
    StoreError,
    contents::NewContent,
    identities::{Identity, Revision},
    new_account::NewAccount,
    relations::Pair,
};
use crate::domain::{ContentId, Handle, Position, Reaction, UserId, account::external::ExternalId};

/// A file to be imported. The same bytes are the same import, whatever the file is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFile {
    /// SHA-256 of the bytes, in hexadecimal.
    pub digest: String,
    /// Its length.
    pub bytes: u64,
    /// How many lines it has.
    pub lines: u64,
}

/// Who imports a file, and until when nobody else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportLease {
    /// A random number of the process.
    pub holder: i64,
    /// Milliseconds UTC.
    pub now_ms: i64,
    /// When others may go on with it.
    pub until_ms: i64,
}

/// How an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportState {
    /// Somebody works on it, or has died at it.
    Running,
    /// Every line was read.
    Finished,
    /// Somebody has stopped it. It goes on when it is begun again.
    Cancelled,
}

/// What became of the lines that were read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportCounts {
    /// New rows.
    pub created: u64,
    /// Rows that have changed.
    pub updated: u64,
    /// Rows that were so already.
    pub unchanged: u64,
    /// Lines that were not imported.
    pub refused: u64,
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// What is imported.
    pub file: ImportFile,
    /// Its state.
    pub state: ImportState,
    /// Lines up to this one, counted from 1, were read. Their rows are committed.
    pub through_line: u64,
    /// What became of them.
    pub counts: ImportCounts,
    /// When it was begun, ms UTC.
    pub started_at: i64,
    /// When the last batch was committed, ms UTC.
    pub updated_at: i64,
}

/// The outcome of beginning an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BegunImport {
    /// It is the caller's.
    Mine(Import),
    /// Somebody else is at it.
    Running(Import),
}

/// A user as a line has them.
#[derive(Debug, Clone)]
pub struct ImportedUser {
    /// What they begin with if they are new.
    pub account: NewAccount,
    /// Another handle for a new user, if that of the account is taken and nobody has chosen it.
    pub other_handle: Option<Handle>,
    /// Whose external id it is.
    pub identity: Identity,
    /// What becomes of a user who is there, and of the attributes of a new one.
    pub revision: Revision,
    /// Whether they are kept out, if the line says so.
    pub is_deactivated: Option<bool>,
    /// Whether the caller has kept them out, or let them in, because of this line.
    pub is_restated_now: bool,
}

/// A follow as a line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedFollow {
    /// Who follows whom.
    pub pair: Pair,
    /// Since when, ms UTC.
    pub followed_at: i64,
}

/// A reaction as a line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedReaction {
    /// Who.
    pub user: UserId,
    /// To what.
    pub content: ContentId,
    /// How.
    pub reaction: Reaction,
    /// When, ms UTC.
    pub reacted_at: i64,
}

/// How a user keeps another one out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImportedExclusionKind {
    /// The user does not see the other.
    Mute,
    /// The other does not see the user.
    Hide,
    /// Neither sees the other.
    Block,
}

/// A mute, a hide or a block as a line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedExclusion {
    /// Who keeps out.
    pub user: UserId,
    /// Who is kept out.
    pub other: UserId,
    /// How.
    pub kind: ImportedExclusionKind,
}

/// A read marker as a line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedMarker {
    /// The reader.
    pub reader: UserId,
    /// How far they have read.
    pub position: Position,
}

/// A content that does not exist any more, as a line has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedTombstone {
    /// Newly drawn: keeps the external id if no content ever had it.
    pub id: ContentId,
    /// The product's id of the content.
    pub external_id: ExternalId,
    /// Whether the caller has removed the content because of this line.
    pub is_removed_now: bool,
}

/// The rows of a batch. They are of one kind, and no two of them have the same key.
#[derive(Debug, Clone)]
pub enum ImportBatch {
    /// Users.
    Users(Vec<ImportedUser>),
    /// Contents. Their versions do not count: the step has one for all.
    Contents(Vec<NewContent>),
    /// Follows.
    Follows(Vec<ImportedFollow>),
    /// Reactions.
    Reactions(Vec<ImportedReaction>),
    /// Mutes, hides and blocks.
    Exclusions(Vec<ImportedExclusion>),
    /// Read markers.
    Markers(Vec<ImportedMarker>),
    /// Contents that do not exist any more.
    Tombstones(Vec<ImportedTombstone>),
    /// Every line was refused.
    Nothing,
}

impl ImportBatch {
    /// How many rows it has.
    pub fn len(&self) -> usize {
        match self {
            Self::Users(rows) => rows.len(),
            Self::Contents(rows) => rows.len(),
            Self::Follows(rows) => rows.len(),
            Self::Reactions(rows) => rows.len(),
            Self::Exclusions(rows) => rows.len(),
            Self::Markers(rows) => rows.len(),
            Self::Tombstones(rows) => rows.len(),
            Self::Nothing => 0,
        }
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Which lines a batch is of, and who reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportStep {
    /// [`ImportFile::digest`].
    pub digest: String,
    /// Who.
    pub lease: ImportLease,
    /// The import has come to this line.
    pub after_line: u64,
    /// It comes to this line.
    pub through_line: u64,
    /// Lines between the two that no row is made of, because they were refused before.
    pub refused: u64,
    /// Newly drawn, as those of [`super::Follows`], [`super::Reactions`] and [`super::Contents`]: for every version
    /// that the batch renews, and for the incarnation of every edge.
    pub version: i64,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOutcome {
    /// It is there now.
    Created,
    /// It was there, and has changed.
    Updated,
    /// It was so already.
    Unchanged,
    /// Nothing has changed.
    Refused(RowRefusal),
}

/// Why a row is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowRefusal {
    /// Another user has the handle.
    HandleTaken,
    /// The external id is that of a user whose account was deleted.
    AccountDeleted,
    /// A user has no account any more.
    UnknownUser,
    /// A content is unknown or removed.
    UnknownContent,
    /// The author has reposted the same content.
    Repeated,
    /// The external id is that of another content, or of one that differs.
    Conflict,
    /// The external id is that of a removed content, which does not come back.
    Removed,
    /// One of the two has blocked the other.
    Blocked,
    /// The user follows as many as one may.
    TooManyFollows,
}

/// The outcome of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// Rows and progress are committed.
    Committed(AppliedBatch),
    /// Nothing was done: the import is somebody else's by now, was cancelled, or has come to another line.
    NotMine(Import),
}

/// What a batch has done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppliedBatch {
    /// What became of each row, in order.
    pub outcomes: Vec<RowOutcome>,
    /// New contents, each with its delivery record.
    pub published: Vec<ContentId>,
    /// Their authors, whose outboxes have a new version.
    pub authors: Vec<UserId>,
    /// Readers with new edges, each once.
    pub followers: Vec<UserId>,
    /// Edges that a block has ended. A relation is pending for each.
    pub unfollowed: Vec<Pair>,
    /// Readers and authors whom exclusions keep out of their timelines from now on.
    pub excluded: Vec<Pair>,
}

/// Imports.
#[async_trait]
pub trait Imports: Send + Sync {
    /// Begins an import, or goes on with one that somebody has left: one transaction. One that was finished begins
    /// again at the first line. While the lease of somebody else lasts, nothing changes; one that ends more than
    /// `MAX_WAIT_MS` from now does not count.
    async fn begin(&self, file: &ImportFile, lease: ImportLease) -> Result<BegunImport, StoreError>;

    /// One transaction: the rows of a batch, with all that is counted and renewed with them, and the import's progress.
    /// So a batch is committed once, however often its lines are read again.
    ///
    /// - Users are as [`super::Identities::adopt`] and [`super::Identities::revise`] make them, but a new one is a
    ///   reader who is off, and may be deactivated from the start. One who is there and not as `is_deactivated` says
    ///   is [`StoreError::Contended`]: deactivate or reactivate them first.
    /// - Contents are published as [`super::Contents::publish`] does (docs/protocol.md#p1), each with its delivery
    ///   record, and with one new version for each author. Search terms are written at once, however many. A time
    ///   before the author's last one says nothing of how often they publish. Other lines of the batch may refer to
    ///   them. One whose external id is known is not published again. If another line of the batch refers to one that
    ///   somebody has published meanwhile, the batch is [`StoreError::Contended`]: look again for what is known.
    /// - A new edge is `Push` if the reader is off and in the SQL tier, read under the lock of the reader's state
    ///   (docs/protocol.md#imported-edges), and otherwise `Pull`. No relation is pending for either.
    /// - Reactions, exclusions and read markers are as their own ports make them.
    /// - The external id of a tombstone is never given again. One whose content exists is [`StoreError::Contended`]:
    ///   remove it first.
    async fn apply(&self, step: &ImportStep, batch: &ImportBatch) -> Result<Applied, StoreError>;

    /// Ends the import of this holder, or gives it back so that it can go on at once; `false` if it is somebody else's.
    async fn end(&self, digest: &str, lease: ImportLease, is_finished: bool) -> Result<bool, StoreError>;

    /// Cancels an import that runs; its holder notices with the next batch. `false` if none with this digest runs.
    async fn cancel(&self, digest: &str, now_ms: i64) -> Result<bool, StoreError>;

    /// The import of this file.
    async fn import(&self, digest: &str) -> Result<Option<Import>, StoreError>;

    /// At most `limit` imports, the last begun first.
    async fn imports(&self, limit: u64) -> Result<Vec<Import>, StoreError>;
}
