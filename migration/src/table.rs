//! Describes a table once and writes its SQL for each engine. There are no foreign keys: they take locks that fan-out
//! must not wait for.

use sea_orm::DbErr;

use crate::schema::{Engine, Schema};

/// The type of a column.
#[derive(Debug, Clone, Copy)]
enum Type {
    /// 64 bits: ids, times in milliseconds, counts.
    Big,
    /// 32 bits.
    Int,
    /// 16 bits: codes.
    Small,
    /// Text of at most this many characters.
    Chars(u16),
    /// At most this many bytes, compared byte by byte: no collation, no padding.
    Exact(u16),
    /// Up to 64 kB.
    Text,
    /// Up to 16 MB.
    LongText,
}

/// A column, `NOT NULL` by default.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    name: &'static str,
    holds: Type,
    null: bool,
    default: Option<&'static str>,
    computed: Option<&'static str>,
}

impl Column {
    const fn new(name: &'static str, holds: Type) -> Self {
        Self { name, holds, null: false, default: None, computed: None }
    }

    /// May be null.
    pub const fn or_null(mut self) -> Self {
        self.null = true;
        self
    }

    /// The default value, as SQL text.
    pub const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// Nobody writes it: the engine computes it from other columns of the row, and it may be null. Adding it rewrites
    /// the table on MySQL and MariaDB.
    pub const fn computed_as(mut self, expression: &'static str) -> Self {
        self.computed = Some(expression);
        self
    }

    /// Adds the column to an existing table, unless the table has it.
    pub async fn add_to(&self, table: &str, schema: &Schema<'_>) -> Result<(), DbErr> {
        if schema.has_column(table, self.name).await? {
            return Ok(());
        }
        schema.run(&format!("ALTER TABLE {table} ADD COLUMN {}", self.text(schema.engine()))).await
    }

    fn text(&self, engine: Engine) -> String {
        if let Some(expression) = self.computed {
            // MariaDB leaves deleted entries of virtual columns in indexes; SQLite and TiDB add no stored column.
            let kept = if engine == Engine::Mysql { "STORED" } else { "VIRTUAL" };
            return format!("{} {} GENERATED ALWAYS AS ({expression}) {kept}", self.name, self.holds.text(engine));
        }
        let null = if self.null { "" } else { " NOT NULL" };
        let default = self.default.map(|value| format!(" DEFAULT {value}")).unwrap_or_default();
        format!("{} {}{null}{default}", self.name, self.holds.text(engine))
    }
}

impl Type {
    /// SQLite ignores declared types, except that a key of type INTEGER is the row number.
    fn text(self, engine: Engine) -> String {
        if engine == Engine::Sqlite {
            let number = matches!(self, Self::Big | Self::Int | Self::Small);
            return if number { "INTEGER" } else { "TEXT" }.to_owned();
        }
        match self {
            Self::Big => "BIGINT".to_owned(),
            Self::Int => "INT".to_owned(),
            Self::Small => "SMALLINT".to_owned(),
            Self::Chars(length) => format!("VARCHAR({length})"),
            Self::Exact(length) => format!("VARBINARY({length})"),
            Self::Text => "TEXT".to_owned(),
            Self::LongText => "MEDIUMTEXT".to_owned(),
        }
    }
}

/// 64 bits.
pub const fn big(name: &'static str) -> Column {
    Column::new(name, Type::Big)
}

/// 32 bits.
pub const fn int(name: &'static str) -> Column {
    Column::new(name, Type::Int)
}

/// 16 bits.
pub const fn small(name: &'static str) -> Column {
    Column::new(name, Type::Small)
}

/// At most `length` characters.
pub const fn chars(name: &'static str, length: u16) -> Column {
    Column::new(name, Type::Chars(length))
}

/// At most `length` bytes, compared byte by byte.
pub const fn exact(name: &'static str, length: u16) -> Column {
    Column::new(name, Type::Exact(length))
}

/// Up to 64 kB of text.
pub const fn text(name: &'static str) -> Column {
    Column::new(name, Type::Text)
}

/// Up to 16 MB of text.
pub const fn long_text(name: &'static str) -> Column {
    Column::new(name, Type::LongText)
}

/// An index. Its name is unique in the whole database.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    name: &'static str,
    columns: &'static str,
    unique: bool,
}

/// An index over `columns`.
pub const fn index(name: &'static str, columns: &'static str) -> Index {
    Index { name, columns, unique: false }
}

/// A unique index. Rows with a null in it are never equal.
pub const fn unique(name: &'static str, columns: &'static str) -> Index {
    Index { name, columns, unique: true }
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The table's name.
    pub name: &'static str,
    /// The columns in order.
    pub columns: &'static [Column],
    /// The primary key's columns. Every engine stores rows in the order of the key (clustered).
    pub key: &'static str,
    /// Further indexes.
    pub indexes: &'static [Index],
}

impl Table {
    /// Creates the table and its indexes. May be repeated: an interrupted migration runs again on engines whose DDL
    /// has no transactions.
    pub async fn create(&self, schema: &Schema<'_>) -> Result<(), DbErr> {
        for statement in self.texts(schema.engine()) {
            schema.run(&statement).await?;
        }
        Ok(())
    }

    fn texts(&self, engine: Engine) -> Vec<String> {
        let mut lines: Vec<String> = self.columns.iter().map(|column| column.text(engine)).collect();
        lines.push(format!("PRIMARY KEY ({})", self.key));
        let (name, without_rowid) = (self.name, if self.key.contains(',') { " WITHOUT ROWID" } else { "" });
        if engine == Engine::Sqlite {
            let table = format!("CREATE TABLE IF NOT EXISTS {name} ({}){without_rowid}", lines.join(", "));
            return std::iter::once(table).chain(self.indexes.iter().map(|index| index.text(name))).collect();
        }
        lines.extend(self.indexes.iter().map(|index| {
            format!("{}KEY {} ({})", if index.unique { "UNIQUE " } else { "" }, index.name, index.columns)
        }));
        vec![format!(
            "CREATE TABLE IF NOT EXISTS {name} ({}) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            lines.join(", ")
        )]
    }
}

impl Index {
    /// The index's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Creates the index on an existing table. May be repeated, like [`Table::create`].
    pub async fn create(&self, schema: &Schema<'_>, table: &str) -> Result<(), DbErr> {
        if schema.engine() == Engine::Sqlite {
            return schema.run(&self.text(table)).await;
        }
        // MySQL and TiDB have no IF NOT EXISTS here.
        if schema.has_index(table, self.name).await? {
            return Ok(());
        }
        schema.run(&self.text(table).replace("IF NOT EXISTS ", "")).await
    }

    fn text(&self, table: &str) -> String {
        let unique = if self.unique { "UNIQUE " } else { "" };
        format!("CREATE {unique}INDEX IF NOT EXISTS {} ON {table} ({})", self.name, self.columns)
    }
}
