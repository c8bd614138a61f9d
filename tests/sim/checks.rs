//! Runs after every commit: updates the oracle and the reads under way, and checks the invariant of docs/coverage.md on
//! every row that the commit touched.

use std::{collections::BTreeMap, sync::Arc};

use tidefeed::domain::{EdgeMode, Entry, UserId};

use crate::{
    oracle::{Fact, Oracle, Shown, Version},
    primary_store::{
        audits::is_hole,
        tables::{Change, Tables},
    },
};

/// Something went wrong that must not.
#[derive(Debug, Clone)]
pub struct Failure {
    /// In a few words; the same for the same kind of fault.
    pub what: &'static str,
    pub detail: String,
}

#[derive(Debug, Default)]
pub struct Checks {
    pub oracle: Oracle,
    pub failure: Option<Failure>,
    /// Whether rows are held against the invariant; without it only what clients see counts.
    pub rows: bool,
    watched: BTreeMap<u64, Watch>,
    last: u64,
}

/// A read under way: what its timeline was since it began.
#[derive(Debug)]
struct Watch {
    reader: UserId,
    versions: Vec<Version>,
    /// What cards showed meanwhile, each while the timeline had the version with this index.
    shown: Vec<(usize, Arc<Shown>)>,
}

impl Checks {
    pub fn new(rows: bool) -> Self {
        Self { rows, ..Self::default() }
    }

    /// The first failure counts.
    pub fn fail(&mut self, what: &'static str, detail: impl FnOnce() -> String) {
        if self.failure.is_none() {
            self.failure = Some(Failure { what, detail: detail() });
        }
    }

    pub fn fail_if(&mut self, wrong: bool, what: &'static str, detail: impl FnOnce() -> String) {
        if wrong {
            self.fail(what, detail);
        }
    }

    /// From now on the reader's timeline is remembered.
    pub fn watch(&mut self, reader: UserId) -> u64 {
        self.last += 1;
        let (versions, shown) = (vec![self.oracle.timeline(reader)], vec![(0, Arc::clone(&self.oracle.shown.0))]);
        self.watched.insert(self.last, Watch { reader, versions, shown });
        self.last
    }

    /// What it has been; and, if `anew`, it is remembered from now on again.
    pub fn versions(&mut self, watch: u64, anew: bool) -> Vec<Version> {
        let Some(watch) = self.watched.get_mut(&watch) else { return Vec::new() };
        watch.shown = watch.shown.last().map(|(_, latest)| (0, Arc::clone(latest))).into_iter().collect();
        let latest: Vec<Version> = watch.versions.last().cloned().into_iter().filter(|_| anew).collect();
        std::mem::replace(&mut watch.versions, latest)
    }

    /// What cards showed since the timeline's version with this index.
    pub fn shown_since(&self, watch: u64, version: usize) -> Vec<Arc<Shown>> {
        let shown = self.watched.get(&watch).map_or(&[][..], |watch| &watch.shown);
        shown.iter().filter(|(index, _)| *index >= version).map(|(_, shown)| Arc::clone(shown)).collect()
    }

    /// What it has been, remembered still.
    pub fn remembered(&self, watch: u64) -> &[Version] {
        self.watched.get(&watch).map_or(&[], |watch| &watch.versions)
    }

    pub fn unwatch(&mut self, watch: u64) {
        self.watched.remove(&watch);
    }

    /// A transaction was committed.
    pub fn committed(&mut self, tables: &Tables, changes: &[Change]) {
        let (mut news, shown_before) = (false, self.oracle.shown.1);
        for change in changes {
            news |= self.learn(change);
        }
        if news {
            let outlived = self.oracle.has_outlived_block();
            self.fail_if(outlived, "an edge outlives a block", || format!("{changes:?}"));
        }
        let Self { oracle, watched, .. } = self;
        for watch in watched.values_mut() {
            let mut has_changed = oracle.shown.1 != shown_before;
            if news
                && let now = oracle.timeline(watch.reader)
                && watch.versions.last() != Some(&now)
            {
                watch.versions.push(now);
                has_changed = true;
            }
            if has_changed {
                watch.shown.push((watch.versions.len() - 1, Arc::clone(&oracle.shown.0)));
            }
        }
        if self.rows {
            for change in changes {
                self.look_at_rows(tables, change);
            }
        }
    }

    fn learn(&mut self, change: &Change) -> bool {
        match change {
            Change::Content(id, Some(it), _) => {
                let entry = Entry { publish_time: it.publish_time, content: *id, author: it.author };
                let (reference, key) = (it.draft.reference, it.draft.idempotency_key.as_ref());
                if let Some(what) = self.oracle.keep(entry, reference, key, it.removed) {
                    self.fail(what, || format!("{entry:?}"));
                }
                true
            }
            Change::Content(id, None, Some(_)) => {
                self.oracle.lose(*id);
                true
            }
            Change::User(id, Some(user), _) => {
                self.oracle.call(*id, &user.registration.name);
                false
            }
            Change::Reaction(key, after, _) => {
                self.oracle.react(*key, after.is_some());
                false
            }
            Change::Edge((reader, author), after, _) => {
                self.oracle.state(Fact::Follows(*reader, *author), after.is_some())
            }
            Change::Exclusion((reader, author, cause), after, _) => {
                self.oracle.state(Fact::Excluded(*reader, *author, *cause), after.is_some())
            }
            _ => false,
        }
    }

    fn look_at_rows(&mut self, tables: &Tables, change: &Change) {
        match change {
            Change::Edge((reader, author), Some(edge), _) if edge.mode == EdgeMode::Push => {
                tables.outbox(*author).for_each(|entry| self.look_at_row(tables, *reader, entry));
            }
            Change::State(reader, Some(after), before) if before.is_none_or(|before| before.floor != after.floor) => {
                self.look_at_inbox(tables, *reader);
            }
            Change::Inbox((reader, place), None, Some(author)) => {
                let removed = tables.outbox(*author).find(|entry| entry.position() == *place);
                if let Some(entry) = removed {
                    self.look_at_row(tables, *reader, entry);
                }
            }
            Change::Delivery(content, None, Some(record)) => {
                let entry = Entry { publish_time: record.publish_time, content: *content, author: record.author };
                let fans = tables.fans(record.author, 0, i64::MAX);
                fans.for_each(|reader| self.look_at_row(tables, reader, entry));
            }
            Change::Content(content, Some(it), None) => {
                let entry = Entry { publish_time: it.publish_time, content: *content, author: it.author };
                tables.fans(it.author, 0, i64::MAX).for_each(|reader| self.look_at_row(tables, reader, entry));
            }
            _ => {}
        }
    }

    /// All that the reader's inbox claims.
    pub fn look_at_inbox(&mut self, tables: &Tables, reader: UserId) {
        for (author, _) in tables.edges(reader).filter(|(_, edge)| edge.mode == EdgeMode::Push) {
            tables.outbox(author).for_each(|entry| self.look_at_row(tables, reader, entry));
        }
    }

    /// Every content on a covered edge, at the floor or above it, is in flight or in the inbox.
    fn look_at_row(&mut self, tables: &Tables, reader: UserId, entry: Entry) {
        if is_hole(tables, reader, entry) {
            self.fail("the invariant: a hole in an inbox", || {
                format!("{entry:?} is missing from the inbox of {reader}")
            });
        }
    }
}
