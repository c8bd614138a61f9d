//! Checks the addresses of servers, which may carry a password, and shows them without it.

use std::{fmt, path::PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

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
        if whole { Ok(Self(text.to_owned())) } else { Err(expected()) }
    }

    /// The address of a Redis server: `redis://host:port/number`. The error says what is expected.
    pub fn redis(text: &str) -> Result<Self, String> {
        let fits = Url::parse(text).is_ok_and(|url| url.scheme() == "redis" && url.has_host());
        if fits { Ok(Self(text.to_owned())) } else { Err("expected redis://host:6379/0".to_owned()) }
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
        _ => text.to_owned(),
    }
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
        for bad in ["", "localhost:6379", "http://h"] {
            assert!(Address::redis(bad).is_err(), "{bad}");
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
