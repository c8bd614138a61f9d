//! The people of a seeded store who act while a node runs, found again by their names.

use std::collections::{HashMap, HashSet};

use domain::UserId;
use rand::{Rng, RngExt};

use crate::{lexicon::Language, people::People};

/// People who act at most: those of the first places, the most followed ones of a world.
const MOST: u64 = 200;
/// People without whom a store was not seeded: those of the first places.
const FEWEST: usize = 3;
/// Draws until somebody who speaks a language, or is known, is given up for anybody.
const DRAWS: usize = 400;

#[derive(Debug)]
struct Member {
    id: UserId,
    handle: String,
    language: Language,
}

/// Those who act.
#[derive(Debug)]
pub struct Cast {
    people: People,
    members: Vec<Member>,
    by_id: HashMap<UserId, usize>,
}

impl Cast {
    /// The handles of those who may be in a seeded store, by place.
    pub fn handles() -> Vec<String> {
        let people = People::new();
        (0..MOST).map(|place| people.name(place).handle).collect()
    }

    /// Those of [`Self::handles`] who were found, each as id or `None`, in the same order. `None` if the first are not
    /// among them: then the store was filled by others.
    pub fn gather(found: &[Option<UserId>]) -> Option<Self> {
        if found.len() < FEWEST || found.iter().take(FEWEST).any(Option::is_none) {
            return None;
        }
        let people = People::new();
        let there = (0..).zip(found).filter_map(|(place, id)| Some((place, (*id)?)));
        let member = |(place, id)| Member { id, handle: people.name(place).handle, language: People::language(place) };
        let members: Vec<Member> = there.map(member).collect();
        let by_id = members.iter().enumerate().map(|(nth, member)| (member.id, nth)).collect();
        Some(Self { people, members, by_id })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Never: there are at least [`FEWEST`].
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether the user is one of them.
    pub fn has(&self, user: UserId) -> bool {
        self.by_id.contains_key(&user)
    }

    /// Somebody whom the text mentions.
    pub fn mentioned(&self, text: &str) -> Option<UserId> {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let mut handles = text.split('@').skip(1).filter_map(|rest| rest.split(|c| !is_part(c)).next());
        handles.find_map(|handle| self.members.iter().find(|it| it.handle == handle)).map(|member| member.id)
    }

    /// Anybody but `busy`.
    pub fn anybody(&self, busy: &HashSet<UserId>, rng: &mut impl Rng) -> Option<UserId> {
        self.drawn(rng, |member| !busy.contains(&member.id))
    }

    /// Somebody who speaks that language, but none of `busy`; anybody else if there is nobody.
    pub fn speaker(&self, language: Language, busy: &HashSet<UserId>, rng: &mut impl Rng) -> Option<UserId> {
        let speaker = self.drawn(rng, |member| member.language == language && !busy.contains(&member.id));
        speaker.or_else(|| self.anybody(busy, rng))
    }

    /// The language of one of them; English for others.
    pub fn language(&self, user: UserId) -> Language {
        self.by_id.get(&user).and_then(|nth| self.members.get(*nth)).map_or(Language::English, |it| it.language)
    }

    pub(crate) const fn people(&self) -> &People {
        &self.people
    }

    fn drawn(&self, rng: &mut impl Rng, fits: impl Fn(&Member) -> bool) -> Option<UserId> {
        let mut draws = (0..DRAWS).filter_map(|_| self.members.get(rng.random_range(0..self.members.len())));
        draws.find(|member| fits(member)).map(|member| member.id)
    }
}

#[cfg(test)]
pub mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    pub fn user(number: u64) -> UserId {
        UserId::try_new(i64::try_from(number).unwrap()).unwrap()
    }

    /// Those of the first places, with ids from 1 on.
    pub fn cast(count: u64) -> Cast {
        Cast::gather(&(1..=count).map(|number| Some(user(number))).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_store_without_the_first_people_was_filled_by_others() {
        let of = |found: &[u64]| (0..5).map(|nth| found.contains(&nth).then(|| user(nth + 1))).collect::<Vec<_>>();
        assert!(Cast::gather(&[]).is_none() && Cast::gather(&of(&[0, 1])).is_none());
        assert!(Cast::gather(&of(&[0, 1, 3, 4])).is_none(), "one of the first is missing");
        assert_eq!(Cast::gather(&of(&[0, 1, 2, 4])).map(|cast| cast.len()), Some(4));
    }

    #[test]
    fn people_are_mentioned_by_their_handles() {
        let (cast, handles) = (cast(9), Cast::handles());
        let text = format!("Hello @nobody_at_all, and @{}!", handles[4]);
        assert_eq!(cast.mentioned(&text), Some(user(5)));
        assert_eq!(cast.mentioned("Hello"), None);
    }
}
