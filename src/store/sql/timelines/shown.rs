//! Which authors and reposts a reader's timeline shows: conditions for every branch of a timeline statement.

use super::super::{account_deletions::author_remains, dialect::Dialect, fragment::Fragment};
use crate::domain::UserId;

/// What a timeline statement is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    /// The engine's words.
    pub(super) dialect: Dialect,
    /// Whose timeline.
    pub(super) reader: UserId,
}

impl Timeline {
    /// The primary key of `follows`. MariaDB otherwise prefers an index on the follower alone, and reads all edges for
    /// each row of the inbox.
    pub(super) fn by_key(self) -> String {
        self.dialect.force_index("PRIMARY")
    }

    /// ` AND ..`: nothing keeps the author, whose id is in this column, out of the reader's timeline. Not
    /// `NOT EXISTS`, of which MySQL and MariaDB make a table of all the reader's exclusions: one probe of the key for
    /// each row.
    pub(super) fn shown(self, author: &str) -> Fragment {
        Fragment::new(shown_to(self.dialect, "?", author), [self.reader.get()])
    }

    /// As [`Self::shown`], for the original of a repost; whatever is none passes.
    pub(super) fn shown_repost(self, contents: &str) -> Fragment {
        Fragment::new(repost_shown_to(self.dialect, "?", contents), [self.reader.get()])
    }

    /// Both, for a content of the table `contents`.
    pub(super) fn shown_content(self, contents: &str) -> Fragment {
        self.shown(&format!("{contents}.author_id")).then(self.shown_repost(contents))
    }
}

/// ` AND ..`: the author has an account, and nothing keeps them out of the reader's timeline, both being columns or
/// parameters, as [`Timeline::shown`] says it.
pub(super) fn shown_to(dialect: Dialect, reader: &str, author: &str) -> String {
    not_excluded_from(dialect, reader, author) + &author_remains(author)
}

fn not_excluded_from(dialect: Dialect, reader: &str, author: &str) -> String {
    let by_key = dialect.force_index("PRIMARY");
    format!(
        " AND (SELECT x.cause FROM exclusions x{by_key} WHERE x.reader_id = {reader} AND x.author_id = {author} LIMIT 1) IS NULL"
    )
}

/// ` AND ..`: nothing keeps the author of the original out, for a repost of the table `contents`; whatever is none
/// passes. A repost outlives its original, also one whose author has deleted their account.
pub(super) fn repost_shown_to(dialect: Dialect, reader: &str, contents: &str) -> String {
    let original = format!("{contents}.repost_author_id");
    let shown = not_excluded_from(dialect, reader, &original);
    format!(" AND ({original} IS NULL OR {})", shown.trim_start_matches(" AND "))
}
