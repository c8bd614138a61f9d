//! The files of certificates that the address of a server names. sqlx reads them anew for each connection.

use certificates::CertificateFiles;
use url::Url;

use crate::options::SqlOptions;

impl SqlOptions {
    /// The files of `ssl-ca`, `ssl-cert` and `ssl-key`.
    pub fn certificate_files(&self) -> CertificateFiles {
        let Ok(url) = Url::parse(&self.url) else { return CertificateFiles::default() };
        let named = |names: [&str; 2]| {
            url.query_pairs().find(|(key, _)| names.contains(&key.as_ref())).map(|(_, path)| path.into_owned().into())
        };
        CertificateFiles {
            authority: named(["ssl-ca", "sslca"]),
            certificate: named(["ssl-cert", "sslcert"]),
            key: named(["ssl-key", "sslkey"]),
        }
    }

    /// Host and port, if the server has to prove over TCP who it is.
    pub fn verified_host(&self) -> Option<(String, u16)> {
        let url = Url::parse(&self.url).ok()?;
        let mode = url.query_pairs().find(|(key, _)| key == "ssl-mode" || key == "sslmode")?.1;
        let verifies = mode.to_ascii_uppercase().starts_with("VERIFY_");
        let is_socket = url.query_pairs().any(|(key, _)| key == "socket");
        let host = url.host_str().filter(|_| verifies && !is_socket)?;
        Some((host.trim_matches(['[', ']']).to_owned(), url.port().unwrap_or(3306)))
    }
}
