//! A compressed set of keys. Neighbouring keys lie in a block, and each key but the first is stored without the bytes
//! that it shares with the key before. Keys that are numbers take 3 to 4 bytes each.
//!
//! A block: for each key `bytes shared, length of the rest, rest`, the numbers as varints.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use gannet_base::{Reader, Writer};

/// Keys in a block. To find a key costs decoding half of them.
const MOST_KEYS: usize = 128;
/// About how much memory a block takes beside its bytes.
const BLOCK_BYTES: usize = 96;

/// A compressed set of keys; the module's documentation has the format.
#[derive(Default)]
pub(crate) struct Keys {
    /// Blocks by their first key, which is not repeated in the block.
    blocks: BTreeMap<Box<[u8]>, Box<[u8]>>,
    bytes: usize,
}

/// Calls `f` for all keys of a block in order, until it returns false.
fn each(first: &[u8], block: &[u8], mut f: impl FnMut(&[u8]) -> bool) {
    let (mut key, mut r) = (first.to_vec(), Reader::new(block));
    while f(&key) {
        let Ok(shared) = r.varint() else { return };
        let rest = r.varint().and_then(|n| r.bytes(n as usize));
        key.truncate(shared as usize);
        key.extend_from_slice(rest.unwrap_or_default());
    }
}

impl Keys {
    /// About how much memory the keys take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The block in which a key is, or would be.
    fn block_of(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        let found = self.blocks.range::<[u8], _>((Unbounded, Included(key))).next_back();
        found.map(|(first, block)| (&**first, &**block))
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let mut found = false;
        if let Some((first, block)) = self.block_of(key) {
            each(first, block, |k| {
                found = k == key;
                k < key
            });
        }
        found
    }

    /// Calls `f` for all keys in order, until it returns false.
    pub(crate) fn each(&self, mut f: impl FnMut(&[u8]) -> bool) {
        let mut more = true;
        for (first, block) in &self.blocks {
            each(first, block, |k| {
                more = f(k);
                more
            });
            if !more {
                return;
            }
        }
    }

    /// Takes the block out and returns its keys.
    fn take(&mut self, first: &[u8]) -> Vec<Box<[u8]>> {
        let Some((first, block)) = self.blocks.remove_entry(first) else { return Vec::new() };
        self.bytes -= BLOCK_BYTES + first.len() + block.len();
        let mut keys = Vec::new();
        each(&first, &block, |k| {
            keys.push(k.into());
            true
        });
        keys
    }

    fn put(&mut self, keys: &[Box<[u8]>]) {
        let Some(first) = keys.first() else { return };
        let mut block = Vec::new();
        for pair in keys.windows(2) {
            let shared = pair[0].iter().zip(&pair[1][..]).take_while(|(a, b)| a == b).count();
            let rest = &pair[1][shared..];
            Writer::new(&mut block).varint(shared as u64).varint(rest.len() as u64).bytes(rest);
        }
        self.bytes += BLOCK_BYTES + first.len() + block.len();
        self.blocks.insert(first.clone(), block.into());
    }

    /// Adds keys in ascending order. Returns how many keys were encoded for that.
    pub(crate) fn add(&mut self, mut keys: &[Box<[u8]>]) -> usize {
        let mut encoded = 0;
        while let Some(first) = keys.first() {
            let next = self.blocks.range::<[u8], _>((Excluded(&first[..]), Unbounded)).next().map(|b| &b.0[..]);
            let (here, beyond) = keys.split_at(keys.partition_point(|k| next.is_none_or(|next| k[..] < *next)));
            let block = self.block_of(first).map(|b| b.0.to_vec());
            let mut all = block.map_or_else(Vec::new, |block| self.take(&block));
            all.extend_from_slice(here);
            all.sort_unstable();
            all.dedup();
            encoded += all.len();
            let each = all.len().div_ceil(all.len().div_ceil(MOST_KEYS));
            all.chunks(each).for_each(|some| self.put(some));
            keys = beyond;
        }
        encoded
    }

    /// Removes a key. False if the set does not have it.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        if !self.contains(key) {
            return false;
        }
        let Some(block) = self.block_of(key).map(|b| b.0.to_vec()) else { return false };
        let mut keys = self.take(&block);
        keys.retain(|k| **k != *key);
        self.put(&keys);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn is_a_set() {
        let mut random = 88_172_645_463_325_252u64;
        let mut next = move |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % n
        };
        for spread in [500, 5_000, u64::MAX] {
            let (mut keys, mut model) = (Keys::default(), BTreeSet::<Box<[u8]>>::new());
            let key = |next: &mut dyn FnMut(u64) -> u64| -> Box<[u8]> {
                let k = next(spread).to_be_bytes();
                k[..if next(10) == 0 { next(9) as usize } else { 8 }].into()
            };
            for _ in 0..60 {
                let some: BTreeSet<Box<[u8]>> = (0..next(300)).map(|_| key(&mut next)).collect();
                let sorted: Vec<_> = some.iter().cloned().collect();
                assert!(keys.add(&sorted) >= sorted.len());
                model.extend(some);
                for _ in 0..100 {
                    let k = key(&mut next);
                    assert_eq!(keys.contains(&k), model.contains(&k));
                    if next(2) == 0 {
                        assert_eq!(keys.remove(&k), model.remove(&k));
                    }
                }
                let mut all = Vec::new();
                keys.each(|k| {
                    all.push(k.into());
                    true
                });
                assert!(model.iter().eq(&all));
            }
            while let Some(k) = model.pop_first() {
                assert!(keys.remove(&k) && !keys.contains(&k));
            }
            assert!(keys.blocks.is_empty() && keys.bytes() == 0);
        }
    }

    #[test]
    fn neighbours_take_little() {
        let mut keys = Keys::default();
        for batch in 0..100u32 {
            let some: Vec<Box<[u8]>> = (0..1000).map(|i| (batch * 1000 + i).to_be_bytes()[..].into()).collect();
            assert!(keys.add(&some) < 1200);
        }
        assert!(keys.bytes() < 100_000 * 5, "{}", keys.bytes());
    }
}
