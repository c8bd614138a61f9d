//! Words in several languages, and sentences made of them: a small grammar in which `{slot}` stands for any line of
//! `[slot]`, and `{Slot}` for the same with a capital letter. `{it}` is what a text is about.

use std::collections::HashMap;

use rand::{Rng, RngExt};

/// Slots within slots at most; what is deeper stays empty. No text of ours needs more than four.
const DEPTH: u8 = 6;

/// The languages of the made-up world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    Chinese,
    German,
    Spanish,
    Japanese,
    Arabic,
    Hebrew,
    Korean,
    Hindi,
    Portuguese,
}

impl Language {
    pub const ALL: [Self; 10] = [
        Self::English,
        Self::Chinese,
        Self::German,
        Self::Spanish,
        Self::Japanese,
        Self::Arabic,
        Self::Hebrew,
        Self::Korean,
        Self::Hindi,
        Self::Portuguese,
    ];

    /// The language whose letters a text has; none if these are Latin.
    pub fn of_letters(text: &str) -> Option<Self> {
        let by_letters = [
            ('\u{3040}'..='\u{30ff}', Self::Japanese),
            ('\u{ac00}'..='\u{d7a3}', Self::Korean),
            ('\u{4e00}'..='\u{9fff}', Self::Chinese),
            ('\u{600}'..='\u{6ff}', Self::Arabic),
            ('\u{590}'..='\u{5ff}', Self::Hebrew),
            ('\u{900}'..='\u{97f}', Self::Hindi),
        ];
        by_letters
            .into_iter()
            .find(|(letters, _)| text.contains(|c: char| letters.contains(&c)))
            .map(|(_, language)| language)
    }

    /// Hours that its speakers' clocks are before UTC, about.
    pub const fn hours_before_utc(self) -> i64 {
        match self {
            Self::English | Self::Portuguese => -3,
            Self::Chinese => 8,
            Self::German => 1,
            Self::Spanish => -4,
            Self::Japanese | Self::Korean => 9,
            Self::Arabic | Self::Hebrew => 2,
            Self::Hindi => 5,
        }
    }

    /// Whether spaces separate its words.
    pub const fn has_spaces(self) -> bool {
        !matches!(self, Self::Chinese | Self::Japanese)
    }

    /// A text in which prepositions and the articles after them are one word where the language makes them one.
    fn contracted(self, text: String) -> String {
        let contractions: &[(&str, &str)] = match self {
            Self::Spanish => &[(" de el ", " del "), (" a el ", " al ")],
            Self::Portuguese => &[(" de o ", " do "), (" de a ", " da "), (" de os ", " dos "), (" de as ", " das ")],
            _ => &[],
        };
        contractions.iter().fold(text, |text, (apart, joined)| text.replace(apart, joined))
    }

    const fn words(self) -> &'static str {
        match self {
            Self::English => include_str!("words/en.txt"),
            Self::Chinese => include_str!("words/zh.txt"),
            Self::German => include_str!("words/de.txt"),
            Self::Spanish => include_str!("words/es.txt"),
            Self::Japanese => include_str!("words/ja.txt"),
            Self::Arabic => include_str!("words/ar.txt"),
            Self::Hebrew => include_str!("words/he.txt"),
            Self::Korean => include_str!("words/ko.txt"),
            Self::Hindi => include_str!("words/hi.txt"),
            Self::Portuguese => include_str!("words/pt.txt"),
        }
    }
}

/// One language's words, by slot.
#[derive(Debug)]
pub struct Lexicon {
    language: Language,
    slots: HashMap<&'static str, Vec<&'static str>>,
}

impl Lexicon {
    pub fn of(language: Language) -> Self {
        let mut slots: HashMap<_, Vec<_>> = HashMap::new();
        let mut slot = "";
        for line in language.words().lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                Some(name) => slot = name,
                None => slots.entry(slot).or_default().push(line),
            }
        }
        Self { language, slots }
    }

    pub const fn language(&self) -> Language {
        self.language
    }

    /// The lines of a slot; none if there is no such slot.
    pub fn lines(&self, slot: &str) -> &[&'static str] {
        self.slots.get(slot).map_or(&[], Vec::as_slice)
    }

    /// A text for `slot`; `\n` in it becomes a line break.
    pub fn text(&self, slot: &str, rng: &mut impl Rng) -> String {
        self.finished("", |sentence| sentence.expand(slot, rng, DEPTH))
    }

    /// A text for one line of a slot, in which `{it}` stands for `it`.
    pub fn text_about(&self, line: &str, it: &str, rng: &mut impl Rng) -> String {
        self.finished(it, |sentence| sentence.fill(line, rng, DEPTH))
    }

    fn finished(&self, it: &str, fill: impl FnOnce(&mut Sentence<'_>)) -> String {
        let mut sentence = Sentence { lexicon: self, it, text: String::new() };
        fill(&mut sentence);
        self.language.contracted(sentence.text.replace("\\n", "\n"))
    }
}

