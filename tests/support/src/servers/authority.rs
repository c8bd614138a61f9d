//! An authority that signs certificates for the servers of a test, by `openssl`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

/// `openssl ca` keeps its books in the folder that it runs in.
const BOOKS: &str = "[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
policy = any
default_md = sha256
unique_subject = no
rand_serial = yes
[any]
commonName = supplied
";

/// An authority with a key of its own.
pub struct Authority {
    folder: TempDir,
    next: AtomicU32,
}

/// A certificate and its key, as files in PEM form.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The certificate.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// How long a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// So many days from now on.
    Days(u32),
    /// The year 2020.
    Over,
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("tidefeed-test-").tempdir()?;
        std::fs::write(folder.path().join("books.cnf"), BOOKS)?;
        std::fs::write(folder.path().join("index.txt"), "")?;
        let authority = Self { folder, next: AtomicU32::new(0) };
        authority.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj /CN=authority \
             -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.pem",
        )?;
        Ok(authority)
    }

    /// The file of its own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate for these names, such as `DNS:localhost,IP:127.0.0.1`.
    pub fn sign(&self, names: &str, validity: Validity) -> Result<Signed> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let usages = "extendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE";
        std::fs::write(self.folder.path().join("names.cnf"), format!("subjectAltName={names}\n{usages}\n"))?;
        let validity = match validity {
            Validity::Days(days) => format!("-days {days}"),
            Validity::Over => "-startdate 20200101000000Z -enddate 20210101000000Z".to_owned(),
        };
        self.openssl(&format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=certificate{number} \
             -keyout {number}.key -out {number}.csr"
        ))?;
        self.openssl(&format!(
            "ca -batch -notext -config books.cnf -extfile names.cnf {validity} -in {number}.csr -out {number}.pem"
        ))?;
        let file = |end| self.folder.path().join(format!("{number}.{end}"));
        Ok(Signed { certificate: file("pem"), key: file("key") })
    }

    fn openssl(&self, words: &str) -> Result<()> {
        let run = Command::new("openssl").args(words.split_whitespace()).current_dir(self.folder.path()).output();
        let run = run.context("`openssl` is missing: run scripts/install-servers.sh")?;
        ensure!(run.status.success(), "openssl {words}: {}", String::from_utf8_lossy(&run.stderr));
        Ok(())
    }
}

impl Signed {
    /// Puts it into the place of these files.
    pub fn replace(&self, certificate: &Path, key: &Path) -> Result<()> {
        std::fs::copy(&self.certificate, certificate)?;
        std::fs::copy(&self.key, key)?;
        Ok(())
    }
}
