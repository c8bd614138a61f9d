//! When a certificate ends.

use std::{sync::Arc, time::Duration};

use rustls::{
    CertificateError, RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier as _},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::refusal::day;

/// Days before its end from which a certificate deserves a warning.
pub const DAYS_OF_WARNING: u64 = 30;

/// The day on which the first of these certificates ends, if that is within [`DAYS_OF_WARNING`] of `now_ms`.
pub fn end_within(certificates: &[CertificateDer<'_>], now_ms: i64) -> Option<String> {
    let now = Duration::from_millis(u64::try_from(now_ms).unwrap_or(0));
    let later = UnixTime::since_unix_epoch(now + Duration::from_secs(DAYS_OF_WARNING * 24 * 60 * 60));
    certificates.iter().filter_map(|certificate| ended_at(certificate, later)).min().map(day)
}

/// When the certificate ended, if it has at `time`: what a connection at that time would be told. Its time is checked
/// before anything else, so that it matters neither who has signed it nor whom it is for.
fn ended_at(certificate: &CertificateDer<'_>, time: UnixTime) -> Option<UnixTime> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone().into_owned()).ok()?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().ok()?;
    let anybody = ServerName::try_from("localhost").ok()?;
    match verifier.verify_server_cert(certificate, &[], &anybody, &[], time) {
        Err(rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => Some(not_after),
        _ => None,
    }
}
