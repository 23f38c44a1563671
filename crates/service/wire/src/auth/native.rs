//! `mysql_native_password`: `response = SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password)))`.

use super::{NONCE, same_secret};
use sha1::{Digest, Sha1};

/// SHA1(SHA1(password)), printed as `*` and 40 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeHash([u8; 20]);

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut h = Sha1::new();
    for p in parts {
        h.update(p);
    }
    h.finalize().into()
}

/// The hash which an account keeps.
pub fn native_hash(password: &[u8]) -> NativeHash {
    NativeHash(sha1(&[&sha1(&[password])]))
}

/// The client's answer to `nonce`; empty for an empty password.
pub fn native_response(password: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let stage1 = sha1(&[password]);
    let mask = sha1(&[nonce, &sha1(&[&stage1])]);
    stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

impl NativeHash {
    /// True when `response` proves knowledge of the password.
    pub fn check(&self, response: &[u8], nonce: &[u8; NONCE]) -> bool {
        let Ok(response) = <[u8; 20]>::try_from(response) else { return false };
        let mask = sha1(&[nonce, &self.0]);
        let mut stage1 = response;
        stage1.iter_mut().zip(mask).for_each(|(a, b)| *a ^= b);
        same_secret(&sha1(&[&stage1]), &self.0)
    }

    /// Reads `*` and 40 hexadecimal digits.
    pub fn parse(s: &[u8]) -> Option<Self> {
        let hex = s.strip_prefix(b"*").filter(|h| h.len() == 40)?;
        let mut out = [0; 20];
        for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
            let digit = |c: u8| (c as char).to_digit(16);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Some(Self(out))
    }
}

impl std::fmt::Display for NativeHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("*")?;
        self.0.iter().try_for_each(|b| write!(f, "{b:02X}"))
    }
}
