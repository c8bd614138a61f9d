//! Contents: drafts as authors send them, and contents as readers see them.

use serde::{Deserialize, Serialize};

use super::{
    account::external::ExternalId,
    ids::{ContentId, UserId},
    kinds::ContentKind,
    limits::{MAX_ALT_CHARS, MAX_IDEMPOTENCY_KEY_CHARS, MAX_MEDIA, MAX_TEXT_CHARS, MAX_URL_CHARS},
    object::ContentObject,
    reference::Reference,
    text::{has_nul, is_web_url},
    timeline::position::{Entry, Position},
};

/// The kind of a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediaKind {
    /// A still picture.
    Picture,
    /// A video.
    Video,
}

/// A link to a picture or a video on another server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Media {
    /// What the link shows.
    pub kind: MediaKind,
    /// http or https.
    pub url: String,
    /// Pixels.
    pub width: Option<i32>,
    /// Pixels.
    pub height: Option<i32>,
    /// What it shows, in words; empty without a description.
    pub alt: String,
}

/// A content that is published and not removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Identity.
    pub id: ContentId,
    /// Who published it.
    pub author: UserId,
    /// Whether it is a post, a reply or a repost.
    pub kind: ContentKind,
    /// The content that it replies to or reposts.
    pub reference: Reference,
    /// Its words.
    pub text: String,
    /// Its pictures and videos.
    pub media: Vec<Media>,
    /// Milliseconds UTC.
    pub publish_time: i64,
    /// What a product says of it beside; `None` if it says nothing.
    pub object: Option<Box<ContentObject>>,
}

impl Content {
    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let media = self.media.iter().map(|media| size_of_val(media) + media.url.len() + media.alt.len());
        let object = self.object.as_ref().map_or(0, |object| object.bytes());
        size_of_val(self) + self.text.len() + media.sum::<usize>() + object
    }

    /// The product's id of it.
    pub fn external_id(&self) -> Option<&ExternalId> {
        self.object.as_ref()?.external_id.as_ref()
    }

    /// Its timeline entry.
    pub const fn entry(&self) -> Entry {
        Entry { publish_time: self.publish_time, content: self.id, author: self.author }
    }

    /// The content that it shows: a repost's original, otherwise itself.
    pub fn subject(&self) -> ContentId {
        self.reference.repost_of().unwrap_or(self.id)
    }

    /// Its position in timelines.
    pub fn position(&self) -> Position {
        self.entry().position()
    }
}

/// Numbers of reactions to a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counters {
    /// Replies.
    pub replies: i64,
    /// Likes.
    pub likes: i64,
    /// Reposts.
    pub reposts: i64,
    /// Bookmarks.
    pub bookmarks: i64,
}

/// Checked text and media that an author wants to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// As in [`Content::text`].
    pub text: String,
    /// As in [`Content::media`].
    pub media: Vec<Media>,
    /// Publishing twice with the same key gives one content.
    pub idempotency_key: Option<String>,
    /// As in [`Content::reference`], but a repost may still refer to a repost.
    pub reference: Reference,
    /// As in [`Content::object`].
    pub object: Option<Box<ContentObject>>,
}

/// Why a draft cannot be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDraft {
    /// Neither words nor media.
    #[error("write something, or add a picture or a video")]
    Empty,
    /// Longer than [`MAX_TEXT_CHARS`].
    #[error("the text has {0} characters; at most {MAX_TEXT_CHARS} can be published")]
    TextTooLong(usize),
    /// With U+0000.
    #[error("the text cannot have the character U+0000")]
    Text,
    /// More than [`MAX_MEDIA`].
    #[error("{0} media are too many; at most {MAX_MEDIA} go with one content")]
    TooManyMedia(usize),
    /// Neither http nor https, or with spaces.
    #[error("medium {0}: the url must start with https:// or http:// and have no spaces")]
    MediaUrl(usize),
    /// Longer than [`MAX_URL_CHARS`].
    #[error("medium {0}: the url has more than {MAX_URL_CHARS} characters")]
    MediaUrlTooLong(usize),
    /// Not 1 to 100 000 pixels.
    #[error("medium {0}: width and height are pixels, 1 to 100000")]
    MediaSize(usize),
    /// Longer than [`MAX_ALT_CHARS`].
    #[error("medium {0}: the alternative text has more than {MAX_ALT_CHARS} characters")]
    MediaAltTooLong(usize),
    /// With U+0000.
    #[error("medium {0}: the alternative text cannot have the character U+0000")]
    MediaAlt(usize),
    /// Empty, or with U+0000.
    #[error("an idempotency key has 1 to {MAX_IDEMPOTENCY_KEY_CHARS} characters, none of them U+0000")]
    IdempotencyKey,
    /// Longer than [`MAX_IDEMPOTENCY_KEY_CHARS`].
    #[error("an idempotency key has at most {MAX_IDEMPOTENCY_KEY_CHARS} characters")]
    IdempotencyKeyTooLong,
}

