//! The columns of a content, and building a content from a row.

use super::super::rows::{DomainColumns as _, Row};
use crate::{
    domain::{Content, ContentKind, Reference},
    store::StoreError,
};

/// As [`content`] takes them.
pub(in super::super) const COLUMNS: &str = "id, author_id, kind, text, media, publish_time, reply_to, repost_of";

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
    let (author, reference) = (row.user(1)?, reference(row, 6)?);
    Ok(Content { id, author, kind, reference, text: row.get(3)?, media, publish_time: row.get(5)? })
}
