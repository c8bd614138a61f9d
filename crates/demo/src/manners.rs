//! How people speak: one manner each, for life.

use domain::UserId;

use crate::numbers::scramble;

/// The purpose of the draw.
const MANNER: u64 = 7;

/// How somebody frames what they say. Each has a slot of frames in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Manner {
    /// Says it, and nothing else.
    Brief,
    Warm,
    Dry,
    /// Asks back.
    Curious,
    /// Exclaims.
    Lively,
}

impl Manner {
    pub const ALL: [Self; 5] = [Self::Brief, Self::Warm, Self::Dry, Self::Curious, Self::Lively];

    /// The manner of a person, who keeps it.
    pub fn of(person: UserId) -> Self {
        let drawn = scramble(0, person.get().unsigned_abs(), MANNER) % Self::ALL.len() as u64;
        Self::ALL[usize::try_from(drawn).unwrap_or(0)]
    }

    /// The slot of its frames.
    pub const fn slot(self) -> &'static str {
        match self {
            Self::Brief => "brief",
            Self::Warm => "warm",
            Self::Dry => "dry",
            Self::Curious => "curious",
            Self::Lively => "lively",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::cast::tests::user;

    #[test]
    fn a_person_keeps_one_manner_and_all_manners_occur() {
        let mut people: HashMap<Manner, u64> = HashMap::new();
        for person in (1..=1_000).map(user) {
            assert_eq!(Manner::of(person), Manner::of(person));
            *people.entry(Manner::of(person)).or_default() += 1;
        }
        assert!(Manner::ALL.iter().all(|manner| people[manner] > 100), "{people:?}");
    }
}
