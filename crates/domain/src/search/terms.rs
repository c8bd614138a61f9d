//! Cuts a text into search terms. The index stores terms, so a change of the cutting needs another [`FORM`], and the
//! rules before it stay in `former` until indexes are rebuilt.
//!
//! A text is folded and cut into words by UAX #29; a pictograph is a word, and so is each part of a word with an
//! apostrophe. Scripts without spaces between words (Chinese, Japanese, Korean, Thai and their neighbours) form *runs*.
//! Every character of a run and every pair of neighbours is a term. docs/search.md shows each rule by an example.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    folding::{NON_JOINER, folded},
    former,
};
use crate::{
    limits::{MAX_QUERY_TERMS, MAX_TERMS},
    text::is_pictograph,
};

/// The number of this form of terms. Raise it with every change of what terms a text has: everything is indexed again
/// then.
pub const FORM: i64 = 2;
/// The number of the form before.
pub const FORMER_FORM: i64 = 1;
const SEED: u64 = 0x7469_6465_6665_6564;

/// The stored form of a word, a character or a pair: 64 bits of XXH3. Different ones may share a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(i64);

impl Term {
    fn of(piece: &str) -> Self {
        Self(xxh3_64_with_seed(piece.as_bytes(), SEED).cast_signed())
    }
}

impl From<Term> for i64 {
    fn from(term: Term) -> Self {
        term.0
    }
}

/// The rules by which a text has its terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// [`FORMER_FORM`]: of contents that have not been indexed again.
    Former,
    /// [`FORM`].
    Current,
}

/// The distinct terms of a text, ascending; at most [`MAX_TERMS`], which no content exceeds.
pub fn terms_of(text: &str) -> Vec<Term> {
    let mut terms = Pieces::of(text).distinct_terms();
    terms.truncate(MAX_TERMS);
    terms
}

/// What the current rules add to the terms that the former ones gave a text, and what they drop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// Ascending.
    pub added: Vec<Term>,
    /// Ascending.
    pub dropped: Vec<Term>,
}

impl Change {
    /// Of a text that has its former terms in the index.
    pub fn of(text: &str) -> Self {
        if text.is_ascii() && !text.contains('\'') {
            return Self::default();
        }
        let [former, current] = [Form::Former, Form::Current].map(|form| Pieces::by(form, text).distinct_terms());
        let minus = |all: &[Term], others: &[Term]| {
            all.iter().copied().filter(|term| others.binary_search(term).is_err()).collect()
        };
        Self { added: minus(&current, &former), dropped: minus(&former, &current) }
    }

    /// The terms that change.
    pub const fn len(&self) -> usize {
        self.added.len() + self.dropped.len()
    }

    /// Whether no term changes.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A text as searches see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    words: HashSet<String>,
    runs: Vec<String>,
}

impl Text {
    /// Cuts the text.
    pub fn of(text: &str) -> Self {
        let Pieces { words, parts, runs } = Pieces::of(text);
        Self { words: words.into_iter().chain(parts).collect(), runs }
    }

    /// Bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        let each = size_of::<String>();
        self.words.iter().chain(&self.runs).map(|piece| piece.len() + 2 * each).sum()
    }
}

/// The words and runs that a text must have: each word as a word or a part of one, each run within one of its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    pieces: Pieces,
    terms: Vec<Term>,
    /// Empty if they are the same.
    former_terms: Vec<Term>,
}

impl Phrase {
    /// `None` if nothing in `text` can be searched.
    pub fn of(text: &str) -> Option<Self> {
        let pieces = Pieces::of(text);
        let terms = pieces.wanted_terms();
        let mut former_terms = Pieces::by(Form::Former, text).wanted_terms();
        if former_terms == terms {
            former_terms.clear();
        }
        (!terms.is_empty()).then_some(Self { pieces, terms, former_terms })
    }

    /// Terms that every matching text has, at most [`MAX_QUERY_TERMS`]. Other texts may have them, too. Empty for the
    /// former form if it leads to nothing else.
    pub fn terms(&self, form: Form) -> &[Term] {
        match form {
            Form::Former => &self.former_terms,
            Form::Current => &self.terms,
        }
    }

