//! Adds the users whom the product keeps out for a while.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big};

/// Deactivated users.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261127_000020_deactivations"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        DEACTIVATIONS.create(schema).await
    }
}

const DEACTIVATIONS: Table =
    Table { name: "deactivations", columns: &[big("user_id"), big("deactivated_at")], key: "user_id", indexes: &[] };
