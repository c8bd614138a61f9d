//! What a product adds to a content: its type, a link, and attributes, which are any JSON object.

use domain::{content::is_web_url, limits::MAX_URL_CHARS};

/// Characters of a content's type.
pub const MAX_TYPE_CHARS: usize = 64;
/// Bytes of a content's attributes, without white space between their values.
pub const MAX_ATTRIBUTES_BYTES: usize = 8 * 1_024;

/// What a content is to the product, such as `acme.run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentType(String);

/// A content's attributes: the text of a JSON object, without white space between its values. Numbers, and the order of
/// keys, are as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentAttributes(String);

/// Why a type, a link or attributes are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidObject {
    /// Empty, or with other characters.
    #[error("a type has 1 to {MAX_TYPE_CHARS} of the characters a to z, 0 to 9, . _ and -")]
    Type,
    /// Longer than [`MAX_TYPE_CHARS`].
    #[error("a type has at most {MAX_TYPE_CHARS} characters")]
    TypeTooLong,
    /// Neither http nor https, or with spaces.
    #[error("the url must start with https:// or http:// and have no spaces")]
    Url,
    /// Longer than [`MAX_URL_CHARS`].
    #[error("the url has more than {MAX_URL_CHARS} characters")]
    UrlTooLong,
    /// Longer than [`MAX_ATTRIBUTES_BYTES`].
    #[error("the attributes have more than {MAX_ATTRIBUTES_BYTES} bytes")]
    AttributesTooLong,
}

impl InvalidObject {
    /// Whether a shorter value might be accepted.
    pub const fn is_length(self) -> bool {
        matches!(self, Self::TypeTooLong | Self::UrlTooLong | Self::AttributesTooLong)
    }
}

impl ContentType {
    /// Checks length and characters.
    pub fn try_new(text: &str) -> Result<Self, InvalidObject> {
        if text.chars().count() > MAX_TYPE_CHARS {
            return Err(InvalidObject::TypeTooLong);
        }
        let is_known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b);
        if text.is_empty() || !text.bytes().all(is_known) {
            Err(InvalidObject::Type)
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ContentAttributes {
    /// Of a JSON object as it is written, which the caller has read. Drops white space between values, and checks the
    /// length.
    pub fn of_object(json: &str) -> Result<Self, InvalidObject> {
        let text = without_space(json);
        if text.len() > MAX_ATTRIBUTES_BYTES { Err(InvalidObject::AttributesTooLong) } else { Ok(Self(text)) }
    }

    /// The JSON object.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

/// Checks the link of a content.
pub fn check_url(url: String) -> Result<String, InvalidObject> {
    if url.chars().count() > MAX_URL_CHARS {
        return Err(InvalidObject::UrlTooLong);
    }
    if is_web_url(&url) { Ok(url) } else { Err(InvalidObject::Url) }
}

/// `json` without the white space outside of its strings.
fn without_space(json: &str) -> String {
    let (mut is_string, mut is_escaped) = (false, false);
    let is_kept = |c: char| {
        let is_kept = is_string || !c.is_ascii_whitespace();
        match c {
            '"' if !is_escaped => is_string = !is_string,
            _ => {}
        }
        is_escaped = is_string && c == '\\' && !is_escaped;
        is_kept
    };
    let mut is_kept = is_kept;
    json.chars().filter(|c| is_kept(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_keep_numbers_order_and_the_white_space_of_texts() {
        let written = "{ \"b\" : 1.50e+03 ,\t\"a\": [ \"x \\\" y\", 00 ], \"c\\\\\" : { } }";
        let kept = ContentAttributes::of_object(written).map(|it| it.as_json().to_owned());
        assert_eq!(kept.as_deref(), Ok("{\"b\":1.50e+03,\"a\":[\"x \\\" y\",00],\"c\\\\\":{}}"));
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_ATTRIBUTES_BYTES));
        assert_eq!(ContentAttributes::of_object(&long), Err(InvalidObject::AttributesTooLong));
    }

    #[test]
    fn a_type_is_a_short_name_and_a_url_a_web_link() {
        assert!(ContentType::try_new("acme.run-2_x").is_ok());
        for bad in ["", "Run", "a b", "a/b"] {
            assert_eq!(ContentType::try_new(bad), Err(InvalidObject::Type), "{bad}");
        }
        assert_eq!(ContentType::try_new(&"a".repeat(65)), Err(InvalidObject::TypeTooLong));
        assert_eq!(check_url("ftp://a".to_owned()), Err(InvalidObject::Url));
        let long = format!("https://a/{}", "x".repeat(MAX_URL_CHARS));
        assert!(check_url(long).is_err_and(InvalidObject::is_length));
    }
}
