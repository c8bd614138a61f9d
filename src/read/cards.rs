//! Remembers contents and their authors: one bounded memory, so that pages of popular authors read neither from SQL
//! again.
//!
//! One rule says when it counts: the page's own snapshot says that the content exists and which version its author's
//! profile has. A content never changes while it exists, and of equal versions a profile is the same.

use std::sync::Arc;

use quick_cache::{Weighter, sync::Cache};

use crate::{
    domain::{
        Content, ContentId, Entry, IdMap, Profile, UserId, limits::MAX_REMEMBERED_CARDS_BYTES,
        timeline::candidates::CardFacts,
    },
    store::cards::{ContentCard, UserCard},
    telemetry::metrics::REMEMBERED,
};

/// Initial capacity; the memory grows as needed.
const EXPECTED: usize = 1_000;

/// A bounded memory of contents and profiles.
pub struct RememberedCards(Cache<Key, Remembered, Bytes>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Content(ContentId),
    Author(UserId),
}

#[derive(Debug, Clone)]
enum Remembered {
    Content(Arc<Content>),
    /// What the content shows, if nothing else of it is known.
    Subject(ContentId),
    Author(Arc<Profile>),
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Remembered> for Bytes {
    fn weight(&self, _: &Key, remembered: &Remembered) -> u64 {
        let bytes = match remembered {
            Remembered::Content(content) => content.bytes(),
            Remembered::Subject(_) => 0,
            Remembered::Author(profile) => profile.bytes(),
        };
        (size_of::<(Key, Remembered)>() + bytes) as u64
    }
}

impl Default for RememberedCards {
    fn default() -> Self {
        Self::within(MAX_REMEMBERED_CARDS_BYTES)
    }
}

impl RememberedCards {
    /// Remembers at most this many bytes.
    fn within(bytes: u64) -> Self {
        Self(Cache::with_weighter(EXPECTED, bytes, Bytes))
    }

    fn content(&self, id: ContentId) -> Option<Arc<Content>> {
        match self.0.get(&Key::Content(id))? {
            Remembered::Content(content) => Some(content),
            Remembered::Subject(_) | Remembered::Author(_) => None,
        }
    }

    fn profile(&self, id: UserId) -> Option<Arc<Profile>> {
        match self.0.get(&Key::Author(id))? {
            Remembered::Author(profile) => Some(profile),
            Remembered::Content(_) | Remembered::Subject(_) => None,
        }
    }

    /// The subjects of those of `contents` that are remembered.
    pub fn subjects(&self, contents: &[ContentId]) -> Vec<(ContentId, ContentId)> {
        let subject = |id: &ContentId| match self.0.get(&Key::Content(*id))? {
            Remembered::Content(content) => Some((*id, content.subject())),
            Remembered::Subject(subject) => Some((*id, subject)),
            Remembered::Author(_) => None,
        };
        contents.iter().filter_map(subject).collect()
    }

    /// Remembers the subjects of those contents that are not remembered yet.
    pub fn remember_subjects(&self, subjects: &[(ContentId, ContentId)]) {
        for (content, subject) in subjects {
            self.0.insert(Key::Content(*content), Remembered::Subject(*subject));
        }
    }

    /// The card of an entry, made of the remembered content and the `facts` from the page's snapshot. It includes the
    /// author if the remembered profile has the right version. `None` if the content is not remembered.
    fn card(&self, entry: &Entry, facts: &CardFacts) -> Option<ContentCard> {
        let content = self.content(entry.content)?;
        let profile = self.profile(entry.author).filter(|profile| profile.version == facts.profile_version);
        let author =
            profile.map(|profile| UserCard { profile, counts: None, is_followed: Some(true), exclusions: None });
        Some(ContentCard { content, counters: Some(facts.counters), reactions: Some(facts.reactions), author })
    }

