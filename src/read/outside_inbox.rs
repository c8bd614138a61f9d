//! The slices of an inbox outside SQL that a page needs: before its one statement, and again after it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::pause::{Pause, Permit};
use crate::{
    domain::{
        PageRequest, UserId,
        timeline::outside::{Belief, Expected, Slice, Window, believe},
    },
    store::{
        OutsidePages, StoreError,
        outside_states::{OutsideStores, SideRead},
    },
};

/// Rows requested behind the bound. One that is shown is enough.
const ROWS_BEHIND: usize = 4;

/// Reads outside inboxes for pages.
pub(super) struct OutsideReader {
    stores: OutsideStores,
    pause: Mutex<Pause>,
}

/// One reader's inbox, for one page.
pub(super) struct AskedInbox<'a> {
    outside: &'a OutsideReader,
    pub(super) reader: UserId,
    permit: Permit,
}

type Slices = (Option<Slice>, Option<Slice>);

impl OutsideReader {
    pub(super) fn new(stores: OutsideStores) -> Self {
        Self { stores, pause: Mutex::default() }
    }

    /// `None`: the store has failed, and is left alone for a while.
    pub(super) fn ask(&self, reader: UserId) -> Option<AskedInbox<'_>> {
        let permit = self.pause().ask(Instant::now())?;
        Some(AskedInbox { outside: self, reader, permit })
    }

    fn pause(&self) -> MutexGuard<'_, Pause> {
        self.pause.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn slices(&self, reader: UserId, ahead: &Window, behind: Option<&Window>) -> Result<Slices, StoreError> {
        let inboxes = &self.stores.inboxes;
        let behind = async {
            match behind {
                Some(window) => inboxes.slice(reader, window).await,
                None => Ok(None),
            }
        };
        tokio::try_join!(inboxes.slice(reader, ahead), behind)
    }
}

/// The slices that were read before the statement.
pub(super) struct Sides {
    /// Ahead of the bound.
    pub(super) ahead: SideRead,
    /// At the bound and behind it, if there is one.
    pub(super) behind: Option<SideRead>,
    /// Whether the inbox may hold more rows ahead than were requested.
    pub(super) is_full: bool,
}

/// Why the slices cannot be used.
pub(super) enum Refusal {
    /// The inbox changed meanwhile.
    Changed,
    /// Only SQL can give the page; with the reason.
    No(&'static str),
}

impl AskedInbox<'_> {
    /// Where the statement is asked.
    pub(super) fn pages(&self) -> &dyn OutsidePages {
        &*self.outside.stores.pages
    }

    /// The slices before the statement: so many rows ahead of the bound, and a few behind it.
    pub(super) async fn before(&self, request: &PageRequest, rows: usize) -> Result<Sides, Refusal> {
        let ahead = Window { direction: request.direction, bound: request.bound, limit: rows };
        let behind = request.bound.map(|bound| Window::from(bound, request.direction.reversed(), ROWS_BEHIND));
        let (first, second) = self.slices_or_away(&ahead, behind.as_ref()).await?;
        let slice = first.ok_or(Refusal::No("absent"))?;
        let is_full = slice.rows.len() >= rows;
        let ahead = SideRead { window: ahead, slice };
        let behind = match (behind, second) {
            (None, _) => None,
            (Some(window), Some(slice)) => Some(SideRead { window, slice }),
            (Some(_), None) => return Err(Refusal::Changed),
        };
        Ok(Sides { ahead, behind, is_full })
    }

    /// Reads the slices again: whether they are what the inbox held at the statement's instant.
    pub(super) async fn judge(&self, before: &Sides, expected: Option<Expected>) -> Result<(), Refusal> {
        let window = before.behind.as_ref().map(|side| side.window);
        let after = self.slices_or_away(&before.ahead.window, window.as_ref()).await?;
        let mut sides = vec![believe(Some(&before.ahead.slice), after.0.as_ref(), expected)];
        sides.extend(before.behind.as_ref().map(|side| believe(Some(&side.slice), after.1.as_ref(), expected)));
        if sides.contains(&Belief::Foreign) {
            return Err(Refusal::No("foreign"));
        }
        if sides.contains(&Belief::Changed) { Err(Refusal::Changed) } else { Ok(()) }
    }

    async fn slices_or_away(&self, ahead: &Window, behind: Option<&Window>) -> Result<Slices, Refusal> {
        let read = self.outside.slices(self.reader, ahead, behind).await;
        if read.is_ok() && self.permit.is_trial() {
            self.outside.pause().answered(self.permit);
        }
        read.map_err(|error| {
            if self.outside.pause().failed(self.permit, Instant::now()) {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "The inboxes outside SQL cannot be read for a while.");
            }
            Refusal::No("away")
        })
    }
}
