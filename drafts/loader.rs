//! Makes batches of the lines of a file: resolves the product's ids, cuts where the kind changes or a key repeats, and
//! says what became of each line.
//!
//! DRAFT, never compiled: it needs the branches `objects` (Contents::by_external_ids, Draft::object) and `import`
//! (crates/import) merged with `loading`. Place: src/import/loader.rs, beside importer.rs. Batches: src/import/batch.rs.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use import::{
    fault::{Code, Fault},
    read::Line,
    record::{self, ContentReference, Kind, Patch, Record},
    report::{Outcome, Refusal, Remark},
};
use quick_cache::sync::Cache;

use super::Importer;
use crate::{
    ambient::Ambient,
    domain::{ContentId, Handle, Position, UserId, account::external::ExternalId, content::Draft},
    rng::MAX_DRAWS,
    store::{
        Ports, StoreError,
        contents::NewContent,
        identities::{Identity, Revision},
        imports::{
            Applied, Import, ImportBatch, ImportLease, ImportStep, ImportedExclusion, ImportedExclusionKind,
            ImportedFollow, ImportedMarker, ImportedReaction, ImportedUser, RowOutcome, RowRefusal,
        },
        new_account::NewAccount,
        relations::Pair,
    },
};

/// Lines of a batch at most.
pub const MAX_BATCH_LINES: usize = 500;
/// Characters of the texts of a batch at most: their terms are written in its transaction.
const MAX_BATCH_CHARS: usize = 100_000;
/// Ids of users, and of contents, that are remembered between batches.
const REMEMBERED: usize = 200_000;
/// How long a process has an import for itself, in ms.
const LEASE_MS: i64 = 60_000;

/// A line of a file, or why it is none.
pub type Read = Result<Line, Refusal>;

/// How loading lines ends.
pub enum Loaded {
    /// They are committed. Has what is to be said of them.
    Done(Vec<Remark>),
    /// Somebody else goes on with the file, or it was cancelled.
    NotMine(Import),
}

/// One run over one file.
pub struct Loader {
    importer: Arc<Importer>,
    ports: Ports,
    /// Whose external id it is, at the issuer or the product: `ExternalUsers::identity`.
    identify: Box<dyn Fn(&ExternalId) -> Identity + Send + Sync>,
    users: Cache<ExternalId, UserId>,
    contents: Cache<ExternalId, ContentId>,
    ambient: Ambient,
    holder: i64,
    /// The last content id drawn: later lines get larger ones, so that equal times keep the file's order.
    last: i64,
    through_line: u64,
    digest: String,
}

impl Loader {
    /// Cuts `lines` (at most MAX_BATCH_LINES of them) into batches and commits these in turn.
    pub async fn load(&mut self, lines: Vec<Read>) -> Result<Loaded, StoreError> {
        let mut remarks = Vec::new();
        for part in cut(lines) {
            match self.load_part(part).await? {
                Loaded::Done(more) => remarks.extend(more),
                other @ Loaded::NotMine(_) => return Ok(other),
            }
        }
        Ok(Loaded::Done(remarks))
    }

    /// A collision of a drawn id, or a row that came meanwhile, is contended: draw and look again.
    async fn load_part(&mut self, part: Vec<Read>) -> Result<Loaded, StoreError> {
        let mut draws = 0;
        loop {
            match self.try_part(&part).await {
                Err(StoreError::Contended(_)) if draws < MAX_DRAWS => draws += 1,
                other => return other,
            }
        }
    }

    // try_part: 1. known = users by `identified(digests)` (cache first), contents by `by_external_ids` (cache first),
    //    originals of reposts by `Contents::subjects`; contents of the part itself join the map as their ids are drawn.
    // 2. rows = each record as its Imported.. row, or a Fault { NotFound, field } for an unknown id.
    // 3. tombstones of living contents: Contents::by_ids(None) -> Publisher's `remove` through a closure of app, before
    //    the batch; of unknown ids: ImportBatch::Tombstones (a row of content_objects with a drawn id and no content).
    // 4. step = ImportStep { after_line: self.through_line, through_line: number of the last line, refused, version:
    //    rng.version(), lease: now + LEASE_MS }; importer.apply; NotMine at `through_line` = an unknown commit that was
    //    made: go on behind it.
    // 5. remarks of RowOutcome: Created -> none; Updated, Unchanged -> Remark::of; Refused -> Remark::with_fault:
    //    HandleTaken (Taken, data.handle), UnknownUser, UnknownContent (NotFound), Blocked, TooManyFollows (NotAllowed),
    //    Repeated, Conflict (Conflict), Removed (NotAllowed). Created users and contents join the caches.
}

/// Cuts where the kind changes, where a key comes again, and where the texts get long.
fn cut(lines: Vec<Read>) -> Vec<Vec<Read>> {
    let mut parts: Vec<Vec<Read>> = Vec::new();
    let (mut kind, mut keys, mut chars) = (None, HashSet::new(), 0);
    for line in lines {
        let (own, key, length) = match &line {
            Ok(line) => (Some(batch_kind(line.record.kind())), key(&line.record), text_chars(&line.record)),
            Err(_) => (kind, None, 0),
        };
        let repeats = key.as_ref().is_some_and(|key| keys.contains(key));
        let differs = kind.is_some() && own.is_some() && own != kind;
        if parts.is_empty() || differs || repeats || (chars > 0 && chars + length > MAX_BATCH_CHARS) {
            parts.push(Vec::new());
            (kind, chars) = (None, 0);
            keys.clear();
        }
        kind = kind.or(own);
        chars += length;
        keys.extend(key);
        if let Some(part) = parts.last_mut() {
            part.push(line);
        }
    }
    parts
}

/// Mutes, blocks and hides share a batch.
fn batch_kind(kind: Kind) -> Kind {
    match kind {
        Kind::Block | Kind::Hide => Kind::Mute,
        other => other,
    }
}

fn text_chars(record: &Record) -> usize {
    if let Record::Content(content) = record { content.text.chars().count() } else { 0 }
}

/// What no two rows of a batch may share.
fn key(record: &Record) -> Option<Vec<String>> {
    let text = |id: &ExternalId| id.as_str().to_owned();
    Some(match record {
        Record::User(it) => vec![text(&it.external_id)],
        Record::Content(it) => vec![text(&it.external_id)],
        Record::Follow(it) => vec![text(&it.follower), text(&it.author)],
        Record::Reaction(it) => vec![text(&it.user), text(&it.content), it.kind.code().to_string()],
        Record::Mute(it) => vec!["mute".into(), text(&it.user), text(&it.other)],
        Record::Block(it) => vec!["block".into(), text(&it.user), text(&it.other)],
        Record::Hide(it) => vec!["hide".into(), text(&it.user), text(&it.other)],
        Record::ReadMarker(it) => vec![text(&it.user)],
        Record::Tombstone(it) => vec![text(&it.content)],
    })
}
