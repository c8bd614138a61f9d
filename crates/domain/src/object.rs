//! Contents as objects of the product that uses this service: its own id, type, link and attributes of a content.

use super::{
    account::external::{ExternalId, InvalidExternalId},
    json::{InvalidJsonObject, JsonObject},
    limits::{MAX_TYPE_CHARS, MAX_URL_CHARS},
    text::is_web_url,
};

/// The type of a content whose product names none.
pub const DEFAULT_TYPE: &str = "post";

/// What a product says of a content beside its text. Nothing of it changes as long as the content exists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContentObject {
    /// The product's id of the content. It stays the content's own after its removal.
    pub external_id: Option<ExternalId>,
    /// What the content is to the product; not its kind, which is the timeline's.
    pub content_type: ContentType,
    /// Where the product shows it: http or https.
    pub url: Option<String>,
    /// What else the product says of it.
    pub attributes: Option<JsonObject>,
}

/// A type of contents: 1 to [`MAX_TYPE_CHARS`] of the characters `.`, `_`, `-`, a to z and 0 to 9.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentType(Box<str>);

/// What a product says of a content, unchecked.
#[derive(Debug, Clone, Default)]
pub struct ObjectInput<'a> {
    /// See [`ContentObject::external_id`].
    pub external_id: Option<&'a str>,
    /// See [`ContentObject::content_type`]; [`DEFAULT_TYPE`] if `None`.
    pub content_type: Option<&'a str>,
    /// See [`ContentObject::url`].
    pub url: Option<&'a str>,
    /// See [`ContentObject::attributes`].
    pub attributes: Option<&'a serde_json::Value>,
}

