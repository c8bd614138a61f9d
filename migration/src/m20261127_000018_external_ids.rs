//! Adds to identities when the product's word of their users was last true.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::big;

/// The age of what the product said.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261127_000018_external_ids"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        big("as_of").or("0").add_to("external_identities", schema).await
    }
}
