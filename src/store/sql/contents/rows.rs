//! The columns of a content, and building a content from a row.

use super::super::rows::{DomainColumns as _, Row};
use crate::{
    domain::{
        Content, ContentKind, ContentObject, Reference, account::external::ExternalId, json::JsonObject,
        object::ContentType,
    },
    store::StoreError,
};

/// As [`content`] takes them, of [`TABLES`].
pub(in super::super) const COLUMNS: &str = "c.id, c.author_id, c.kind, c.text, c.media, c.publish_time, c.reply_to, c.repost_of, o.external_id, o.type, \
     o.url, o.attributes";

/// Where among these the external id is.
pub(in super::super) const EXTERNAL_ID: usize = 8;

/// How many columns these are.
pub(in super::super) const WIDTH: usize = 12;

/// Contents, each with what its product says of it. SQLite passes over the comment; the servers would read ranges of
/// a small table.
pub(in super::super) const TABLES: &str =
    "contents c LEFT JOIN content_objects o /*! FORCE INDEX (PRIMARY) */ ON o.content_id = c.id";

/// The columns `reply_to` and `repost_of`, from `column`.
pub(super) fn reference(row: &Row, column: usize) -> Result<Reference, StoreError> {
    Ok(match (row.get::<Option<i64>>(column)?, row.get::<Option<i64>>(column + 1)?) {
        (_, Some(_)) => Reference::RepostOf(row.content(column + 1)?),
        (Some(_), None) => Reference::ReplyTo(row.content(column)?),
        (None, None) => Reference::Nothing,
    })
}

/// A row of [`COLUMNS`].
pub(in super::super) fn content(row: &Row) -> Result<Content, StoreError> {
    let id = row.content(0)?;
    let code: i32 = row.get(2)?;
    let kind =
        ContentKind::from_code(code).ok_or_else(|| StoreError::Unreadable(format!("kind {code} of content {id}")))?;
    // The parser's own words would repeat the text.
    let media = serde_json::from_str(&row.get::<String>(4)?)
        .map_err(|_| StoreError::Unreadable(format!("media of content {id}")))?;
    let (author, reference, object) = (row.user(1)?, reference(row, 6)?, object(row, EXTERNAL_ID)?.map(Box::new));
    Ok(Content { id, author, kind, reference, text: row.get(3)?, media, publish_time: row.get(5)?, object })
}

/// What a product says of a content, in four columns from `column`.
fn object(row: &Row, column: usize) -> Result<Option<ContentObject>, StoreError> {
    let Some(content_type) = row.get::<Option<String>>(column + 1)? else { return Ok(None) };
    let external_id = row.get::<Option<String>>(column)?;
    let external_id = external_id.map(|id| ExternalId::try_new(&id)).transpose();
    // Answers contain the attributes as they are.
    let attributes = row.get::<Option<String>>(column + 3)?.map(|text| JsonObject::parse(&text)).transpose();
    Ok(Some(ContentObject {
        external_id: external_id.map_err(|error| StoreError::Unreadable(error.to_string()))?,
        content_type: ContentType::try_new(&content_type).map_err(|error| StoreError::Unreadable(error.to_string()))?,
        url: row.get(column + 2)?,
        attributes: attributes.map_err(|error| StoreError::Unreadable(error.to_string()))?,
    }))
}
