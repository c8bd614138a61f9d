//! Where a page finds its inbox, and the slices that it needs of one outside SQL: before its one statement, and again
//! after it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::pause::{Pause, Permit};
use crate::{
    domain::{
        Floor, PageRequest, Position, UserId,
        timeline::{
            candidates::CandidateLimits,
            outside::{Belief, Expected, Slice, Window, believe},
        },
    },
    store::{InboxStore, InboxTier, StoreError, outside_states::SideRead},
};

/// Rows requested beyond the page's need, because some authors are no longer followed, and some contents are removed.
const SPARE_ROWS: usize = 4;
/// Rows requested behind the bound. One that is shown is enough.
const ROWS_BEHIND: usize = 4;
/// Factor by which a slice grows if too few of its rows are shown.
const WIDENING: usize = 8;

/// Finds the inboxes that pages read.
pub(super) struct InboxFinder {
    tier: Arc<dyn InboxTier>,
    pause: Mutex<Pause>,
}

/// Where a page finds its reader's inbox.
pub(super) enum Inbox<'a> {
    /// In SQL.
    Sql,
    /// Outside, unless that store says otherwise.
    Outside(AskedInbox<'a>),
}

impl Inbox<'_> {
    /// The floor, if SQL does not know it. It is that of the slice, which is read later.
    pub(super) const fn floor(&self) -> Option<Floor> {
        match self {
            Self::Sql => None,
            Self::Outside(_) => Some(Floor::At(Position::OLDEST)),
        }
    }

    /// Requests more rows from now on, of an inbox outside.
    pub(super) const fn widen(&mut self) {
        if let Self::Outside(inbox) = self {
            inbox.widening *= WIDENING;
        }
    }
}

/// One reader's inbox, for one page.
pub(super) struct AskedInbox<'a> {
    finder: &'a InboxFinder,
    inboxes: &'a dyn InboxStore,
    reader: UserId,
    permit: Permit,
    /// How many times more rows than usual are requested.
    widening: usize,
}

type Slices = (Option<Slice>, Option<Slice>);

impl InboxFinder {
    pub(super) fn new(tier: Arc<dyn InboxTier>) -> Self {
        Self { tier, pause: Mutex::default() }
    }

    /// Where to look for the reader's inbox: in SQL, too, if the store outside has failed, which is then left alone
    /// for a while.
    pub(super) fn find(&self, reader: UserId) -> Inbox<'_> {
        let Some(inboxes) = self.tier.outside() else { return Inbox::Sql };
        let Some(permit) = self.pause().ask(Instant::now()) else { return Inbox::Sql };
        Inbox::Outside(AskedInbox { finder: self, inboxes: &**inboxes, reader, permit, widening: 1 })
    }

    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slices that were read before the statement.
pub(super) struct InboxSlices {
    /// Ahead of the bound.
    pub(super) ahead: SideRead,
    /// At the bound and behind it, if there is one.
    pub(super) behind: Option<SideRead>,
    /// Whether the inbox may hold more rows ahead than were requested.
    pub(super) is_full: bool,
}

impl InboxSlices {
    /// Each slice in its window.
    pub(super) fn slices(&self) -> Vec<(&Window, &Slice)> {
        std::iter::once(&self.ahead).chain(&self.behind).map(|side| (&side.window, &side.slice)).collect()
    }

    /// As many rows of each other source.
    pub(super) fn limits(&self) -> CandidateLimits {
        CandidateLimits { ahead: self.ahead.window.limit, behind: ROWS_BEHIND }
    }
}

/// Why the slices cannot be used.
pub(super) enum Refusal {
    /// The inbox changed meanwhile.
    Changed,
    /// Before the statement: only SQL can give the page; with the reason.
    Unread(&'static str),
    /// After the statement: the same.
    Unbelieved(&'static str),
}

impl AskedInbox<'_> {
    /// The slices before the statement: as many rows as the page needs ahead of the bound, and a few behind it.
    pub(super) async fn before(&self, request: &PageRequest) -> Result<InboxSlices, Refusal> {
        let rows = (request.need() + SPARE_ROWS) * self.widening;
        let ahead = Window { direction: request.direction, bound: request.bound, limit: rows };
        let behind = request.bound.map(|bound| Window::from(bound, request.direction.reversed(), ROWS_BEHIND));
        let slices = self.slices_or_away(&ahead, behind.as_ref()).await;
        let (first, second) = slices.ok_or(Refusal::Unread("away"))?;
        let slice = first.ok_or(Refusal::Unread("absent"))?;
        if request.lies_below(Floor::At(slice.header.floor)) {
            return Err(Refusal::Unread("short"));
        }
        let is_full = slice.rows.len() >= rows;
        let ahead = SideRead { window: ahead, slice };
        let behind = match (behind, second) {
            (None, _) => None,
            (Some(window), Some(slice)) => Some(SideRead { window, slice }),
            (Some(_), None) => return Err(Refusal::Changed),
        };
        Ok(InboxSlices { ahead, behind, is_full })
    }

    /// Reads the slices again: whether they are what the inbox held at the statement's instant.
    pub(super) async fn judge(&self, before: &InboxSlices, expected: Option<Expected>) -> Result<(), Refusal> {
        let window = before.behind.as_ref().map(|side| side.window);
        let after = self.slices_or_away(&before.ahead.window, window.as_ref()).await;
        let after = after.ok_or(Refusal::Unbelieved("away"))?;
        let mut sides = vec![believe(Some(&before.ahead.slice), after.0.as_ref(), expected)];
        sides.extend(before.behind.as_ref().map(|side| believe(Some(&side.slice), after.1.as_ref(), expected)));
        if sides.contains(&Belief::Foreign) {
            return Err(Refusal::Unbelieved("foreign"));
        }
        if sides.contains(&Belief::Changed) { Err(Refusal::Changed) } else { Ok(()) }
    }

    async fn slices(&self, ahead: &Window, behind: Option<&Window>) -> Result<Slices, StoreError> {
        let behind = async {
            match behind {
                Some(window) => self.inboxes.slice(self.reader, window).await,
                None => Ok(None),
            }
        };
        tokio::try_join!(self.inboxes.slice(self.reader, ahead), behind)
    }

    async fn slices_or_away(&self, ahead: &Window, behind: Option<&Window>) -> Option<Slices> {
        let read = self.slices(ahead, behind).await;
        if read.is_ok() && self.permit.is_trial() {
            self.finder.pause().answered(self.permit);
        }
        match read {
            Ok(slices) => Some(slices),
            Err(error) => {
                if self.finder.pause().failed(self.permit, Instant::now()) {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(error, "The inboxes outside SQL cannot be read for a while.");
                }
                None
            }
        }
    }
}
