//! Checks the attributes of contents against the operator's JSON Schemas.

use ::import::{
    fault::{Code, Fault},
    record::{ContentReference, Record},
};
use content_schemas::ContentSchemas;

/// Checks what a record says of a content. A repost has no attributes, and is of no type.
pub fn check_attributes(schemas: &ContentSchemas, record: &Record) -> Result<(), Fault> {
    let Record::Content(content) = record else { return Ok(()) };
    if matches!(content.reference, ContentReference::RepostOf(_)) {
        return Ok(());
    }
    let content_type = content.content_type.clone().unwrap_or_default();
    schemas.check(&content_type, content.attributes.as_ref()).map_err(|found| {
        let path = found.first().map(|it| it.path.clone()).unwrap_or_default();
        let fault = Fault { code: Code::Invalid, field: path, message: found.to_string() };
        fault.below(&["data".to_owned(), "attributes".to_owned()])
    })
}
