//! Digests of secrets: the store keeps these instead of tokens.
//!
//! The secrets have 256 bits, so comparing digests needs no constant time: timing reveals bits of a digest, and a
//! digest leads to no secret.

use ring::hmac;
use sha2::{Digest as _, Sha256};

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 32;

/// SHA-256 of `parts`, each preceded by its length, in hexadecimal.
pub fn digest(parts: &[&[u8]]) -> String {
    hex(&digest_bytes(parts))
}

/// SHA-256 of `parts`, each preceded by its length.
pub fn digest_bytes(parts: &[&[u8]]) -> [u8; DIGEST_BYTES] {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_be_bytes());
        sha.update(part);
    }
    sha.finalize().into()
}

/// HMAC-SHA256 of `message` under `key`.
pub fn derived(key: &[u8], message: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut bytes = [0; DIGEST_BYTES];
    bytes.copy_from_slice(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message).as_ref());
    bytes
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cannot_be_shifted_into_each_other() {
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_eq!(digest(&[b"a"]).len(), 64);
        assert_eq!(hex(&[0x0f, 0xa0]), "0fa0");
    }

    #[test]
    fn a_derived_value_depends_on_key_and_message() {
        let (one, two) = ([1; DIGEST_BYTES], [2; DIGEST_BYTES]);
        assert_ne!(derived(&one, b"n"), derived(&two, b"n"));
        assert_ne!(derived(&one, b"n"), derived(&one, b"m"));
        assert_eq!(hex(&derived(&one, b"n")).len(), 64);
    }
}
