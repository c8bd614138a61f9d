//! Signs and verifies tokens (RFC 7518) with ring, which every TLS connection uses already. The JWT library's own
//! providers would bring a second set of algorithms.
//!
//! RSA keys below 2,048 bits verify nothing (RFC 7518 section 3.3), and curves are P-256, P-384 and Ed25519.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
    signature::{Error, Signer, Verifier},
};
use ring::{
    hmac,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
        RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
    },
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| Ok(Box::new(Secret::of(*algorithm, key.as_bytes())?)),
    verifier_factory: |algorithm, key| verifier(*algorithm, key),
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes the JWT library of this process use ring. To be called before signing or verifying; it may be repeated.
pub fn use_ring() {
    // Fails if it has been called before.
    let _ = PROVIDER.install_default();
}

fn verifier(algorithm: Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if algorithm == Algorithm::HS256 {
        return Ok(Box::new(Secret::of(algorithm, key.try_get_as_bytes()?)?));
    }
    Ok(Box::new(PublicKey { algorithm, key: key.clone() }))
}

/// A secret that signs and verifies (HS256, that of our own tokens).
struct Secret(hmac::Key);

impl Secret {
    fn of(algorithm: Algorithm, secret: &[u8]) -> Result<Self> {
        if algorithm != Algorithm::HS256 {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }
}

impl Signer<Vec<u8>> for Secret {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}

impl JwtSigner for Secret {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl Verifier<Vec<u8>> for Secret {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        hmac::verify(&self.0, message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Secret {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

/// A public key of an external issuer.
struct PublicKey {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl PublicKey {
    /// By the bytes of a point on the curve.
    fn verify_on(
        &self,
        curve: &'static dyn VerificationAlgorithm,
        (message, signature): (&[u8], &[u8]),
    ) -> std::result::Result<(), Error> {
        let point = self.key.try_get_as_bytes().map_err(Error::from_source)?;
        UnparsedPublicKey::new(curve, point).verify(message, signature).map_err(|_| Error::new())
    }

    fn verify_rsa(
        &self,
        parameters: &RsaParameters,
        (message, signature): (&[u8], &[u8]),
    ) -> std::result::Result<(), Error> {
        let DecodingKeyKind::RsaModulusExponent { n, e } = self.key.kind() else { return Err(Error::new()) };
        RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).map_err(|_| Error::new())
    }
}

impl Verifier<Vec<u8>> for PublicKey {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let signed = (message, signature.as_slice());
        match self.algorithm {
            Algorithm::ES256 => self.verify_on(&ECDSA_P256_SHA256_FIXED, signed),
            Algorithm::ES384 => self.verify_on(&ECDSA_P384_SHA384_FIXED, signed),
            Algorithm::EdDSA => self.verify_on(&ED25519, signed),
            Algorithm::RS256 => self.verify_rsa(&RSA_PKCS1_2048_8192_SHA256, signed),
            Algorithm::RS384 => self.verify_rsa(&RSA_PKCS1_2048_8192_SHA384, signed),
            Algorithm::RS512 => self.verify_rsa(&RSA_PKCS1_2048_8192_SHA512, signed),
            Algorithm::PS256 => self.verify_rsa(&RSA_PSS_2048_8192_SHA256, signed),
            Algorithm::PS384 => self.verify_rsa(&RSA_PSS_2048_8192_SHA384, signed),
            Algorithm::PS512 => self.verify_rsa(&RSA_PSS_2048_8192_SHA512, signed),
            _ => Err(Error::new()),
        }
    }
}

impl JwtVerifier for PublicKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use jsonwebtoken::{
        EncodingKey,
        crypto::{sign, verify},
    };

    use super::*;

    #[test]
    fn hs256_is_that_of_rfc_7515() {
        use_ring();
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
        let message = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
                       cGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let secret = URL_SAFE_NO_PAD.decode(key).unwrap();
        let signature = sign(message.as_bytes(), &EncodingKey::from_secret(&secret), Algorithm::HS256).unwrap();
        assert_eq!(signature, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        let decoding = DecodingKey::from_secret(&secret);
        assert!(verify(&signature, message.as_bytes(), &decoding, Algorithm::HS256).unwrap());
        assert!(!verify(&signature, b"something else", &decoding, Algorithm::HS256).unwrap());
        assert!(sign(message.as_bytes(), &EncodingKey::from_secret(&secret), Algorithm::HS512).is_err());
    }

    #[test]
    fn eddsa_is_that_of_rfc_8037() {
        use_ring();
        let key = DecodingKey::from_ed_components("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
        let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        assert!(verify(signature, message, &key, Algorithm::EdDSA).unwrap());
        assert!(!verify(signature, b"something else", &key, Algorithm::EdDSA).unwrap());
    }
}
