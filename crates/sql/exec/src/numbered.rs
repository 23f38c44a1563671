//! Keys, each with a number: 0 for the first that came, then 1, 2, ...: what groups, joins and DISTINCT look up by.
//!
//! An open-addressing table (linear probing, at most half full) of numbers with the hashes of their keys; keys lie back
//! to back in one buffer, so that a key costs no allocation of its own. [`KeyMap`] has integers in the table itself:
//! one look into memory finds them.

use gannet_base::hash::Seed;
use std::hash::BuildHasher;

/// The table.
#[derive(Default)]
pub(crate) struct Numbered {
    seed: Seed,
    /// Number + 1 of a key (0 = free), and its hash. Its length is a power of two.
    slots: Vec<(u32, u32)>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

/// Slots of the first table.
const FIRST: usize = 8;

impl Numbered {
    /// Bytes that a key of a length takes: its own, its end, three slots, and room that vectors have to grow.
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
                self.slots[slot] = (number as u32 + 1, hash);
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
            let (found, its_hash) = self.slots[slot];
            if found == 0 {
                return Err(slot);
            }
            let number = found as usize - 1;
            if its_hash == hash && self.key(number) == key {
                return Ok(number);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        gannet_base::check!(self.len() < u32::MAX as usize / 4, "as many keys as no memory bound allows");
        let size = (self.slots.len() * 2).max(FIRST);
        for (found, hash) in std::mem::replace(&mut self.slots, vec![(0, 0); size]) {
            if found == 0 {
                continue;
            }
            let mut slot = hash as usize & (size - 1);
            while self.slots[slot].0 != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = (found, hash);
        }
    }
}

/// What the bytes of an integer's key begin with; eight bytes follow. Those of several values are longer.
pub(crate) const INTEGER: u8 = 1;
/// The same of a DATE or DATETIME, a TIMESTAMP, a TIME, and of the digits of a DECIMAL whose scale is known.
pub(crate) const DATE: u8 = 4;
pub(crate) const INSTANT: u8 = 5;
pub(crate) const TIME: u8 = 6;
pub(crate) const DECIMAL: u8 = 14;

/// What the bytes of a key of eight bytes begin with: an integer's, a date's, a time's, a DECIMAL's of few digits.
const WORDS: [u8; 5] = [INTEGER, DATE, INSTANT, TIME, DECIMAL];

/// A key of a row.
#[derive(Clone, Copy)]
pub(crate) enum Key<'k> {
    /// One value of eight bytes, and what its bytes begin with.
    Word(u8, i64),
    /// Anything else.
    Bytes(&'k [u8]),
}

impl<'k> Key<'k> {
    /// The key whose bytes `append_domain_key` or `append_value_key` made.
    #[inline]
    pub(crate) fn of(bytes: &'k [u8]) -> Key<'k> {
        if let [tag, word @ ..] = bytes
            && WORDS.contains(tag)
            && let Ok(word) = word.try_into()
        {
            return Key::Word(*tag, i64::from_be_bytes(word));
        }
        Key::Bytes(bytes)
    }

    /// The key of an integer.
    #[inline]
    pub(crate) fn integer(number: i64) -> Key<'k> {
        Key::Word(INTEGER, number)
    }

    /// The bytes that it is the key of.
    pub(crate) fn bytes(self) -> Vec<u8> {
        match self {
            Key::Word(tag, word) => word_bytes(tag, word).to_vec(),
            Key::Bytes(bytes) => bytes.to_vec(),
        }
    }
}

fn word_bytes(tag: u8, word: i64) -> [u8; 9] {
    let mut bytes = [tag; 9];
    bytes[1..].copy_from_slice(&word.to_be_bytes());
    bytes
}

/// What a map has for a key: two numbers. The first is not [`NONE`].
pub(crate) type Pair = (u32, u32);
/// No number.
pub(crate) const NONE: u32 = u32::MAX;

/// Keys, each with two numbers.
#[derive(Default)]
pub(crate) struct KeyMap {
    seed: Seed,
    /// Words and what they have; [`NONE`] = free. Its length is a power of two.
    slots: Vec<(i64, Pair)>,
    words: usize,
    /// What the bytes of all those words begin with; those of other words are among the other keys.
    tag: u8,
    others: Numbered,
    of_others: Vec<Pair>,
}

impl KeyMap {
    /// Bytes that a key takes: a word three slots, and room to grow.
    pub(crate) fn cost(key: Key<'_>) -> usize {
        match key {
            Key::Word(..) => 3 * size_of::<(i64, Pair)>(),
            Key::Bytes(key) => Numbered::cost(key.len()) + size_of::<Pair>(),
        }
    }

