//! Entries that come in groups: their keys begin with the group's, and those of one group come in order. So nothing is
//! sorted but the groups.
//!
//! The entries of a group lie in pieces, each longer than the one before:
//!
//! ```text
//! piece   entries; if there is another piece: u8 0, u32 where it begins
//! entry   varint 1 + length of the rest of its key, varint length of the value, both
//! ```

use gannet_base::Reader;

/// Bytes of a group's first piece.
const FIRST: u32 = 24;
/// Of the longest.
const LONGEST: u32 = 4096;
/// What leads to the next piece.
const LINK: u32 = 1 + 4;

/// Where a group's entries lie.
#[derive(Clone, Copy, Default)]
struct Pieces {
    first: u32,
    /// Where the next entry goes.
    at: u32,
    /// Where the last piece ends, and how long that is.
    end: u32,
    len: u32,
}

/// A group's key: its first bytes, which decide most comparisons, and where it lies.
#[derive(Clone, Copy)]
struct Key {
    head: u64,
    at: u32,
    len: u32,
    group: u32,
}

/// Groups and their entries.
#[derive(Default)]
pub(super) struct Groups {
    /// By their numbers, apart from the keys: an entry looks for nothing else.
    pieces: Vec<Pieces>,
    names: Vec<Key>,
    keys: Vec<u8>,
    bytes: Vec<u8>,
}

impl Groups {
    /// Adds a group: its number.
    pub(super) fn add(&mut self, key: &[u8]) -> u32 {
        let (group, at) = (self.names.len() as u32, self.keys.len() as u32);
        self.keys.extend_from_slice(key);
        self.names.push(Key { head: head(key), at, len: key.len() as u32, group });
        self.pieces.push(Pieces::default());
        group
    }

    /// Adds an entry behind those of the group.
    pub(super) fn push(&mut self, group: u32, rest: &[u8], value: &[u8]) {
        let group = &mut self.pieces[group as usize];
        // A length takes five bytes at most: what is in memory is bounded.
        let most = (rest.len() + value.len()) as u32 + 2 * 5 + LINK;
        if group.end - group.at < most {
            let start = self.bytes.len() as u32;
            if group.len == 0 {
                group.first = start;
            } else {
                let at = group.at as usize;
                self.bytes[at] = 0;
                self.bytes[at + 1..at + LINK as usize].copy_from_slice(&start.to_le_bytes());
            }
            group.len = (group.len * 3 / 2).clamp(FIRST, LONGEST).max(most);
            (group.at, group.end) = (start, start + group.len);
            self.bytes.resize(group.end as usize, 0);
        }
        let mut at = group.at as usize;
        put_len(rest.len() + 1, &mut self.bytes, &mut at);
        put_len(value.len(), &mut self.bytes, &mut at);
        for part in [rest, value] {
            self.bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        group.at = at as u32;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Bytes of memory.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.keys.len() + self.names.len() * (size_of::<Pieces>() + size_of::<Key>())
    }

    fn key(&self, name: &Key) -> &[u8] {
        &self.keys[name.at as usize..][..name.len as usize]
    }

    /// All entries in the order of their keys.
    pub(super) fn sorted(mut self) -> Sorted {
        let mut names = std::mem::take(&mut self.names);
        names.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| self.key(a).cmp(self.key(b))));
        self.names = names;
        Sorted { groups: self, next: 0, at: 0, end: 0, key: Vec::new(), head: 0, value: (0, 0) }
    }
}

/// The first bytes as a number that compares as they do; missing ones are zero.
pub(super) fn head(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => bytes.iter().enumerate().fold(0, |h, (i, b)| h | u64::from(*b) << (56 - 8 * i)),
    }
}

fn put_len(len: usize, bytes: &mut [u8], at: &mut usize) {
    let mut rest = len;
    while rest >= 0x80 {
        bytes[*at] = rest as u8 | 0x80;
        (*at, rest) = (*at + 1, rest >> 7);
    }
    bytes[*at] = rest as u8;
    *at += 1;
}

/// Goes over entries in the order of their keys.
pub(super) struct Sorted {
    groups: Groups,
    /// The next group.
    next: usize,
    /// Where the next entry of this one lies, and where its last one ends.
    at: usize,
    end: usize,
    /// The entry's key, and how much of it is the group's.
    key: Vec<u8>,
    head: usize,
    value: (usize, usize),
}

impl Sorted {
    /// Goes to the next entry; false: there is none.
    pub(super) fn advance(&mut self) -> bool {
        while self.at == self.end {
            let Some(name) = self.groups.names.get(self.next) else { return false };
            self.next += 1;
            let Pieces { first, at, .. } = self.groups.pieces[name.group as usize];
            (self.at, self.end) = (first as usize, at as usize);
            self.key.clear();
            self.key.extend_from_slice(self.groups.key(name));
            self.head = self.key.len();
        }
        if self.groups.bytes[self.at] == 0 {
            let link = self.groups.bytes[self.at + 1..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
            self.at = link as usize;
        }
        let bytes = &self.groups.bytes[self.at..];
        let mut r = Reader::new(bytes);
        // Written by `push`.
        let rest = r.varint().unwrap_or(1) as usize - 1;
        let value = r.varint().unwrap_or(0) as usize;
        let from = self.at + bytes.len() - r.remaining();
        self.key.truncate(self.head);
        self.key.extend_from_slice(&self.groups.bytes[from..from + rest]);
        self.value = (from + rest, from + rest + value);
        self.at = self.value.1;
        true
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.groups.bytes[self.value.0..self.value.1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_groups_come_in_order() {
        let mut groups = Groups::default();
        let words = ["pear", "apple", "fig", "zucchini", "longer than eight b", "longer than eight a", "none"];
        let mut expect: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for word in words {
            groups.add(word.as_bytes());
        }
        for i in 0..5000_u32 {
            let group = (i * i % 7 + i % 2).min(5);
            let (rest, value) = (i.to_be_bytes(), vec![i as u8; if i % 900 == 0 { 5000 } else { i as usize % 9 }]);
            groups.push(group, &rest, &value);
            expect.push(([words[group as usize].as_bytes(), &rest].concat(), value));
        }
        expect.sort();
        let (mut sorted, mut got) = (groups.sorted(), Vec::new());
        while sorted.advance() {
            got.push((sorted.key().to_vec(), sorted.value().to_vec()));
        }
        assert!(got == expect);
        assert!(!Groups::default().sorted().advance());
    }
}
