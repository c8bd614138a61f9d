//! The secret that signs tokens: configured, or generated and kept beside the database.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{Secret, settings::Config};

/// The shortest key for HMAC-SHA256 (RFC 7518 section 3.2).
pub const MIN_SECRET_BYTES: usize = 32;

/// Why there is no signing secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file can be neither read nor created.
    #[error("the secret that signs tokens cannot be kept in {}; set auth.secret instead", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// The secret in the file is too short.
    #[error(
        "{} holds no secret of at least {MIN_SECRET_BYTES} bytes: delete it to generate a new one (everybody has to sign in again)",
        .0.display()
    )]
    TooShort(PathBuf),
}

/// The secret that signs tokens: `auth.secret`, or else the file `secret` beside the SQLite database, which is created
/// with 48 bytes of `fill` (mode 0600) if it is missing. With a database server the configuration must have a secret;
/// without one, a random secret lasts as long as the process.
pub fn signing_secret(config: &Config, fill: impl FnOnce(&mut [u8])) -> Result<Secret, SecretError> {
    if !config.auth.secret.is_empty() {
        return Ok(config.auth.secret.clone());
    }
    match config.store.url.sqlite_file() {
        Some(database) => kept(&database.with_file_name("secret"), fill),
        None => Ok(drawn(fill)),
    }
}

fn drawn(fill: impl FnOnce(&mut [u8])) -> Secret {
    let mut bytes = [0; 48];
    fill(&mut bytes);
    Secret::new(STANDARD.encode(bytes))
}

fn kept(path: &Path, fill: impl FnOnce(&mut [u8])) -> Result<Secret, SecretError> {
    let failed = |error| SecretError::File(path.to_owned(), error);
    if !path.exists() {
        make(path, &drawn(fill)).map_err(failed)?;
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let secret = Secret::new(text.trim().to_owned());
    if secret.expose().len() < MIN_SECRET_BYTES { Err(SecretError::TooShort(path.to_owned())) } else { Ok(secret) }
}

/// Creates the file atomically, and never replaces one that another process has created in between.
fn make(path: &Path, secret: &Secret) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let draft = path.with_file_name(format!("secret.{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(secret.expose().as_bytes())?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/secret");
        let first = kept(&path, |bytes| bytes.fill(7)).unwrap();
        let second = kept(&path, |bytes| bytes.fill(8)).unwrap();
        assert!(first == second && first.expose().len() >= MIN_SECRET_BYTES);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_without_a_secret_is_refused_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, "short\n").unwrap();
        assert!(matches!(kept(&path, |_| ()), Err(SecretError::TooShort(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "short\n");
    }
}