    /// Bytes that all keys take.
    pub(crate) fn held(&self) -> usize {
        self.words * KeyMap::cost(Key::integer(0)) + self.others.held() + self.of_others.len() * size_of::<Pair>()
    }

    /// What a key has.
    #[inline]
    pub(crate) fn get(&self, key: Key<'_>) -> Option<Pair> {
        match key {
            Key::Word(..) if self.slots.is_empty() => None,
            Key::Word(tag, key) if tag == self.tag => {
                let (_, found) = self.slots[self.slot(key)];
                (found.0 != NONE).then_some(found)
            }
            Key::Word(tag, key) => self.get(Key::Bytes(&word_bytes(tag, key))),
            Key::Bytes(key) => self.others.get(key).map(|number| self.of_others[number]),
        }
    }

    /// What a key has, which is `new` if the key is: then true.
    #[inline]
    pub(crate) fn entry(&mut self, key: Key<'_>, new: Pair) -> (&mut Pair, bool) {
        match key {
            Key::Word(tag, key) if tag == self.tag || self.words == 0 => {
                self.tag = tag;
                if (self.words + 1) * 2 > self.slots.len() {
                    self.grow();
                }
                let slot = self.slot(key);
                let is_new = self.slots[slot].1.0 == NONE;
                if is_new {
                    self.slots[slot] = (key, new);
                    self.words += 1;
                }
                (&mut self.slots[slot].1, is_new)
            }
            Key::Word(tag, key) => self.entry(Key::Bytes(&word_bytes(tag, key)), new),
            Key::Bytes(key) => {
                let (number, is_new) = self.others.insert(key);
                if is_new {
                    self.of_others.push(new);
                }
                (&mut self.of_others[number], is_new)
            }
        }
    }

    /// The slot of a word, or the free one where it belongs.
    #[inline]
    fn slot(&self, key: i64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.seed.hash_one(key) as usize & mask;
        while self.slots[slot].1.0 != NONE && self.slots[slot].0 != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(FIRST / 2);
        for entry in std::mem::replace(&mut self.slots, vec![(0, (NONE, NONE)); size]) {
            if entry.1.0 != NONE {
                let slot = self.slot(entry.0);
                self.slots[slot] = entry;
            }
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

    #[test]
    fn a_map_has_the_numbers_of_integers_and_other_keys() {
        let mut map = KeyMap::default();
        let mut model = std::collections::HashMap::new();
        let bytes = |n: i64| Key::integer(n).bytes();
        for n in 0..20_000u32 {
            // Integers, some by their bytes, and keys that are none: words of another kind, keys of a tag that no word
            // has, and longer ones.
            let key = i64::from(n * 7919 % 3001) * if n % 2 == 0 { 1 << 40 } else { -1 };
            let bytes = match n % 4 {
                0 | 1 => bytes(key),
                2 => [&[if n % 3 == 0 { DATE } else { 13 }][..], &key.to_be_bytes()].concat(),
                _ => [bytes(key), bytes(key)].concat(),
            };
            let key = if n % 8 == 0 { Key::integer(key) } else { Key::of(&bytes) };
            let expected = model.get(&bytes).copied();
            assert_eq!(map.get(key), expected, "{n}");
            let (pair, new) = map.entry(key, (n, 0));
            assert_eq!(new, expected.is_none(), "{n}");
            pair.1 += 1;
            assert_eq!(*pair, expected.map_or((n, 1), |(first, seen)| (first, seen + 1)), "{n}");
            model.insert(bytes, *pair);
        }
        assert!(map.words > 2000 && map.others.len() > 2000);
        assert_eq!((map.get(Key::integer(i64::MIN)), map.get(Key::Bytes(&[0]))), (None, None));
    }
}
