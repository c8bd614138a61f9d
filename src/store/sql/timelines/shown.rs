//! Builds the conditions, for every branch of a timeline statement, that exclude authors and reposts from a reader's
//! timeline.

use super::{
    super::{dialect::Dialect, existing_accounts::author_remains, fragment::Fragment},
    bindings::Bindings,
};

/// Builds the statements of a timeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline<'a> {
    /// The engine's dialect.
    pub(super) dialect: Dialect,
    /// The values of this statement.
    pub(super) bindings: &'a Bindings,
}

impl Timeline<'_> {
    /// The primary key of `follows`. MariaDB otherwise prefers an index on the follower alone, and reads all edges for
    /// each row of the inbox.
    pub(super) fn by_key(self) -> String {
        self.dialect.force_index("PRIMARY")
    }

    /// ` AND ..`: the author with the id in this column has an account, and the reader has no exclusion for them.
    pub(super) fn shown(self, author: &str) -> Fragment {
        Fragment::with(shown_to(self.dialect, "?", author), [self.bindings.reader()])
    }

    /// As [`Self::shown`], where many rows are read: one look shows whether the reader has any exclusion, and only then
    /// each row costs a probe. SQLite, MySQL and MariaDB run the look once a statement, because nothing of a row is in
    /// it; TiDB probes for all rows at once.
    pub(super) fn shown_of_many(self, author: &str) -> Fragment {
        if self.dialect == Dialect::Tidb {
            return self.shown(author);
        }
        let text = format!(
            " AND ((SELECT y.cause FROM exclusions y{} WHERE y.reader_id = ? LIMIT 1) IS NULL OR {}){}",
            self.by_key(),
            not_excluded_from(self.dialect, "?", author),
            author_remains(self.dialect, author),
        );
        Fragment::with(text, vec![self.bindings.reader(); 2])
    }

    /// Like [`Self::shown`], for the original's author of a repost. Contents that are no reposts pass.
    pub(super) fn shown_repost(self, contents: &str) -> Fragment {
        Fragment::with(repost_shown_to(self.dialect, "?", contents), [self.bindings.reader()])
    }
}

/// The conditions of [`Timeline::shown`] and [`Timeline::shown_repost`] for a content of the table `contents`, each
/// with the reader's id.
pub(super) fn content_shown(dialect: Dialect, contents: &str) -> String {
    shown_to(dialect, "?", &format!("{contents}.author_id")) + &repost_shown_to(dialect, "?", contents)
}

/// The condition of [`Timeline::shown`]; `reader` and `author` are columns or parameters.
pub(super) fn shown_to(dialect: Dialect, reader: &str, author: &str) -> String {
    format!(" AND {}{}", not_excluded_from(dialect, reader, author), author_remains(dialect, author))
}

fn not_excluded_from(dialect: Dialect, reader: &str, author: &str) -> String {
    let by_key = dialect.force_index("PRIMARY");
    let excluded = format!("exclusions x{by_key} WHERE x.reader_id = {reader} AND x.author_id = {author}");
    dialect.no_row("x.cause", &excluded)
}

/// ` AND ..`: the reader has no exclusion for the original's author of a repost in the table `contents`. Contents that
/// are no reposts pass. A repost stays when its original goes, even with the account of the original's author.
pub(super) fn repost_shown_to(dialect: Dialect, reader: &str, contents: &str) -> String {
    let original = format!("{contents}.repost_author_id");
    let shown = not_excluded_from(dialect, reader, &original);
    match dialect {
        Dialect::Sqlite | Dialect::Mysql => format!(" AND ({original} IS NULL OR {shown})"),
        // Nothing equals a null, and TiDB joins what stands alone.
        Dialect::Tidb => format!(" AND {shown}"),
    }
}
