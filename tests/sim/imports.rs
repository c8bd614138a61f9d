//! Files that are imported: contents of the past and follows, batch by batch. Whoever finds a file that was left goes
//! on with it, on any node. In the end every line of it must have been committed.

use std::{collections::BTreeMap, sync::PoisonError};

use tidefeed::{
    domain::{ContentId, Entry, Reference, UserId, content::Draft},
    store::{
        Imports, StoreError,
        contents::NewContent,
        imports::{Applied, BegunImport, ImportBatch, ImportFile, ImportLease, ImportStep, ImportedFollow},
        relations::Pair,
    },
};

use crate::{
    client::Client,
    rng::SimRng,
    world::{Counts, Shared},
};

/// How old imported contents are at most, in ms.
const PAST_MS: i64 = 60_000;

/// The files that somebody has begun.
#[derive(Debug, Default)]
pub struct Files {
    /// The last number given.
    last: i64,
    /// Those that have not ended, by number.
    open: BTreeMap<i64, Vec<Line>>,
}

/// A line of a file.
#[derive(Debug, Clone)]
enum Line {
    Content { id: ContentId, author: UserId, publish_time: i64 },
    Follow(Pair),
}

/// Imports a file: one that was left, or a new one.
pub async fn some(client: Client) {
    let shared = client.shared.clone();
    let (number, lines) = file(&shared);
    match run(&client, number, &lines).await {
        Ok(true) => {
            shared.files.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&number);
            expect_all(&client, &lines);
        }
        Ok(false) => {}
        // A fail-over may have lost that the import was begun.
        Err(StoreError::Refused(_)) if shared.primary_store.base().losses > 0 => {}
        Err(error) => shared.excuse("an import failed", &error),
    }
}

fn file(shared: &Shared) -> (i64, Vec<Line>) {
    let mut rng = shared.injector.rng();
    let mut files = shared.files.lock().unwrap_or_else(PoisonError::into_inner);
    let left = files.open.iter().next().map(|(number, lines)| (*number, lines.clone()));
    if let Some(left) = left.filter(|_| rng.chance(500_000)) {
        return left;
    }
    files.last += 1;
    let number = files.last;
    let is_of_contents = rng.chance(600_000);
    let count = rng.within(1, 6);
    let lines: Vec<Line> = (0..count).map(|_| line(shared, &mut rng, is_of_contents)).collect();
    files.open.insert(number, lines.clone());
    (number, lines)
}

fn line(shared: &Shared, rng: &mut SimRng, is_of_contents: bool) -> Line {
    let (one, other) = (rng.pick(&shared.people), rng.pick(&shared.people));
    if !is_of_contents {
        return Line::Follow(Pair { follower: one, author: other });
    }
    let now = shared.injector.now();
    let id = ContentId::generate(now, u32::try_from(rng.below(u64::from(u32::MAX))).unwrap_or(0));
    Line::Content { id, author: one, publish_time: now - rng.within(0, PAST_MS) }
}

/// Goes on where the file was left. `false`: somebody else goes on with it.
async fn run(client: &Client, number: i64, lines: &[Line]) -> Result<bool, StoreError> {
    let shared = &client.shared;
    let (digest, holder) = (number.to_string(), i64::try_from(shared.injector.next() >> 1).unwrap_or(1));
    let lease = ImportLease { holder, now_ms: shared.injector.now(), until_ms: 0 };
    let file = ImportFile { digest: digest.clone(), bytes: 0, lines: lines.len() as u64 };
    let BegunImport::Mine(import) = Imports::begin(&shared.primary_store, &file, lease).await? else {
        return Ok(false);
    };
    let mut after_line = import.through_line;
    while after_line < lines.len() as u64 {
        let first = usize::try_from(after_line).unwrap_or(usize::MAX);
        let size = usize::try_from(shared.injector.within(1, 3)).unwrap_or(1);
        let part: Vec<&Line> = lines.iter().skip(first).take(size).collect();
        let version = i64::try_from(shared.injector.next() >> 1).unwrap_or(1).max(1);
        let through_line = after_line + part.len() as u64;
        let digest = digest.clone();
        let step = ImportStep { digest, lease, after_line, through_line, refused: 0, version };
        shared.injector.note(|| format!("lines {after_line} to {through_line} of import {number}"));
        Counts::count(&shared.counts.batches, 1);
        match client.app.importer.apply(&step, &batch(&part)).await? {
            Applied::Committed(_) => after_line = through_line,
            Applied::NotMine(_) => return Ok(false),
        }
    }
    Ok(true)
}

fn batch(lines: &[&Line]) -> ImportBatch {
    let mut contents = Vec::new();
    let mut follows: Vec<ImportedFollow> = Vec::new();
    for line in lines {
        match line {
            Line::Content { id, author, publish_time } => {
                let (text, media, reference) = (String::new(), Vec::new(), Reference::Nothing);
                let draft = Draft { text, media, idempotency_key: None, reference, object: None };
                contents.push(NewContent { id: *id, author: *author, draft, publish_time: *publish_time, version: 0 });
            }
            Line::Follow(pair) if follows.iter().any(|it| it.pair == *pair) => {}
            Line::Follow(pair) => follows.push(ImportedFollow { pair: *pair, followed_at: 0 }),
        }
    }
    if contents.is_empty() { ImportBatch::Follows(follows) } else { ImportBatch::Contents(contents) }
}

/// Every content of the file was committed, whatever became of it since.
fn expect_all(client: &Client, lines: &[Line]) {
    let base = client.shared.primary_store.base();
    let losses = base.losses;
    let missing = lines.iter().find(|line| match line {
        Line::Content { id, author, publish_time } => {
            let entry = Entry { publish_time: *publish_time, content: *id, author: *author };
            losses == 0 && base.checks.oracle.content(entry).is_none()
        }
        Line::Follow(_) => false,
    });
    let missing = missing.cloned();
    drop(base);
    if let Some(missing) = missing {
        client.fail("a line of an import is missing", || format!("{missing:?}"));
    }
}
