//! Calls about unfinished deliveries and their subtasks.

use tidefeed::{
    app::Ports,
    domain::{
        ContentId,
        delivery::{
            DeliveryPolicy, EdgeRule,
            subtask::{END, Progress, Range},
        },
    },
    store::deliveries::{First, Lease, Subtask},
};

use super::acts::{Drawer, outcome};

#[derive(Debug, Clone)]
pub enum Act {
    Find(ContentId),
    AtOnce(ContentId, u32, u64),
    Together(Vec<ContentId>, u64),
    ServeFirst(ContentId, First),
    ExtendChain(ContentId, u32, usize),
    OpenSubtasks(ContentId),
    TakeSubtask(ContentId, i64, i64),
    BeginSubtask(Subtask, i64, u32, u64),
    PushBatch(Subtask, u32),
    Finish(ContentId),
    Failed(ContentId, Option<i64>, i64),
    Due(i64, u64),
    Backlog(u32),
    Failing(u32, u64),
}

impl Act {
    pub fn draw(from: &mut Drawer<'_>) -> Self {
        let small = u32::try_from(from.rng.below(4)).unwrap_or(1);
        match from.rng.below(35) {
            0 => Self::Find(from.delivered()),
            32..=34 => Self::Together((0..3).map(|_| from.delivered()).collect(), from.rng.below(8)),
            30..=31 => Self::AtOnce(from.delivered(), small + 1, from.rng.below(6)),
            1 => {
                let seen_since_ms = from.now - from.rng.within(0, 60_000);
                Self::ServeFirst(from.delivered(), First { more_than: small, seen_since_ms, most: 1 + small })
            }
            2..=7 => Self::ExtendChain(from.delivered(), small, from.rng.index(3) + 1),
            8 => Self::OpenSubtasks(from.delivered()),
            9..=11 => {
                let Subtask { content, progress, .. } = subtask(from);
                Self::TakeSubtask(content, progress.range.after, from.later())
            }
            12..=15 => Self::BeginSubtask(subtask(from), from.later(), small, from.rng.below(6)),
            16..=20 => Self::PushBatch(subtask(from), small),
            21..=24 => Self::Finish(from.delivered()),
            25 => {
                let Subtask { content, progress, .. } = subtask(from);
                let after = from.rng.chance(500_000).then_some(progress.range.after);
                Self::Failed(content, after, from.later())
            }
            26..=27 => Self::Due(from.later(), from.rng.below(4) + 1),
            28 => Self::Backlog(small),
            _ => Self::Failing(small, from.rng.below(4)),
        }
    }

    pub async fn answer(&self, ports: &Ports, now: i64) -> String {
        let deliveries = &ports.deliveries;
        match self {
            Self::Find(content) => outcome(deliveries.find(*content).await),
            Self::AtOnce(content, most, push_threshold) => {
                outcome(deliveries.deliver_at_once(*content, *most, &policy(*push_threshold)).await)
            }
            Self::Together(contents, most) => outcome(deliveries.deliver_together(contents, *most).await),
            Self::ServeFirst(content, first) => outcome(deliveries.serve_first(*content, *first).await),
            Self::ExtendChain(content, size, limit) => outcome(deliveries.extend_chain(*content, *size, *limit).await),
            Self::OpenSubtasks(content) => outcome(deliveries.open_subtasks(*content).await),
            Self::TakeSubtask(content, after, until) => {
                outcome(deliveries.take_subtask((*content, *after), Lease { now_ms: now, until_ms: *until }).await)
            }
            Self::BeginSubtask(subtask, until, size, push_threshold) => {
                let begun = (subtask.content, subtask.progress.range.after);
                let lease = Lease { now_ms: now, until_ms: *until };
                outcome(deliveries.begin_subtask(begun, lease, *size, &policy(*push_threshold)).await)
            }
            Self::PushBatch(subtask, size) => outcome(deliveries.push_batch(subtask, *size).await),
            Self::Finish(content) => outcome(deliveries.finish(*content).await),
            Self::Failed(content, after, retry_at) => {
                outcome(deliveries.record_failure(*content, *after, "it failed", *retry_at).await)
            }
            Self::Due(next, limit) => outcome(deliveries.due(i64::MIN, now, *next, *limit).await),
            Self::Backlog(attempts) => outcome(deliveries.backlog(i64::MIN, *attempts).await),
            Self::Failing(attempts, limit) => outcome(deliveries.failing(*attempts, *limit).await),
        }
    }
}

/// A policy that checks the readers of authors with more followers than this.
const fn policy(push_threshold: u64) -> DeliveryPolicy {
    DeliveryPolicy { rule: EdgeRule::Threshold { push_threshold, active_days: 1 }, dormant_days: 1 }
}

/// One that there is, as it is or as it began; or one that there is not.
fn subtask(from: &mut Drawer<'_>) -> Subtask {
    let tables = from.tables;
    let rows: Vec<_> = tables.subtasks.iter().collect();
    let nth = from.rng.index(rows.len());
    let Some(((content, after), row)) = rows.get(nth).filter(|_| from.rng.chance(950_000)) else {
        let range = Range { after: from.rng.within(0, 50), through: END };
        return Subtask {
            content: from.content(),
            task_no: 1,
            progress: Progress { range, pushed_through: range.after },
        };
    };
    let range = Range { after: *after, through: row.last_fan };
    let pushed_through = if from.rng.chance(700_000) { row.pushed_through } else { *after };
    Subtask { content: *content, task_no: row.number, progress: Progress { range, pushed_through } }
}
