//! The oracle: computes every timeline from its definition. A timeline has the contents that were not removed, of
//! followed authors without an exclusion, except reposts of excluded authors. It sees commits only: no inbox, floor or
//! mode.

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use tidefeed::domain::{ContentId, ContentKind, Entry, Reference, UserId};

/// An entry of a timeline, and what of its content never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    pub entry: Entry,
    pub kind: ContentKind,
    /// What it shows: of a repost the original.
    pub subject: ContentId,
}

/// A timeline at one instant, newest first.
pub type Version = Arc<Vec<Item>>;

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
    item: Item,
    /// Of what it reposts.
    original_author: Option<UserId>,
    key: Option<String>,
    removed: bool,
}

impl Oracle {
    /// A content was committed, or changed; what is wrong with it, if anything.
    pub fn keep(
        &mut self,
        entry: Entry,
        reference: Reference,
        key: Option<&String>,
        removed: bool,
    ) -> Option<&'static str> {
        if let Some(known) = self.contents.iter_mut().find(|it| it.item.entry.content == entry.content) {
            known.removed = removed;
            return None;
        }
        let original = reference.repost_of();
        let item = Item { entry, kind: reference.kind(), subject: original.unwrap_or(entry.content) };
        let original_author = original.and_then(|original| self.author(original));
        let own = || self.contents.iter().filter(|it| it.item.entry.author == entry.author);
        let used = own().any(|it| key.is_some() && it.key.as_ref() == key);
        let reposts = |it: &Kept| it.original_author.is_some() && it.item.subject == item.subject && !it.removed;
        let reposted = original.is_some() && own().any(reposts);
        self.contents.push(Kept { item, original_author, key: key.cloned(), removed });
        match (used, reposted) {
            (true, _) => Some("one idempotency key gave two contents"),
            (_, true) => Some("an author has two reposts of one content"),
            _ => None,
        }
    }

    fn author(&self, content: ContentId) -> Option<UserId> {
        self.contents.iter().find(|it| it.item.entry.content == content).map(|it| it.item.entry.author)
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
        let shown = self.contents.iter().filter(|it| !it.removed && is_shown(it.item.entry.author));
        let shown = shown.filter(|it| it.original_author.is_none_or(|author| !self.excludes(reader, author)));
        let mut items: Vec<Item> = shown.map(|it| it.item).collect();
        items.sort_unstable_by_key(|item| Reverse(item.entry.position()));
        Arc::new(items)
    }

    /// Whether the content was ever committed, and whether it is there.
    pub fn content(&self, entry: Entry) -> Option<bool> {
        self.contents.iter().find(|it| it.item.entry == entry).map(|it| !it.removed)
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
        self.contents.iter().map(|it| (it.item.entry, !it.removed))
    }
}
