//! Checks the addresses of servers, which may carry a password, and shows them without it.

use std::{borrow::Cow, fmt, path::PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

use super::store_parameters;

/// The SQL engine that the scheme of `store.url` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlEngine {
    /// In process; one node.
    Sqlite,
    /// MySQL or MariaDB.
    MySql,
}

/// The address of a server; `Debug` and `Display` hide its password.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Address(String);

impl Address {
    /// The address of a store: `sqlite:` and a path, or `mysql://` or `mariadb://` with host and database. The error
    /// says what is expected.
    pub fn store(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.trim_start_matches("//").split('?').next().unwrap_or_default();
            if path.is_empty() {
                return Err("expected a path after sqlite://, such as sqlite://data/tidefeed.db".to_owned());
            }
            if path == ":memory:" || text.contains("mode=memory") {
                return Err("expected a file: a database in memory would be another one on every connection".to_owned());
            }
            return Ok(Self(text.to_owned()));
        }
        let expected = || "expected sqlite://PATH or mysql://user:password@host:3306/database".to_owned();
        let url = Url::parse(text).map_err(|_| expected())?;
        let whole = matches!(url.scheme(), "mysql" | "mariadb") && url.has_host() && url.path().len() > 1;
        if !whole {
            return Err(expected());
        }
        store_parameters::check(&url)?;
        Ok(Self(text.to_owned()))
    }

    /// The address of a Redis server: `redis://host:port/number`, `rediss://` for TLS, or `redis+unix:///path` for a
    /// socket of this machine. The error says what is expected.
    pub fn redis(text: &str) -> Result<Self, String> {
        let fits = Url::parse(text).is_ok_and(|url| match url.scheme() {
            // The part after # would switch off what TLS is for.
            "redis" | "rediss" => url.has_host() && url.fragment().is_none(),
            "redis+unix" | "unix" => !url.has_host() && url.path().len() > 1,
            _ => false,
        });
        if fits {
            return Ok(Self(text.to_owned()));
        }
        Err("expected redis://host:6379/0, rediss://host:6379/0 or redis+unix:///path?db=0".to_owned())
    }

    /// Whether connections to it use TLS: for a Redis.
    pub fn is_rediss(&self) -> bool {
        self.0.starts_with("rediss:")
    }

    /// Whether both are the same but for host and port.
    pub fn differs_by_host_alone(&self, other: &Self) -> bool {
        let apart = |address: &Self| {
            let url = Url::parse(&address.0).ok()?;
            let path = if url.path() == "/" { String::new() } else { url.path().to_owned() };
            let (user, password) = (url.username().to_owned(), url.password().map(str::to_owned));
            Some((url.scheme().to_owned(), user, password, path, url.query().map(str::to_owned)))
        };
        apart(self) == apart(other)
    }

    /// Whether it is a socket of this machine: for a Redis.
    pub fn is_redis_socket(&self) -> bool {
        self.0.starts_with("redis+unix:") || self.0.starts_with("unix:")
    }

    /// The whole address with its password. Never show it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The engine of a store's address.
    pub fn engine(&self) -> SqlEngine {
        if self.0.starts_with("sqlite:") { SqlEngine::Sqlite } else { SqlEngine::MySql }
    }

    /// The database's file, decoded as the driver does (RFC 3986 section 2.1); `None` for a server.
    pub fn sqlite_file(&self) -> Option<PathBuf> {
        let path = self.0.strip_prefix("sqlite:")?.trim_start_matches("//").split('?').next()?;
        Some(PathBuf::from(percent_decode_str(path).decode_utf8_lossy().into_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// `text`, with the password of an address replaced by stars.
pub fn without_password(text: &str) -> String {
    match Url::parse(text) {
        Ok(mut url) if url.password().is_some() => {
            // Fails only for addresses that cannot have a password.
            if url.set_password(Some("***")).is_err() { "(hidden)".to_owned() } else { url.into() }
        }
        Ok(url) if url.scheme().ends_with("unix") => without_password_parameter(url),
        _ => text.to_owned(),
    }
}

/// The address of a socket has its password among its parameters.
fn without_password_parameter(mut url: Url) -> String {
    let hidden = |(key, value): (Cow<'_, str>, Cow<'_, str>)| {
        let value = if key == "pass" { "***".to_owned() } else { value.into_owned() };
        (key.into_owned(), value)
    };
    let parameters: Vec<_> = url.query_pairs().map(hidden).collect();
    if !parameters.is_empty() {
        url.query_pairs_mut().clear().extend_pairs(parameters);
    }
    url.into()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let address = Address::store("mysql://ann:pa55word@db.example:3306/feed").unwrap();
        assert_eq!(address.to_string(), "mysql://ann:***@db.example:3306/feed");
        assert!(!format!("{address:?}").contains("pa55word"));
        assert!(address.expose().contains("pa55word"));
        let socket = Address::redis("redis+unix:///run/redis.sock?db=1&user=ann&pass=pa55word").unwrap();
        assert_eq!(socket.to_string(), "redis+unix:///run/redis.sock?db=1&user=ann&pass=***");
    }

    #[test]
    fn an_address_of_another_kind_is_refused() {
        for bad in [
            "",
            "sqlite://",
            "sqlite::memory:",
            "sqlite://x?mode=memory",
            "postgres://h/d",
            "mysql://host",
            "mysql:///d",
            "data/tidefeed.db",
        ] {
            assert!(Address::store(bad).is_err(), "{bad}");
        }
        for good in ["mysql://h/d", "mariadb://u:p@h:3306/d", "sqlite://a/b.db"] {
            assert!(Address::store(good).is_ok(), "{good}");
        }
        for bad in ["", "localhost:6379", "http://h", "rediss://h/#insecure", "redis+unix://", "unix://h/s"] {
            assert!(Address::redis(bad).is_err(), "{bad}");
        }
        for good in ["redis://h", "rediss://u:p@h:1/2", "redis+unix:///run/redis.sock?db=1", "unix:///s"] {
            assert!(Address::redis(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn only_an_sqlite_address_names_a_database_file() {
        let file = |text| Address::store(text).unwrap().sqlite_file();
        assert_eq!(file("sqlite://data/tidefeed.db?mode=rwc"), Some(PathBuf::from("data/tidefeed.db")));
        assert_eq!(file("sqlite:///var/lib/t.db"), Some(PathBuf::from("/var/lib/t.db")));
        assert_eq!(file("sqlite://a%20b/%74.db"), Some(PathBuf::from("a b/t.db")));
        assert_eq!(file("mysql://h/d"), None);
    }
}
