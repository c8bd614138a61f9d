//! The clients: a few users whose acts collide often. Records each act and each page with its beginning and its end.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use std::time::Duration;

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{Direction, Position},
    rng::SharedRng,
};
use tokio::time::{Instant, sleep};

use crate::api::{Answer, Api, Page, Window};
use crate::history::{Act, Content, History, Moment, Original, Read, Relation, Span, User};

/// Users, each of whom follows some of the others.
pub const USERS: usize = 12;
/// Users whom the product has brought. It acts for them: they read and are followed, and no client is theirs.
pub const IMPORTED: usize = 2;
/// Two users are of a kind if their numbers add up to a multiple of this: one may keep the other out, and they do not
/// repost each other. So a repost is never refused.
const KINDS: usize = 3;
/// An author with more contents deletes rather than publishes: timelines stay a few pages long.
const CONTENTS_OF_AN_AUTHOR: usize = 25;
/// A request without an answer has ended after this time: longer than a line is held and than a node or a server works
/// on it.
const OVER_AFTER: Duration = Duration::from_secs(10);
/// How long a client repeats an act that fails.
const PATIENCE: Duration = Duration::from_mins(5);
/// Between two tries.
const RETRY_PAUSE: Duration = Duration::from_millis(40);
/// Pages of a walk at most.
const PAGES: usize = 200;

/// Counters of all clients.
#[derive(Debug, Default)]
pub struct Counts {
    /// Calls of the API that were answered or given up.
    pub operations: AtomicU64,
    /// Reads that failed with an error, or had no answer.
    pub failed_reads: AtomicU64,
    /// Changes of which the client did not learn whether they were made.
    pub unknown: AtomicU64,
}

impl Counts {
    /// Calls that were answered. Rounds wait for these, because attempts prove nothing while every write fails.
    pub fn answered(&self) -> u64 {
        let unanswered = self.unknown.load(Relaxed) + self.failed_reads.load(Relaxed);
        self.operations.load(Relaxed).saturating_sub(unanswered)
    }
}

/// The clients' common memory.
pub struct Clients {
    pub api: Api,
    pub counts: Counts,
    history: Mutex<History>,
    began: Instant,
}

impl Clients {
    /// Registers all users of the run.
    pub async fn gather(addresses: Vec<String>) -> Result<Self> {
        let mut api = Api::new(addresses)?;
        let mut history = History::new(USERS + IMPORTED);
        for user in 0..USERS {
            history.renamed(user, api.register().await?, Act::BEFORE.span);
        }
        Ok(Self { api, counts: Counts::default(), history: Mutex::new(history), began: Instant::now() })
    }

    /// The next of the users whom the product has brought; the product calls them so, and nobody else has a name yet.
    pub async fn adopt(&mut self, external_id: &str) -> Result<()> {
        let user = self.api.adopt(external_id).await?;
        self.history().renamed(user, external_id.to_owned(), Act::BEFORE.span);
        Ok(())
    }

    pub fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Moment {
        Moment::try_from(self.began.elapsed().as_nanos()).unwrap_or(Moment::MAX)
    }

    /// One thing that some client does, drawn by `draw`; `number` is its own.
    pub async fn act(&self, rng: &SharedRng, number: u64) -> Result<()> {
        let (user, other) = (below(rng, USERS), below(rng, USERS + IMPORTED));
        match below(rng, 100) {
            0..40 => self.write(rng, user, number).await,
            40..50 if user != other => self.set(rng, (user, other), (Relation::Follow, true)).await.map(drop),
            50..58 if user != other => self.set(rng, (user, other), (Relation::Follow, false)).await.map(drop),
            58..63 => {
                let other = other % USERS / KINDS * KINDS + (KINDS - user % KINDS) % KINDS;
                if user == other {
                    return Ok(());
                }
                let relation = if below(rng, 2) == 0 { Relation::Mute } else { Relation::Hide };
                self.set(rng, (user, other), (relation, below(rng, 3) == 0)).await.map(drop)
            }
            63..94 => self.read(rng, below(rng, USERS + IMPORTED)).await,
            _ => {
                let (node, user) = (self.some_node(rng), below(rng, USERS + IMPORTED));
                self.walk(node, user, 8 + below(rng, 40)).await.map(drop)
            }
        }
    }

