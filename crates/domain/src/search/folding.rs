//! Folds texts, so that what people write differently and mean alike is equal: docs/search.md has the rules.

use unicode_normalization::{
    IsNormalized, UnicodeNormalization as _,
    char::{canonical_combining_class, decompose_compatible},
    is_nfc_quick,
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
    let (mut folded, mut others) = (Folded::default(), String::new());
    for c in text.chars() {
        if is_simple(c) {
            folded.push_all(&mut others);
            folded.push_simple(lower(c));
        } else {
            others.push(c);
        }
    }
    folded.push_all(&mut others);
    let text = folded.end();
    if is_nfc_quick(text.chars()) == IsNormalized::Yes { text } else { text.nfc().collect() }
}

/// Whether `c` stays as it is but for its case, does not combine with what precedes it, is seen, and is no i: most
/// characters of most texts.
const fn is_simple(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{7f}'
            | '\u{c0}'..='\u{cb}'
            | '\u{d0}'..='\u{de}'
            | '\u{e0}'..='\u{eb}'
            | '\u{f0}'..='\u{fe}'
            | '\u{410}'..='\u{44f}'
            | '\u{5d0}'..='\u{5ea}'
            | '\u{627}'..='\u{63a}'
            | '\u{641}'..='\u{64a}'
            | '\u{679}'..='\u{6bf}'
            | '\u{6cc}'
            | '\u{e01}'..='\u{e30}'
            | '\u{e40}'..='\u{e46}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
    )
}

/// The lower case of a simple character.
fn lower(c: char) -> char {
    match c {
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{de}' | '\u{410}'..='\u{42f}' => c.to_lowercase().next().unwrap_or(c),
        c => c.to_ascii_lowercase(),
    }
}

/// How much work it is to fold and cut a text, in bytes of usual texts: some ligatures stand for several words.
pub(super) fn work(text: &str) -> usize {
    let is_ligature = |c: &char| matches!(c, '\u{fdf0}'..='\u{fdfb}' | '\u{3300}'..='\u{33ff}');
    text.len() + if text.is_ascii() { 0 } else { 60 * text.chars().filter(is_ligature).count() }
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
    /// Decomposes and adds these characters.
    fn push_all(&mut self, text: &mut String) {
        for c in text.nfd() {
            if is_pictograph(c) {
                // NFKC would make letters and punctuation of some.
                self.push(c);
            } else {
                decompose_compatible(c, |plain| {
                    caseless(plain).for_each(|c| decompose_compatible(c, |c| self.push(c)));
                });
            }
        }
        text.clear();
    }

    fn push_simple(&mut self, c: char) {
        match self.last {
            Some(last) => self.after(last, replaced(c)),
            None => self.append(replaced(c)),
        }
    }

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
        if is_simple(c) || canonical_combining_class(c) == 0 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_characters_are_what_they_are_taken_for() {
        let simple = (0..=u32::from(char::MAX)).filter_map(char::from_u32).filter(|c| is_simple(*c));
        for c in simple.filter(|c| !c.is_ascii()) {
            let text = c.to_string();
            assert!(text.nfkc().eq(text.chars()) && caseless(c).eq([lower(c)]), "{}", c.escape_unicode());
            let is_starter = canonical_combining_class(c) == 0 && is_nfc_quick(text.chars()) == IsNormalized::Yes;
            assert!(is_starter && !is_dropped(c) && !is_pictograph(c), "{}", c.escape_unicode());
            assert!(text.nfd().next().is_some_and(|base| !base.eq_ignore_ascii_case(&'i')), "{}", c.escape_unicode());
        }
    }
}
