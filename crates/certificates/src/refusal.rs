//! Why a connection over TLS was refused, from the errors that a client library passes on.

use std::{error::Error, io, sync::Arc};

use chrono::DateTime;
use rustls::{AlertDescription, CertificateError, pki_types::UnixTime};

/// Why a connection was refused because of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateRefusal {
    /// It belongs to another name than the address has.
    #[error(
        "the server's certificate is for {presented} and not for {expected}: correct the address, or the certificate"
    )]
    OtherName {
        /// The host of the address.
        expected: String,
        /// The names of the certificate.
        presented: String,
    },
    /// Its time is over.
    #[error("the server's certificate ended on {0}: renew it")]
    Expired(String),
    /// Its time has not come.
    #[error("the server's certificate begins on {0}: compare the clocks")]
    NotYet(String),
    /// Nobody who is trusted has signed it.
    #[error("the server's certificate is signed by an authority that is not in {0}: name the file of that authority")]
    UnknownAuthority(String),
    /// The server does not take the certificate of this node, or misses one.
    #[error("the server wants another certificate from this node ({0:?}): name one that its authority has signed")]
    OwnRefused(AlertDescription),
}

/// The refusal among the causes of `error`, if there is one. `authorities` says in words who is trusted.
pub fn refusal(error: &(dyn Error + 'static), authorities: &str) -> Option<CertificateRefusal> {
    if let Some(known) = cause::<CertificateRefusal>(error) {
        return Some(known.clone());
    }
    match cause::<rustls::Error>(error)? {
        rustls::Error::InvalidCertificate(refused) => of_server(refused, authorities),
        rustls::Error::AlertReceived(alert) if is_about_certificates(*alert) => {
            Some(CertificateRefusal::OwnRefused(*alert))
        }
        _ => None,
    }
}

fn of_server(refused: &CertificateError, authorities: &str) -> Option<CertificateRefusal> {
    Some(match refused {
        CertificateError::NotValidForNameContext { expected, presented } => CertificateRefusal::OtherName {
            expected: expected.to_str().into_owned(),
            presented: if presented.is_empty() { "no name".to_owned() } else { presented.join(", ") },
        },
        CertificateError::ExpiredContext { not_after, .. } => CertificateRefusal::Expired(day(*not_after)),
        CertificateError::NotValidYetContext { not_before, .. } => CertificateRefusal::NotYet(day(*not_before)),
        // The second: an authority of the same name, with another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            CertificateRefusal::UnknownAuthority(authorities.to_owned())
        }
        _ => return None,
    })
}

const fn is_about_certificates(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::HandshakeFailure
    )
}

/// As `2026-11-26`.
pub(crate) fn day(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    DateTime::from_timestamp(seconds, 0).unwrap_or(DateTime::<chrono::Utc>::MAX_UTC).format("%Y-%m-%d").to_string()
}

/// Libraries wrap it: an I/O error does not count what it carries among its sources, and a shared error hides its type.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next: Option<&'a (dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        if let Some(shared) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
            return cause(shared.as_ref());
        }
        let io = error.downcast_ref::<io::Error>();
        let io = io.or_else(|| error.downcast_ref::<Arc<io::Error>>().map(AsRef::as_ref));
        if let Some(carried) = io.and_then(io::Error::get_ref) {
            return cause(carried);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_refusal_is_found_however_libraries_wrap_it() {
        let ended = UnixTime::since_unix_epoch(Duration::from_hours(447_072));
        let refused = || {
            let context = CertificateError::ExpiredContext { time: ended, not_after: ended };
            io::Error::other(rustls::Error::InvalidCertificate(context))
        };
        let expected = Some(CertificateRefusal::Expired("2021-01-01".to_owned()));
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(refused());
        assert_eq!(refusal(&refused(), ""), expected);
        assert_eq!(refusal(&shared, ""), expected);
        assert_eq!(refusal(&Arc::new(refused()), ""), expected);
        assert_eq!(refusal(&io::Error::other(refused()), ""), expected);
        assert_eq!(refusal(&io::Error::from(io::ErrorKind::BrokenPipe), ""), None);
    }
}
