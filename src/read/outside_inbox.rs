//! One try for a page of an inbox outside SQL: the slice that the page needs, the one statement, and the slice again.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::outcome::Raw;
use crate::{
    domain::{
        Floor, PageRequest, UserId,
        timeline::{
            outside::{Belief, Slice, Window, believe},
            plan::{Next, Snapshot, decide},
        },
    },
    store::{
        StoreError,
        outside_states::{OutsideStores, SideRead},
    },
};

/// Rows behind the bound: one that is shown is enough.
const ROWS_BEHIND: usize = 4;
/// How long a store that failed is left alone.
const AWAY: Duration = Duration::from_secs(1);

/// The outside inboxes as pages read them.
pub(super) struct OutsideReader {
    stores: OutsideStores,
    /// Until when the store is not asked.
    away_until: Mutex<Option<Instant>>,
}

type Slices = (Option<Slice>, Option<Slice>);

impl OutsideReader {
    pub(super) fn new(stores: OutsideStores) -> Self {
        Self { stores, away_until: Mutex::default() }
    }

    pub(super) fn is_away(&self) -> bool {
        let until = self.away_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    fn leave_alone(&self, error: &StoreError) {
        tracing::debug!(error = error as &dyn std::error::Error, "The inboxes outside SQL cannot be read for a while.");
        let mut until = self.away_until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = Some(Instant::now() + AWAY);
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

/// How one try ends.
pub(super) enum Tried {
    /// The page is exact.
    Page(Raw),
    /// The inbox changed meanwhile.
    Changed,
    /// The slice was too short for the page, and the inbox may hold more.
    Short,
    /// Only SQL can tell.
    No(&'static str),
}

impl OutsideReader {
    /// Asks for so many rows ahead of the bound.
    pub(super) async fn attempt(
        &self,
        reader: UserId,
        request: &PageRequest,
        rows: usize,
    ) -> Result<Tried, StoreError> {
        let ahead = Window { direction: request.direction, bound: request.bound, limit: rows };
        let behind = request.bound.map(|bound| Window::from(bound, request.direction.reversed(), ROWS_BEHIND));
        let before = match self.slices(reader, &ahead, behind.as_ref()).await {
            Ok(before) => before,
            Err(error) => {
                self.leave_alone(&error);
                return Ok(Tried::No("away"));
            }
        };
        let Some(slice) = before.0 else { return Ok(Tried::No("absent")) };
        let is_full = slice.rows.len() >= rows;
        let ahead = SideRead { window: ahead, slice };
        let behind = match (behind, before.1) {
            (None, _) => None,
            (Some(window), Some(slice)) => Some(SideRead { window, slice }),
            (Some(_), None) => return Ok(Tried::Changed),
        };
        let found = self.stores.states.page_with(reader, request, &ahead, behind.as_ref()).await?;
        let window = behind.as_ref().map(|side| side.window);
        let after = match self.slices(reader, &ahead.window, window.as_ref()).await {
            Ok(after) => after,
            Err(error) => {
                self.leave_alone(&error);
                return Ok(Tried::No("away"));
            }
        };
        let mut sides = vec![believe(Some(&ahead.slice), after.0.as_ref(), found.expected)];
        sides.extend(behind.as_ref().map(|side| believe(Some(&side.slice), after.1.as_ref(), found.expected)));
        if sides.contains(&Belief::Foreign) {
            return Ok(Tried::No("foreign"));
        }
        if sides.contains(&Belief::Changed) {
            return Ok(Tried::Changed);
        }
        let floor = Floor::At(ahead.slice.header.floor);
        let (ahead, behind) = (found.ahead, found.behind);
        let snapshot = Snapshot { floor, excludes: false, uncovered: Vec::new(), ahead, behind };
        Ok(match decide(request, &snapshot, None) {
            Next::Serve(page) => Tried::Page(Raw::of(page, floor, HashMap::new())),
            _ if is_full => Tried::Short,
            _ => Tried::No("short"),
        })
    }
}