    /// Whether `text` matches the phrase.
    pub fn is_in(&self, text: &Text) -> bool {
        self.pieces.words.iter().all(|word| text.words.contains(word))
            && self.pieces.runs.iter().all(|run| text.runs.iter().any(|other| other.contains(run)))
    }
}

/// The pieces of a folded text without separators.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Pieces {
    words: Vec<String>,
    /// Words within words: after an elided article, or around a non-joiner.
    parts: Vec<String>,
    runs: Vec<String>,
}

impl Pieces {
    fn of(text: &str) -> Self {
        Self::by(Form::Current, text)
    }

    fn by(form: Form, text: &str) -> Self {
        let (text, is_telling): (String, fn(char) -> bool) = match form {
            Form::Former => (former::folded(text), former::is_telling),
            Form::Current => (folded(text), is_telling),
        };
        let (mut pieces, mut rest) = (Self::default(), text.as_str());
        while let Some(first) = rest.chars().next() {
            let in_run = is_unspaced(first);
            let end = rest.find(|c| is_unspaced(c) != in_run).unwrap_or(rest.len());
            let (stretch, after) = rest.split_at(end);
            if in_run {
                pieces.runs.push(stretch.to_owned());
            } else {
                let words = stretch.split_word_bounds().filter(|word| word.contains(is_telling));
                words.for_each(|word| pieces.add(form, word));
            }
            rest = after;
        }
        pieces
    }

    fn add(&mut self, form: Form, word: &str) {
        if form == Form::Former || !word.contains(is_inner_bound) {
            self.words.push(word.to_owned());
            return;
        }
        let parts = word.split(is_inner_bound).filter(|part| part.contains(is_telling));
        self.parts.extend(parts.map(str::to_owned));
        self.words.push(word.trim_matches(is_inner_bound).replace(NON_JOINER, ""));
    }

