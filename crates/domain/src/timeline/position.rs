//! Positions, which order every timeline, and entries.
//!
//! Everything in Tidefeed is ordered by publish time, then by content id as a number. Timelines are read newest first.

use serde::{Deserialize, Serialize};

use crate::ids::{ContentId, InvalidId, UserId};

/// (publish time in ms UTC, content id): a total order over all contents.
///
/// Private fields keep pairs in range. [`Position::OLDEST`] lies before and [`Position::NEWEST`] after the position of
/// every content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    publish_time: i64,
    content_id: i64,
}

/// Why a pair is not a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPosition {
    /// Publish times are milliseconds since 1970, from 0.
    #[error("{0} is not a publish time: expected milliseconds since 1970, not negative")]
    Time(i64),
    /// The second half is a content id.
    #[error(transparent)]
    Id(#[from] InvalidId),
}

impl Position {
    /// Before the position of any content ("minus infinity").
    pub const OLDEST: Self = Self { publish_time: 0, content_id: 0 };
    /// After the position of any content ("plus infinity").
    pub const NEWEST: Self = Self { publish_time: i64::MAX, content_id: i64::MAX };

    /// Checks the pair: `publish_time` in ms, not negative; a positive content id.
    pub fn try_new(publish_time: i64, content_id: i64) -> Result<Self, InvalidPosition> {
        if publish_time < 0 {
            return Err(InvalidPosition::Time(publish_time));
        }
        ContentId::try_new(content_id)?;
        Ok(Self { publish_time, content_id })
    }

    /// The position of `content`; a negative time is lifted to 0.
    pub fn of(publish_time: i64, content: ContentId) -> Self {
        Self { publish_time: publish_time.max(0), content_id: content.get() }
    }

    /// A bound from a database: any pair from [`Position::OLDEST`] to [`Position::NEWEST`].
    pub fn bound(publish_time: i64, content_id: i64) -> Self {
        Self { publish_time: publish_time.max(0), content_id: content_id.max(0) }
    }

    /// Milliseconds since 1970.
    pub const fn publish_time(self) -> i64 {
        self.publish_time
    }

    /// The content id as a number; 0 only in [`Position::OLDEST`].
    pub const fn content_number(self) -> i64 {
        self.content_id
    }
}

/// A position and its author: a row of an inbox or an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// When it was published.
    pub publish_time: i64,
    /// The published content.
    pub content: ContentId,
    /// Its author.
    pub author: UserId,
}

impl Entry {
    /// Its position.
    pub fn position(&self) -> Position {
        Position::of(self.publish_time, self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_order_by_time_and_then_by_id_as_a_number() {
        let at = |time, id| Position::bound(time, id);
        assert!(at(2, 1) > at(1, 99));
        assert!(at(1, 10) > at(1, 9));
        assert!(Position::OLDEST < at(0, 1));
        assert!(Position::NEWEST > at(i64::MAX, i64::MAX - 1));
    }

    #[test]
    fn a_pair_out_of_range_is_refused() {
        assert_eq!(Position::try_new(-1, 1), Err(InvalidPosition::Time(-1)));
        assert_eq!(Position::try_new(1, 0), Err(InvalidPosition::Id(InvalidId(0))));
    }
}
