//! Adds how far imports have come.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big, exact, index, small};

/// Imports.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261128_000023_imports"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        IMPORTS.create(schema).await
    }
}

const IMPORTS: Table = Table {
    name: "imports",
    columns: &[
        exact("digest", 64),
        big("file_bytes"),
        big("line_count"),
        big("through_line").or("0"),
        big("created_rows").or("0"),
        big("updated_rows").or("0"),
        big("unchanged_rows").or("0"),
        big("refused_rows").or("0"),
        small("state"),
        big("holder"),
        big("lease_until"),
        big("started_at"),
        big("updated_at"),
    ],
    key: "digest",
    indexes: &[index("imports_by_time", "started_at")],
};
