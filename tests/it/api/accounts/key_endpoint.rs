//! A test issuer: signing keys, and an endpoint on this machine that publishes them or fails.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, anyhow};
use axum::{Router, extract::State, http::StatusCode, routing::get};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
        RSA_PKCS1_SHA512, RsaKeyPair, RsaPublicKeyComponents,
    },
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A key of 2,048 bits that `openssl genpkey -algorithm RSA` made for these tests, as PKCS 8.
const RSA: &[u8] = include_bytes!("rsa-2048.der");
/// The modulus of an RSA key of 1,024 bits named "short", and a token that `openssl dgst -sha256` signed with it.
/// ring does neither.
pub const SHORT_MODULUS: &str = "uZ8Q3QzrEAIOsTb2mHpnovvQffAcVvGe0cDwrK2JlM0wZtlIOBpNo-OUF4oJBFRuqpfrEFHEr8CaxugP76i60xbhAiv2gd1ruSwvpb1_\
    CcCqTU4HYymUyZExUQphoQc7p1qzefeHjUZWzkt5BIzBOdGdyPftZ8C95DjbsGfm8iE";
pub const SHORT_TOKEN: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6InNob3J0In0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVk\
    IjoidGlkZWZlZWQtdGVzdHMiLCJzdWIiOiJhbm4iLCJleHAiOjk5OTk5OTk5OTl9.H55uPtWa2kWyFt2EZ3PQ6DvWTXfZtUPTG-WpDnS\
    zH5N1KuyS_lleaj47_rYuC0U9a23EGIPeSExX2xgnbPfvZ9B54q1P_ONhWtIfQtJTy50dlkhatyt71DxwGKYVTWx17CURxOQrCFD0SoT\
    GdGg7OLp2o6zO3l8EeYXSNWp8Q6k";

/// ring's errors say nothing, and are no errors of the standard library.
fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("{error}")
}

/// A key with its name.
#[derive(Clone)]
pub struct Signer {
    pub kid: String,
    key: Key,
}

#[derive(Clone)]
enum Key {
    Ec(Arc<EcdsaKeyPair>),
    Ed(Arc<Ed25519KeyPair>),
    Rsa(Arc<RsaKeyPair>),
}

impl Signer {
    pub fn ec(kid: &str) -> Result<Self> {
        let (curve, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let secret = EcdsaKeyPair::generate_pkcs8(curve, &random).map_err(failed)?;
        let key = EcdsaKeyPair::from_pkcs8(curve, secret.as_ref(), &random).map_err(failed)?;
        Ok(Self { kid: kid.to_owned(), key: Key::Ec(Arc::new(key)) })
    }

    pub fn ed(kid: &str) -> Result<Self> {
        let secret = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(failed)?;
        let key = Ed25519KeyPair::from_pkcs8(secret.as_ref()).map_err(failed)?;
        Ok(Self { kid: kid.to_owned(), key: Key::Ed(Arc::new(key)) })
    }

    pub fn rsa(kid: &str) -> Result<Self> {
        Ok(Self { kid: kid.to_owned(), key: Key::Rsa(Arc::new(RsaKeyPair::from_pkcs8(RSA).map_err(failed)?)) })
    }

    /// The same key under another name.
    pub fn named(&self, kid: &str) -> Self {
        Self { kid: kid.to_owned(), ..self.clone() }
    }

    /// The header of its tokens.
    pub fn header(&self) -> Value {
        let algorithm = match self.key {
            Key::Ec(_) => "ES256",
            Key::Ed(_) => "EdDSA",
            Key::Rsa(_) => "RS256",
        };
        json!({ "typ": "JWT", "alg": algorithm, "kid": self.kid })
    }

    pub fn sign(&self, claims: &Value) -> Result<String> {
        self.sign_under(&self.header(), claims)
    }

    /// A token with this header, signed with this key whatever the header says.
    pub fn sign_under(&self, header: &Value, claims: &Value) -> Result<String> {
        let message = message(header, claims)?;
        let random = SystemRandom::new();
        let signature = match &self.key {
            Key::Ec(key) => key.sign(&random, message.as_bytes()).map_err(failed)?.as_ref().to_vec(),
            Key::Ed(key) => key.sign(message.as_bytes()).as_ref().to_vec(),
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let padding = if header["alg"] == "RS512" { &RSA_PKCS1_SHA512 } else { &RSA_PKCS1_SHA256 };
                key.sign(padding, &random, message.as_bytes(), &mut signature).map_err(failed)?;
                signature
            }
        };
        Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The public key as the issuer publishes it.
    pub fn public(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = match &self.key {
            Key::Ec(key) => {
                // An uncompressed point: a byte that says so, and its two coordinates.
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "alg": "ES256", "x": text(x), "y": text(y) })
            }
            Key::Ed(key) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "x": text(key.public_key().as_ref()) })
            }
            Key::Rsa(key) => {
                let RsaPublicKeyComponents::<Vec<u8>> { n, e } = key.public().into();
                json!({ "kty": "RSA", "alg": "RS256", "n": text(&n), "e": text(&e) })
            }
        };
        jwk["kid"] = json!(self.kid);
        jwk
    }

    /// A token of the algorithm "none".
    pub fn unsigned(claims: &Value) -> Result<String> {
        Ok(format!("{}.", message(&json!({ "alg": "none", "typ": "JWT" }), claims)?))
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

/// Header and claims of a token, without a signature.
pub fn message(header: &Value, claims: &Value) -> Result<String> {
    let part = |value: &Value| Ok::<_, serde_json::Error>(URL_SAFE_NO_PAD.encode(serde_json::to_vec(value)?));
    Ok(format!("{}.{}", part(header)?, part(claims)?))
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
        endpoint.publish(signers);
        Ok(endpoint)
    }

    /// Publishes these keys from now on, and no others.
    pub fn publish(&self, signers: &[Signer]) {
        let keys: Vec<Value> = signers.iter().map(Signer::public).collect();
        self.answer(200, &json!({ "keys": keys }).to_string());
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
