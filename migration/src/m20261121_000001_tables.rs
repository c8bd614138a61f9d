//! Creates the first tables: users, contents, follow edges, inboxes, deliveries and other pending work.

use sea_orm::DbErr;

use crate::schema::{Migrate, Schema};
use crate::table::{Table, big, chars, exact, index, int, long_text, small, text, unique};

/// The first tables.
#[derive(Debug)]
pub struct Migration;

#[async_trait::async_trait]
impl Migrate for Migration {
    fn name(&self) -> &'static str {
        "m20261121_000001_tables"
    }

    async fn up(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for table in TABLES {
            table.create(schema).await?;
        }
        Ok(())
    }
}

const TABLES: [Table; 12] = [
    USERS,
    CREDENTIALS,
    USER_COUNTS,
    CONTENTS,
    COUNTERS,
    OUTBOX_HEADS,
    FOLLOWS,
    INBOXES,
    INBOX_STATES,
    DELIVERIES,
    SUBTASKS,
    RELATIONS,
];

const USERS: Table = Table {
    name: "users",
    columns: &[
        big("id"),
        chars("handle", 30),
        chars("name", 60),
        text("bio"),
        text("avatar_url").or_null(),
        big("created_at"),
    ],
    key: "id",
    indexes: &[unique("users_handle", "handle")],
};

const CREDENTIALS: Table = Table {
    name: "credentials",
    columns: &[big("user_id"), chars("password_hash", 255)],
    key: "user_id",
    indexes: &[],
};

/// `followers` and `following` exclude the user's edge to themselves; `contents` excludes removed ones.
const USER_COUNTS: Table = Table {
    name: "user_counts",
    columns: &[big("user_id"), big("followers").or("0"), big("following").or("0"), big("contents").or("0")],
    key: "user_id",
    indexes: &[],
};

/// `media` is a JSON array, as text: 9 links and their descriptions pass 64 kB. Keys are compared byte by byte: 64
/// characters are at most 256 bytes.
const CONTENTS: Table = Table {
    name: "contents",
    columns: &[
        big("id"),
        big("author_id"),
        small("kind"),
        text("text"),
        long_text("media"),
        big("reply_to").or_null(),
        big("repost_of").or_null(),
        big("publish_time"),
        big("removed_at").or_null(),
        exact("idempotency_key", 256).or_null(),
    ],
    key: "id",
    indexes: &[index("outbox", "author_id, publish_time, id"), unique("contents_key", "author_id, idempotency_key")],
};

const COUNTERS: Table = Table {
    name: "counters",
    columns: &[
        big("content_id"),
        big("comments").or("0"),
        big("likes").or("0"),
        big("reposts").or("0"),
        big("favourites").or("0"),
    ],
    key: "content_id",
    indexes: &[],
};

/// `seq` counts an author's publishes and removals.
const OUTBOX_HEADS: Table =
    Table { name: "outbox_heads", columns: &[big("author_id"), big("seq")], key: "author_id", indexes: &[] };

const FOLLOWS: Table = Table {
    name: "follows",
    columns: &[big("follower_id"), big("author_id"), small("mode"), big("inc"), big("followed_at")],
    key: "follower_id, author_id",
    indexes: &[index("fans", "author_id, follower_id, mode"), index("uncovered", "follower_id, mode, author_id")],
};

/// A page is one backward range of this table's own key.
const INBOXES: Table = Table {
    name: "inboxes",
    columns: &[big("user_id"), big("publish_time"), big("content_id"), big("author_id")],
    key: "user_id, publish_time, content_id",
    indexes: &[],
};

/// The floor's columns are null while the floor is off.
const INBOX_STATES: Table = Table {
    name: "inbox_states",
    columns: &[
        big("user_id"),
        big("floor_time").or_null(),
        big("floor_content").or_null(),
        big("rev").or("0"),
        big("last_seen").or_null(),
    ],
    key: "user_id",
    indexes: &[index("seen", "last_seen, user_id")],
};

const DELIVERIES: Table = Table {
    name: "deliveries",
    columns: &[
        big("content_id"),
        big("author_id"),
        big("publish_time"),
        int("attempts").or("0"),
        chars("last_error", 500).or("''"),
        big("look_at"),
    ],
    key: "content_id",
    indexes: &[index("in_flight", "author_id, publish_time, content_id"), index("look", "look_at")],
};

/// A row serves followers with ids above `first_fan`, up to and including `last_fan`.
const SUBTASKS: Table = Table {
    name: "subtasks",
    columns: &[
        big("content_id"),
        big("first_fan"),
        int("task_no"),
        big("last_fan"),
        big("pushed_through"),
        big("lease_until").or("0"),
    ],
    key: "content_id, first_fan",
    indexes: &[],
};

const RELATIONS: Table = Table {
    name: "relations",
    columns: &[big("follower_id"), big("author_id"), big("version"), int("attempts").or("0"), big("look_at")],
    key: "follower_id, author_id",
    indexes: &[index("relations_look", "look_at")],
};
