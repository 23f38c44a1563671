//! SHA-256-crypt (U. Drepper, "Unix crypt using SHA-256 and SHA-512", 2007), the hash under `caching_sha2_password`.
//!
//! Differs from crypt(3) in the salt: MySQL uses all 20 bytes of it, crypt(3) the first 16.

use sha2::{Digest, Sha256};

/// Characters of the printed digest.
pub(super) const CHARS: usize = 43;

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Appends `block` as often as needed to give `len` bytes to `h`.
fn update_repeated(h: &mut Sha256, block: &[u8; 32], len: usize) {
    for _ in 0..len / 32 {
        h.update(block);
    }
    h.update(&block[..len % 32]);
}

fn repeated(block: &[u8; 32], len: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(len).collect()
}

/// The printed digest (without prefix) of `password` after `rounds` rounds.
pub(super) fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; CHARS] {
    let b: [u8; 32] = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize().into();
    let mut a = Sha256::new().chain_update(password).chain_update(salt);
    update_repeated(&mut a, &b, password.len());
    let mut n = password.len();
    while n > 0 {
        if n & 1 == 1 {
            a.update(b);
        } else {
            a.update(password);
        }
        n >>= 1;
    }
    let mut digest: [u8; 32] = a.finalize().into();

    let mut dp = Sha256::new();
    for _ in 0..password.len() {
        dp.update(password);
    }
    let p = repeated(&dp.finalize().into(), password.len());
    let mut ds = Sha256::new();
    for _ in 0..16 + usize::from(digest[0]) {
        ds.update(salt);
    }
    let s = repeated(&ds.finalize().into(), salt.len());

    for i in 0..rounds {
        let mut c = Sha256::new();
        if i & 1 == 1 {
            c.update(&p);
        } else {
            c.update(digest);
        }
        if i % 3 != 0 {
            c.update(&s);
        }
        if i % 7 != 0 {
            c.update(&p);
        }
        if i & 1 == 1 {
            c.update(digest);
        } else {
            c.update(&p);
        }
        digest = c.finalize().into();
    }
    print(&digest)
}

/// The specification's own base 64: groups of three bytes in a fixed permutation, low bits first.
fn print(d: &[u8; 32]) -> [u8; CHARS] {
    let mut out = [0; CHARS];
    let mut at = 0;
    let mut put = |mut v: u32, n: usize| {
        for _ in 0..n {
            out[at] = ALPHABET[(v & 63) as usize];
            at += 1;
            v >>= 6;
        }
    };
    let (mut x, mut y, mut z) = (0usize, 10usize, 20usize);
    for _ in 0..10 {
        put(u32::from(d[x]) << 16 | u32::from(d[y]) << 8 | u32::from(d[z]), 4);
        (x, y, z) = (z + 1, x + 1, y + 1);
    }
    put(u32::from(d[31]) << 8 | u32::from(d[30]), 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `crypt(3)` of glibc prints them (salts up to 16 bytes, where both agree).
    #[test]
    fn agrees_with_crypt_3() {
        let v: [(&str, &str, u32, &str); 3] = [
            ("Hello world!", "saltstring", 5000, "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
            ("Hello world!", "saltstringsaltst", 10_000, "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA"),
            ("This is just a test", "toolongsaltstrin", 5000, "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5"),
        ];
        for (password, salt, rounds, want) in v {
            let got = sha256_crypt(password.as_bytes(), salt.as_bytes(), rounds);
            assert_eq!(String::from_utf8_lossy(&got), want);
        }
    }
}
