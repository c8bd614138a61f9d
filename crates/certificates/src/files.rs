//! Files in PEM form: the authorities to trust, and this node's own certificate with its key.

use std::{
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject as _},
};

/// Where certificates of connections to one store are. Without any of them the authorities of Mozilla's list are
/// trusted, and this node shows no certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificateFiles {
    /// Authorities to trust.
    pub authority: Option<PathBuf>,
    /// This node's certificate, and those between it and the server's authority. With [`Self::key`], or neither.
    pub certificate: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
}

/// Contents of [`CertificateFiles`] at one moment, in PEM form.
pub struct Certificates {
    /// Authorities to trust.
    pub authority: Option<Vec<u8>>,
    /// This node's certificate and its key.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

/// When each file was changed last; `None` for one that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTimes([Option<SystemTime>; 3]);

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableFile {
    /// It is missing, or this user may not read it.
    #[error("{} cannot be read", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// It is not what was expected.
    #[error("{} holds no {what} in PEM form", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// A certificate, or a key.
        what: &'static str,
        /// The parser's words.
        #[source]
        source: pem::Error,
    },
    /// The certificates do not fit together.
    #[error("the certificates cannot be used")]
    Misfit(#[source] rustls::Error),
}

impl CertificateFiles {
    /// Authority, certificate and key; an empty text names none.
    pub fn named(paths: [&String; 3]) -> Self {
        let [authority, certificate, key] = paths.map(|path| (!path.is_empty()).then(|| path.into()));
        Self { authority, certificate, key }
    }

    /// Whether any file is named.
    pub const fn is_any(&self) -> bool {
        self.authority.is_some() || self.certificate.is_some() || self.key.is_some()
    }

    /// Reads all files, which are small, and checks that they hold what they should.
    pub fn read(&self) -> Result<Certificates, UnusableFile> {
        let authority = match &self.authority {
            Some(path) => Some(certificates_in(path)?),
            None => None,
        };
        let own = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some((certificates_in(certificate)?, key_in(key)?)),
            _ => None,
        };
        Ok(Certificates { authority, own })
    }

    /// When the files were changed last.
    pub fn times(&self) -> FileTimes {
        let time = |path: &Option<PathBuf>| path.as_ref()?.metadata().ok()?.modified().ok();
        FileTimes([time(&self.authority), time(&self.certificate), time(&self.key)])
    }

    /// The authorities to trust, in words.
    pub fn authorities(&self) -> String {
        self.authority.as_ref().map_or_else(|| MOZILLA.to_owned(), |path| path.display().to_string())
    }
}

/// What is trusted without a file.
const MOZILLA: &str = "Mozilla's list of authorities";

fn certificates_in(path: &Path) -> Result<Vec<u8>, UnusableFile> {
    let text = text_of(path)?;
    let other = |source| UnusableFile::Other { path: path.to_owned(), what: "certificate", source };
    let found = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>().map_err(other)?;
    if found.is_empty() { Err(other(pem::Error::NoItemsFound)) } else { Ok(text) }
}

fn key_in(path: &Path) -> Result<Vec<u8>, UnusableFile> {
    let text = text_of(path)?;
    let other = |source| UnusableFile::Other { path: path.to_owned(), what: "private key", source };
    PrivateKeyDer::from_pem_slice(&text).map_err(other)?;
    Ok(text)
}

fn text_of(path: &Path) -> Result<Vec<u8>, UnusableFile> {
    std::fs::read(path).map_err(|error| UnusableFile::Unreadable(path.to_owned(), error))
}
