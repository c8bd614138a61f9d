//! JSON Schemas for the attributes of contents: read and compiled at start, then asked about each content.
//!
//! Nothing is fetched: a schema has all that it refers to in its own file.

mod folder;
mod schema;
mod unusable;
mod violations;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use domain::{json::JsonObject, object::ContentType};
use serde_json::{Map, Value};

pub use unusable::UnusableSchema;
pub use violations::{Violation, Violations};

use schema::Schema;

/// The schemas of types of contents. A type without one may have any attributes.
#[derive(Default)]
pub struct ContentSchemas(BTreeMap<ContentType, Schema>);

impl ContentSchemas {
    /// The types that have a schema, in the order of their names.
    pub fn types(&self) -> impl Iterator<Item = &ContentType> {
        self.0.keys()
    }

    /// Checks the attributes of a content of this type. Without attributes, `{}` is checked.
    pub fn check(&self, content_type: &ContentType, attributes: Option<&JsonObject>) -> Result<(), Violations> {
        let Some(schema) = self.0.get(content_type) else { return Ok(()) };
        let attributes = attributes.and_then(|object| serde_json::from_str(object.as_str()).ok());
        schema.check(&attributes.unwrap_or_else(|| Value::Object(Map::new())))
    }
}
