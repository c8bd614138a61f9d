//! The rules of the form before this one, in which an index may be until the indexer has come by: texts are found
//! through its terms and keys meanwhile, and those are deleted when contents and names are indexed anew.

use unicode_normalization::UnicodeNormalization as _;

/// Folds a text by the former rules: NFKC, case, one kind of apostrophe, without some joiners.
pub(super) fn folded(text: &str) -> String {
    let apostrophes = |c| if c == '\u{2019}' { '\'' } else { c };
    let case = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
    text.nfkc().filter(|c| !is_ignored(*c)).map(apostrophes).flat_map(case).nfkc().collect()
}

/// Soft hyphens, joiners without effect, variation selectors, skin tones.
const fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{200b}'
            | '\u{2060}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Whether the character made a piece a word.
pub(super) fn is_telling(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}
