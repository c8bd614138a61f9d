//! Refuses a client's mutations in like proportion as its queries.
//!
//! Both have limits of their own, but one processor. A mutation costs several times what a query costs: if a node with
//! more to do than it can refused queries alone, mutations would take what these leave, and serve less in all. Only
//! clients whose queries are refused are concerned, and not the other way round: who waits for a busy writer may read.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    mem,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::payer::Payer;

/// Clients whose refusals are counted at once. Beyond that, no further client's mutations are refused for its queries.
const MOST: usize = 16_384;
/// Refusals count for this time at least, and for twice as long at most.
const COUNTED: Duration = Duration::from_secs(2);

/// Steps between no refusal and one.
const PHASES: u64 = 16;

/// The operations of clients that had queries refused lately.
pub(super) struct Proportion(Mutex<Generations>);

struct Generations {
    now: HashMap<Payer, Counts>,
    before: HashMap<Payer, Counts>,
    began: Instant,
    /// How many have begun.
    number: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    queries: Outcomes,
    mutations: Outcomes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Outcomes {
    asked: u64,
    refused: u64,
}

impl Proportion {
    pub(super) fn new() -> Self {
        let (now, before) = (HashMap::new(), HashMap::new());
        Self(Mutex::new(Generations { now, before, began: Instant::now(), number: 0 }))
    }

    /// Notes a query. Only those of clients that had one refused lately count.
    pub(super) fn note_query(&self, client: Payer, is_refused: bool) {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generations.turn();
        if let Some(counts) = generations.counts(client, is_refused) {
            counts.queries.note(is_refused);
        }
    }

    /// Whether to refuse a mutation, which is noted.
    pub(super) fn refuses_mutation(&self, client: Payer) -> bool {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generations.turn();
        let (before, phase) = (generations.before.get(&client).copied().unwrap_or_default(), generations.phase(client));
        let Some(now) = generations.counts(client, false) else { return false };
        let queries = now.queries.and(before.queries);
        let mutations = now.mutations.and(before.mutations);
        // Of a client with one mutation, too, the share is right on the average.
        let refused = (mutations.refused + 1) * PHASES - phase;
        let is_refused = refused * queries.asked <= queries.refused * (mutations.asked + 1) * PHASES;
        now.mutations.note(is_refused);
        is_refused
    }
}

impl Generations {
    /// Forgets what no longer counts.
    fn turn(&mut self) {
        let now = Instant::now();
        let age = now - self.began;
        if age >= COUNTED {
            self.before = mem::take(&mut self.now);
            self.began = now;
            self.number += 1;
        }
        if age >= COUNTED * 2 {
            self.before = HashMap::new();
        }
    }

    /// Where in its share a client begins, below [`PHASES`]: another place in each generation.
    fn phase(&self, client: Payer) -> u64 {
        let mut hasher = DefaultHasher::new();
        (client, self.number).hash(&mut hasher);
        hasher.finish() % PHASES
    }

    /// The counts of a client that is known, or may become known.
    fn counts(&mut self, client: Payer, may_be_new: bool) -> Option<&mut Counts> {
        let is_known = self.now.contains_key(&client) || self.before.contains_key(&client);
        let may_count = is_known || (may_be_new && self.now.len() < MOST);
        may_count.then(|| self.now.entry(client).or_default())
    }
}

impl Outcomes {
    fn note(&mut self, is_refused: bool) {
        self.asked += 1;
        self.refused += u64::from(is_refused);
    }

    fn and(self, other: Self) -> Self {
        Self { asked: self.asked + other.asked, refused: self.refused + other.refused }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const ANN: Payer = Payer::Viewer(1);
    const BOB: Payer = Payer::Viewer(2);

    /// Of 100 mutations, how many are refused while one in `every` queries is.
    fn refused(proportion: &Proportion, client: Payer, every: usize) -> usize {
        let asked = (0..100).filter(|nth| {
            proportion.note_query(client, nth % every == 0);
            proportion.refuses_mutation(client)
        });
        asked.count()
    }

    #[tokio::test(start_paused = true)]
    async fn mutations_are_refused_as_often_as_queries() {
        let proportion = Proportion::new();
        for (client, every, share) in [(3, 1, 95..=100), (4, 2, 45..=55), (5, 10, 8..=12)] {
            let count = refused(&proportion, Payer::Viewer(client), every);
            assert!(share.contains(&count), "one in {every}: {count}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn clients_with_one_mutation_each_have_the_same_share_together() {
        let proportion = Proportion::new();
        let refused = (0..1_000).filter(|id| {
            let client = Payer::Viewer(*id);
            (0..4).for_each(|nth| proportion.note_query(client, nth == 0));
            proportion.refuses_mutation(client)
        });
        let refused = refused.count();
        assert!((200..300).contains(&refused), "of 1,000 a quarter: {refused}");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_pays_for_others_or_for_long() {
        let proportion = Proportion::new();
        proportion.note_query(ANN, true);
        assert!(proportion.refuses_mutation(ANN) && !proportion.refuses_mutation(BOB));
        advance(COUNTED).await;
        assert!(proportion.refuses_mutation(ANN), "it still counts");
        advance(COUNTED * 2).await;
        assert!(!proportion.refuses_mutation(ANN));
    }

    #[tokio::test(start_paused = true)]
    async fn a_bounded_number_of_clients_is_counted() {
        let proportion = Proportion::new();
        for client in 0..2 * MOST as u64 {
            proportion.note_query(Payer::Viewer(client), true);
        }
        let known = proportion.0.lock().map_or(0, |generations| generations.now.len());
        assert_eq!(known, MOST);
    }
}
