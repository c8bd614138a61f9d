//! Adds the keys of other services, and the log of what they do.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big, chars, index, unique};

/// Keys of services, and their log.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261127_000017_services"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for table in [SERVICE_KEYS, SERVICE_LOG] {
            table.create(schema).await?;
        }
        Ok(())
    }
}

/// A revoked key has no row. A service has several keys for a while after one was rotated.
const SERVICE_KEYS: Table = Table {
    name: "service_keys",
    columns: &[
        big("id"),
        chars("service", 40),
        chars("digest", 64),
        chars("scopes", 500),
        big("created_at"),
        big("expires_at"),
        big("last_used_at").or("0"),
    ],
    key: "id",
    indexes: &[
        unique("service_keys_digest", "digest"),
        index("service_keys_of", "service"),
        index("service_keys_end", "expires_at"),
    ],
};

/// In order of time; `nonce` tells lines of one millisecond apart.
const SERVICE_LOG: Table = Table {
    name: "service_log",
    columns: &[
        big("noted_at"),
        big("nonce"),
        chars("service", 40),
        big("user_id").or_null(),
        chars("operation", 200),
        chars("outcome", 60),
    ],
    key: "noted_at, nonce",
    indexes: &[],
};
