//! The users of the seeded world: languages, names, unique handles and short bios.

use rand::{Rng, RngExt};

use crate::{
    lexicon::{Language, Lexicon},
    topics::Words,
};

/// How many of forty people in a row speak each language.
const LANGUAGE_SHARES: [Language; 40] = {
    use Language::{
        Arabic as A, Chinese as Z, English as E, German as D, Hebrew as H, Hindi as I, Japanese as J, Korean as K,
        Portuguese as P, Spanish as S,
    };
    [
        E, Z, E, D, E, Z, S, E, J, E, Z, E, E, Z, D, E, S, J, Z, E, //
        A, E, K, P, E, I, H, Z, E, K, A, P, E, I, D, E, S, K, H, J,
    ]
};

/// Everybody's words.
#[derive(Debug)]
pub struct People(Vec<(Language, Lexicon)>);

/// A name in two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub shown: String,
    pub handle: String,
}

impl People {
    pub fn new() -> Self {
        Self(Language::ALL.map(|language| (language, Lexicon::of(language))).into())
    }

    /// The language of the person with this index.
    pub fn language(index: u64) -> Language {
        LANGUAGE_SHARES[turn(index)]
    }

    pub fn lexicon(&self, language: Language) -> &Lexicon {
        // Every language is in the list; the first stands in for none.
        self.0.iter().find(|(other, _)| *other == language).map_or(&self.0[0].1, |(_, lexicon)| lexicon)
    }

    /// The language of a text by its letters or, if these are Latin, by the words of which most are known; `None` if
    /// neither says it.
    pub fn language_of(&self, text: &str) -> Option<Language> {
        let words = Words::of(text);
        let known = |lexicon: &Lexicon| words.known_to(lexicon);
        let by_words = || {
            let most = self.0.iter().map(|(_, lexicon)| known(lexicon)).max().filter(|most| *most > 0)?;
            let mut first = self.0.iter().filter(|(_, lexicon)| known(lexicon) == most);
            first.next().filter(|_| first.next().is_none()).map(|(language, _)| *language)
        };
        Language::of_letters(text).or_else(by_words)
    }

    /// The name of the person at this place of the world: handles differ for all places.
    pub fn name(&self, index: u64) -> Name {
        let language = Self::language(index);
        let lexicon = self.lexicon(language);
        let (given, family) = (lexicon.lines("given"), lexicon.lines("family"));
        let pairs = (given.len() * family.len()).max(1);
        let rank = rank_among_speakers(index);
        let round = rank / pairs as u64;
        let pair = stride(usize::try_from(rank % pairs as u64).unwrap_or(0), pairs);
        let name = joined(language, forms(given[pair % given.len()]), forms(family[pair / given.len()]));
        match round {
            0 => name,
            _ => Name { handle: format!("{}{}", name.handle, round + 1), ..name },
        }
    }

    /// A few words about themselves; some have none.
    pub fn bio(&self, language: Language, rng: &mut impl Rng) -> String {
        if rng.random_bool(0.1) { String::new() } else { self.lexicon(language).text("bio", rng) }
    }
}

fn turn(index: u64) -> usize {
    usize::try_from(index % LANGUAGE_SHARES.len() as u64).unwrap_or(0)
}

/// How many before this place speak the same language.
fn rank_among_speakers(index: u64) -> u64 {
    let language = People::language(index);
    let speak = |languages: &[Language]| languages.iter().filter(|other| **other == language).count() as u64;
    index / LANGUAGE_SHARES.len() as u64 * speak(&LANGUAGE_SHARES) + speak(&LANGUAGE_SHARES[..turn(index)])
}

/// Walks through all of `0..length` with large steps, so that neighbours share neither name.
fn stride(nth: usize, length: usize) -> usize {
    let shares_a_factor = |step: usize| {
        let (mut a, mut b) = (step, length);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a != 1
    };
    let mut step = length * 5 / 8 + 1;
    while shares_a_factor(step) {
        step += 1;
    }
    nth * step % length
}

/// `Müller mueller`: as shown, and in letters that a handle may have.
fn forms(line: &str) -> (&str, &str) {
    line.split_once(' ').unwrap_or((line, line))
}

/// Families first or last, and handles that no two languages can share.
fn joined(language: Language, given: (&str, &str), family: (&str, &str)) -> Name {
    let (shown, handle) = match language {
        Language::English | Language::Arabic | Language::Hebrew | Language::Hindi | Language::Portuguese => {
            (format!("{} {}", given.0, family.0), format!("{}_{}", given.1, family.1))
        }
        Language::German => (format!("{} {}", given.0, family.0), format!("{}_{}_", given.1, family.1)),
        Language::Spanish => (format!("{} {}", given.0, family.0), format!("{}{}", given.1, family.1)),
        Language::Chinese | Language::Korean => {
            (format!("{}{}", family.0, given.0), format!("{}_{}", family.1, given.1))
        }
        Language::Japanese => (format!("{} {}", family.0, given.0), format!("{}{}_", family.1, given.1)),
    };
    Name { shown, handle }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use std::collections::HashSet;

    use super::*;
    use domain::Handle;
    use rand::{SeedableRng, rngs::StdRng};

    #[test]
    fn a_hundred_thousand_people_have_handles_of_their_own() {
        let people = People::new();
        let handles: HashSet<_> = (0..100_000).map(|index| people.name(index).handle).collect();
        assert_eq!(handles.len(), 100_000);
        for handle in &handles {
            assert_eq!(Handle::try_new(handle).unwrap().as_str(), handle);
        }
    }

    #[test]
    fn the_first_people_have_names_without_numbers() {
        let people = People::new();
        assert!((0..500).all(|index| !people.name(index).handle.contains(|c: char| c.is_ascii_digit())));
    }

    #[test]
    fn the_language_of_a_text_is_recognised() {
        let (people, mut rng) = (People::new(), StdRng::seed_from_u64(1));
        for language in Language::ALL {
            let texts = (0..200).map(|_| people.lexicon(language).text("long", &mut rng));
            let known = texts.filter(|text| people.language_of(text) == Some(language)).count();
            assert_eq!(known, 200, "{language:?}");
        }
        for (text, language) in [
            ("Hello there", Some(Language::English)),
            ("Hallo, wie geht es?", Some(Language::German)),
            ("Was meint ihr?", Some(Language::German)),
            ("¿Qué libro sobre el mar?", Some(Language::Spanish)),
            ("Que livro sobre o mar?", Some(Language::Portuguese)),
            ("Xyzzy 42 :)", None),
        ] {
            assert_eq!(people.language_of(text), language, "{text}");
        }
    }

    #[test]
    fn every_language_is_spoken() {
        let spoken: HashSet<_> = (0..40).map(People::language).collect();
        assert_eq!(spoken.len(), Language::ALL.len());
    }
}