    /// The cards of a page's entries, as [`Self::card`], for those entries that have facts.
    pub fn cards(&self, entries: &[Entry], facts: &IdMap<ContentId, CardFacts>) -> Vec<ContentCard> {
        let entries: Vec<_> = entries.iter().filter_map(|entry| Some((entry, facts.get(&entry.content)?))).collect();
        let cards: Vec<_> = entries.iter().filter_map(|(entry, facts)| self.card(entry, facts)).collect();
        let misses = entries.len() - cards.len();
        metrics::counter!(REMEMBERED, "of" => "content", "outcome" => "hit").increment(cards.len() as u64);
        metrics::counter!(REMEMBERED, "of" => "content", "outcome" => "miss").increment(misses as u64);
        cards
    }

    /// Remembers contents alone.
    pub fn remember_contents(&self, contents: &[Arc<Content>]) {
        for content in contents {
            self.0.insert(Key::Content(content.id), Remembered::Content(Arc::clone(content)));
        }
    }

    /// Remembers the contents and authors of cards that were read from SQL.
    pub fn remember<'a>(&self, cards: impl IntoIterator<Item = &'a ContentCard>) {
        for ContentCard { content, author, .. } in cards {
            self.0.insert(Key::Content(content.id), Remembered::Content(Arc::clone(content)));
            if let Some(UserCard { profile, .. }) = author {
                self.0.insert(Key::Author(profile.id), Remembered::Author(Arc::clone(profile)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::domain::{ContentKind, Counters, Handle, Reference, ViewerReactions};

    fn card(version: i64) -> ContentCard {
        card_of(7, 1, version)
    }

    fn card_of(id: i64, author: i64, version: i64) -> ContentCard {
        let author = UserId::try_new(author).unwrap();
        let profile = Profile {
            id: author,
            handle: Handle::try_new("ann").unwrap(),
            name: format!("Ann {version}"),
            bio: String::new(),
            avatar_url: None,
            created_at: 1,
            version,
        };
        let content = Content {
            id: ContentId::try_new(id).unwrap(),
            author,
            kind: ContentKind::Post,
            reference: Reference::Nothing,
            text: "words".to_owned(),
            media: Vec::new(),
            publish_time: 5,
            object: None,
        };
        let author = Some(UserCard { profile: Arc::new(profile), counts: None, is_followed: None, exclusions: None });
        ContentCard { content: Arc::new(content), counters: None, reactions: None, author }
    }

    fn facts(profile_version: i64) -> CardFacts {
        CardFacts { counters: Counters::default(), reactions: ViewerReactions::default(), profile_version }
    }

    #[test]
    fn a_profile_of_another_version_is_not_shown() {
        let (cards, entry) = (RememberedCards::default(), card(3).content.entry());
        assert!(cards.card(&entry, &facts(3)).is_none(), "nothing is remembered");
        cards.remember(&[card(3)]);
        assert_eq!(cards.card(&entry, &facts(3)).unwrap().author.unwrap().profile.name, "Ann 3");
        assert!(cards.card(&entry, &facts(4)).unwrap().author.is_none(), "the profile has changed since");
        cards.remember(&[card(4)]);
        assert!(cards.card(&entry, &facts(3)).unwrap().author.is_none(), "a snapshot before the change");
    }

    #[test]
    fn contents_and_profiles_stay_within_their_bytes() {
        const MOST: u64 = 131_072;
        let cards = RememberedCards::within(MOST);
        for id in 1..=1_000 {
            cards.remember(&[card_of(id, id, 1)]);
            assert!(cards.0.weight() <= MOST, "after {id}");
        }
        let one = card_of(1, 1, 1);
        let bytes = (one.content.bytes() + one.author.unwrap().profile.bytes()) as u64;
        let kept = cards.0.len() as u64 / 2;
        assert!(kept * bytes <= MOST && kept * bytes > MOST / 2, "{kept} of {bytes} bytes each");
        let mut large = (*card(1).content).clone();
        "x".repeat(200_000).clone_into(&mut large.text);
        let id = large.id;
        cards.remember_contents(&[Arc::new(large)]);
        assert!(cards.0.weight() <= MOST && cards.content(id).is_none(), "larger than all together");
    }
}
