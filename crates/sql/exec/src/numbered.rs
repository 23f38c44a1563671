//! Keys, each with a number: 0 for the first that came, then 1, 2, ...: what groups, joins and DISTINCT look up by.
//!
//! An open-addressing table (linear probing, at most half full) of numbers; keys lie back to back in one buffer with
//! their hashes beside, so that a key costs no allocation of its own.

use gannet_base::hash::Seed;
use std::hash::BuildHasher;

/// The table.
#[derive(Default)]
pub(crate) struct Numbered {
    seed: Seed,
    /// Number + 1 of a key, 0 = free. Its length is a power of two.
    slots: Vec<u32>,
    hashes: Vec<u32>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

/// Slots of the first table.
const FIRST: usize = 16;

impl Numbered {
    /// Bytes that a key of a length takes: its own, its end and hash, four slots, and room that vectors have to grow.
    pub(crate) const fn cost(len: usize) -> usize {
        len + 40
    }

    /// Bytes that all keys take.
    pub(crate) fn held(&self) -> usize {
        self.bytes.len() + self.len() * Numbered::cost(0)
    }

    /// Whether a key is there.
    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A key by its number.
    #[inline]
    pub(crate) fn key(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    /// The number of a key.
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Option<usize> {
        if self.slots.is_empty() { None } else { self.find(key, self.hash(key)).ok() }
    }

    /// The number of a key, which is new, or was there.
    #[inline]
    pub(crate) fn insert(&mut self, key: &[u8]) -> (usize, bool) {
        if (self.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let hash = self.hash(key);
        match self.find(key, hash) {
            Ok(number) => (number, false),
            Err(slot) => {
                let number = self.len();
                self.bytes.extend_from_slice(key);
                self.ends.push(self.bytes.len());
                self.hashes.push(hash);
                self.slots[slot] = number as u32 + 1;
                (number, true)
            }
        }
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u32 {
        let hash = self.seed.hash_one(key);
        (hash ^ hash >> 32) as u32
    }

    /// Number of the key, or the free slot where it belongs.
    #[inline]
    fn find(&self, key: &[u8], hash: u32) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                found => {
                    let number = found as usize - 1;
                    if self.hashes[number] == hash && self.key(number) == key {
                        return Ok(number);
                    }
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        gannet_base::check!(self.len() < u32::MAX as usize / 4, "as many keys as no memory bound allows");
        let size = (self.slots.len() * 2).max(FIRST);
        self.slots.clear();
        self.slots.resize(size, 0);
        for (number, hash) in self.hashes.iter().enumerate() {
            let mut slot = *hash as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = number as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_numbers_in_which_they_came() {
        let mut table = Numbered::default();
        assert_eq!(table.get(b"a"), None);
        let keys: Vec<String> = (0..10_000).map(|n| format!("{}", n * 7919 % 10_007)).collect();
        for (n, key) in keys.iter().enumerate() {
            assert_eq!(table.insert(key.as_bytes()), (n, true), "{key}");
        }
        for (n, key) in keys.iter().enumerate() {
            assert_eq!(table.insert(key.as_bytes()), (n, false));
            assert_eq!((table.get(key.as_bytes()), table.key(n)), (Some(n), key.as_bytes()));
        }
        assert_eq!((table.len(), table.get(b"none"), table.get(b"")), (10_000, None, None));
        assert_eq!((table.insert(b""), table.get(b"")), ((10_000, true), Some(10_000)));
    }
}
