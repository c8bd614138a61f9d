//! Cuts a delivery into subtasks and resumes it: a chain of ranges over follower ids, with progress in each.
//!
//! Ranges are half open, `(after, through]`. The chain runs from 0 to [`END`], so every follower, present or future,
//! lies in exactly one range.

use crate::ids::UserId;

/// The end of the last range: beyond every id.
pub const END: i64 = i64::MAX;

/// A part of a content's delivery: the followers with `after < id <= through`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Exclusive; the end of the previous range, 0 for the first. Together with the content id it identifies the
    /// subtask.
    pub after: i64,
    /// Inclusive; [`END`] for the last.
    pub through: i64,
}

/// The next range of a chain that ends at `after`; `None` if the chain is complete.
///
/// `probe` has the followers at places `size` and `size + 1`, in ascending ids above `after`. Without the second one,
/// the range is the last and stays open-ended.
pub fn next_range(after: i64, probe: [Option<UserId>; 2]) -> Option<Range> {
    if after == END {
        return None;
    }
    let through = match probe {
        [Some(last), Some(_)] => last.get(),
        _ => END,
    };
    Some(Range { after, through })
}

/// The progress of a subtask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The whole range.
    pub range: Range,
    /// All followers up to and including this id have been served. Begins at `range.after`.
    pub pushed_through: i64,
}

impl Progress {
    /// Whether every follower of the range has been served.
    pub const fn is_done(&self) -> bool {
        self.pushed_through >= self.range.through
    }

    /// The next batch; `None` when done. `last_of_batch` is the follower at the batch's size, counted in ascending ids
    /// above `pushed_through` within the range; `None` if there are fewer.
    pub fn next_batch(&self, last_of_batch: Option<UserId>) -> Option<Range> {
        if self.is_done() {
            return None;
        }
        let through = last_of_batch.map_or(self.range.through, UserId::get);
        Some(Range { after: self.pushed_through, through })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::{collection::btree_set, prelude::*};

    use super::*;

    fn nth_after(fans: &[i64], after: i64, nth: usize) -> Option<UserId> {
        fans.iter().copied().filter(|id| *id > after).nth(nth - 1).map(|id| UserId::try_new(id).unwrap())
    }

    fn chain(fans: &[i64], size: usize) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        loop {
            let after = ranges.last().map_or(0, |range| range.through);
            let probe = [nth_after(fans, after, size), nth_after(fans, after, size + 1)];
            match next_range(after, probe) {
                Some(range) => ranges.push(range),
                None => return ranges,
            }
        }
    }

    #[test]
    fn three_thousand_followers_make_three_subtasks() {
        let fans: Vec<i64> = (1..=3000).collect();
        let ranges = chain(&fans, 1000);
        assert_eq!(ranges.len(), 3);
        assert_eq!(ranges[0], Range { after: 0, through: 1000 });
        assert_eq!(ranges[2], Range { after: 2000, through: END });
    }

    proptest! {
        #[test]
        fn every_follower_lies_in_exactly_one_range(fans in btree_set(1_i64..500, 0..80), size in 1_usize..20) {
            let fans: Vec<i64> = fans.into_iter().collect();
            let ranges = chain(&fans, size);
            for fan in 1_i64..600 {
                prop_assert_eq!(ranges.iter().filter(|range| range.after < fan && fan <= range.through).count(), 1);
            }
            prop_assert!(ranges.len() == fans.len().div_ceil(size).max(1));
        }

        /// A worker that dies after any batch leaves progress from which the rest is served, each follower once.
        #[test]
        fn batches_serve_each_follower_once_wherever_a_worker_dies(fans in btree_set(1_i64..200, 0..50), size in 1_usize..10) {
            let fans: Vec<i64> = fans.into_iter().collect();
            let mut progress = Progress { range: Range { after: 0, through: END }, pushed_through: 0 };
            let mut served = Vec::new();
            while let Some(batch) = progress.next_batch(nth_after(&fans, progress.pushed_through, size)) {
                let is_fresh = |id: &i64| batch.after < *id && *id <= batch.through;
                let fresh: Vec<i64> = fans.iter().copied().filter(is_fresh).collect();
                prop_assert!(fresh.len() <= size);
                served.extend(fresh);
                progress.pushed_through = batch.through;
            }
            prop_assert_eq!(served, fans);
            prop_assert!(progress.is_done());
        }
    }
}
