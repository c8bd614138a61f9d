//! Adds sign-in attempts, sessions with their refresh tokens, identities of external issuers, and open attributes.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big, chars, index, int, unique};

/// Sign-in attempts, sessions, identities and attributes.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261121_000004_accounts"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for table in [SIGN_IN_ATTEMPTS, SESSIONS, EXTERNAL_IDENTITIES] {
            table.create(schema).await?;
        }
        if !schema.has_column("users", "attributes").await? {
            schema.run("ALTER TABLE users ADD COLUMN attributes TEXT NULL").await?;
        }
        Ok(())
    }
}

/// Failed attempts by `subject`, the digest of what is limited. A time of 0 means never.
const SIGN_IN_ATTEMPTS: Table = Table {
    name: "sign_in_attempts",
    columns: &[chars("subject", 64), int("failures").or("0"), big("last_at").or("0"), big("good_at").or("0")],
    key: "subject",
    indexes: &[index("attempts_last", "last_at")],
};

/// Digests of the refresh tokens, in hexadecimal. An ended session has no row.
const SESSIONS: Table = Table {
    name: "sessions",
    columns: &[
        big("id"),
        big("user_id"),
        chars("family", 64),
        chars("current_token", 64),
        chars("previous_token", 64).or_null(),
        chars("nonce", 64).or_null(),
        big("rotated_at"),
        big("created_at"),
        big("good_until"),
        chars("agent", 120),
    ],
    key: "id",
    indexes: &[index("sessions_of", "user_id, id"), index("sessions_end", "good_until")],
};

/// `identity`: digest of issuer and subject, which may be long; both are kept for people.
const EXTERNAL_IDENTITIES: Table = Table {
    name: "external_identities",
    columns: &[chars("identity", 64), big("user_id"), chars("issuer", 500), chars("subject", 255)],
    key: "identity",
    indexes: &[unique("identity_of", "user_id, identity")],
};
