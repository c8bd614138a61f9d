//! A client of rustls whose certificates follow their files, for libraries that keep one configuration for all
//! connections.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        ResolvesClientCert, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName, UnixTime,
        pem::{self, PemObject as _},
    },
    sign::CertifiedKey,
};

use super::{CertificateFiles, FileTimes, UnusableFile};

/// A client that reads these files now, and again at a handshake after they have changed. While they cannot be used,
/// what was read last stays in use.
pub fn client(files: CertificateFiles) -> Result<ClientConfig, UnusableFile> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let (times, loaded) = (files.times(), Loaded::from(&files, &provider)?);
    let renewed = Renewed { files, provider: Arc::clone(&provider), current: Mutex::new((times, loaded)) };
    let renewed = Arc::new(renewed);
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(UnusableFile::Misfit)?.dangerous();
    // Not dangerous: rustls' own verifier decides.
    Ok(builder
        .with_custom_certificate_verifier(Arc::clone(&renewed) as Arc<dyn ServerCertVerifier>)
        .with_client_cert_resolver(renewed))
}

/// Certificates as they were read last.
#[derive(Debug)]
struct Renewed {
    files: CertificateFiles,
    provider: Arc<CryptoProvider>,
    current: Mutex<(FileTimes, Loaded)>,
}

#[derive(Debug, Clone)]
struct Loaded {
    verifier: Arc<WebPkiServerVerifier>,
    own: Option<Arc<CertifiedKey>>,
}

impl Renewed {
    fn loaded(&self) -> Loaded {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken before the files are read, so that a change in between is noticed.
        let times = self.files.times();
        if current.0 != times {
            match Loaded::from(&self.files, &self.provider) {
                Ok(loaded) => *current = (times, loaded),
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "Changed files of certificates cannot be used. The former ones stay in use."
                ),
            }
        }
        current.1.clone()
    }
}

impl Loaded {
    fn from(files: &CertificateFiles, provider: &Arc<CryptoProvider>) -> Result<Self, UnusableFile> {
        let texts = files.read()?;
        let mut roots = RootCertStore::empty();
        match &texts.authority {
            Some(authority) => {
                roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authority).filter_map(Result::ok));
            }
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
        let verifier = verifier.map_err(|error| UnusableFile::Misfit(rustls::Error::General(error.to_string())))?;
        let own = match &texts.own {
            Some((chain, key)) => Some(Arc::new(certified(chain, key, provider).map_err(UnusableFile::Misfit)?)),
            None => None,
        };
        Ok(Self { verifier, own })
    }
}

fn certified(chain: &[u8], key: &[u8], provider: &CryptoProvider) -> Result<CertifiedKey, rustls::Error> {
    let unreadable = |error: pem::Error| rustls::Error::General(error.to_string());
    let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>().map_err(unreadable)?;
    CertifiedKey::from_der(chain, PrivateKeyDer::from_pem_slice(key).map_err(unreadable)?, provider)
}

impl ServerCertVerifier for Renewed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.loaded().verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.loaded().verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.loaded().verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl ResolvesClientCert for Renewed {
    fn resolve(&self, _authorities: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.loaded().own
    }

    fn has_certs(&self) -> bool {
        self.files.certificate.is_some()
    }
}
