//! Models what a node's subscription hears: a group that is wanted is heard some time later, one that is not wanted any
//! more at once no longer, and nothing while the subscription is broken.

use std::collections::{BTreeMap, BTreeSet};

use tidefeed::{domain::Shown, store::announcements::Announcement};

use super::{LATEST, Late};
use crate::{fault_injector::FaultInjector, rules::Rule};

/// See the module.
pub struct Interest {
    injector: FaultInjector,
    /// What is wanted, by group.
    wanted: BTreeMap<i64, usize>,
    subscribed: BTreeSet<i64>,
    late: Late<i64>,
    /// When the broken subscription stands again.
    stands_at: Option<i64>,
    broken: Option<Rule>,
}

impl Interest {
    /// `None` in worlds whose nodes hear everything.
    pub fn new(injector: FaultInjector, broken: Option<Rule>) -> Option<Self> {
        let (wanted, subscribed, late) = (BTreeMap::new(), BTreeSet::new(), Late::default());
        (injector.rates().groups > 0).then_some(Self { injector, wanted, subscribed, late, stands_at: None, broken })
    }

    pub fn want(&mut self, shown: Shown) {
        let group = self.group(shown);
        let count = self.wanted.entry(group).or_default();
        *count += 1;
        if *count > 1 || self.stands_at.is_some() {
            return;
        }
        if self.injector.injects(self.injector.rates().interest[0]) {
            let wait = self.injector.within(1, LATEST);
            self.late.add(self.injector.now() + wait, group);
        } else {
            self.subscribed.insert(group);
        }
    }

    pub fn unwant(&mut self, shown: Shown) {
        let group = self.group(shown);
        let count = self.wanted.entry(group).or_default();
        *count = count.saturating_sub(1);
        if *count == 0 || self.broken == Some(Rule::WithdrawnTooEarly) {
            self.subscribed.remove(&group);
        }
    }

    /// May break the subscription; whether it did.
    pub fn breaks(&mut self) -> bool {
        let breaks = self.stands_at.is_none() && self.injector.injects(self.injector.rates().interest[1]);
        if breaks {
            self.subscribed.clear();
            self.late = Late::default();
            self.stands_at = Some(self.injector.now() + self.injector.within(1, LATEST));
        }
        breaks
    }

    /// Groups are heard that were late; whether there were any.
    pub fn come(&mut self) -> bool {
        let come = self.late.come(self.injector.now());
        let wanted = come.iter().copied().filter(|group| self.is_wanted(*group));
        self.subscribed.extend(wanted.collect::<Vec<_>>());
        !come.is_empty()
    }

    /// The broken subscription stands again, with all that is wanted; whether it does now.
    pub fn is_renewed(&mut self) -> bool {
        let renewed = self.stands_at.is_some_and(|at| at <= self.injector.now());
        if renewed {
            self.stands_at = None;
            self.subscribed = self.wanted.keys().copied().filter(|group| self.is_wanted(*group)).collect();
        }
        renewed
    }

    /// Groups that are wanted and not heard yet.
    pub fn on_their_way(&self) -> BTreeSet<i64> {
        self.late.0.iter().map(|(_, group)| *group).collect()
    }

    /// Whether these have come, or a gap will.
    pub fn is_settled(&self, asked: &BTreeSet<i64>) -> bool {
        self.stands_at.is_some() || self.on_their_way().is_disjoint(asked)
    }

    pub fn hears(&self, announcement: &Announcement) -> bool {
        let hears = |shown| self.subscribed.contains(&self.group(shown));
        self.stands_at.is_none() && announcement.about().is_none_or(hears)
    }

    /// People's ids are ten apart.
    fn group(&self, shown: Shown) -> i64 {
        shown.number() / 10 % i64::from(self.injector.rates().groups)
    }

    fn is_wanted(&self, group: i64) -> bool {
        self.wanted.get(&group).is_some_and(|count| *count > 0)
    }
}
