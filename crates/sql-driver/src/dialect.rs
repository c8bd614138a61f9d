//! Holds the parts of SQL in which SQLite, MySQL, MariaDB and TiDB differ. The store chooses a dialect once, when it
//! connects, and fills its parts into statements that are otherwise the same. All engines take `?` as placeholder.

use crate::fragment::Fragment;

/// The dialect of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// MySQL and MariaDB.
    Mysql,
    /// TiDB, which speaks MySQL's protocol.
    Tidb,
}

impl Dialect {
    /// Asks a server that speaks MySQL's protocol which one it is. The version that it names is a setting of TiDB's.
    pub(crate) const QUESTION: &str = "SELECT CONCAT('' /*T! , 'TiDB' */)";

    /// The dialect of a server that has answered [`Self::QUESTION`] so.
    pub(crate) fn of_server(answer: &str) -> Self {
        if answer == "TiDB" { Self::Tidb } else { Self::Mysql }
    }

    /// Opens an insert that skips rows whose key exists already; followed by the table's name. Affected rows count the
    /// new ones. On MySQL it ignores every other error of a row as well, so use it only for rows that the database
    /// itself selects.
    pub const fn insert_ignore(self) -> &'static str {
        match self {
            Self::Sqlite => "INSERT OR IGNORE INTO",
            Self::Mysql | Self::Tidb => "INSERT IGNORE INTO",
        }
    }

    /// A join that reads its left side first, whatever the optimizer estimates; takes `ON`.
    pub const fn join_in_order(self) -> &'static str {
        match self {
            Self::Sqlite => "CROSS JOIN",
            Self::Mysql | Self::Tidb => "STRAIGHT_JOIN",
        }
    }

    /// A table with the columns `k0`, `k1`, .. and a row for each of the keys in one value: a JSON array of arrays of
    /// integers. MariaDB would plan each branch of a union for some 15 us. TiDB cannot read a value as a table (as of
    /// 8.5); there the keys are listed where they are compared.
    pub fn listed_keys(self, columns: usize) -> Option<String> {
        let listed = |of: fn(usize) -> String| (0..columns).map(of).collect::<Vec<_>>().join(", ");
        match self {
            Self::Sqlite => {
                Some(format!("(SELECT {} FROM json_each(?))", listed(|at| format!("value ->> {at} AS k{at}"))))
            }
            Self::Mysql => {
                let columns = listed(|at| format!("k{at} BIGINT PATH '$[{at}]'"));
                Some(format!("JSON_TABLE(?, '$[*]' COLUMNS ({columns}))"))
            }
            Self::Tidb => None,
        }
    }

    /// Follows a table of a join, which is then read through this index (`PRIMARY` for its key) or not at all. SQLite
    /// finds the index by itself.
    pub fn force_index(self, name: &str) -> String {
        match self {
            Self::Sqlite => String::new(),
            Self::Mysql | Self::Tidb => format!(" FORCE INDEX ({name})"),
        }
    }

    /// As [`Self::force_index`], on every engine, but not with `PRIMARY`. For lists in the order of an index: SQLite
    /// would otherwise take a key and sort.
    pub fn in_order_of(self, name: &str) -> String {
        match self {
            Self::Sqlite => format!(" INDEXED BY {name}"),
            Self::Mysql | Self::Tidb => self.force_index(name),
        }
    }

    /// Follows `SELECT`: tables are joined in the order of their names in the statement, and these by an index, one
    /// look for many rows, whatever the optimizer estimates. The other engines do so by themselves.
    pub fn joined_by_index(self, tables: &str) -> String {
        match self {
            Self::Sqlite | Self::Mysql => String::new(),
            Self::Tidb => format!(" /*+ STRAIGHT_JOIN() INL_JOIN({tables}) */"),
        }
    }

    /// A condition: there is no row of `from`, which names a table and conditions of the outer row. `column` is one of
    /// the row's, never null. Costs one probe of a key for each outer row; `NOT EXISTS` would make MySQL and MariaDB
    /// read all rows of the table that fit constants alone. TiDB would ask its store for each outer row, and joins.
    pub fn no_row(self, column: &str, from: &str) -> String {
        match self {
            Self::Sqlite | Self::Mysql => format!("(SELECT {column} FROM {from} LIMIT 1) IS NULL"),
            Self::Tidb => format!("NOT EXISTS (SELECT 1 FROM {from})"),
        }
    }

    /// An ordered or limited select as a branch of a `UNION ALL`. SQLite takes no brackets there; MySQL and MariaDB
    /// would write the table that SQLite needs to memory and read it again.
    pub fn limited_branch(self, select: Fragment) -> Fragment {
        let text = match self {
            Self::Sqlite => format!("SELECT * FROM ({})", select.text),
            Self::Mysql | Self::Tidb => format!("({})", select.text),
        };
        Fragment { text, ..select }
    }

    /// Most listed keys with a range each up to which one statement is cheaper than a lookup of each key. MySQL and
    /// MariaDB estimate the rows of every range before they read any, at 6 us each. TiDB asks for all ranges at once.
    pub const fn max_ranges(self) -> usize {
        match self {
            Self::Sqlite => 4_096,
            Self::Mysql => 128,
            Self::Tidb => 2_048,
        }
    }

    /// Ends a select that locks its rows until the transaction ends. SQLite has locked the whole database when the
    /// transaction began.
    pub const fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Mysql | Self::Tidb => "FOR UPDATE",
        }
    }

    /// As [`Self::for_update`], passing over rows that another transaction has locked. TiDB would take the words, and
    /// then neither lock nor pass over anything (pingcap/tidb#69720, as of 8.5): there it waits for such rows.
    pub const fn for_update_skip_locked(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Mysql => "FOR UPDATE SKIP LOCKED",
            Self::Tidb => "FOR UPDATE",
        }
    }

    /// The function of two or more numbers that gives the largest.
    pub const fn greatest(self) -> &'static str {
        match self {
            Self::Sqlite => "MAX",
            Self::Mysql | Self::Tidb => "GREATEST",
        }
    }

    /// Follows the values of an insert, and is followed by assignments for the case that the row with this key (the
    /// columns of the primary key, comma-separated) exists. In them a bare column is the row's old value; see
    /// [`Self::incoming`] for the new one.
    pub fn on_conflict_update(self, key: &str) -> String {
        match self {
            Self::Sqlite => format!("ON CONFLICT ({key}) DO UPDATE SET"),
            Self::Mysql | Self::Tidb => "ON DUPLICATE KEY UPDATE".to_owned(),
        }
    }

    /// Follows the values of an insert: a row with this key stays as it is. `unchanged` assigns a column its own value.
    pub fn on_conflict_nothing(self, key: &str, unchanged: &str) -> String {
        match self {
            Self::Sqlite => format!("ON CONFLICT ({key}) DO NOTHING"),
            Self::Mysql | Self::Tidb => format!("ON DUPLICATE KEY UPDATE {unchanged}"),
        }
    }

    /// Within [`Self::on_conflict_update`]: the value that was to be inserted.
    pub fn incoming(self, column: &str) -> String {
        match self {
            Self::Sqlite => format!("excluded.{column}"),
            Self::Mysql | Self::Tidb => format!("VALUES({column})"),
        }
    }

    /// Renews the planner's statistics for tables that have grown much, reading some hundred rows of each index.
    /// Servers do so by themselves, in the background.
    pub const fn refresh_statistics(self) -> &'static [&'static str] {
        match self {
            // 0x10000: all tables, not only those that this connection has queried; 0x02: ANALYZE where it is due.
            Self::Sqlite => &["PRAGMA analysis_limit = 400", "PRAGMA optimize(0x10002)"],
            Self::Mysql | Self::Tidb => &[],
        }
    }
}
