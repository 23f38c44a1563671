//! The key pair with which a client sends a password over an open transport: RSA, OAEP with SHA-1, as
//! `caching_sha2_password` prescribes; the password is XORed with the nonce first.
//!
//! An accepted risk: the time that `rsa` takes to decrypt depends on the key (RUSTSEC-2023-0071, the Marvin attack), so
//! that who can measure very many logins exactly might decrypt one recorded login. The key lives as long as the
//! server's process, a client over TLS or a socket never uses it, and a password that matters belongs into TLS.

use super::NONCE;
use rsa::pkcs8::{DecodePublicKey, EncodePublicKey, LineEnding};
use rsa::rand_core::{OsRng, RngCore};
use rsa::{Oaep, RsaPrivateKey, RsaPublicKey};
use sha1::Sha1;

const BITS: usize = 2048;

/// A private key with its public half as PEM.
pub struct RsaKey {
    key: RsaPrivateKey,
    pem: String,
}

impl std::fmt::Debug for RsaKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RsaKey")
    }
}

impl RsaKey {
    /// Makes a key pair. Takes some tenths of a second: call it where no other client waits for the thread.
    pub fn generate() -> Option<Self> {
        let key = RsaPrivateKey::new(&mut OsRng, BITS).ok()?;
        let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).ok()?;
        Some(Self { key, pem })
    }

    /// What the client is sent.
    pub fn public_pem(&self) -> &str {
        &self.pem
    }

    /// The password, without its final NUL; `None` when the bytes are not an encrypted password.
    pub fn decrypt_password(&self, bytes: &[u8], nonce: &[u8; NONCE]) -> Option<Vec<u8>> {
        let mut clear = self.key.decrypt_blinded(&mut OsRng, Oaep::new::<Sha1>(), bytes).ok()?;
        clear.iter_mut().zip(nonce.iter().cycle()).for_each(|(a, b)| *a ^= b);
        clear.pop_if(|last| *last == 0)?;
        Some(clear)
    }
}

/// It is the PEM of a key for which [`encrypt_password`] encrypts.
pub fn is_public_key(pem: &str) -> bool {
    RsaPublicKey::from_public_key_pem(pem).is_ok()
}

/// Encrypts `password` for the key in `pem`; the client's side.
pub fn encrypt_password(pem: &str, password: &[u8], nonce: &[u8; NONCE]) -> Option<Vec<u8>> {
    let key = RsaPublicKey::from_public_key_pem(pem).ok()?;
    let mut clear = password.to_vec();
    clear.push(0);
    clear.iter_mut().zip(nonce.iter().cycle()).for_each(|(a, b)| *a ^= b);
    key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &clear).ok()
}

/// A number that nobody can guess: 128 bits in hexadecimal digits.
pub fn token() -> String {
    let mut bytes = [0; 16];
    OsRng.fill_bytes(&mut bytes);
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