    /// Keeps an author at about the same number of contents, of which some are reposts.
    async fn write(&self, rng: &SharedRng, author: User, number: u64) -> Result<()> {
        if let Some(content) = self.one_too_many(rng, author) {
            return self.delete(rng, author, content).await.map(drop);
        }
        let original = if below(rng, 3) == 0 { self.some_original(rng, author) } else { None };
        match original {
            Some(original) => self.repost(rng, author, original).await,
            None => self.publish(rng, author, number).await,
        }
    }

    /// What is deleted next, if anything.
    fn one_too_many(&self, rng: &SharedRng, author: User) -> Option<Position> {
        let now = self.now();
        let mut history = self.history();
        let contents = history.deletable(author, now);
        let content = *contents.get(below(rng, contents.len()))?;
        let is_much = below(rng, CONTENTS_OF_AN_AUTHOR) < contents.len() / 2;
        is_much.then(|| {
            history.begin_delete(content);
            content
        })
    }

    /// What is reposted next, if anything: it stays until the repost is made.
    fn some_original(&self, rng: &SharedRng, user: User) -> Option<Original> {
        let author = below(rng, USERS);
        let mut history = self.history();
        let originals = if (user + author).is_multiple_of(KINDS) { Vec::new() } else { history.originals(author) };
        let original = *originals.get(below(rng, originals.len()))?;
        history.begin_repost(original);
        Some(original)
    }

