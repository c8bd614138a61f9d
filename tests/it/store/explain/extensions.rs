//! The plans of the statements that extend an inbox.

use anyhow::{Result, ensure};
use tidefeed::{
    domain::{Position, UserId},
    store::sql::HotStatement,
};

use super::{AUTHORS, ROWS, line, nothing_sorted, plan};
use crate::{
    servers::Backend,
    store::conformance::{World, user},
};

/// The window is bounded by a probe of the outbox index for each covered author, and is a range of it for each.
pub(super) async fn extensions_are_ranges(world: &World, backend: Backend) -> Result<()> {
    let below = |time: i64| Position::bound(1_000 + time, 1);
    for floor in [Position::NEWEST, below(ROWS / 4)] {
        let bounds = plan(world, backend, HotStatement::BelowFloor(user(2), floor, 1)).await?;
        match backend {
            Backend::Sqlite => {
                line(&bounds, &["search e using covering index uncovered (follower_id=? and mode=?)"])?;
                line(&bounds, &["search w using covering index outbox (author_id=? and publish_time"])?;
                ensure!(!bounds.iter().any(|line| line.contains("b-tree")), "{bounds:#?}");
            }
            Backend::MariaDb | Backend::Mysql => {
                line(&bounds, &[" e ", " ref ", " uncovered ", "using index"])?;
                line(&bounds, &[" w ", " ref ", " outbox ", "using index"])?;
                ensure!(!bounds.iter().any(|line| line.contains("filesort")), "{bounds:#?}");
            }
        }
        let authors: Vec<UserId> = (101..101 + AUTHORS.min(100)).map(user).collect();
        let end_ms = floor.publish_time().min(1_000 + ROWS / 2) - 100;
        let window = plan(world, backend, HotStatement::ExtensionWindow(user(2), authors, (floor, end_ms))).await?;
        nothing_sorted(&window)?;
        match backend {
            Backend::Sqlite => line(
                &window,
                &["search c using covering index outbox (author_id=? and publish_time>? and publish_time<?)"],
            )?,
            Backend::MariaDb | Backend::Mysql => line(&window, &[" c ", " range ", " outbox ", "using index"])?,
        };
    }
    Ok(())
}
