//! Folds texts, so that what people write differently and mean alike is equal: docs/search.md has the rules.

use unicode_normalization::{
    UnicodeNormalization as _,
    char::{canonical_combining_class, decompose_compatible},
};

use crate::text::{BLACK_FLAG, TAGS, is_ignorable, is_nonspacing_mark, is_pictograph, is_skin_tone};

/// Separates letters in the spelling of Persian and its neighbours. A folded text has it only between Arabic letters.
pub(super) const NON_JOINER: char = '\u{200c}';
/// Makes one pictograph of several.
const JOINER: char = '\u{200d}';
const DOT_ABOVE: char = '\u{307}';

/// Folds a text for comparison: case, width and compatible characters (NFKC), without marks that are not seen, and
/// without points and variants of letters in Arabic and Hebrew. Folding it again changes nothing.
pub(super) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = Folded::default();
    for c in text.nfd() {
        if is_pictograph(c) {
            // NFKC would make letters and punctuation of some.
            folded.push(c);
        } else {
            decompose_compatible(c, |plain| {
                caseless(plain).for_each(|c| decompose_compatible(c, |c| folded.push(c)));
            });
        }
    }
    folded.end().nfc().collect()
}

/// Folds case through upper case, so that "ß" and "ẞ" become "ss", "ı" an "i", and a final sigma a plain one.
fn caseless(c: char) -> impl Iterator<Item = char> {
    c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// A folded text that grows by one decomposed character at a time.
#[derive(Default)]
struct Folded {
    text: String,
    /// The last character of `text`.
    last: Option<char>,
    /// The last one that is no mark.
    base: Option<char>,
    /// Belongs between `last` and the next character, depending on that one.
    between: Option<char>,
}

impl Folded {
    fn push(&mut self, c: char) {
        let Some(last) = self.last else {
            if !is_dropped(c) {
                self.append(replaced(c));
            }
            return;
        };
        match c {
            NON_JOINER if is_arabic(last) => self.between = Some(c),
            JOINER if is_pictograph(last) => self.between = Some(c),
            c if TAGS.contains(&c) && (last == BLACK_FLAG || TAGS.contains(&last)) => self.append(c),
            c if is_dropped(c) || c == DOT_ABOVE && self.base == Some('i') => {}
            c => self.after(last, replaced(c)),
        }
    }

    /// Adds `c`. A geresh or gershayim is often typed as a quotation mark.
    fn after(&mut self, last: char, c: char) {
        match self.between.take() {
            Some(NON_JOINER) if is_arabic(c) => self.append(NON_JOINER),
            Some(JOINER) if is_pictograph(c) => self.append(JOINER),
            Some('"') if !is_hebrew(c) => self.append('"'),
            _ => {}
        }
        match c {
            '\'' if is_hebrew(last) => {}
            '"' if is_hebrew(last) && self.last == Some(last) => self.between = Some('"'),
            c => self.append(c),
        }
    }

    fn append(&mut self, c: char) {
        self.text.push(c);
        self.last = Some(c);
        if canonical_combining_class(c) == 0 {
            self.base = Some(c);
        }
    }

    fn end(mut self) -> String {
        if self.between == Some('"') {
            self.text.push('"');
        }
        self.text
    }
}

/// Marks that are not seen, skin tones, and what writers of Arabic and Hebrew may leave out: points, geresh and
/// gershayim, and the tatweel, which only stretches words.
fn is_dropped(c: char) -> bool {
    match c {
        '\0'..='\u{7f}' => false,
        '\u{5f3}' | '\u{5f4}' | '\u{640}' | '\u{fb1e}' => true,
        '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{6ed}' | '\u{897}'..='\u{8ff}' => {
            is_nonspacing_mark(c) || is_ignorable(c)
        }
        c => is_ignorable(c) || is_skin_tone(c),
    }
}

/// Replaces variants of apostrophes, of Arabic letters and of digits. CLDR's root collation for searching equates
/// these letters, and its collation for Persian those that Arabic and Persian keyboards type differently.
fn replaced(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2bb}' | '\u{2bc}' => '\'',
        // Alef wasla.
        '\u{671}' => '\u{627}',
        // Small waw.
        '\u{6e5}' => '\u{648}',
        // Alef maksura, Farsi yeh, small yeh.
        '\u{649}' | '\u{6cc}' | '\u{6e6}' => '\u{64a}',
        // Keheh.
        '\u{6a9}' => '\u{643}',
        // Teh marbuta, heh goal, teh marbuta goal, ae (also of heh with yeh above).
        '\u{629}' | '\u{6c1}' | '\u{6c3}' | '\u{6d5}' => '\u{647}',
        '\u{660}'..='\u{669}' => digit(c, 0x660),
        '\u{6f0}'..='\u{6f9}' => digit(c, 0x6f0),
        c => c,
    }
}

fn digit(c: char, zero: u32) -> char {
    char::from_digit(u32::from(c).saturating_sub(zero), 10).unwrap_or(c)
}

fn is_arabic(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}') && c.is_alphabetic()
}

fn is_hebrew(c: char) -> bool {
    matches!(c, '\u{5d0}'..='\u{5f2}')
}
