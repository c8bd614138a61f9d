//! Runs a suite on several SQL engines, each under its own name in the list of tests.

use anyhow::Result;

use super::database::{EmptyDatabase, MigratedDatabase};
use super::recipe::Kind;

/// An engine that keeps Tidefeed's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// In a file.
    Sqlite,
    /// Debian's MariaDB.
    MariaDb,
    /// MySQL 9.
    Mysql,
}

impl Backend {
    /// A database with all tables and without rows: a file, or a lent database on the server that all tests of this
    /// process share, whose tables cannot be altered.
    pub async fn migrated_database(self) -> Result<MigratedDatabase> {
        match self {
            Self::Sqlite => MigratedDatabase::sqlite().await,
            Self::MariaDb => super::pool(Kind::MariaDb).await?.lend().await,
            Self::Mysql => super::pool(Kind::Mysql).await?.lend().await,
        }
    }

    /// A new database without tables: a file, or one on the server that all tests of this process share. For tests that
    /// migrate, alter tables or read statistics.
    pub async fn empty_database(self) -> Result<EmptyDatabase> {
        match self {
            Self::Sqlite => EmptyDatabase::sqlite(),
            Self::MariaDb => EmptyDatabase::on(super::shared(Kind::MariaDb).await?).await,
            Self::Mysql => EmptyDatabase::on(super::shared(Kind::Mysql).await?).await,
        }
    }
}

/// Makes each `async fn name(backend: Backend) -> anyhow::Result<()>` in it one test per engine: `sqlite::name`,
/// `mariadb::name` and `mysql::name` within the module that it stands in. A first line restricts the engines:
/// `on mariadb, mysql;`. Those that are `in soak` are ignored but by `make soak`: `on sqlite, mariadb, mysql in soak;`.
/// Once per module.
///
/// ```ignore
/// on_each_backend! {
///     /// What the suite promises.
///     async fn a_page_is_a_backward_range(backend: Backend) -> anyhow::Result<()> { .. }
/// }
/// ```
#[macro_export]
macro_rules! on_each_backend {
    (
        on $($engine:ident $(in $when:ident)?),+;
        $($(#[$attribute:meta])* async fn $name:ident($backend:ident: Backend $(,)?) -> $result:ty $body:block)+
    ) => {
        $($(#[$attribute])* async fn $name($backend: $crate::servers::Backend) -> $result $body)+
        $crate::on_each_backend!(@modules [$($engine [$($when)?])+] [$($name)+]);
    };
    (@modules [$($engine:ident $when:tt)+] $names:tt) => {
        $($crate::on_each_backend!(@module $engine $when $names);)+
    };
    (@module $engine:ident [] [$($name:ident)+]) => {
        mod $engine {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() -> anyhow::Result<()> {
                super::$name($crate::on_each_backend!(@backend $engine)).await
            })+
        }
    };
    (@module $engine:ident [soak] [$($name:ident)+]) => {
        mod $engine {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "`make soak` runs it"]
            async fn $name() -> anyhow::Result<()> {
                super::$name($crate::on_each_backend!(@backend $engine)).await
            })+
        }
    };
    (@backend sqlite) => { $crate::servers::Backend::Sqlite };
    (@backend mariadb) => { $crate::servers::Backend::MariaDb };
    (@backend mysql) => { $crate::servers::Backend::Mysql };
    ($($suite:tt)+) => { $crate::on_each_backend!(on sqlite, mariadb, mysql; $($suite)+); };
}
