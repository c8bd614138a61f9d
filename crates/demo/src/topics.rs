//! What a text is about, as far as the words of a language say it.

use crate::lexicon::Lexicon;

/// Slots whose lines are words by which a language is recognised.
const KEYS: [&str; 4] = ["common", "hello", "thanks", "how_are_you"];
/// Marks within words of Hindi that are no letters: the nukta and the virama.
const MARKS: [char; 2] = ['\u{93c}', '\u{94d}'];

/// The words of a text: in lower case, each between two `_`, without links and mentions.
#[derive(Debug)]
pub struct Words(String);

impl Words {
    pub fn of(text: &str) -> Self {
        let said = text.split_whitespace().filter(|part| !is_link(part) && !part.starts_with('@'));
        let is_between = |c: char| !c.is_alphanumeric() && !MARKS.contains(&c);
        let words = said.flat_map(|part| part.split(is_between)).filter(|word| !word.is_empty());
        Self(words.fold("_".to_owned(), |words, word| words + &word.to_lowercase() + "_"))
    }

    /// Whether a line of the slot is among them.
    pub fn have_any(&self, slot: &str, lexicon: &Lexicon) -> bool {
        lexicon.lines(slot).iter().any(|key| self.have(key, lexicon))
    }

    /// What they are about, with its article: the first line of `[subject]` of whose keys they have one.
    pub fn subject(&self, lexicon: &Lexicon) -> Option<&'static str> {
        let mut subjects = lexicon.lines("subject").iter().filter_map(|line| line.split_once(": "));
        subjects.find(|(_, keys)| keys.split(' ').any(|key| self.have(key, lexicon))).map(|(name, _)| name)
    }

    /// How many words of the language they have.
    pub fn known_to(&self, lexicon: &Lexicon) -> usize {
        let subjects = lexicon.lines("subject").iter().filter_map(|line| line.split_once(": "));
        let of_subjects = subjects.flat_map(|(_, keys)| keys.split(' '));
        let keys = KEYS.iter().flat_map(|slot| lexicon.lines(slot)).copied().chain(of_subjects);
        keys.filter(|key| self.have(key, lexicon)).count()
    }

    /// Whether they have a key: a word, several with `_` between them, or with `*` at its end the beginning of one.
    fn have(&self, key: &str, lexicon: &Lexicon) -> bool {
        let (beginning, ends_anywhere) = key.strip_suffix('*').map_or((key, false), |beginning| (beginning, true));
        let is_whole = |at: usize| {
            let (before, after) = (&self.0[..at], &self.0[at + beginning.len()..]);
            before.ends_with('_') && (ends_anywhere || after.starts_with('_'))
        };
        let has_spaces = lexicon.language().has_spaces();
        self.0.match_indices(beginning).any(|(at, _)| !has_spaces || is_whole(at))
    }
}

/// Whether the word is an address.
pub fn is_link(word: &str) -> bool {
    word.contains("https://") || word.contains("http://")
}

/// The first tag of a text, with its `#`.
pub fn tag(text: &str) -> Option<&str> {
    let mut tags = text.split_whitespace().filter(|word| !is_link(word) && word.starts_with('#'));
    tags.find_map(|word| {
        let name = word[1..].split(|c: char| !c.is_alphanumeric() && c != '_' && !MARKS.contains(&c)).next()?;
        (!name.is_empty()).then(|| &word[..=name.len()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::Language;

    #[test]
    fn words_are_recognised_as_a_whole_and_not_in_links() {
        let english = Lexicon::of(Language::English);
        let subject = |text| Words::of(text).subject(&english);
        assert_eq!(subject("Which book about the SEA?"), Some("the sea"));
        assert_eq!(subject("All the seasons. https://example.org/sea @sea"), None);
        let german = Lexicon::of(Language::German);
        assert_eq!(Words::of("Zu alten Landkarten?").subject(&german), Some("alte Landkarten"));
        assert_eq!(Words::of("दो फ़ोटो").subject(&Lexicon::of(Language::Hindi)), Some("फ़ोटोग्राफ़ी"));
    }

    #[test]
    fn every_topic_of_a_post_is_a_subject() {
        for language in Language::ALL {
            let lexicon = Lexicon::of(language);
            for topic in lexicon.lines("topic") {
                assert!(Words::of(topic).subject(&lexicon).is_some(), "{language:?}: {topic}");
            }
        }
    }

    #[test]
    fn the_first_tag_is_found_without_what_follows_it() {
        assert_eq!(tag("So #knitting, and #wool"), Some("#knitting"));
        assert_eq!(tag("#编织"), Some("#编织"));
        assert_eq!(tag("# 1, https://example.org/#a"), None);
    }
}