    /// The terms of a text.
    fn distinct_terms(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = self.words.iter().chain(&self.parts).map(|word| Term::of(word)).collect();
        for run in &self.runs {
            terms.extend(neighbours(run, 1).chain(neighbours(run, 2)).map(Term::of));
        }
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// The terms of a phrase.
    fn wanted_terms(&self) -> Vec<Term> {
        let runs = self.runs.iter().flat_map(|run| {
            let length = if run.chars().nth(1).is_some() { 2 } else { 1 };
            neighbours(run, length)
        });
        let mut met = HashSet::new();
        let terms = self.words.iter().map(String::as_str).chain(runs).map(Term::of);
        terms.filter(|term| met.insert(*term)).take(MAX_QUERY_TERMS).collect()
    }
}

/// Whether `c`, within a word, separates parts that are words, too.
pub(super) const fn is_inner_bound(c: char) -> bool {
    matches!(c, '\'' | NON_JOINER)
}

/// All sequences of `length` neighbouring characters.
fn neighbours(run: &str, length: usize) -> impl Iterator<Item = &str> {
    let ends = run.char_indices().map(|(at, _)| at).skip(length).chain([run.len()]);
    let starts = run.char_indices().map(|(at, _)| at);
    starts.zip(ends).filter_map(|(from, to)| run.get(from..to)).filter(move |it| it.chars().count() == length)
}

fn is_among(c: char, ranges: &[(u32, u32)]) -> bool {
    let code = u32::from(c);
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// Whether the character makes a piece a word: a letter, digit or pictograph.
pub(super) fn is_telling(c: char) -> bool {
    const PICTOGRAPHS: [(u32, u32); 4] = [(0x2300, 0x23FF), (0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1_F000, 0x1_FAFF)];
    c.is_alphanumeric() || (!c.is_ascii() && (is_among(c, &PICTOGRAPHS) || is_pictograph(c)))
}

/// Whether the character's script has no spaces between words or, like Korean, attaches particles.
pub(super) fn is_unspaced(c: char) -> bool {
    /// Thai and Lao, Myanmar, jamo, Khmer, radicals, iteration marks, kana, bopomofo and jamo, Han, Hangul, Han.
    const RANGES: [(u32, u32); 18] = [
        (0x0E01, 0x0E3A),
        (0x0E40, 0x0EFF),
        (0x1000, 0x109F),
        (0x1100, 0x11FF),
        (0x1780, 0x17FF),
        (0x2E80, 0x2FDF),
        (0x3005, 0x3007),
        (0x3021, 0x3029),
        (0x3041, 0x309F),
        (0x30A1, 0x30FA),
        (0x30FC, 0x318F),
        (0x31A0, 0x31FF),
        (0x3400, 0x4DBF),
        (0x4E00, 0x9FFF),
        (0xA960, 0xA97F),
        (0xAC00, 0xD7FF),
        (0xF900, 0xFAFF),
        (0x2_0000, 0x3_FFFF),
    ];
    !c.is_ascii() && is_among(c, &RANGES)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::prelude::*;

    use super::*;
    use crate::limits::MAX_TEXT_CHARS;

    fn is_found(phrase: &str, text: &str) -> bool {
        let phrase = Phrase::of(phrase).unwrap();
        let (wanted, there) = (phrase.terms(Form::Current), terms_of(text));
        let found = phrase.is_in(&Text::of(text));
        assert!(!found || wanted.iter().all(|term| there.contains(term)), "{phrase:?} would be missed in {text:?}");
        found
    }

    fn pieces(text: &str) -> (Vec<String>, Vec<String>) {
        let Pieces { words, runs, .. } = Pieces::of(text);
        (words, runs)
    }

    #[test]
    fn terms_are_the_same_for_ever() {
        let numbers = |text| terms_of(text).into_iter().map(i64::from).collect::<Vec<_>>();
        let known = [numbers("Tide"), numbers("潮汐"), numbers("don’t 🎉")];
        assert_eq!(
            known,
            [
                vec![-8_746_855_614_877_718_580],
                vec![-5_642_392_086_777_132_242, 298_813_631_119_561_574, 6_201_116_800_683_915_532],
                vec![
                    -7_987_685_300_074_332_986,
                    -6_260_831_932_909_825_150,
                    -767_741_233_162_242_246,
                    4_226_226_273_204_367_204,
                ],
            ]
        );
        assert_eq!(FORM, 2, "another form of terms has other numbers: replace these");
    }

    #[test]
    fn the_former_terms_are_known_until_everything_is_indexed_again() {
        let numbers =
            |text| Pieces::by(Form::Former, text).distinct_terms().into_iter().map(i64::from).collect::<Vec<_>>();
        let known = [numbers("Tide"), numbers("潮汐"), numbers("don’t 🎉")];
        assert_eq!(
            known,
            [
                vec![-8_746_855_614_877_718_580],
                vec![-5_642_392_086_777_132_242, 298_813_631_119_561_574, 6_201_116_800_683_915_532],
                vec![-7_987_685_300_074_332_986, -767_741_233_162_242_246],
            ]
        );
        let dont = Change::of("Low tide, don't 潮汐");
        assert_eq!((dont.added.len(), dont.dropped.len()), (2, 0), "the parts of a word");
        let istanbul = "\u{130}STANBUL";
        let [added, dropped] = ["istanbul", "i\u{307}stanbul"].map(|word| vec![Term::of(word)]);
        assert_eq!(Change::of(istanbul), Change { added, dropped });
        assert_eq!(Phrase::of(istanbul).unwrap().terms(Form::Former), [Term::of("i\u{307}stanbul")]);
        assert!(Phrase::of("istanbul 潮汐").unwrap().terms(Form::Former).is_empty());
    }

    #[test]
    fn a_text_is_cut_into_words_and_runs() {
        let cut = |words: &[&str], runs: &[&str]| {
            let owned = |them: &[&str]| them.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
            (owned(words), owned(runs))
        };
        assert_eq!(pieces("Low tide, at 6.30!"), cut(&["low", "tide", "at", "6.30"], &[]));
        assert_eq!(pieces("买了iPhone手机。真好"), cut(&["iphone"], &["买了", "手机", "真好"]));
        assert_eq!(pieces("ﾃﾚﾋﾞ・ラーメン"), cut(&[], &["テレビ", "ラーメン"]));
        assert_eq!(pieces("#rust @ann_b 👍🏽❤️🇩🇪"), cut(&["rust", "ann_b", "👍", "❤", "🇩🇪"], &[]));
        assert_eq!(pieces("-- … \n"), cut(&[], &[]));
        assert_eq!(Phrase::of("?!"), None);
    }

    #[test]
    fn what_looks_alike_is_found_alike() {
        for (phrase, text) in [
            ("CAFÉ", "le cafe\u{301} noir"),
            ("cafe\u{301}", "Le Café"),
            ("strasse", "Große STRAßE"),
            ("οδοσ", "ΟΔΟΣ"),
            ("ｆｕｌｌ", "Full width"),
            ("don't", "I don’t"),
            ("teilen", "tei\u{AD}len"),
            ("👍", "gut 👍🏿"),
            ("❤", "von \u{2764}\u{FE0F}"),
            ("カナ", "ｶﾅ"),
        ] {
            assert!(is_found(phrase, text), "{phrase} in {text}");
        }
        assert!(!is_found("cafe", "café"), "an accent is told apart");
    }

    /// `\u0000` in a document, as the character.
    fn unescaped(text: &str) -> String {
        let mut parts = text.split("\\u");
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |done, part| {
            let digits = if part.starts_with("e00") { 5 } else { 4 };
            let c = char::from_u32(u32::from_str_radix(&part[..digits], 16).unwrap()).unwrap();
            format!("{done}{c}{}", &part[digits..])
        })
    }

    #[test]
    fn the_examples_of_the_documents_are_found() {
        let rows = include_str!("../../../../docs/search.md").lines().filter(|line| line.contains(" | `"));
        let mut count = 0;
        for row in rows {
            let cells: Vec<String> =
                row.split(" |").skip(1).map(|cell| unescaped(cell.trim().trim_matches('`'))).collect();
            let (text, found, missed) = (&cells[0], &cells[1], &cells[2]);
            for wanted in found.split_whitespace().chain([found.as_str()]) {
                assert!(is_found(wanted, text), "{wanted} in {text}");
            }
            assert!(missed.is_empty() || !is_found(missed, text), "{missed} in {text}");
            count += 1;
        }
        assert_eq!(count, 17);
    }

    #[test]
    fn marks_that_are_not_seen_hide_no_word() {
        let marks = [0xAD, 0x34F, 0x61C, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFE0F, 0xFEFF];
        let ranges = [0x202A..=0x202E, 0x2061..=0x206F, 0xFFF9..=0xFFFB, 0xE_0020..=0xE_007F, 0xE_0100..=0xE_01EF];
        for mark in marks.into_iter().chain(ranges.into_iter().flatten()).filter_map(char::from_u32) {
            for hidden in
                [format!("{mark}tide"), format!("ti{mark}de"), format!("tide{mark}"), format!("ti{mark}de潮{mark}汐")]
            {
                assert!(is_found("tide", &hidden) && is_found(&hidden, "tide, 潮汐"), "{}", hidden.escape_unicode());
            }
        }
        assert!(is_found("\u{600}٢", "\u{600}٢"), "a number sign of Arabic is seen");
    }

    #[test]
    fn every_pictograph_is_a_word() {
        for c in "‼⁉↔↕↖↗↘↙↩↪▪▫▶◀◻◼◽◾⤴⤵〰〽™ℹ©㊗🈚⌚☀🎉".chars() {
            let text = format!("so {c}\u{FE0F} ok");
            assert!(is_found(&c.to_string(), &text) && is_found("so", &text), "{c}");
            assert!(!is_found(&format!("so {c}"), "so"), "{c}");
        }
        assert!(!is_found("🏴\u{E0067}\u{E007F}", "🏴\u{E0073}\u{E007F}"), "another flag");
    }

    #[test]
    fn geresh_and_quotation_marks_are_told_apart_by_their_places() {
        for (phrase, text) in [("שלום", "'שלום' \"שלום\""), ("צה\"ל", "צה״ל"), ("abc", "שלום\"abc"), ("ג׳", "ג'")]
        {
            assert!(is_found(phrase, text), "{phrase} in {text}");
        }
    }

    /// The canonical caseless match of the Unicode Standard, D145. ICU and CLDR equate the Turkish letters at primary
    /// strength.
    #[test]
    fn upper_and_lower_case_fold_to_the_same_for_every_character() {
        // The lower case of Ⓜ, a pictograph, is none.
        let has_case = |c: &char| c.to_uppercase().chain(c.to_lowercase()).any(|other| other != *c);
        let cased = (0..=u32::from(char::MAX)).filter_map(char::from_u32).filter(has_case);
        for c in cased.filter(|c| !['Ⓜ', 'ⓜ'].contains(c)) {
            let once = folded(&c.to_string());
            for other in [c.to_uppercase().to_string(), c.to_lowercase().to_string(), once.clone()] {
                assert_eq!(folded(&other), once, "{}", c.escape_unicode());
            }
        }
    }

    #[test]
    fn unspaced_text_is_found_by_one_character_and_by_any_stretch() {
        let text = "今天天气很好，我们去海边看潮汐。";
        for phrase in ["潮", "潮汐", "天天", "今天天气很好", "海边 今天", "我们去海边看潮汐"] {
            assert!(is_found(phrase, text), "{phrase}");
        }
        for phrase in ["汐潮", "好我", "今天气", "明", "海边 明天"] {
            assert!(!is_found(phrase, text), "{phrase}");
        }
        assert!(is_found("서울", "어제 서울에서") && is_found("ทะเล", "ไปทะเลกัน"));
    }

    #[test]
    fn pairs_that_are_scattered_are_not_the_phrase() {
        let (phrase, text) = (Phrase::of("天气好").unwrap(), "天气不错，气好");
        assert!(phrase.terms(Form::Current).iter().all(|term| terms_of(text).contains(term)));
        assert!(!phrase.is_in(&Text::of(text)));
    }

    #[test]
    fn a_word_is_found_as_a_word_and_not_within_another() {
        assert!(is_found("tide", "The tide.") && !is_found("tide", "tidefeed"));
    }

    /// A character starts one term, and with its neighbour another; beyond that there is only what single characters
    /// expand to.
    #[test]
    fn no_text_has_more_terms_than_the_limit() {
        let expanded: HashSet<Term> = (0..=u32::from(char::MAX))
            .filter_map(char::from_u32)
            .map(String::from)
            .filter(|one| folded(one).chars().nth(1).is_some())
            .flat_map(|one| terms_of(&one))
            .collect();
        let most = 2 * MAX_TEXT_CHARS + expanded.len();
        assert!(most <= MAX_TERMS, "{most}");
        let han: String = (0x4E00..).filter_map(char::from_u32).take(MAX_TEXT_CHARS).collect();
        assert_eq!(terms_of(&han).len(), 2 * MAX_TEXT_CHARS - 1);
    }

    #[test]
    fn a_long_phrase_is_looked_up_by_some_of_its_terms() {
        let han: String = (0x4E00..).filter_map(char::from_u32).take(100).collect();
        assert_eq!(Phrase::of(&han).unwrap().terms(Form::Current).len(), MAX_QUERY_TERMS);
    }

    /// Random words, runs and separators, each with the terms that it must have.
    fn token() -> impl Strategy<Value = String> {
        prop_oneof!["[ab]{1,3}", "[潮汐天]{1,4}", "[あい]{1,2}", Just("🎉".to_owned()), Just("É".to_owned())]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

        #[test]
        fn a_phrase_of_words_is_found_where_each_stands(
            text in prop::collection::vec(token(), 0..8), phrase in prop::collection::vec(token(), 1..3),
        ) {
            let unspaced = |token: &str| !token.starts_with(['a', 'b', '🎉', 'É']);
            let stands = |wanted: &String| text.iter().any(|token| {
                token == wanted || (unspaced(wanted) && unspaced(token) && token.contains(wanted.as_str()))
            });
            let expected = phrase.iter().all(stands);
            prop_assert_eq!(is_found(&phrase.join(" "), &text.join(", ").to_lowercase()), expected);
        }

        #[test]
        fn any_text_is_cut_without_a_panic(text in "\\PC{0,60}", phrase in "\\PC{1,12}") {
            if let Some(phrase) = Phrase::of(&phrase) {
                let found = phrase.is_in(&Text::of(&text));
                let there = terms_of(&text);
                prop_assert!(!found || phrase.terms(Form::Current).iter().all(|term| there.contains(term)));
            }
            prop_assert_eq!(folded(&folded(&text)), folded(&text));
            if let Some(whole) = Phrase::of(&text) {
                prop_assert!(whole.is_in(&Text::of(&text)));
            }
        }
    }
}
