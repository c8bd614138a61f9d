//! The oracle: computes every timeline from its definition. A timeline has the contents that were not removed, of
//! followed authors without an exclusion, except reposts of excluded authors. It sees commits only: no inbox, floor or
//! mode.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tidefeed::{
    domain::{ContentId, ContentKind, Counters, Entry, Reaction, Reference, UserId},
    store::cards::ContentCard,
};

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

/// What cards show, whoever reads them.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Of all contents that ever were there.
    counters: BTreeMap<ContentId, Counters>,
    names: BTreeMap<UserId, String>,
    /// By content, reaction and user.
    reactions: BTreeSet<(ContentId, i32, UserId)>,
}

impl Shown {
    /// Whether everything on the reader's card is so.
    pub fn has(&self, reader: UserId, card: &ContentCard) -> bool {
        let id = card.content.id;
        let reacted = |reaction: Reaction| self.reactions.contains(&(id, reaction.code(), reader));
        let author = card.author.as_ref().map(|author| &author.profile);
        card.counters.is_none_or(|counters| self.counters.get(&id) == Some(&counters))
            && card.reactions.is_none_or(|own| own.liked == reacted(Reaction::Like))
            && card.reactions.is_none_or(|own| own.bookmarked == reacted(Reaction::Bookmark))
            && author.is_none_or(|profile| self.names.get(&profile.id) == Some(&profile.name))
    }

    fn counter(&mut self, content: ContentId, of: impl Fn(&mut Counters) -> &mut i64, more: i64) {
        *of(self.counters.entry(content).or_default()) += more;
    }

    /// A content that refers to another came, or went.
    fn refer(&mut self, reference: Reference, more: i64) {
        if let Some(other) = reference.repost_of() {
            self.counter(other, |it| &mut it.reposts, more);
        } else if let Some(other) = reference.reply_to() {
            self.counter(other, |it| &mut it.replies, more);
        }
    }
}

#[derive(Debug, Default)]
pub struct Oracle {
    /// What cards show now, and how often that has changed.
    pub shown: (Arc<Shown>, u64),
    /// Contents that were committed, and that a fail-over has lost.
    lost: BTreeSet<ContentId>,
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
    reference: Reference,
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
            let before = std::mem::replace(&mut known.removed, removed);
            self.show().refer(reference, i64::from(before) - i64::from(removed));
            return None;
        }
        self.show().refer(reference, 1);
        self.show().counters.entry(entry.content).or_default();
        self.lost.remove(&entry.content);
        let original = reference.repost_of();
        let item = Item { entry, kind: reference.kind(), subject: original.unwrap_or(entry.content) };
        let original_author = original.and_then(|original| self.author(original));
        let own = || self.contents.iter().filter(|it| it.item.entry.author == entry.author);
        let used = own().any(|it| key.is_some() && it.key.as_ref() == key);
        let reposts = |it: &Kept| it.original_author.is_some() && it.item.subject == item.subject && !it.removed;
        let reposted = original.is_some() && own().any(reposts);
        self.contents.push(Kept { item, original_author, reference, key: key.cloned(), removed });
        match (used, reposted) {
            (true, _) => Some("one idempotency key gave two contents"),
            (_, true) => Some("an author has two reposts of one content"),
            _ => None,
        }
    }

    /// A fail-over has lost the content.
    pub fn lose(&mut self, content: ContentId) {
        if let Some(index) = self.contents.iter().position(|it| it.item.entry.content == content) {
            let lost = self.contents.remove(index);
            self.show().refer(lost.reference, i64::from(lost.removed) - 1);
            self.lost.insert(content);
        }
    }

    /// Somebody is called so.
    pub fn call(&mut self, user: UserId, name: &str) {
        if self.shown.0.names.get(&user).is_none_or(|known| known != name) {
            self.show().names.insert(user, name.to_owned());
        }
    }

    /// A reaction came or went.
    pub fn react(&mut self, (content, code, user): (ContentId, i32, UserId), there: bool) {
        let key = (content, code, user);
        let shown = self.show();
        if if there { shown.reactions.insert(key) } else { shown.reactions.remove(&key) } {
            let more = if there { 1 } else { -1 };
            let is_like = code == Reaction::Like.code();
            shown.counter(content, |it| if is_like { &mut it.likes } else { &mut it.bookmarks }, more);
        }
    }

    fn show(&mut self) -> &mut Shown {
        self.shown.1 += 1;
        Arc::make_mut(&mut self.shown.0)
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
        let kept = self.contents.iter().find(|it| it.item.entry == entry).map(|it| !it.removed);
        kept.or_else(|| self.lost.contains(&entry.content).then_some(false))
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
