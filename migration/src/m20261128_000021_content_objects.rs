//! Adds what a product says of its contents beside their text, and the product's ids of them.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big, chars, exact, text, unique};

/// Contents as a product's objects.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261128_000021_content_objects"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        OBJECTS.create(schema).await
    }
}

/// Apart from `contents`, because few contents have any of these.
const OBJECTS: Table = Table {
    name: "content_objects",
    columns: &[
        big("content_id"),
        exact("external_id", 255).or_null(),
        chars("type", 64),
        text("url").or_null(),
        text("attributes").or_null(),
    ],
    key: "content_id",
    indexes: &[unique("content_external_ids", "external_id")],
};