impl Draft {
    /// Checks an author's input and trims the text.
    pub fn try_new(text: &str, media: Vec<Media>, idempotency_key: Option<String>) -> Result<Self, InvalidDraft> {
        let text = text.trim();
        if text.is_empty() && media.is_empty() {
            return Err(InvalidDraft::Empty);
        }
        let chars = text.chars().count();
        if chars > MAX_TEXT_CHARS {
            return Err(InvalidDraft::TextTooLong(chars));
        }
        if has_nul(text) {
            return Err(InvalidDraft::Text);
        }
        if media.len() > MAX_MEDIA {
            return Err(InvalidDraft::TooManyMedia(media.len()));
        }
        for (index, medium) in media.iter().enumerate() {
            check_medium(index, medium)?;
        }
        if let Some(key) = &idempotency_key {
            check_key(key)?;
        }
        Ok(Self { text: text.to_owned(), media, idempotency_key, reference: Reference::Nothing, object: None })
    }

    /// The same draft, as a reply to `content`.
    #[must_use]
    pub fn replying_to(self, content: ContentId) -> Self {
        Self { reference: Reference::ReplyTo(content), ..self }
    }

    /// A repost of `content`.
    pub const fn repost(content: ContentId) -> Self {
        let reference = Reference::RepostOf(content);
        Self { text: String::new(), media: Vec::new(), idempotency_key: None, reference, object: None }
    }

    /// The same draft, as an object of the product.
    #[must_use]
    pub fn as_object(self, object: Option<ContentObject>) -> Self {
        Self { object: object.map(Box::new), ..self }
    }

    /// The product's id of what it becomes.
    pub fn external_id(&self) -> Option<&ExternalId> {
        self.object.as_ref()?.external_id.as_ref()
    }

    /// Whether `content` is what it becomes if `author` publishes it. The idempotency key is not compared.
    pub fn is_published_as(&self, author: UserId, content: &Content) -> bool {
        content.author == author
            && content.reference == self.reference
            && content.text == self.text
            && content.media == self.media
            && content.object == self.object
    }
}

fn check_key(key: &str) -> Result<(), InvalidDraft> {
    if key.chars().count() > MAX_IDEMPOTENCY_KEY_CHARS {
        return Err(InvalidDraft::IdempotencyKeyTooLong);
    }
    if key.is_empty() || has_nul(key) { Err(InvalidDraft::IdempotencyKey) } else { Ok(()) }
}

fn check_medium(index: usize, medium: &Media) -> Result<(), InvalidDraft> {
    if medium.url.chars().count() > MAX_URL_CHARS {
        return Err(InvalidDraft::MediaUrlTooLong(index));
    }
    if !is_web_url(&medium.url) {
        return Err(InvalidDraft::MediaUrl(index));
    }
    if [medium.width, medium.height].into_iter().flatten().any(|pixels| !(1..=100_000).contains(&pixels)) {
        return Err(InvalidDraft::MediaSize(index));
    }
    if medium.alt.chars().count() > MAX_ALT_CHARS {
        return Err(InvalidDraft::MediaAltTooLong(index));
    }
    if has_nul(&medium.alt) { Err(InvalidDraft::MediaAlt(index)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medium(url: &str) -> Media {
        Media { kind: MediaKind::Picture, url: url.to_owned(), width: None, height: None, alt: String::new() }
    }

    #[test]
    fn a_draft_has_words_or_media() {
        assert_eq!(Draft::try_new(" \n", Vec::new(), None), Err(InvalidDraft::Empty));
        assert!(Draft::try_new("", vec![medium("https://a.example/1.png")], None).is_ok());
    }

    #[test]
    fn a_long_text_is_refused_with_its_length() {
        let text = "字".repeat(MAX_TEXT_CHARS + 1);
        assert_eq!(Draft::try_new(&text, Vec::new(), None), Err(InvalidDraft::TextTooLong(MAX_TEXT_CHARS + 1)));
    }

    #[test]
    fn nul_is_refused_wherever_an_author_writes() {
        let refused = |text, media, key: Option<&str>| Draft::try_new(text, media, key.map(str::to_owned)).err();
        let nul_in_alt = Media { alt: "a\0b".to_owned(), ..medium("https://a.example/1.png") };
        assert_eq!(refused("a\0b", Vec::new(), None), Some(InvalidDraft::Text));
        assert_eq!(refused("x", vec![nul_in_alt], None), Some(InvalidDraft::MediaAlt(0)));
        assert_eq!(refused("x", vec![medium("https://a.example/\0")], None), Some(InvalidDraft::MediaUrl(0)));
        assert_eq!(refused("x", Vec::new(), Some("a\0b")), Some(InvalidDraft::IdempotencyKey));
    }

    #[test]
    fn too_long_is_told_apart_from_ill_formed() {
        let refused = |media, key| Draft::try_new("x", media, key).err();
        let long = medium(&format!("https://a.example/{}", "x".repeat(MAX_URL_CHARS)));
        assert_eq!(refused(vec![long], None), Some(InvalidDraft::MediaUrlTooLong(0)));
        let wordy = Media { alt: "x".repeat(MAX_ALT_CHARS + 1), ..medium("https://a.example/1.png") };
        assert_eq!(refused(vec![wordy], None), Some(InvalidDraft::MediaAltTooLong(0)));
        let key = "x".repeat(MAX_IDEMPOTENCY_KEY_CHARS + 1);
        assert_eq!(refused(Vec::new(), Some(key)), Some(InvalidDraft::IdempotencyKeyTooLong));
    }

    #[test]
    fn links_other_than_web_links_are_refused() {
        for url in ["javascript:alert(1)", "data:text/html,x", "https://", "https:// a", "ftp://a", ""] {
            assert_eq!(Draft::try_new("x", vec![medium(url)], None), Err(InvalidDraft::MediaUrl(0)), "{url}");
        }
    }
}
