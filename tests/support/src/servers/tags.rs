//! Which test needs which server: the names of its modules say so. `make test-fast`, and machines without a server,
//! leave tests out by these names.

use anyhow::{Result, ensure};

use super::recipe::Kind;
use crate::harness::is_fast;

/// The modules of tests that use a server.
const ALL: [&str; 5] = [MARIADB, MYSQL, REDIS, REDIS_CLUSTER, CASSANDRA];
const MARIADB: &str = "mariadb";
const MYSQL: &str = "mysql";
const REDIS: &str = "redis_server";
const REDIS_CLUSTER: &str = "redis_cluster";
pub(super) const CASSANDRA: &str = "cassandra";
/// Servers that Debian does not have. `make test` goes on without them.
const MAY_BE_MISSING: [&str; 2] = [MYSQL, CASSANDRA];

impl Kind {
    /// The module of tests that use such a server.
    pub(super) const fn tag(self) -> &'static str {
        match self {
            Self::MariaDb => MARIADB,
            Self::Mysql => MYSQL,
            Self::Redis => REDIS,
            Self::RedisNode => REDIS_CLUSTER,
        }
    }
}

/// Fails unless the test that runs on this thread can be left out by the name of a module: this one if the server may
/// be missing, else any of a server. Fails if `FAST` leaves all of them out.
pub(super) fn require(tag: &str) -> Result<()> {
    let thread = std::thread::current();
    // A test's thread has the test's name. Other threads belong to tests that have asked before, on their own.
    let test = thread.name().unwrap_or_default();
    ensure!(
        !test.contains("::") || can_be_left_out(test, tag),
        "`{test}` uses a server: move it into a module `{tag}`, by whose name it can be left out."
    );
    ensure!(!is_fast(), "With FAST no test uses a server, but this one wants `{tag}`: skip ::{tag}::");
    Ok(())
}

fn can_be_left_out(test: &str, tag: &str) -> bool {
    test.split("::").any(|module| module == tag || (!MAY_BE_MISSING.contains(&tag) && ALL.contains(&module)))
}
