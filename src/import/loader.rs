//! Loads batches of lines: looks for what their ids mean, commits the rows, and says what became of each line.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ::import::record::{Kind, Record, User, UserState};
use async_trait::async_trait;
use content_schemas::ContentSchemas;

use super::{
    Importer, ImporterLimits,
    batches::{FileLine, batch_kind},
    outcomes::LoadedLine,
    pace::Pace,
    rows::{Drawn, Known, RowMaker, batch},
};
use crate::{
    ambient::Ambient,
    domain::{ContentId, UserId, account::external::ExternalId},
    rng::MAX_DRAWS,
    store::{
        Ports, StoreError,
        identities::{Identity, Standing},
        imports::{Applied, BegunImport, Import, ImportFile, ImportLease, ImportState, ImportStep},
    },
};

/// How long a process that says nothing keeps an import for itself, in ms.
pub const LEASE_MS: i64 = 10_000;

/// What loading needs of accounts and of publishing.
#[async_trait]
pub trait Neighbours: Send + Sync {
    /// Whose external id this is.
    fn identity(&self, id: &ExternalId) -> Identity;
    /// Removes a content, as its author does. It may be removed already.
    async fn remove(&self, author: UserId, content: ContentId) -> Result<(), StoreError>;
    /// Keeps a user out. Their account may be deleted.
    async fn deactivate(&self, user: UserId) -> Result<(), StoreError>;
    /// Lets a user in again. Their account may be deleted.
    async fn reactivate(&self, user: UserId) -> Result<(), StoreError>;
}

/// How loading a batch ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loaded {
    /// It is committed.
    Committed {
        /// The import has come to this line.
        through_line: u64,
        /// What became of each line.
        lines: Vec<LoadedLine>,
    },
    /// Nothing was done: the import is somebody else's by now, was cancelled, or has come to another line.
    NotMine(Import),
    /// Nothing was done: the store has lost that the import was begun. Begin it again.
    Lost,
}

/// Loads one file after the other.
pub struct Loader {
    importer: Importer,
    ports: Ports,
    neighbours: Arc<dyn Neighbours>,
    ambient: Ambient,
    holder: i64,
    drawn: Drawn,
    pace: Option<Pace>,
    schemas: Arc<ContentSchemas>,
}

impl Loader {
    /// Each loader is somebody else to the store.
    pub fn new(ports: &Ports, neighbours: Arc<dyn Neighbours>, ambient: &Ambient) -> Self {
        Self {
            importer: Importer::new(ports, ambient),
            ports: ports.clone(),
            neighbours,
            holder: ambient.rng.number(),
            ambient: ambient.clone(),
            drawn: Drawn::default(),
            pace: None,
            schemas: Arc::default(),
        }
    }

    /// The same for files whose contents must fit these.
    #[must_use]
    pub fn checked_by(self, schemas: Arc<ContentSchemas>) -> Self {
        Self { schemas, ..self }
    }

    /// What contents must fit.
    pub(super) const fn schemas(&self) -> &Arc<ContentSchemas> {
        &self.schemas
    }

    /// The same, with rests after batches that slow reads of the store (docs/moving-in.md#beside-readers).
    #[must_use]
    pub fn beside_readers(self) -> Self {
        Self { pace: Some(Pace::default()), ..self }
    }

    /// The same with other limits of what is delivered.
    #[must_use]
    pub fn limited_to(self, limits: ImporterLimits) -> Self {
        Self { importer: self.importer.limited_to(limits), ..self }
    }

    /// As [`crate::store::Imports::begin`], for [`LEASE_MS`].
    pub async fn begin(&self, file: &ImportFile) -> Result<BegunImport, StoreError> {
        let mut draws = 0;
        loop {
            match self.ports.imports.begin(file, self.lease()).await {
                Err(StoreError::Contended(_)) if draws < MAX_DRAWS => draws += 1,
                other => return other,
            }
        }
    }

    /// As [`crate::store::Imports::end`].
    pub async fn end(&self, digest: &str, is_finished: bool) -> Result<bool, StoreError> {
        self.ports.imports.end(digest, self.lease(), is_finished).await
    }

    /// As [`crate::store::Imports::import`].
    pub async fn import(&self, digest: &str) -> Result<Option<Import>, StoreError> {
        self.ports.imports.import(digest).await
    }

    /// Commits a batch of [`super::cut`]: the lines of a file that has come to line `after_line`. Looks and draws again
    /// if something came in between.
    pub async fn load(&mut self, digest: &str, after_line: u64, part: &[FileLine]) -> Result<Loaded, StoreError> {
        let Some(mut pace) = self.pace.take() else { return self.committed(digest, after_line, part).await };
        let (imports, of) = (Arc::clone(&self.ports.imports), digest.to_owned());
        let probe = move || {
            let (imports, of) = (Arc::clone(&imports), of.clone());
            async move { imports.import(&of).await.map(drop) }
        };
        let loaded = pace.keep(self.committed(digest, after_line, part), probe).await;
        self.pace = Some(pace);
        loaded
    }

