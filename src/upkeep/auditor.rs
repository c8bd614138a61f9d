//! The auditor: compares the pages that readers get with the oracle, finds the cause of a difference, and repairs it.
//!
//! Page and oracle are two reads, and data may change in between. So a difference counts only if it persists while the
//! oracle gives the same answer before and after. A repair is always safe: an inbox may drop its claim at any time
//! (docs/protocol.md#invariant) and be filled again.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    domain::{
        Page, PageRequest, PageSize, UserId,
        timeline::audit::{Difference, DifferenceCause, next_bound},
    },
    store::{Audits, Ports, StoreError, audits::Flaw},
    telemetry::metrics::{AUDIT_DIFFERENCES, AUDIT_PAGES, AUDIT_READERS},
};

/// How often to compare a page again before the reader is skipped.
const ROUNDS: usize = 5;
/// Differences between equal answers of the oracle that make a page wrong. A single one may be a content that came and
/// went.
const CONFIRMATIONS: usize = 2;
/// Flaws of a kind that are named.
const NAMED: u64 = 20;
/// Cached outboxes that one repair replaces at a time.
const OUTBOXES: usize = 500;

/// Where served pages come from.
#[async_trait]
pub trait PageSource: Send + Sync {
    /// The page as readers get it, without noting a visit.
    async fn served(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError>;

    /// The same with everything read from SQL.
    async fn without_cache(&self, reader: UserId, request: &PageRequest) -> Result<Page, StoreError>;
}

/// How much an audit does.
#[derive(Debug, Clone, Copy)]
pub struct AuditOptions {
    /// Most pages to compare of each reader, from the newest on.
    pub pages: u32,
    /// Entries of a page.
    pub size: PageSize,
    /// Whether differences are repaired.
    pub repair: bool,
    /// Entries that a repaired inbox is filled with at a time.
    pub step: u32,
}

/// What was wrong for one reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// For whom.
    pub reader: UserId,
    /// What is to blame.
    pub cause: DifferenceCause,
    /// Flaws among the rows.
    pub flaws: Vec<Flaw>,
    /// How the first wrong page differed; `None` if flawed rows have not made any compared page wrong.
    pub difference: Option<Difference>,
    /// Whether it was mended.
    pub repaired: bool,
}

/// What an audit of one reader came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Pages that were compared while nothing changed.
    pub pages: u32,
    /// What was wrong, if anything.
    pub finding: Option<Finding>,
}

/// Audits.
pub struct Auditor {
    ports: Ports,
    audits: Arc<dyn Audits>,
    pages: Arc<dyn PageSource>,
    options: AuditOptions,
}

impl Auditor {
    /// Reads rows from `audits` and pages from `pages`.
    pub fn new(ports: &Ports, audits: Arc<dyn Audits>, pages: Arc<dyn PageSource>, options: AuditOptions) -> Self {
        Self { ports: ports.clone(), audits, pages, options }
    }

    /// The next readers to audit: at most `limit` ids above `after`, ascending.
    pub async fn readers(&self, after: i64, limit: u64) -> Result<Vec<UserId>, StoreError> {
        self.audits.readers(after, limit).await
    }

    /// Audits the reader that the random number `draw` selects; `None` if there is no reader.
    pub async fn sample(&self, draw: u64) -> Result<Option<Audit>, StoreError> {
        let last = self.audits.last_reader().await?.max(1).unsigned_abs();
        let after = i64::try_from(draw % last).unwrap_or(0);
        match self.readers(after, 1).await?.first() {
            Some(reader) => Ok(Some(self.audit(*reader).await?)),
            None => Ok(None),
        }
    }

