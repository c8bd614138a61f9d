//! Tests connections to stores over TLS, over sockets of this machine, and by Sentinels, against real servers whose
//! certificates are made here.

mod cassandra;
mod cluster;
mod redis;
mod sentinel;
mod shown;
mod sql;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use certificates::CertificateFiles;
use tempfile::TempDir;

use crate::servers::{Authority, Signed, Validity};

/// Names of the certificates that are as they should be.
const NAMES: &str = "DNS:localhost,IP:127.0.0.1";

/// An authority, and files that a server and a client use, which a test may replace.
struct Files {
    authority: Authority,
    /// Nobody's servers are signed by it.
    stranger: Authority,
    folder: TempDir,
}

impl Files {
    /// All is as it should be.
    fn new() -> Result<Self> {
        let (authority, stranger) = (Authority::new()?, Authority::new()?);
        let folder = tempfile::Builder::new().prefix("tidefeed-test-").tempdir()?;
        let it = Self { authority, stranger, folder };
        std::fs::copy(it.authority.file(), it.path("ca.pem"))?;
        std::fs::copy(it.authority.file(), it.path("authority.pem"))?;
        it.server(&it.authority.sign(NAMES, Validity::Days(90))?)?;
        it.client(&it.authority.sign(NAMES, Validity::Days(90))?)?;
        Ok(it)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder, as texts of options name it.
    fn folder(&self) -> std::path::Display<'_> {
        self.folder.path().display()
    }

    /// What a client over TLS is given.
    fn certificates(&self) -> CertificateFiles {
        let file = |name| Some(self.path(name));
        CertificateFiles { authority: file("ca.pem"), certificate: file("client.pem"), key: file("client.key") }
    }

    /// What the server shows from its next look at its files on.
    fn server(&self, signed: &Signed) -> Result<()> {
        signed.replace(&self.path("server.pem"), &self.path("server.key"))
    }

    /// What the client shows.
    fn client(&self, signed: &Signed) -> Result<()> {
        signed.replace(&self.path("client.pem"), &self.path("client.key"))
    }

    /// What the server shows from then on, with its authority, if that is not the client's.
    fn server_of_stranger(&self) -> Result<()> {
        std::fs::copy(self.stranger.file(), self.path("authority.pem"))?;
        self.server(&self.stranger.sign(NAMES, Validity::Days(90))?)
    }

    /// Whom the client trusts.
    fn trusted(&self, file: &Path) -> Result<()> {
        std::fs::copy(file, self.path("ca.pem"))?;
        Ok(())
    }
}

/// The message has these words, and none of the other two.
fn expect_words(message: &str, words: &str) -> Result<()> {
    let all = ["and not for 127.0.0.1", "ended on 2021-01-01", "signed by an authority that is not in"];
    ensure!(message.contains(words), "{message:?} does not say {words:?}");
    ensure!(!all.iter().any(|other| *other != words && message.contains(other)), "{message:?}");
    Ok(())
}

const OTHER_NAME: &str = "and not for 127.0.0.1";
const EXPIRED: &str = "ended on 2021-01-01";
const UNKNOWN: &str = "signed by an authority that is not in";