    /// Tries until it is answered: so that where the repost stands becomes known.
    async fn repost(&self, rng: &SharedRng, user: User, original: Original) -> Result<()> {
        let (started, begin) = (Instant::now(), self.now());
        loop {
            let answer = self.api.repost(self.some_node(rng), user, original).await?;
            self.counts.operations.fetch_add(1, Relaxed);
            if let Answer::Done(position) = answer {
                let (text, deletes) = (String::new(), Vec::new());
                let content = Content { published: self.span(begin), text, original: Some(original), deletes };
                let mut history = self.history();
                history.published(user, position, content);
                history.end_repost(original);
                return Ok(());
            }
            self.counts.unknown.fetch_add(1, Relaxed);
            self.history().repost_unanswered(original, self.now().saturating_add(over_after()));
            ensure!(started.elapsed() < PATIENCE, "{original:?} is not reposted by {user}");
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Tries with the same key until it is answered: so that where the content stands becomes known.
    async fn publish(&self, rng: &SharedRng, author: User, number: u64) -> Result<()> {
        let (text, key) = (format!("words {number}"), format!("key {number}"));
        let (started, begin) = (Instant::now(), self.now());
        loop {
            let answer = self.api.publish(self.some_node(rng), author, &text, &key).await?;
            self.counts.operations.fetch_add(1, Relaxed);
            if let Answer::Done(position) = answer {
                let content = Content { published: self.span(begin), text, original: None, deletes: Vec::new() };
                self.history().published(author, position, content);
                return Ok(());
            }
            self.counts.unknown.fetch_add(1, Relaxed);
            ensure!(started.elapsed() < PATIENCE, "{key} of {author} is not answered");
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Whether it was answered.
    async fn delete(&self, rng: &SharedRng, author: User, position: Position) -> Result<bool> {
        let begin = self.now();
        let answer = self.api.delete(self.some_node(rng), author, position).await?;
        let act = self.ended(begin, &answer);
        self.history().deleted(author, position, act);
        Ok(act.certain)
    }

    /// Whether it was answered.
    async fn set(&self, rng: &SharedRng, pair: (User, User), (relation, is_on): (Relation, bool)) -> Result<bool> {
        let begin = self.now();
        let answer = self.api.set(self.some_node(rng), pair, relation, is_on).await?;
        let act = self.ended(begin, &answer);
        let mut history = self.history();
        let switch = history.switch(pair, relation);
        if is_on { &mut switch.on } else { &mut switch.off }.push(act);
        Ok(act.certain)
    }

    async fn read(&self, rng: &SharedRng, reader: User) -> Result<()> {
        let direction = if below(rng, 3) == 0 { Direction::Newer } else { Direction::Older };
        let bound = (below(rng, 3) > 0).then(|| self.some_position(rng)).flatten();
        let window = Window { direction, bound, size: 1 + below(rng, 30) };
        if let Some(read) = self.page(self.some_node(rng), reader, window).await? {
            self.history().reads.push(read);
        }
        Ok(())
    }

    /// From the newest entry to the last, page by page: each page is kept, and the walk as one. `None` if a page could
    /// not be had.
    pub async fn walk(&self, node: usize, reader: User, size: usize) -> Result<Option<Read>> {
        let mut window = Window { direction: Direction::Older, bound: None, size };
        let (begin, mut seen, mut pages) = (self.now(), Vec::new(), Vec::new());
        loop {
            ensure!(pages.len() < PAGES, "the walk of {reader} does not end");
            let Some(page) = self.page(node, reader, window).await? else { return Ok(None) };
            seen.extend_from_slice(&page.seen);
            window.bound = page.seen.last().map(|entry| entry.position);
            let goes_on = page.has_older && window.bound.is_some();
            pages.push(page);
            if !goes_on {
                break;
            }
        }
        let (span, direction, bound, size) = (self.span(begin), Direction::Older, None, usize::MAX);
        let whole = Read { reader, span, direction, bound, size, seen, has_older: false, has_newer: false };
        let mut history = self.history();
        history.reads.append(&mut pages);
        history.reads.push(whole.clone());
        Ok(Some(whole))
    }

    async fn page(&self, node: usize, reader: User, window: Window) -> Result<Option<Read>> {
        let begin = self.now();
        let answer = self.api.page(node, reader, window).await?;
        self.counts.operations.fetch_add(1, Relaxed);
        let Answer::Done(Page { seen, has_older, has_newer }) = answer else {
            self.counts.failed_reads.fetch_add(1, Relaxed);
            sleep(RETRY_PAUSE).await;
            return Ok(None);
        };
        let (span, Window { direction, bound, size }) = (self.span(begin), window);
        Ok(Some(Read { reader, span, direction, bound, size, seen, has_older, has_newer }))
    }

    /// Waits until no act is under way, and repeats each act of unknown outcome until it is acknowledged.
    pub async fn decide(&self, rng: &SharedRng) -> Result<()> {
        let over = self.history().under_way_until();
        sleep(Duration::from_nanos(over.saturating_sub(self.now()))).await;
        let (relations, deletes) = {
            let history = self.history();
            (history.doubtful_relations(self.now()), history.doubtful_deletes())
        };
        for (pair, relation) in relations {
            let is_on = below(rng, 2) == 0;
            persist(async || self.set(rng, pair, (relation, is_on)).await).await?;
        }
        for (author, position) in deletes {
            persist(async || self.delete(rng, author, position).await).await?;
        }
        Ok(())
    }

    fn ended(&self, begin: Moment, answer: &Answer<()>) -> Act {
        self.counts.operations.fetch_add(1, Relaxed);
        let span = self.span(begin);
        match answer {
            Answer::Done(()) => Act { span, certain: true },
            Answer::Unknown => {
                self.counts.unknown.fetch_add(1, Relaxed);
                Act { span: Span { begin, end: span.end.saturating_add(over_after()) }, certain: false }
            }
        }
    }

    fn span(&self, begin: Moment) -> Span {
        Span { begin, end: self.now() }
    }

    fn some_node(&self, rng: &SharedRng) -> usize {
        below(rng, self.api.nodes())
    }

    /// Where some content stands, or stood.
    fn some_position(&self, rng: &SharedRng) -> Option<Position> {
        let history = self.history();
        let outbox = &history.outboxes[below(rng, USERS + IMPORTED)];
        outbox.keys().nth(below(rng, outbox.len().max(1))).copied()
    }
}

/// [`OVER_AFTER`] as the history counts.
fn over_after() -> Moment {
    Moment::try_from(OVER_AFTER.as_nanos()).unwrap_or(Moment::MAX)
}

async fn persist(act: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !act().await? {
        ensure!(began.elapsed() < PATIENCE, "it is not acknowledged");
        sleep(RETRY_PAUSE).await;
    }
    Ok(())
}

/// A number from 0 to below the limit.
pub fn below(rng: &SharedRng, limit: usize) -> usize {
    usize::try_from(rng.u32()).unwrap_or_default() % limit.max(1)
}
