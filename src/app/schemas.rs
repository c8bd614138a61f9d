//! Reads the JSON Schemas for the attributes of contents.

use std::path::Path;

use content_schemas::{ContentSchemas, UnusableSchema};

use crate::config::Config;

/// Those in the folder `content.schemas`; none if it is not set.
pub fn content_schemas(config: &Config) -> Result<ContentSchemas, UnusableSchema> {
    match config.content.schemas.as_str() {
        "" => Ok(ContentSchemas::default()),
        folder => ContentSchemas::read(Path::new(folder)),
    }
}
