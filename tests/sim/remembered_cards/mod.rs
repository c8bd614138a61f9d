//! Tests the cards that nodes remember: two nodes with the real reader share one model of SQL, while profiles change,
//! contents are removed, the reader reacts, and nodes remember late what they read. Everything on a page must be true
//! in the page's own snapshot.

mod world;

use std::{sync::Arc, time::Duration};

use tidefeed::{
    clock::ManualClock,
    domain::{Entry, PageRequest, PageSize},
    read::{TimelineReader, Visits},
    store::{cards::ContentCard, memory::MemoryQueue},
};

use self::world::{AUTHORS, Sql, user};
use crate::{
    checks::Checks,
    fault_injector::{FaultInjector, Rates},
    primary_store::{Engine, PrimaryStore},
    rng::SimRng,
};

crate::rules::rules! {
    ChangeKeepsVersion "Profile" "a changed profile keeps its version";
    VersionIsCounted "Profile" "versions are counted, not drawn, so that one returns after SQL has lost a change";
    VersionIsReadApart "Cards" "a card's version is read by a statement after the one that read the profile";
    VersionOfAnEarlierSnapshot "Page" "the page's versions are of an earlier snapshot than the page";
    ReactionKeepsVersion "Reactions" "a reaction leaves the version of the reader's reactions as it is";
    ReactionsAreCounted "Reactions" "versions of reactions are counted, not drawn, so that one returns after SQL has lost a reaction";
    ReactionsOfAnEarlierSnapshot "Reactions" "remembered reactions are of an earlier snapshot than their version";
    StretchVersionIsReadApart "Stretch" "the version of the reader's reactions is of an earlier snapshot than the stretch";
    RemovedIsShown "Page" "the page's snapshot has contents that were removed";
}

/// Steps of a walk.
const STEPS: usize = 60;
/// Walks that show nothing wrong.
const WALKS: u64 = 400;
/// Walks in which every broken rule shows.
const UNTIL_SEEN: u64 = 200;
/// Who reads.
const READER: i64 = 9;

/// A page whose missing cards are being read.
enum Reading {
    Missing(usize, Vec<Entry>),
    Read(usize, Vec<ContentCard>),
}

struct Walk {
    sql: Arc<Sql>,
    nodes: Vec<TimelineReader>,
    under_way: Vec<Reading>,
    from_memory: u64,
}

impl Walk {
    fn new(has_inbox: bool, broken: Option<Rule>) -> Self {
        let sql = Arc::new(Sql::new(has_inbox, broken));
        let node = |_| {
            let injector = FaultInjector::new(0, Rates::default(), false);
            let originals = PrimaryStore::new(injector, Engine::default(), Checks::new(true));
            let queue = Arc::new(MemoryQueue::new(1, Duration::ZERO));
            let visits = Visits::new(queue, Arc::new(ManualClock::at(0)), 1);
            TimelineReader::new(sql.clone(), Arc::new(originals), None, Arc::new(visits), None)
        };
        Self { nodes: (0..2).map(node).collect(), sql, under_way: Vec::new(), from_memory: 0 }
    }

    /// What was wrong, if anything was.
    async fn step(&mut self, rng: &mut SimRng) -> Result<(), String> {
        let author = user(rng.within(1, AUTHORS));
        match rng.below(16) {
            0..=1 => self.sql.publish(author),
            2 => self.sql.remove(rng),
            3..=4 => self.sql.rename(author, rng),
            5 => self.sql.lose(),
            6 => self.sql.like(rng),
            7..=11 => return self.page(rng.index(self.nodes.len())).await,
            _ => self.go_on(rng),
        }
        Ok(())
    }

    async fn page(&mut self, node: usize) -> Result<(), String> {
        let request = PageRequest::newest(PageSize::try_new(4).unwrap());
        let page = self.nodes[node].page_with_cards(user(READER), &request).await.map_err(|error| error.to_string())?;
        if let Some(gone) = page.folded.entries.iter().find(|entry| !self.sql.has(entry.content)) {
            return Err(format!("content {} is shown and was removed", gone.content));
        }
        for card in &page.cards {
            let (shown, due) = (card.reactions.is_some_and(|own| own.liked), self.sql.likes(card.content.id));
            if shown != due {
                return Err(format!("{} is shown as liked: {shown}, due is {due}", card.content.id));
            }
        }
        for author in page.cards.iter().filter_map(|card| card.author.as_ref()) {
            self.from_memory += 1;
            let due = self.sql.profile(author.profile.id).name.to_string();
            if author.profile.name != due {
                return Err(format!("the name {} is shown, due is {due}", author.profile.name));
            }
        }
        let known = |entry: &&Entry| page.cards.iter().any(|it| it.content.id == entry.content && it.author.is_some());
        let missing: Vec<Entry> = page.folded.entries.iter().filter(|entry| !known(entry)).copied().collect();
        self.under_way.push(Reading::Missing(node, missing));
        Ok(())
    }

    /// Something that is under way reads its cards, or remembers what it has read.
    fn go_on(&mut self, rng: &mut SimRng) {
        if self.under_way.is_empty() {
            return;
        }
        match self.under_way.swap_remove(rng.index(self.under_way.len())) {
            Reading::Missing(node, missing) => self.under_way.push(Reading::Read(node, self.sql.cards(&missing))),
            Reading::Read(node, cards) => self.nodes[node].remember_cards(&self.sql.versions_of_now(cards)),
        }
    }
}

/// Whether the walk shows something wrong; how many names came from memory.
fn walk(seed: u64, broken: Option<Rule>) -> Result<u64, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut walk, mut rng) = (Walk::new(seed.is_multiple_of(2), broken), SimRng::of(seed));
        for _ in 0..STEPS {
            walk.step(&mut rng).await?;
        }
        Ok(walk.from_memory)
    })
}

#[test]
fn every_remembered_card_equals_the_pages_snapshot() {
    let mut from_memory = 0;
    for seed in 0..WALKS {
        let walked = walk(seed, None);
        assert!(walked.is_ok(), "walk {seed}: {walked:?}");
        from_memory += walked.unwrap_or_default();
    }
    assert!(from_memory > 2 * WALKS, "{from_memory} names came from memory: too few to show anything");
}

#[test]
fn every_broken_rule_of_remembered_cards_is_seen() {
    let unseen: Vec<&Rule> =
        Rule::ALL.iter().filter(|rule| (0..UNTIL_SEEN).all(|seed| walk(seed, Some(**rule)).is_ok())).collect();
    let words = |rule: &&Rule| format!("{}: {}", rule.place(), rule.words());
    assert!(unseen.is_empty(), "nobody notices: {:?}", unseen.iter().map(words).collect::<Vec<_>>());
}
