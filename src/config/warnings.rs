//! Settings that are valid and still more open than an operator may know.

use std::path::Path;

use super::Config;

/// A setting that deserves attention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The setting, or what it leads to.
    pub subject: &'static str,
    /// What was found.
    pub seen: String,
    /// What to do.
    pub remedy: &'static str,
}

impl Config {
    /// Looks at the settings and at the file of the signing secret. `tidefeed serve` logs the findings, and
    /// `tidefeed doctor` lists them.
    pub fn warnings(&self) -> Vec<Warning> {
        self.open_secret().into_iter().chain(self.trusting_everybody()).collect()
    }

    fn open_secret(&self) -> Option<Warning> {
        let path = self.store.url.sqlite_file()?.with_file_name("secret");
        let mode = mode(&path).filter(|mode| self.auth.secret.is_empty() && mode & 0o077 != 0)?;
        Some(Warning {
            subject: "secret",
            seen: format!("other users of this machine may read {} (mode {:o})", path.display(), mode & 0o777),
            remedy: "run `chmod 600` on it: everybody who reads it can sign in as anybody",
        })
    }

    fn trusting_everybody(&self) -> Option<Warning> {
        let everybody = self.server.trusted_proxies.iter().find(|network| network.prefix_len() == 0)?;
        Some(Warning {
            subject: "server.trusted_proxies",
            seen: format!("{everybody} trusts every address: a client may choose the address that it is counted by"),
            remedy: "name the addresses of your proxies, unless nobody else can reach this port",
        })
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(path.metadata().ok()?.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> Option<u32> {
    None
}
