//! The hash of values that MySQL's KEY partitioning shows to the world (manual, "KEY Partitioning"): which part a row
//! is in can be seen. Equal texts have equal hashes.

use super::{Algorithm, Collation, Order, Uca, general};
use crate::charset::Charset;

/// Of a row's values, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct RowHash {
    sum: u64,
    step: u64,
}

impl Default for RowHash {
    fn default() -> Self {
        RowHash { sum: 1, step: 4 }
    }
}

impl RowHash {
    fn add(&mut self, unit: u64) {
        let mixed = (self.sum & 63).wrapping_add(self.step).wrapping_mul(unit);
        self.sum ^= mixed.wrapping_add(self.sum << 8);
        self.step = self.step.wrapping_add(3);
    }

    /// NULL.
    pub fn null(&mut self) {
        self.sum ^= self.sum << 1 | 1;
    }

    /// A value as bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.add(u64::from(*b)));
    }

    /// The low 32 bits.
    pub fn finish(self) -> u32 {
        self.sum as u32
    }
}

impl Collation {
    /// Adds a text to a hash as MySQL does. `chars` is the length of its CHAR column, whose spaces count where the
    /// collation does not pad.
    pub fn hash_as_mysql(&self, text: &[u8], chars: Option<usize>, hash: &mut RowHash) {
        let trimmed = self.charset.trim_end(text);
        match (self.charset, self.algorithm) {
            // Both orders have the hash of the one that knows no case.
            (Charset::Utf32, Algorithm::CodePoints | Algorithm::General) => {
                general(self.charset, trimmed).for_each(|w| hash.bytes(&u32::from(w).to_be_bytes()));
            }
            (_, Algorithm::CodePoints) | (Charset::Utf8mb4, Algorithm::Bytes) => hash.bytes(trimmed),
            (_, Algorithm::Coded(_, t)) => trimmed.iter().for_each(|b| hash.add(u64::from(t[usize::from(*b)]))),
            (_, Algorithm::Uca(Uca::V900 | Uca::V900For(_), _)) if let Some(chars) = chars => {
                // MySQL fills up the bytes of the column. It thereby parts equal letters of one and of two bytes, so
                // that a unique key has both. Here what is filled up is weights: as many for equal texts, and a byte
                // each for ASCII.
                let mut weights = 0;
                self.for_weights(trimmed, |_| weights += 1);
                let mut padded = trimmed.to_vec();
                padded.resize(trimmed.len() + (chars * 4).saturating_sub(weights), b' ');
                self.hash_into(&padded, hash);
            }
            _ => self.hash_into(text, hash),
        }
    }

    /// Adds a text to a hash.
    pub fn hash_into(&self, text: &[u8], hash: &mut RowHash) {
        let text = self.significant(text);
        match self.algorithm {
            Algorithm::Bytes => hash.bytes(text),
            Algorithm::Uca(Uca::V900 | Uca::V900For(_), _) => {
                // Fowler, Noll and Vo's hash of the weights of all levels.
                let mut key = Vec::with_capacity(text.len() * 2);
                self.sort_key(text, &mut key);
                let start = hash.sum ^ 0xcbf2_9ce4_8422_2325;
                hash.sum = key.chunks_exact(2).fold(start, |sum, pair| {
                    (sum ^ u64::from(u16::from_be_bytes([pair[0], pair[1]]))).wrapping_mul(0x100_0000_01b3)
                });
            }
            Algorithm::Uca(..) => self.for_weights(text, |w| {
                hash.add(u64::from(w >> 8));
                hash.add(u64::from(w & 0xff));
            }),
            // Each byte as if it were a character. Equal characters are one, but for case: so are their hashes.
            Algorithm::Multi(t) | Algorithm::Coded(Order::Gbk, t) => {
                text.iter().for_each(|b| hash.add(u64::from(t[usize::from(*b)])));
            }
            _ if self.byte_weights() => self.for_weights(text, |w| hash.add(u64::from(w))),
            _ => self.for_weights(text, |w| {
                hash.add(u64::from(w & 0xff));
                hash.add(u64::from(w >> 8));
            }),
        }
    }
}
