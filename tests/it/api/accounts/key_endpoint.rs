//! A test issuer: signing keys, and an endpoint on this machine that publishes them or fails.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context as _, Result};
use axum::{Router, extract::State, http::StatusCode, routing::get};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, jwk::Jwk};
use p256::pkcs8::EncodePrivateKey as _;
use rsa::{RsaPrivateKey, pkcs1::EncodeRsaPrivateKey as _, rand_core::OsRng};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The bytes before the 32 bytes of an Ed25519 key in PKCS 8 (RFC 8410 section 7).
const ED_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// Small, so that a debug build generates one quickly.
const RSA_BITS: usize = 1024;

/// A key with its name.
#[derive(Clone)]
pub struct Signer {
    pub kid: String,
    pub key: EncodingKey,
    algorithm: Algorithm,
}

impl Signer {
    pub fn ec(kid: &str, seed: u8) -> Result<Self> {
        let secret = p256::SecretKey::from_slice(&[seed; 32])?.to_pkcs8_der()?;
        let key = EncodingKey::from_ec_der(secret.as_bytes());
        Ok(Self { kid: kid.to_owned(), key, algorithm: Algorithm::ES256 })
    }

    pub fn ed(kid: &str, seed: u8) -> Self {
        let key = EncodingKey::from_ed_der(&[ED_PREFIX.as_slice(), &[seed; 32]].concat());
        Self { kid: kid.to_owned(), key, algorithm: Algorithm::EdDSA }
    }

    pub fn rsa(kid: &str) -> Result<Self> {
        let secret = RsaPrivateKey::new(&mut OsRng, RSA_BITS)?.to_pkcs1_der()?;
        let key = EncodingKey::from_rsa_der(secret.as_bytes());
        Ok(Self { kid: kid.to_owned(), key, algorithm: Algorithm::RS256 })
    }

    pub fn sign(&self, claims: &Value) -> Result<String> {
        let header = Header { kid: Some(self.kid.clone()), ..Header::new(self.algorithm) };
        Ok(jsonwebtoken::encode(&header, claims, &self.key)?)
    }

    /// The public key as the issuer publishes it.
    pub fn public(&self) -> Result<Value> {
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm)?;
        jwk.common.key_id = Some(self.kid.clone());
        Ok(serde_json::to_value(jwk)?)
    }

    /// A token of the algorithm "none".
    pub fn unsigned(claims: &Value) -> Result<String> {
        let part = |value: &Value| Ok::<_, serde_json::Error>(URL_SAFE_NO_PAD.encode(serde_json::to_vec(value)?));
        Ok(format!("{}.{}.", part(&json!({ "alg": "none", "typ": "JWT" }))?, part(claims)?))
    }

    /// `signed` with the claims of `other` and its own signature.
    pub fn with_claims_of(signed: &str, other: &str) -> String {
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (signed.split('.').collect(), other.split('.').collect());
        [ours[0], theirs[1], ours[2]].join(".")
    }
}

#[derive(Clone, Default)]
struct Shown {
    answer: Arc<Mutex<(u16, String)>>,
    asked: Arc<AtomicUsize>,
}

/// The endpoint that publishes keys.
pub struct KeyEndpoint {
    pub url: String,
    shown: Shown,
}

impl KeyEndpoint {
    pub async fn publishing(signers: &[Signer]) -> Result<Self> {
        let shown = Shown::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/keys", listener.local_addr()?);
        let router = Router::new().route("/keys", get(show)).with_state(shown.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let endpoint = Self { url, shown };
        endpoint.publish(signers)?;
        Ok(endpoint)
    }

    /// Publishes these keys from now on, and no others.
    pub fn publish(&self, signers: &[Signer]) -> Result<()> {
        let keys = signers.iter().map(Signer::public).collect::<Result<Vec<_>>>().context("a public key")?;
        self.answer(200, &json!({ "keys": keys }).to_string());
        Ok(())
    }

    /// Answers every request like this from now on.
    pub fn answer(&self, status: u16, text: &str) {
        *self.shown.answer.lock().unwrap_or_else(PoisonError::into_inner) = (status, text.to_owned());
    }

    /// The number of requests so far.
    pub fn asked(&self) -> usize {
        self.shown.asked.load(Ordering::SeqCst)
    }
}

async fn show(State(shown): State<Shown>) -> (StatusCode, String) {
    shown.asked.fetch_add(1, Ordering::SeqCst);
    let (status, text) = shown.answer.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (StatusCode::from_u16(status).unwrap_or_default(), text)
}