/// Why an object is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidObject {
    /// See [`ExternalId`].
    #[error(transparent)]
    ExternalId(#[from] InvalidExternalId),
    /// Empty, or with other characters.
    #[error("a type has 1 to {MAX_TYPE_CHARS} of the characters . _ and -, a to z and 0 to 9")]
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
    /// See [`JsonObject`].
    #[error(transparent)]
    Attributes(#[from] InvalidJsonObject),
}

impl InvalidObject {
    /// Whether a shorter value might be accepted.
    pub const fn is_length(self) -> bool {
        matches!(self, Self::TypeTooLong | Self::UrlTooLong | Self::Attributes(InvalidJsonObject::TooLong))
    }
}

impl ContentObject {
    /// Checks what a product says of a content, and reports the first fault. `None` if the product says nothing, or
    /// only that the type is [`DEFAULT_TYPE`].
    pub fn try_new(input: &ObjectInput<'_>) -> Result<Option<Self>, InvalidObject> {
        let object = Self {
            external_id: input.external_id.map(ExternalId::try_new).transpose()?,
            content_type: input.content_type.map(ContentType::try_new).transpose()?.unwrap_or_default(),
            url: input.url.map(check_url).transpose()?,
            attributes: input.attributes.map(JsonObject::try_new).transpose()?,
        };
        Ok((object != Self::default()).then_some(object))
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(self)
            + self.external_id.as_ref().map_or(0, |id| id.as_str().len())
            + self.content_type.as_str().len()
            + self.url.as_ref().map_or(0, String::len)
            + self.attributes.as_ref().map_or(0, |attributes| attributes.as_str().len())
    }
}

impl ContentType {
    /// Checks the text.
    pub fn try_new(text: &str) -> Result<Self, InvalidObject> {
        let is_known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-_".contains(&b);
        if text.is_empty() || !text.bytes().all(is_known) {
            return Err(InvalidObject::Type);
        }
        if text.len() > MAX_TYPE_CHARS {
            return Err(InvalidObject::TypeTooLong);
        }
        Ok(Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ContentType {
    fn default() -> Self {
        Self(DEFAULT_TYPE.into())
    }
}

/// Checks the link of a content.
pub fn check_url(url: &str) -> Result<String, InvalidObject> {
    if url.chars().count() > MAX_URL_CHARS {
        return Err(InvalidObject::UrlTooLong);
    }
    if is_web_url(url) { Ok(url.to_owned()) } else { Err(InvalidObject::Url) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const NOTHING: ObjectInput<'_> = ObjectInput { external_id: None, content_type: None, url: None, attributes: None };

    proptest! {
        #[test]
        fn a_type_is_taken_if_its_characters_and_their_number_are(text in "[a-z0-9._-]{0,70}|[a-z ]{1,8}|\\PC{0,8}") {
            let known = "abcdefghijklmnopqrstuvwxyz0123456789._-";
            let fits = (1..=MAX_TYPE_CHARS).contains(&text.chars().count()) && text.chars().all(|c| known.contains(c));
            let taken = ContentObject::try_new(&ObjectInput { content_type: Some(&text), ..NOTHING });
            prop_assert_eq!(taken.is_ok(), fits);
        }

        #[test]
        fn what_was_taken_is_taken_again_and_is_the_same(
            external_id in prop::option::of("[^\\p{Cc}]{1,60}"),
            content_type in prop::option::of("[a-z.]{1,64}"),
            path in prop::option::of("[a-z0-9/?=é]{0,40}"),
            attributes in prop::option::of(prop::collection::btree_map("[a-z]{1,4}", any::<i64>(), 0..4)),
        ) {
            let url = path.map(|path| format!("https://a.example/{path}"));
            let attributes = attributes.map(|it| json!(it));
            let input = ObjectInput {
                external_id: external_id.as_deref(),
                content_type: content_type.as_deref(),
                url: url.as_deref(),
                attributes: attributes.as_ref(),
            };
            let Some(object) = ContentObject::try_new(&input).unwrap() else {
                prop_assert!(external_id.is_none() && url.is_none() && attributes.is_none());
                prop_assert_eq!(content_type.as_deref().unwrap_or(DEFAULT_TYPE), DEFAULT_TYPE);
                return Ok(());
            };
            let attributes = object.attributes.as_ref().map(|it| serde_json::from_str(it.as_str()).unwrap());
            let again = ObjectInput {
                external_id: object.external_id.as_ref().map(ExternalId::as_str),
                content_type: Some(object.content_type.as_str()),
                url: object.url.as_deref(),
                attributes: attributes.as_ref(),
            };
            prop_assert_eq!(ContentObject::try_new(&again).unwrap(), Some(object));
        }
    }

    #[test]
    fn a_plain_post_is_no_object() {
        assert_eq!(ContentObject::try_new(&NOTHING), Ok(None));
        assert_eq!(ContentObject::try_new(&ObjectInput { content_type: Some(DEFAULT_TYPE), ..NOTHING }), Ok(None));
        assert!(ContentObject::try_new(&ObjectInput { content_type: Some("run"), ..NOTHING }).unwrap().is_some());
        let empty = json!({});
        assert!(ContentObject::try_new(&ObjectInput { attributes: Some(&empty), ..NOTHING }).unwrap().is_some());
    }

    #[test]
    fn each_fault_has_its_own_error() {
        let refused = |input: ObjectInput<'_>| ContentObject::try_new(&input).unwrap_err();
        let long = format!("https://a.example/{}", "字".repeat(MAX_URL_CHARS));
        let (list, many) = (json!([]), json!({ "a": "x".repeat(9_000) }));
        for (input, error) in [
            (ObjectInput { external_id: Some(""), ..NOTHING }, InvalidObject::ExternalId(InvalidExternalId)),
            (ObjectInput { content_type: Some("Run"), ..NOTHING }, InvalidObject::Type),
            (ObjectInput { content_type: Some(&"r".repeat(65)), ..NOTHING }, InvalidObject::TypeTooLong),
            (ObjectInput { url: Some("ftp://a.example"), ..NOTHING }, InvalidObject::Url),
            (ObjectInput { url: Some(&long), ..NOTHING }, InvalidObject::UrlTooLong),
            (
                ObjectInput { attributes: Some(&list), ..NOTHING },
                InvalidObject::Attributes(InvalidJsonObject::NoObject),
            ),
            (ObjectInput { attributes: Some(&many), ..NOTHING }, InvalidObject::Attributes(InvalidJsonObject::TooLong)),
        ] {
            assert_eq!(refused(input), error);
        }
    }
}
