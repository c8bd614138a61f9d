//! The keys by which people are found: the handle, and the name from each of its words on, folded like the words of
//! contents.
//!
//! A stored key begins with the searched text, byte by byte, so a search is one range of an index. A change of the
//! folding needs another [`KEYS_FORM`], and all rows written again.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use unicode_segmentation::UnicodeSegmentation;

use super::{
    folding::{NON_JOINER, folded},
    former,
    terms::{Form, is_inner_bound, is_telling, is_unspaced},
};
use crate::{
    account::profile::Handle,
    ids::UserId,
    limits::{MAX_NAME_PREFIX_CHARS, MAX_NAME_WORDS},
    timeline::cursor::InvalidCursor,
};

/// The number of this form of keys. Raise it with every change of what keys a name has: all names are indexed again
/// then.
pub const KEYS_FORM: i64 = 2;
/// Begins keys that only handles match.
const HANDLE_MARK: char = '@';
/// The first byte of a cursor here; [`crate::timeline::cursor`] has those of other lists.
const CURSOR: u8 = 6;
const LAST_CHAR: char = char::MAX;

/// The keys of a user: the handle, with a leading `@` and without, and the name from each of its first
/// [`MAX_NAME_WORDS`] words on. Each has at most [`MAX_NAME_PREFIX_CHARS`] characters. In scripts without spaces each
/// character begins a word.
pub fn keys_of(handle: &Handle, name: &str) -> BTreeSet<String> {
    let name = spaced(Form::Current, name);
    let words = word_starts(Form::Current, &name).take(MAX_NAME_WORDS).map(cut);
    words.chain([handle.to_string(), format!("{HANDLE_MARK}{handle}")]).collect()
}

/// The common beginning of the keys that a search matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPrefix {
    first: String,
    /// By the former rules, if they give another.
    former: Option<String>,
}

/// Why a search for people is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKeyPrefix {
    /// Blank.
    #[error("`text` is blank: give 1 to {MAX_NAME_PREFIX_CHARS} characters of a handle or name")]
    Blank,
    /// More than [`MAX_NAME_PREFIX_CHARS`].
    #[error("`text` has {0} characters; the limit is {MAX_NAME_PREFIX_CHARS}")]
    TooLong(usize),
    /// The text has only punctuation and the like.
    #[error("`text` needs at least one letter, digit or pictograph")]
    NothingInText,
}

impl KeyPrefix {
    /// Trims and folds the text from its first word on. A leading `@` limits the search to handles.
    pub fn try_new(text: &str) -> Result<Self, InvalidKeyPrefix> {
        let first = first_key(Form::Current, text)?;
        let former = first_key(Form::Former, text).ok().filter(|former| *former != first);
        Ok(Self { first, former })
    }

    /// The beginning of the keys that names have which have not been indexed again; `None` if it is the same, or there
    /// is none.
    pub fn former(&self) -> Option<Self> {
        self.former.as_ref().map(|former| Self { first: former.clone(), former: None })
    }

    /// The first key with this prefix.
    pub fn from(&self) -> &str {
        &self.first
    }

    /// Just above every key with this prefix.
    pub fn below(&self) -> String {
        let mut rest = self.first.chars();
        while let Some(last) = rest.next_back() {
            // The characters around the surrogates are neighbours.
            let next = (u32::from(last) + 1..=u32::from(LAST_CHAR)).find_map(char::from_u32);
            if let Some(next) = next {
                return rest.chain([next]).collect();
            }
        }
        // Longer than any key.
        LAST_CHAR.to_string().repeat(MAX_NAME_PREFIX_CHARS + 2)
    }
}

/// A search result: the first key of a user that matches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundUser {
    /// Folded.
    pub key: String,
    /// The user.
    pub user: UserId,
}

impl FoundUser {
    /// A cursor for clients. It stays valid when the user no longer matches.
    pub fn cursor(&self) -> String {
        let id = self.user.get().to_be_bytes();
        let bytes: Vec<u8> = [CURSOR].into_iter().chain(id).chain(self.key.bytes()).collect();
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place of a cursor.
    pub fn at(cursor: &str) -> Result<Self, InvalidCursor> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| InvalidCursor::Malformed)?;
        let (head, rest) = bytes.split_first().ok_or(InvalidCursor::Malformed)?;
        let (id, key) = rest.split_first_chunk().ok_or(InvalidCursor::Malformed)?;
        let user = UserId::try_new(i64::from_be_bytes(*id)).map_err(|_| InvalidCursor::Malformed)?;
        match (*head, std::str::from_utf8(key)) {
            (CURSOR, Ok(key)) if key.chars().count() <= MAX_NAME_PREFIX_CHARS + 1 => {
                Ok(Self { key: key.to_owned(), user })
            }
            (1..CURSOR, _) => Err(InvalidCursor::OtherList),
            _ => Err(InvalidCursor::Malformed),
        }
    }
}

