//! A delivery: recipients from one statement, a script (or an insert) for each inbox, then progress in SQL.

use std::task::Poll;

use tidefeed::domain::{EdgeMode, Position, timeline::outside::Fence};

use super::{
    operations::Operation,
    primary::{Content, Delivery},
    rules::Rule,
    scripts::Script,
    world::World,
};

/// An executor with one batch of one delivery.
#[derive(Debug)]
pub struct Deliver {
    content: Position,
    attempt: i64,
    through: usize,
    recipients: Vec<(usize, Fence)>,
    /// Where a broken rule reads recipients first: the author of what is still to be committed.
    uncommitted: Option<usize>,
    progressed: bool,
    under_way: Option<Operation>,
}

impl Deliver {
    /// Reads the recipients of the next batch of some delivery, and leaves an attempt's number in the same
    /// transaction.
    pub fn begin(world: &mut World) -> Option<Self> {
        let waiting: Vec<Position> = world.primary.deliveries.keys().copied().collect();
        let content = *waiting.get(world.rng.index(waiting.len()))?;
        let attempt = world.draw();
        let delivery = world.primary.deliveries.get_mut(&content)?;
        delivery.attempt = attempt;
        let (author, from) = (delivery.author, delivery.through);
        let through = (from + 1 + world.rng.index(3)).min(world.readers);
        let recipients = recipients(world, author, from..through);
        let (uncommitted, under_way) = (None, None);
        Some(Self { content, attempt, through, recipients, uncommitted, progressed: false, under_way })
    }

    /// The broken order: recipients of a content that is not committed yet.
    pub fn ahead_of_commit(world: &mut World, content: Position, author: usize) -> Self {
        let recipients = recipients(world, author, 0..world.readers);
        let (attempt, through) = (world.draw(), world.readers);
        let (uncommitted, under_way) = (Some(author), None);
        Self { content, attempt, through, recipients, uncommitted, progressed: false, under_way }
    }

    pub fn step(mut self, world: &mut World) -> Option<Self> {
        if let Some(author) = self.uncommitted.take() {
            world.primary.contents.insert(self.content, Content { author, removed: false });
            world.primary.deliveries.insert(self.content, Delivery { author, through: 0, attempt: self.attempt });
            return Some(self);
        }
        if world.breaks(Rule::ProgressBeforeRows) && !self.progressed {
            self.progressed = true;
            self.progress(world);
            return Some(self);
        }
        let Some((reader, fence)) = self.recipients.last().copied() else {
            self.progress(world);
            return None;
        };
        let row = self.content;
        let deliver = |world: &mut World| Script::Deliver { fence, row, nonce: world.nonce() };
        if let Poll::Ready(answer) = world.send(&mut self.under_way, reader, deliver) {
            // The node is another: the batch must be read again.
            answer.ok()?;
            self.recipients.pop();
        }
        Some(self)
    }

    fn progress(&self, world: &mut World) {
        let any = world.breaks(Rule::ProgressOfAnyAttempt);
        let Some(delivery) = world.primary.deliveries.get_mut(&self.content) else { return };
        if delivery.attempt == self.attempt || any {
            delivery.through = delivery.through.max(self.through);
            if delivery.through == world.readers {
                world.primary.deliveries.remove(&self.content);
            }
        }
    }
}

fn recipients(world: &World, author: usize, range: std::ops::Range<usize>) -> Vec<(usize, Fence)> {
    let wanted = |reader: &usize| match world.primary.edges.get(&(*reader, author)).map(|edge| edge.mode) {
        None | Some(EdgeMode::Pull) => false,
        Some(EdgeMode::Fill) => !world.breaks(Rule::FillIsSkipped),
        Some(EdgeMode::Push) => true,
    };
    range.filter(wanted).filter_map(|reader| Some((reader, world.primary.fence(reader)?))).collect()
}
