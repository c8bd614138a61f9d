//! Remembers contents and profiles, so that pages of popular authors read neither from SQL again.
//!
//! A content never changes while it exists, and a profile has a version. The page's own snapshot says which contents
//! exist and which version a profile has, so a remembered card is never stale.

use std::{collections::HashMap, sync::Arc};

use quick_cache::{Weighter, sync::Cache};

use crate::{
    domain::{
        Content, ContentId, Entry, Profile, UserId,
        limits::{MAX_REMEMBERED_CONTENTS_BYTES, MAX_REMEMBERED_PROFILES_BYTES},
        timeline::candidates::CardFacts,
    },
    store::cards::{ContentCard, UserCard},
    telemetry::metrics::REMEMBERED_CARDS,
};

/// Initial capacity of each memory; both grow as needed.
const EXPECTED: usize = 1_000;

/// Bounded memories of contents and of profiles.
pub struct RememberedCards {
    contents: Cache<ContentId, Arc<Content>, Bytes>,
    profiles: Cache<UserId, Arc<Profile>, Bytes>,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<ContentId, Arc<Content>> for Bytes {
    fn weight(&self, _: &ContentId, content: &Arc<Content>) -> u64 {
        (size_of::<ContentId>() + content.bytes()) as u64
    }
}

impl Weighter<UserId, Arc<Profile>> for Bytes {
    fn weight(&self, _: &UserId, profile: &Arc<Profile>) -> u64 {
        (size_of::<UserId>() + profile.bytes()) as u64
    }
}

impl Default for RememberedCards {
    fn default() -> Self {
        Self::within(MAX_REMEMBERED_CONTENTS_BYTES, MAX_REMEMBERED_PROFILES_BYTES)
    }
}

impl RememberedCards {
    /// Remembers at most so many bytes of contents, and of profiles.
    fn within(contents: u64, profiles: u64) -> Self {
        Self {
            contents: Cache::with_weighter(EXPECTED, contents, Bytes),
            profiles: Cache::with_weighter(EXPECTED, profiles, Bytes),
        }
    }

    /// The card of an entry, made of the remembered content and the `facts` from the page's snapshot. It includes the
    /// author if the remembered profile has the right version. `None` if the content is not remembered.
    fn card(&self, entry: &Entry, facts: &CardFacts) -> Option<ContentCard> {
        let content = self.contents.get(&entry.content);
        let profile = self.profiles.get(&entry.author).filter(|profile| profile.version == facts.profile_version);
        let author =
            profile.map(|profile| UserCard { profile, counts: None, is_followed: Some(true), exclusions: None });
        content.map(|content| ContentCard {
            content,
            counters: Some(facts.counters),
            reactions: Some(facts.reactions),
            author,
        })
    }

    /// The cards of a page's entries, as [`Self::card`], for those entries that have facts.
    pub fn cards(&self, entries: &[Entry], facts: &HashMap<ContentId, CardFacts>) -> Vec<ContentCard> {
        let entries: Vec<_> = entries.iter().filter_map(|entry| Some((entry, facts.get(&entry.content)?))).collect();
        let cards: Vec<_> = entries.iter().filter_map(|(entry, facts)| self.card(entry, facts)).collect();
        let misses = entries.len() - cards.len();
        metrics::counter!(REMEMBERED_CARDS, "outcome" => "hit").increment(cards.len() as u64);
        metrics::counter!(REMEMBERED_CARDS, "outcome" => "miss").increment(misses as u64);
        cards
    }

    /// Whether the contents and authors of all these entries are remembered, in whichever version.
    pub fn has_all<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) -> bool {
        let is_known =
            |entry: &Entry| self.contents.contains_key(&entry.content) && self.profiles.contains_key(&entry.author);
        entries.into_iter().all(is_known)
    }

    /// Remembers contents alone.
    pub fn remember_contents(&self, contents: &[Arc<Content>]) {
        for content in contents {
            self.contents.insert(content.id, Arc::clone(content));
        }
    }

    /// Remembers the contents and authors of cards that were read from SQL.
    pub fn remember(&self, cards: &[ContentCard]) {
        for card in cards {
            self.contents.insert(card.content.id, Arc::clone(&card.content));
            if let Some(author) = &card.author {
                self.profiles.insert(author.profile.id, Arc::clone(&author.profile));
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
        const MOST: u64 = 65_536;
        let cards = RememberedCards::within(MOST, MOST);
        for id in 1..=1_000 {
            cards.remember(&[card_of(id, id, 1)]);
            assert!(cards.contents.weight() <= MOST && cards.profiles.weight() <= MOST, "after {id}");
        }
        let one = card_of(1, 1, 1);
        let [content, profile] = [one.content.bytes(), one.author.unwrap().profile.bytes()].map(|bytes| bytes as u64);
        for (kept, of_one) in [(cards.contents.len(), content), (cards.profiles.len(), profile)] {
            let kept = kept as u64;
            assert!(kept * of_one <= MOST && kept * of_one > MOST / 2, "{kept} of {of_one} bytes each");
        }
        let mut large = (*card(1).content).clone();
        "x".repeat(100_000).clone_into(&mut large.text);
        let id = large.id;
        cards.remember_contents(&[Arc::new(large)]);
        assert!(cards.contents.weight() <= MOST && cards.contents.get(&id).is_none(), "larger than all together");
    }
}
