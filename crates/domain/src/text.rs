//! Classifies characters (visible, invisible, able to disguise one text as another) and links, and makes sentences of
//! fragments.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{
        BidiControl, CanonicalCombiningClass, DefaultIgnorableCodePoint, EmojiModifier, ExtendedPictographic,
        GeneralCategory, GeneralCategoryGroup, JoiningType, PrependedConcatenationMark, VariationSelector,
    },
};

const ZERO_WIDTH_JOINERS: [char; 2] = ['\u{200c}', '\u{200d}'];
const MONGOLIAN_VOWEL_SEPARATOR: char = '\u{180e}';
/// Tags after it make it the flag of a region.
pub(crate) const BLACK_FLAG: char = '\u{1f3f4}';
/// What flags of regions are written with.
pub(crate) const TAGS: std::ops::RangeInclusive<char> = '\u{e0020}'..='\u{e007f}';
/// A symbol by its category, but it looks empty.
const BRAILLE_BLANK: char = '\u{2800}';

/// `fragment`, such as the text of an error, as a sentence with a capital and a full stop. A first word that is a name
/// (`auth.secret`, `tidefeed.toml`) keeps its case.
pub fn sentence(fragment: &str) -> String {
    let first_word = fragment.split_whitespace().next().unwrap_or_default();
    let is_name = first_word.trim_end_matches(['.', ',', ':', ';']).contains(['.', '_', '/']);
    let mut chars = fragment.chars();
    let Some(first) = chars.next() else { return String::new() };
    let begin = if is_name { first.to_string() } else { first.to_uppercase().to_string() };
    let end = if fragment.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{begin}{}{end}", chars.as_str())
}

/// Whether `url` is http or https with a host, and has no white space or control characters. The caller checks the
/// length.
pub fn is_web_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '['))
        && !url.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Whether `text` has U+0000, which ends texts in C.
pub fn has_nul(text: &str) -> bool {
    text.contains('\0')
}

/// Whether `name` can be shown: it has a visible character, and none that breaks lines, reorders text or is invisible.
/// Joiners, variation selectors and tags are allowed where scripts and pictographs need them.
pub fn is_presentable(name: &str) -> bool {
    let mut before = Before::default();
    let mut chars = name.chars().peekable();
    let mut seen = false;
    while let Some(c) = chars.next() {
        if is_unseen(c) && !before.takes(c, chars.peek().copied()) {
            return false;
        }
        seen |= is_seen(c);
        before.meets(c);
    }
    seen
}

/// The characters before the current one.
#[derive(Default)]
struct Before {
    /// The preceding character.
    last: Option<char>,
    /// The last one that is not a mark, selector or tag.
    base: Option<char>,
}

impl Before {
    /// Whether the invisible `c` has a meaning at this place.
    fn takes(&self, c: char, next: Option<char>) -> bool {
        if CodePointSetData::new::<VariationSelector>().contains(c) {
            return self.last.is_some_and(|last| !is_unseen(last) && !last.is_whitespace());
        }
        if TAGS.contains(&c) {
            return self.base == Some(BLACK_FLAG);
        }
        if c != MONGOLIAN_VOWEL_SEPARATOR && !ZERO_WIDTH_JOINERS.contains(&c) {
            return false;
        }
        let between_pictographs = || self.base.is_some_and(is_pictograph) && next.is_some_and(is_pictograph);
        self.base.is_some_and(joins)
            || self.last.is_some_and(is_virama)
            || next.is_some_and(is_virama)
            || between_pictographs()
    }

    fn meets(&mut self, c: char) {
        self.last = Some(c);
        if joining(c) != JoiningType::Transparent {
            self.base = Some(c);
        }
    }
}

/// Whether `c` is a letter, digit, sign or pictograph.
fn is_seen(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    let is_drawn = [
        GeneralCategoryGroup::Letter,
        GeneralCategoryGroup::Number,
        GeneralCategoryGroup::Punctuation,
        GeneralCategoryGroup::Symbol,
    ];
    let is_drawn = is_drawn.iter().any(|group| group.contains(category)) || is_pictograph(c);
    is_drawn && c != BRAILLE_BLANK && !is_unseen(c)
}

