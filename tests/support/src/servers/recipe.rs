//! Describes each kind of server: its program, the shell text that prepares and runs it, and the remedy if it is
//! missing. The texts use `$folder`, `$port`, `$program` and `$more`, and listen on 127.0.0.1 only.

use std::path::PathBuf;
use std::time::Duration;

use crate::repository;

/// A kind of server that tests can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Debian's MariaDB.
    MariaDb,
    /// MySQL 9, installed by `scripts/fetch-mysql.sh`.
    Mysql,
    /// A single Redis.
    Redis,
    /// A Redis that waits to join a cluster. If its folder has a file `announced-port`, clients are redirected to that
    /// port.
    RedisNode,
}

/// The watchdog's description of a server.
pub struct Recipe {
    /// A name on the path, or a path.
    pub program: String,
    /// Parent of the server's own folder.
    pub within: PathBuf,
    /// Runs once, before the first start.
    pub prepare: &'static str,
    /// Shell text that executes the server.
    pub serve: &'static str,
    /// Further options of the server.
    pub more: String,
    /// How to install a missing program.
    pub remedy: &'static str,
    /// Time limit for the server's first answer, on a busy machine.
    pub ready_within: Duration,
}

const INSTALL: &str = "run scripts/install-servers.sh";

impl Kind {
    /// This kind's recipe.
    pub fn recipe(self) -> Recipe {
        match self {
            Self::MariaDb => Recipe {
                program: "mariadbd".to_owned(),
                within: std::env::temp_dir(),
                // A starting server clears the folder of temporary tables, even those of other servers, so each has
                // its own.
                prepare: r#"mariadb-install-db --no-defaults --force --user="$(id -un)" --datadir="$folder/data" --tmpdir="$folder" --skip-test-db \
                    --auth-root-authentication-method=normal --innodb-log-file-size=8M"#,
                serve: r#"exec "$program" --no-defaults --user="$(id -un)" --datadir="$folder/data" --tmpdir="$folder" --port="$port" --bind-address=127.0.0.1 \
                    --socket="$folder/m.sock" --pid-file="$folder/m.pid" --innodb-log-file-size=8M --innodb-buffer-pool-size=64M \
                    --innodb-flush-log-at-trx-commit=2 --character-set-server=utf8mb4 --max-connections=500 $more"#,
                more: String::new(),
                remedy: INSTALL,
                ready_within: Duration::from_mins(3),
            },
            Self::Mysql => Recipe {
                program: repository().join("target/mysql/mysqld").display().to_string(),
                within: std::env::temp_dir(),
                prepare: r#""$program" --user="$(id -un)" --datadir="$folder/data" --tmpdir="$folder" --initialize-insecure --innodb-redo-log-capacity=16M"#,
                serve: r#"exec "$program" --user="$(id -un)" --datadir="$folder/data" --tmpdir="$folder" --port="$port" --bind-address=127.0.0.1 \
                    --socket="$folder/m.sock" --pid-file="$folder/m.pid" --mysqlx=OFF --skip-log-bin --secure-file-priv=NULL \
                    --innodb-redo-log-capacity=16M --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=2 --max-connections=500 $more"#,
                more: String::new(),
                remedy: "run scripts/fetch-mysql.sh, or leave MySQL out: cargo test -- --skip ::mysql::",
                ready_within: Duration::from_mins(3),
            },
            Self::Redis => Recipe {
                program: "redis-server".to_owned(),
                within: std::env::temp_dir(),
                prepare: "",
                serve: r#"exec "$program" --port "$port" --dir "$folder" --bind 127.0.0.1 --save '' --appendonly no $more"#,
                more: String::new(),
                remedy: INSTALL,
                ready_within: Duration::from_mins(1),
            },
            // A master that answers late on a busy machine must not count as dead, because the others would then
            // refuse every command.
            Self::RedisNode => Recipe {
                serve: r#"exec "$program" --port "$port" --dir "$folder" --bind 127.0.0.1 --save '' --appendonly no \
                    --cluster-enabled yes --cluster-node-timeout 15000 \
                    --cluster-announce-port "$(cat "$folder/announced-port" 2>/dev/null || echo 0)""#,
                ..Self::Redis.recipe()
            },
        }
    }

    /// The recipe of a server that tests share and nobody kills. Its rows need not survive it. It speaks no TLS, which
    /// in a dev build takes longer than the statements of most tests.
    pub fn shared_recipe(self) -> Recipe {
        let more = match self {
            Self::MariaDb => "--innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite",
            Self::Mysql => "--innodb-flush-log-at-trx-commit=0 --skip-innodb-doublewrite --tls-version=",
            Self::Redis | Self::RedisNode => "",
        };
        Recipe { more: more.to_owned(), ..self.recipe() }
    }

    /// The address of a server at `host:port`, as Tidefeed's configuration takes it.
    pub fn url(self, account: &str, place: &str) -> String {
        match self {
            Self::MariaDb | Self::Mysql => format!("mysql://{account}@{place}/"),
            Self::Redis | Self::RedisNode => format!("redis://{place}/"),
        }
    }
}
