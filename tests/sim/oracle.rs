//! What every timeline is, by definition and as naively as it can be said: the contents that were not removed, of the authors whom the
//! reader follows and whom nothing keeps out. Fed by commits alone; it knows no inbox, no floor and no mode.

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use tidefeed::domain::{ContentKind, Direction, Entry, Page, PageRequest, UserId};

/// A timeline at one instant, newest first, with the kinds of its contents.
pub type Version = Arc<Vec<(Entry, ContentKind)>>;

/// What is so or is not so of two people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// The first follows the second.
    Follows(UserId, UserId),
    /// The second is kept out of the first one's timeline, for the reason with this number.
    Excluded(UserId, UserId, i32),
}

#[derive(Debug, Default)]
pub struct Oracle {
    contents: Vec<Kept>,
    facts: BTreeSet<Fact>,
    /// Every fact that changed.
    log: Vec<Fact>,
}

#[derive(Debug)]
struct Kept {
    entry: Entry,
    kind: ContentKind,
    key: Option<String>,
    removed: bool,
}

impl Oracle {
    /// A content was committed, or changed; `false` if its author had used the key before.
    pub fn keep(&mut self, (entry, kind): (Entry, ContentKind), key: Option<&String>, removed: bool) -> bool {
        if let Some(known) = self.contents.iter_mut().find(|it| it.entry.content == entry.content) {
            known.removed = removed;
            return true;
        }
        let same = |it: &Kept| key.is_some() && it.key.as_ref() == key && it.entry.author == entry.author;
        let fresh = !self.contents.iter().any(same);
        self.contents.push(Kept { entry, kind, key: key.cloned(), removed });
        fresh
    }

    /// A fact was committed; whether that is news.
    pub fn state(&mut self, fact: Fact, there: bool) -> bool {
        let news = if there { self.facts.insert(fact) } else { self.facts.remove(&fact) };
        if news {
            self.log.push(fact);
        }
        news
    }

    pub fn follows(&self, reader: UserId, author: UserId) -> bool {
        self.facts.contains(&Fact::Follows(reader, author))
    }

    fn excludes(&self, reader: UserId, author: UserId) -> bool {
        (1..=4).any(|cause| self.facts.contains(&Fact::Excluded(reader, author, cause)))
    }

    /// Whether somebody follows whom they block, or who blocks them.
    pub fn has_outlived_block(&self) -> bool {
        let blocks = |reader, author| (3..=4).any(|cause| self.facts.contains(&Fact::Excluded(reader, author, cause)));
        self.facts.iter().any(|fact| matches!(fact, Fact::Follows(reader, author) if blocks(*reader, *author)))
    }

    /// What the timeline is now.
    pub fn timeline(&self, reader: UserId) -> Version {
        let is_shown = |author| self.follows(reader, author) && !self.excludes(reader, author);
        let shown = self.contents.iter().filter(|it| !it.removed && is_shown(it.entry.author));
        let mut entries: Vec<(Entry, ContentKind)> = shown.map(|it| (it.entry, it.kind)).collect();
        entries.sort_unstable_by_key(|(entry, _)| Reverse(entry.position()));
        Arc::new(entries)
    }

    /// Whether the content was ever committed, and whether it is there.
    pub fn content(&self, entry: Entry) -> Option<bool> {
        self.contents.iter().find(|it| it.entry == entry).map(|it| !it.removed)
    }

    /// Changes of facts so far.
    pub fn instant(&self) -> usize {
        self.log.len()
    }

    /// Whether it was (or was not) so at some instant since then.
    pub fn was_since(&self, instant: usize, fact: Fact, there: bool) -> bool {
        let changes = self.log.get(instant..).unwrap_or_default();
        self.facts.contains(&fact) == there || changes.contains(&fact)
    }

    /// All contents and whether they are there, for whoever draws one.
    pub fn contents(&self) -> impl ExactSizeIterator<Item = (Entry, bool)> + '_ {
        self.contents.iter().map(|it| (it.entry, !it.removed))
    }
}

/// The page that is due of a timeline.
pub fn due(timeline: &[(Entry, ContentKind)], request: &PageRequest) -> Page {
    let asked = timeline.iter().filter(|(_, kind)| request.kinds.contains(*kind));
    let timeline: Vec<Entry> = asked.map(|(entry, _)| *entry).collect();
    let size = request.size.get();
    let bound = request.bound;
    match request.direction {
        Direction::Older => {
            let first = timeline.iter().position(|it| bound.is_none_or(|bound| it.position() < bound));
            let older = first.map_or(&[][..], |first| &timeline[first..]);
            Page {
                entries: older.iter().take(size).copied().collect(),
                has_older: older.len() > size,
                has_newer: bound.is_some() && older.len() < timeline.len(),
            }
        }
        Direction::Newer => {
            let newer = timeline.iter().filter(|it| bound.is_none_or(|bound| it.position() > bound)).count();
            Page {
                entries: timeline[newer.saturating_sub(size)..newer].to_vec(),
                has_older: bound.is_some() && newer < timeline.len(),
                has_newer: newer > size,
            }
        }
    }
}

/// What is wrong with a page that is due at none of these instants, in one word; `None` if nothing is.
pub fn fault(page: &Page, versions: &[Version], request: &PageRequest) -> Option<&'static str> {
    let due: Vec<Page> = versions.iter().map(|version| due(version, request)).collect();
    if due.contains(page) {
        return None;
    }
    let ordered = page.entries.windows(2).all(|pair| pair[0].position() > pair[1].position());
    let of_kind = |kind: ContentKind| request.kinds.contains(kind);
    let there = |version: &Version, entry: &Entry| version.iter().any(|(it, kind)| it == entry && of_kind(*kind));
    let ever = |entry: &Entry| versions.iter().any(|version| there(version, entry));
    let complete = due.iter().any(|due| due.entries.iter().all(|entry| page.entries.contains(entry)));
    Some(match () {
        () if !ordered => "a page is out of order, or shows something twice",
        () if !page.entries.iter().all(ever) => "a page shows what is not in the timeline",
        () if due.iter().any(|due| due.entries == page.entries) => "a page is wrong about where the timeline ends",
        () if page.entries.len() < request.size.get() && !complete => "a page lacks a content and is not full",
        () if !complete => "a page lacks a content",
        () => "a page is of no single instant",
    })
}