    async fn committed(&mut self, digest: &str, after_line: u64, part: &[FileLine]) -> Result<Loaded, StoreError> {
        let mut draws = 0;
        loop {
            match self.try_load(digest, after_line, part).await {
                Err(StoreError::Contended(_)) if draws < MAX_DRAWS => draws += 1,
                Err(StoreError::Refused(why)) => {
                    let is_lost = self.import(digest).await?.is_none();
                    return if is_lost { Ok(Loaded::Lost) } else { Err(StoreError::Refused(why)) };
                }
                other => return other,
            }
        }
    }

    fn lease(&self) -> ImportLease {
        let now_ms = self.ambient.now_ms();
        ImportLease { holder: self.holder, now_ms, until_ms: now_ms.saturating_add(LEASE_MS) }
    }

    async fn try_load(&mut self, digest: &str, after_line: u64, part: &[FileLine]) -> Result<Loaded, StoreError> {
        if changes_at_once(part)
            && let Some(import) = self.import(digest).await?
            && (import.state != ImportState::Running || import.through_line != after_line)
        {
            return Ok(Loaded::NotMine(import));
        }
        let known = self.known(part).await?;
        // Only now: what is changed beforehand may have taken long.
        let lease = self.lease();
        let neighbours = Arc::clone(&self.neighbours);
        let identify = |id: &ExternalId| neighbours.identity(id);
        let (drawn, ambient, now_ms) = (&mut self.drawn, &self.ambient, lease.now_ms);
        let mut maker = RowMaker { known, drawn, ambient, identify: &identify, now_ms };
        let (mut rows, mut faults) = (Vec::with_capacity(part.len()), Vec::with_capacity(part.len()));
        for line in part {
            let fault = match line.as_ref().map(|line| maker.row(&line.record)) {
                Ok(Ok(row)) => {
                    rows.push(row);
                    None
                }
                Ok(Err(fault)) => Some(fault),
                Err(_) => None,
            };
            faults.push(fault);
        }
        let step = ImportStep {
            digest: digest.to_owned(),
            lease,
            after_line,
            through_line: part.last().map_or(after_line, number),
            refused: u64::try_from(part.len() - rows.len()).unwrap_or(u64::MAX),
            version: self.ambient.rng.version(),
        };
        let applied = match self.importer.apply(&step, &batch(rows)).await? {
            Applied::NotMine(import) => return Ok(Loaded::NotMine(import)),
            Applied::Committed(applied) => applied,
        };
        let mut outcomes = applied.outcomes.into_iter();
        let lines = part.iter().zip(faults).map(|(line, fault)| match (line, fault) {
            (Err(refusal), _) => LoadedLine::unreadable(refusal),
            (Ok(line), Some(fault)) => LoadedLine::refused(line, fault),
            (Ok(line), None) => LoadedLine::ended(line, outcomes.next()),
        });
        Ok(Loaded::Committed { through_line: step.through_line, lines: lines.collect() })
    }

    /// Looks for what the records of a batch name: a few statements, but for those who refer to reposts.
    async fn known(&self, part: &[FileLine]) -> Result<Known, StoreError> {
        let records: Vec<&Record> = part.iter().flatten().map(|line| &line.record).collect();
        let (mut users, mut contents) = (HashSet::new(), HashSet::new());
        for record in &records {
            let ([one, other], content) = named(record);
            users.extend(one.into_iter().chain(other));
            contents.extend(content);
            if let Record::Content(content) = record {
                contents.extend(content.reference.content());
            }
        }
        let (users, restated) = (self.users(users).await?, self.restated(&records).await?);
        let mut known = Known { users, restated, ..Known::default() };
        if contents.is_empty() {
            return Ok(known);
        }
        let contents: Vec<ExternalId> = contents.into_iter().cloned().collect();
        known.contents = self.ports.contents.by_external_ids(&contents).await?.into_iter().collect();
        let ids: Vec<ContentId> = known.contents.values().copied().collect();
        match records.first().map(|record| batch_kind(record.kind())) {
            Some(Kind::Content) if !ids.is_empty() => {
                known.subjects = self.ports.contents.subjects(&ids).await?.into_iter().collect();
                known.hidden = self.hidden(&records, &known).await?;
            }
            Some(Kind::Tombstone) => known.removed = self.removed(&ids).await?,
            _ => {}
        }
        Ok(known)
    }