/// The key that a search begins at.
fn first_key(form: Form, text: &str) -> Result<String, InvalidKeyPrefix> {
    let text = text.trim();
    match text.chars().count() {
        0 => return Err(InvalidKeyPrefix::Blank),
        chars if chars > MAX_NAME_PREFIX_CHARS => return Err(InvalidKeyPrefix::TooLong(chars)),
        _ => {}
    }
    let text = spaced(form, text);
    if let Some(handle) = text.strip_prefix(HANDLE_MARK) {
        let handle = handle.trim_start_matches([HANDLE_MARK, ' ']);
        let is_blank = handle.is_empty();
        return if is_blank { Err(InvalidKeyPrefix::NothingInText) } else { Ok(format!("@{}", cut(handle))) };
    }
    let first = word_starts(form, &text).next().ok_or(InvalidKeyPrefix::NothingInText)?;
    Ok(cut(first))
}

/// Folds the text, with single spaces.
fn spaced(form: Form, text: &str) -> String {
    let folded = match form {
        Form::Former => former::folded(text),
        Form::Current => folded(text),
    };
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rest of the text from each of its words on, and from each part of a word with an apostrophe. `_` is part of
/// handles, so it is part of words.
fn word_starts(form: Form, text: &str) -> impl Iterator<Item = &str> {
    let is_word = if form == Form::Former { former::is_telling } else { is_telling };
    let bounds = move |c| form == Form::Current && is_inner_bound(c);
    let words = text.split_word_bound_indices();
    let words = words.filter(move |(_, word)| word.contains(|c| is_word(c) || c == '_'));
    let starts = words.flat_map(move |(at, word)| {
        let mut is_bound = true;
        let within = word.char_indices().filter(move |(_, c)| {
            let begins = is_bound && !bounds(*c) || is_unspaced(*c);
            is_bound = bounds(*c);
            begins
        });
        within.map(move |(found, _)| at + found)
    });
    starts.filter_map(|at| text.get(at..))
}

/// The first [`MAX_NAME_PREFIX_CHARS`] characters, without a space at their end.
fn cut(text: &str) -> String {
    let chars = text.chars().filter(|c| *c != NON_JOINER).take(MAX_NAME_PREFIX_CHARS);
    let mut cut: String = chars.collect();
    cut.truncate(cut.trim_end().len());
    cut
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::prelude::*;

    use super::*;

    fn keys(name: &str) -> Vec<String> {
        let handle = Handle::try_new("h_1").unwrap();
        keys_of(&handle, name).into_iter().filter(|key| !["h_1", "@h_1"].contains(&key.as_str())).collect()
    }

    fn finds(text: &str, name: &str) -> bool {
        let prefix = KeyPrefix::try_new(text).unwrap();
        let (from, below) = (prefix.from().to_owned(), prefix.below());
        let keys = keys_of(&Handle::try_new("h_1").unwrap(), name);
        for key in &keys {
            assert_eq!(key.starts_with(&from), (&from..&below).contains(&key), "{text:?} {key:?}");
        }
        keys.range(from..below).next().is_some()
    }

    #[test]
    fn a_name_is_kept_from_each_of_its_words_on() {
        assert_eq!(keys("Ada  LOVELACE"), ["ada lovelace", "lovelace"]);
        assert_eq!(keys("(Dr.) Anne-Marie"), ["anne-marie", "dr.) anne-marie", "marie"]);
        assert_eq!(keys("王小明"), ["小明", "明", "王小明"]);
        assert_eq!(keys("김철수 ﾃﾚ"), ["テレ", "レ", "김철수 テレ", "수 テレ", "철수 テレ"]);
        assert_eq!(keys("🎉 Party 👍🏽"), ["party 👍", "🎉 party 👍", "👍"]);
        assert_eq!(keys("O’Brien"), ["brien", "o'brien"]);
        assert_eq!(keys("علی\u{200c}رضا"), ["رضا", "عليرضا"]);
        assert_eq!(keys("--"), Vec::<String>::new());
        let handle = Handle::try_new("@Ada").unwrap();
        assert_eq!(keys_of(&handle, "Ada").into_iter().collect::<Vec<_>>(), ["@ada", "ada"], "each key once");
    }

    #[test]
    fn number_and_length_of_keys_are_bounded() {
        let many = keys(&"a b ".repeat(15));
        assert_eq!((many.len(), many.iter().map(String::len).max()), (8, Some(59)));
        let long = "\u{FDFA}".repeat(20);
        assert!(folded(&long).chars().count() > 300, "one character stands for eighteen");
        assert!(keys(&long).iter().all(|key| key.chars().count() <= 60 && key.trim() == key));
        assert!(finds(&long, &long));
    }

    #[test]
    fn what_looks_alike_is_found_alike() {
        for (text, name) in [
            ("lo", "Ada Lovelace"),
            (" ADA  lo ", "Ada Lovelace"),
            ("CAFÉ", "le cafe\u{301} noir"),
            ("strasse", "Große STRAßE"),
            ("ｆｕｌｌ", "Full width"),
            ("小", "王小明"),
            ("👍", "ok 👍🏿"),
            ("(ada", "ada)"),
            ("H_", "whoever"),
            ("@h", "whoever"),
            ("＠ H_1", "whoever"),
            ("100%", "100% Ada"),
        ] {
            assert!(finds(text, name), "{text} in {name}");
        }
        for (text, name) in [
            ("ove", "Lovelace"),
            ("lovelace ada", "Ada Lovelace"),
            ("cafe", "café"),
            ("@ada", "ada"),
            ("100%", "100 Ada"),
            ("hx", "whoever"),
        ] {
            assert!(!finds(text, name), "{text} in {name}");
        }
    }

    #[test]
    fn names_that_are_indexed_by_the_former_rules_have_another_prefix() {
        let former = |text: &str| KeyPrefix::try_new(text).unwrap().former().map(|it| it.first);
        assert_eq!(former("\u{130}brahim").as_deref(), Some("i\u{307}brahim"));
        assert_eq!([former("Ada  Lo"), former("王小")], [None, None]);
    }

    #[test]
    fn an_unusable_search_is_refused() {
        let of = |text: &str| KeyPrefix::try_new(text).unwrap_err();
        assert_eq!([of(""), of(" \u{3000} ")], [InvalidKeyPrefix::Blank; 2]);
        assert_eq!(of(&"潮".repeat(61)), InvalidKeyPrefix::TooLong(61));
        assert_eq!([of("?!"), of("%"), of("@"), of("@ @")], [InvalidKeyPrefix::NothingInText; 4]);
        assert!(KeyPrefix::try_new(&format!(" {} ", "潮".repeat(60))).is_ok());
    }

    #[test]
    fn a_prefix_ends_where_its_last_character_does() {
        let below = |text: &str| KeyPrefix { first: text.to_owned(), former: None }.below();
        assert_eq!(below("ab"), "ac");
        assert_eq!(below("a\u{D7FF}"), "a\u{E000}");
        assert_eq!(below("a\u{10FFFF}\u{10FFFF}"), "b");
        assert!(below("\u{10FFFF}") > "\u{10FFFF}".repeat(MAX_NAME_PREFIX_CHARS + 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

        #[test]
        fn a_range_holds_exactly_what_begins_so(
            prefix in "[a\u{D7FF}\u{E000}\u{10FFFE}\u{10FFFF}]{1,3}", key in "[a\u{D7FF}\u{E000}\u{10FFFE}\u{10FFFF}]{1,6}",
        ) {
            let prefix = KeyPrefix { first: prefix, former: None };
            let is_within = key.as_str() >= prefix.from() && key < prefix.below();
            prop_assert_eq!(is_within, key.starts_with(prefix.from()));
        }

        #[test]
        fn any_name_is_found_by_the_whole_of_it(name in "\\PC{1,60}") {
            if KeyPrefix::try_new(&name).is_ok() && !spaced(Form::Current, &name).starts_with('@') {
                prop_assert!(finds(&name, &name), "{:?}", keys(&name));
            }
        }

        #[test]
        fn a_cursor_is_the_place_that_it_was_made_of(key in "\\PC{0,60}", id in 1..=i64::MAX) {
            let found = FoundUser { key, user: UserId::try_new(id).unwrap() };
            prop_assert_eq!(FoundUser::at(&found.cursor()), Ok(found));
        }

        #[test]
        fn any_other_text_is_refused_without_a_panic(text in "\\PC{0,40}") {
            prop_assert!(FoundUser::at(&text).map_or(true, |found| found.cursor() == text));
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_told_apart() {
        assert_eq!(FoundUser::at("AQAAAYlFlLlQAAAAAAAAgFI"), Err(InvalidCursor::OtherList));
        assert_eq!([FoundUser::at(""), FoundUser::at("x")], [const { Err(InvalidCursor::Malformed) }; 2]);
    }
}
