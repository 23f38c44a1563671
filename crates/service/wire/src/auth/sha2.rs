//! `caching_sha2_password`, and the stored form of `sha256_password`: `$5$` + salt + `$` + digest (5000 rounds).
//!
//! Stored: `$A$RRR$` + 20 bytes salt + 43 characters of SHA-256-crypt (RRR: rounds / 1000, hexadecimal).
//! Fast path: `response = SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce)`, checked against
//! SHA256(SHA256(password)) which an earlier full exchange left in memory.

use super::crypt::{CHARS, sha256_crypt};
use super::{NONCE, same_secret};
use sha2::{Digest, Sha256};

/// SHA256(SHA256(password)).
pub type FastDigest = [u8; 32];

/// Passwords longer than this are refused, as in MySQL.
const MAX_PASSWORD: usize = 256;
const DEFAULT_ROUNDS: u32 = 5000;

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut h = Sha256::new();
    for p in parts {
        h.update(p);
    }
    h.finalize().into()
}

/// What the fast path keeps of a password.
pub fn fast_digest(password: &[u8]) -> FastDigest {
    sha256(&[&sha256(&[password])])
}

/// The client's first answer to `nonce`; empty for an empty password.
pub fn sha2_response(password: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let stage1 = sha256(&[password]);
    let mask = sha256(&[&fast_digest(password), nonce]);
    stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// True when `response` proves knowledge of the password behind `digest`.
pub(super) fn check_fast(digest: &FastDigest, response: &[u8], nonce: &[u8; NONCE]) -> bool {
    let Ok(response) = <[u8; 32]>::try_from(response) else { return false };
    let mask = sha256(&[digest, nonce]);
    let mut stage1 = response;
    stage1.iter_mut().zip(mask).for_each(|(a, b)| *a ^= b);
    same_secret(&sha256(&[&stage1]), digest)
}

/// The stored form of a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sha2Hash {
    rounds: u32,
    salt: [u8; NONCE],
    digest: [u8; CHARS],
}

impl Sha2Hash {
    /// Hashes `password`. Of `salt` seven bits a byte are used; NUL and `$`, which end a salt in text, are avoided.
    pub fn new(password: &[u8], mut salt: [u8; NONCE]) -> Self {
        for b in &mut salt {
            *b &= 0x7F;
            if matches!(*b, 0 | b'$') {
                *b += 1;
            }
        }
        let digest = sha256_crypt(password, &salt, DEFAULT_ROUNDS);
        Self { rounds: DEFAULT_ROUNDS, salt, digest }
    }

    /// True when `password` is the one.
    pub fn check(&self, password: &[u8]) -> bool {
        password.len() <= MAX_PASSWORD && same_secret(&sha256_crypt(password, &self.salt, self.rounds), &self.digest)
    }

    /// Spends the time of a check, and refuses: for accounts that do not exist.
    pub(super) fn burn(password: &[u8]) -> bool {
        if password.len() <= MAX_PASSWORD {
            std::hint::black_box(sha256_crypt(password, &[b'x'; NONCE], DEFAULT_ROUNDS));
        }
        false
    }

    /// `$A$005$` + salt + digest.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = format!("$A${:03X}$", self.rounds / 1000).into_bytes();
        out.extend_from_slice(&self.salt);
        out.extend_from_slice(&self.digest);
        out
    }

    /// `$5$` + salt + `$` + digest.
    pub fn to_crypt_bytes(&self) -> Vec<u8> {
        [&b"$5$"[..], &self.salt, b"$", &self.digest].concat()
    }

    /// Reads what [`to_crypt_bytes`](Self::to_crypt_bytes) wrote.
    pub fn parse_crypt(s: &[u8]) -> Option<Self> {
        let (salt, rest) = s.strip_prefix(b"$5$")?.split_at_checked(NONCE)?;
        let digest = rest.strip_prefix(b"$")?;
        Some(Self { rounds: DEFAULT_ROUNDS, salt: salt.try_into().ok()?, digest: digest.try_into().ok()? })
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    pub fn parse(s: &[u8]) -> Option<Self> {
        let rest = s.strip_prefix(b"$A$")?;
        let (rounds, rest) = rest.split_at_checked(3)?;
        let rest = rest.strip_prefix(b"$")?;
        let (salt, digest) = rest.split_at_checked(NONCE)?;
        let rounds = u32::from_str_radix(std::str::from_utf8(rounds).ok()?, 16).ok()?;
        // MySQL's caching_sha2_password_digest_rounds: 5000 to 0xFFF thousand.
        (rounds >= 5).then_some(())?;
        Some(Self { rounds: rounds * 1000, salt: salt.try_into().ok()?, digest: digest.try_into().ok()? })
    }
}