/// A text that is being made.
struct Sentence<'a> {
    lexicon: &'a Lexicon,
    /// What `{it}` stands for.
    it: &'a str,
    text: String,
}

impl Sentence<'_> {
    fn expand(&mut self, slot: &str, rng: &mut impl Rng, depth: u8) {
        let (name, begins) = (slot.to_ascii_lowercase(), self.text.len());
        let lines = self.lexicon.lines(&name);
        if name == "it" {
            self.text.push_str(self.it);
        } else if !lines.is_empty() && depth > 0 {
            self.fill(lines[rng.random_range(0..lines.len())], rng, depth - 1);
        }
        if slot.starts_with(|c: char| c.is_ascii_uppercase()) {
            capitalise(&mut self.text, begins);
        }
    }

    fn fill(&mut self, line: &str, rng: &mut impl Rng, depth: u8) {
        let mut rest = line;
        while let Some((before, (inner, after))) =
            rest.split_once('{').and_then(|(before, opened)| Some((before, opened.split_once('}')?)))
        {
            self.text.push_str(before);
            self.expand(inner, rng, depth);
            rest = after;
        }
        self.text.push_str(rest);
    }
}

fn capitalise(text: &mut String, at: usize) {
    if let Some(first) = text[at..].chars().next() {
        let upper: String = first.to_uppercase().collect();
        text.replace_range(at..at + first.len_utf8(), &upper);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn every_slot_that_a_line_names_has_lines() {
        for language in Language::ALL {
            let lexicon = Lexicon::of(language);
            for slot in ["given", "family", "bio", "post", "picture", "alt", "clip"] {
                assert!(!lexicon.lines(slot).is_empty(), "{language:?} has no [{slot}]");
            }
            for line in lexicon.slots.values().flatten() {
                for named in line.split('{').skip(1).filter_map(|part| part.split('}').next()) {
                    let name = named.to_ascii_lowercase();
                    assert!(name == "it" || !lexicon.lines(&name).is_empty(), "{language:?}: {{{named}}} in {line}");
                }
            }
        }
    }

    #[test]
    fn texts_vary_and_hold_no_braces() {
        let mut rng = StdRng::seed_from_u64(1);
        for language in Language::ALL {
            let lexicon = Lexicon::of(language);
            let texts: HashSet<_> = (0..500).map(|_| lexicon.text("post", &mut rng)).collect();
            assert!(texts.len() > 250, "{language:?} has only {} texts", texts.len());
            assert!(texts.iter().all(|text| !text.contains(['{', '}', '\\'])));
        }
    }

    #[test]
    fn chinese_and_japanese_have_punctuation_of_full_width() {
        for language in [Language::Chinese, Language::Japanese] {
            for line in Lexicon::of(language).slots.values().flatten() {
                assert!(!line.contains([',', '?', '!']), "{language:?}: {line}");
            }
        }
    }

    #[test]
    fn arabic_has_its_own_punctuation() {
        for line in Lexicon::of(Language::Arabic).slots.values().flatten().filter(|line| !line.contains("http")) {
            assert!(!line.contains([',', '?']), "{line}");
        }
    }

    #[test]
    fn articles_and_cases_go_with_their_words() {
        let mut rng = StdRng::seed_from_u64(1);
        for (language, wrong) in [
            (Language::Spanish, &["de el ", " a el "][..]),
            (Language::German, &["zu Nachtzüge", "zu Lastenräder ", "zu alte "]),
            (Language::Portuguese, &["de o ", "de a ", "de os ", "de as ", "em o "]),
            (Language::English, &["loud old maps is", "loud modular synths is", " do old maps", " a illustrator"]),
        ] {
            let lexicon = Lexicon::of(language);
            for _ in 0..2_000 {
                for slot in ["post", "bio"] {
                    let text = lexicon.text(slot, &mut rng);
                    assert!(!wrong.iter().any(|wrong| text.contains(wrong)), "{language:?}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_slot_with_a_capital_starts_with_one() {
        let mut rng = StdRng::seed_from_u64(1);
        let lexicon = Lexicon::of(Language::English);
        assert!(lexicon.text("Topic", &mut rng).starts_with(char::is_uppercase));
    }
}