    /// Audits one reader.
    pub async fn audit(&self, reader: UserId) -> Result<Audit, StoreError> {
        metrics::counter!(AUDIT_READERS).increment(1);
        let flaws = self.audits.flaws(reader, NAMED).await?;
        let (pages, wrong) = self.walk(reader).await?;
        metrics::counter!(AUDIT_PAGES).increment(u64::from(pages));
        if flaws.is_empty() && wrong.is_none() {
            return Ok(Audit { pages, finding: None });
        }
        let right_without_cache = match &wrong {
            Some((request, _)) => matches!(self.compare(reader, request, false).await?, Compared::Equal(_)),
            None => true,
        };
        let is_outside = self.ports.tier.is_claimed(reader).await?;
        let cause = DifferenceCause::of(flaws.first().map(|flaw| flaw.cause), right_without_cache, is_outside);
        metrics::counter!(AUDIT_DIFFERENCES, "cause" => cause.name()).increment(1);
        tracing::error!(%reader, cause = cause.name(), ?flaws, ?wrong, repair = self.options.repair, "A served timeline differs from its definition.");
        if self.options.repair {
            self.repair(reader, cause).await?;
        }
        let difference = wrong.map(|(_, difference)| difference);
        Ok(Audit { pages, finding: Some(Finding { reader, cause, flaws, difference, repaired: self.options.repair }) })
    }

    /// Compares page after page. Returns how many were compared, and the first wrong one.
    async fn walk(&self, reader: UserId) -> Result<(u32, Option<(PageRequest, Difference)>), StoreError> {
        let mut request = PageRequest::newest(self.options.size);
        let mut pages = 0;
        while pages < self.options.pages {
            match self.compare(reader, &request, true).await? {
                Compared::Equal(next) => {
                    pages += 1;
                    match next {
                        Some(next) => request = next,
                        None => break,
                    }
                }
                Compared::Different(difference) => return Ok((pages + 1, Some((request, difference)))),
                Compared::Unsettled => break,
            }
        }
        Ok((pages, None))
    }

    async fn compare(&self, reader: UserId, request: &PageRequest, cached: bool) -> Result<Compared, StoreError> {
        let timelines = &self.ports.timelines;
        let mut before = timelines.oracle(reader, request).await?;
        let mut differences = Vec::new();
        for _ in 0..ROUNDS {
            let page = if cached {
                self.pages.served(reader, request).await?
            } else {
                self.pages.without_cache(reader, request).await?
            };
            let after = timelines.oracle(reader, request).await?;
            if before == after {
                let Some(difference) = Difference::between(&page, &after, request) else {
                    let next = next_bound(&after, request);
                    return Ok(Compared::Equal(next.map(|bound| PageRequest { bound: Some(bound), ..*request })));
                };
                differences.push(difference);
            }
            before = after;
        }
        Ok(differences
            .pop()
            .filter(|_| differences.len() + 1 >= CONFIRMATIONS)
            .map_or(Compared::Unsettled, Compared::Different))
    }

    async fn repair(&self, reader: UserId, cause: DifferenceCause) -> Result<(), StoreError> {
        if matches!(cause, DifferenceCause::Hole | DifferenceCause::Misplaced | DifferenceCause::Unexplained) {
            self.ports.inboxes.reset(reader).await?;
            self.ports.inboxes.extend(reader, self.options.step).await?;
        }
        // The inbox in SQL is filled from SQL alone; the next visit builds another one outside.
        if cause == DifferenceCause::Outside {
            self.ports.tier.move_to_sql(reader).await?;
        }
        if matches!(cause, DifferenceCause::Cache | DifferenceCause::Outside | DifferenceCause::Unexplained) {
            self.fill_outboxes(reader).await?;
        }
        Ok(())
    }

    /// Replaces the cached outboxes of all authors whom the reader follows.
    async fn fill_outboxes(&self, reader: UserId) -> Result<(), StoreError> {
        let Some(cache) = &self.ports.outbox_cache else { return Ok(()) };
        let authors = self.ports.follows.followed_by(reader).await?;
        for authors in authors.chunks(OUTBOXES) {
            let cached = cache.fetch(authors).await?;
            let known: Vec<UserId> =
                authors.iter().zip(cached).filter(|(_, cached)| cached.is_some()).map(|(author, _)| *author).collect();
            cache.fill(&self.ports.contents.outbox_heads(&known, cache.capacity()).await?).await?;
        }
        Ok(())
    }
}

enum Compared {
    /// The page is right. Has the request of the next page.
    Equal(Option<PageRequest>),
    /// The page is wrong in the same way although nothing changes.
    Different(Difference),
    /// The timeline changes too fast to compare.
    Unsettled,
}