fn is_unseen(c: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    let is_break = matches!(
        category,
        GeneralCategory::Control | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator
    );
    is_break || is_ignorable(c)
}

/// Whether `c` only controls how the text around it is shown: joiners, directions, selectors, tags.
pub(crate) fn is_ignorable(c: char) -> bool {
    let is_format = || {
        CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::Format
            && !CodePointSetData::new::<PrependedConcatenationMark>().contains(c)
    };
    !c.is_ascii()
        && (CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
            || CodePointSetData::new::<BidiControl>().contains(c)
            || is_format())
}

/// Whether `c` is a pictograph, or the skin tone of one.
pub(crate) fn is_pictograph(c: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(c) || is_skin_tone(c)
}

/// Whether `c` tells the skin tone of the pictograph before it.
pub(crate) fn is_skin_tone(c: char) -> bool {
    CodePointSetData::new::<EmojiModifier>().contains(c)
}

/// Whether `c` stands above or below other characters and takes no room.
pub(crate) fn is_nonspacing_mark(c: char) -> bool {
    CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::NonspacingMark
}

/// Whether `c` is of a cursive script, whose letters joiners shape.
fn joins(c: char) -> bool {
    matches!(joining(c), JoiningType::DualJoining | JoiningType::RightJoining | JoiningType::LeftJoining)
}

fn joining(c: char) -> JoiningType {
    CodePointMapData::<JoiningType>::new().get(c)
}

/// The sign of Indic scripts after which joiners choose a letter's form.
fn is_virama(c: char) -> bool {
    CodePointMapData::<CanonicalCombiningClass>::new().get(c) == CanonicalCombiningClass::Virama
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_becomes_a_sentence_with_a_capital_and_a_full_stop() {
        for (fragment, expected) in [
            ("the store (store.url) cannot be used", "The store (store.url) cannot be used."),
            ("auth.secret is too short", "auth.secret is too short."),
            ("tidefeed.toml: line 3 is no table", "tidefeed.toml: line 3 is no table."),
            (
                "two problems:\n  inbox.keep\nAll keys have a default.",
                "Two problems:\n  inbox.keep\nAll keys have a default.",
            ),
            ("--reader ann: there is no user with this handle", "--reader ann: there is no user with this handle."),
            ("", ""),
        ] {
            assert_eq!(sentence(fragment), expected);
        }
    }

    #[test]
    fn names_of_every_script_and_pictographs_are_presentable() {
        for name in [
            "Ann",
            "Zoë O'Hara-Smith 3rd",
            "李小龍",
            "Владимир",
            "محمد",
            "می\u{200c}خواهم",
            "ه\u{200d}",
            "क्\u{200d}ष",
            "র\u{200d}্য",
            "ශ්\u{200d}රී",
            "ᠣᠷᠴᠢᠯ\u{180e}ᠠ",
            "葛\u{e0100}城",
            "👩🏽\u{200d}🚀 Ann",
            "🏳\u{fe0f}\u{200d}🌈",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "❤\u{fe0f}",
            "a\u{a0}b",
            "...",
        ] {
            assert!(is_presentable(name), "{}", name.escape_unicode());
        }
    }

    #[test]
    fn invisible_characters_are_no_name() {
        for name in [
            "", " ", "\u{200b}", "\u{2060}", "\u{3164}", "\u{115f}", "\u{2800}", "\u{fe0f}", "\u{301}", "\u{ad}",
            "\u{a0}",
        ] {
            assert!(!is_presentable(name), "{}", name.escape_unicode());
        }
    }

    #[test]
    fn unseen_characters_and_bidi_controls_spoil_a_name() {
        for c in [
            '\0',
            '\n',
            '\u{85}',
            '\u{2028}',
            '\u{61c}',
            '\u{200e}',
            '\u{200f}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{2060}',
            '\u{feff}',
            '\u{ad}',
            '\u{34f}',
            '\u{3164}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{180e}',
            '\u{e0041}',
            '\u{e0001}',
        ] {
            let name = format!("An{c}n");
            assert!(!is_presentable(&name), "{}", name.escape_unicode());
        }
        assert!(!is_presentable("Ann\u{fe0f}\u{fe0f}"), "a selector selects once");
        assert!(!is_presentable("ه\u{200d}\u{200d}"), "a joiner joins once");
    }
}