    /// A new content leads through a repost only if its author sees that: one statement for each author who does so.
    async fn hidden(&self, records: &[&Record], known: &Known) -> Result<HashSet<(UserId, ContentId)>, StoreError> {
        let mut wanted: HashMap<UserId, Vec<ContentId>> = HashMap::new();
        for record in records {
            let Record::Content(content) = record else { continue };
            let is_new = !known.contents.contains_key(&content.external_id);
            let other = content.reference.content().and_then(|other| known.contents.get(other));
            let repost = other.filter(|it| is_new && known.subjects.get(it).is_some_and(|subject| subject != *it));
            if let (Some(repost), Some(author)) = (repost, known.users.get(&content.author)) {
                wanted.entry(*author).or_default().push(*repost);
            }
        }
        let mut hidden = HashSet::new();
        for (author, reposts) in wanted {
            let seen = self.ports.contents.by_ids(Some(author), &reposts).await?;
            let seen: HashSet<ContentId> = seen.into_iter().map(|content| content.id).collect();
            hidden.extend(reposts.into_iter().filter(|it| !seen.contains(it)).map(|it| (author, it)));
        }
        Ok(hidden)
    }

    /// The users with these external ids who have an account.
    async fn users(&self, ids: HashSet<&ExternalId>) -> Result<HashMap<ExternalId, UserId>, StoreError> {
        let by_digest: HashMap<String, &ExternalId> =
            ids.into_iter().map(|id| (self.neighbours.identity(id).digest, id)).collect();
        if by_digest.is_empty() {
            return Ok(HashMap::new());
        }
        let digests: Vec<String> = by_digest.keys().cloned().collect();
        let found = self.ports.accounts.identified(&digests).await?;
        let found = found.into_iter().filter(|it| it.standing != Standing::Deleted);
        Ok(found.filter_map(|it| Some(((*by_digest.get(&it.digest)?).clone(), it.user))).collect())
    }

    /// Keeps users out, or lets them in, as their lines say, in transactions of their own: their sessions end with it.
    /// Has those whose state has changed. New ones are inserted as they are.
    async fn restated(&self, records: &[&Record]) -> Result<HashSet<ExternalId>, StoreError> {
        let stated = records.iter().filter_map(|record| match record {
            Record::User(user) => Some((self.neighbours.identity(&user.external_id).digest, (user, user.state?))),
            _ => None,
        });
        let stated: HashMap<String, (&User, UserState)> = stated.collect();
        if stated.is_empty() {
            return Ok(HashSet::new());
        }
        let digests: Vec<String> = stated.keys().cloned().collect();
        let mut restated = HashSet::new();
        for found in self.ports.accounts.identified(&digests).await? {
            let Some((user, state)) = stated.get(&found.digest) else { continue };
            match (found.standing, state) {
                (Standing::Active, UserState::Deactivated) => self.neighbours.deactivate(found.user).await?,
                (Standing::Deactivated, UserState::Active) => self.neighbours.reactivate(found.user).await?,
                _ => continue,
            }
            restated.insert(user.external_id.clone());
        }
        Ok(restated)
    }

    /// Removes those of the contents that exist, in transactions of their own: nobody is to see them anyway.
    async fn removed(&self, contents: &[ContentId]) -> Result<Vec<ContentId>, StoreError> {
        let living = if contents.is_empty() { Vec::new() } else { self.ports.contents.by_ids(None, contents).await? };
        for content in &living {
            self.neighbours.remove(content.author, content.id).await?;
        }
        Ok(living.into_iter().map(|content| content.id).collect())
    }
}

/// The users and the content that a record names, beside what a content refers to.
fn named(record: &Record) -> ([Option<&ExternalId>; 2], Option<&ExternalId>) {
    match record {
        Record::User(_) => ([None, None], None),
        Record::Content(it) => ([Some(&it.author), None], Some(&it.external_id)),
        Record::Follow(it) => ([Some(&it.follower), Some(&it.author)], None),
        Record::Reaction(it) => ([Some(&it.user), None], Some(&it.content)),
        Record::Mute(it) | Record::Block(it) | Record::Hide(it) => ([Some(&it.user), Some(&it.other)], None),
        Record::ReadMarker(it) => ([Some(&it.user), None], None),
        Record::Tombstone(it) => ([None, None], Some(&it.content)),
    }
}

/// Whether something is changed before the batch is committed: the state of a user, or a content with a tombstone.
fn changes_at_once(part: &[FileLine]) -> bool {
    part.iter().flatten().any(|line| match &line.record {
        Record::User(user) => user.state.is_some(),
        Record::Tombstone(_) => true,
        _ => false,
    })
}

fn number(line: &FileLine) -> u64 {
    line.as_ref().map_or_else(|refusal| refusal.line, |line| line.number)
}
