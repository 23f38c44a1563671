//! B+tree nodes: leaves and inner nodes share one slotted format.
//!
//! After the common header, little-endian:
//!
//! | offset | type | what |
//! |---|---|---|
//! | 32 | u16 | level: 0 = leaf |
//! | 34 | u16 | count of slots |
//! | 36 | u16 | heap start: lowest used byte of the heap, which grows down from the prefix |
//! | 38 | u16 | garbage: dead bytes inside the heap |
//! | 40 | u16 | prefix length: the prefix common to all keys is stored at the page's end |
//! | 42 | u16 | position of the last insert + 1, 0 = none |
//! | 44 | i16 | run: consecutive inserts each right after (> 0) or right before (< 0) the one before |
//! | 46 | u16 | zero |
//! | 48 | u64 | inner: leftmost child. Leaf: zero |
//! | 56 | u64 | zero |
//! | 64 | slots | 8 bytes each, in key order |
//!
//! Slot, from the lowest bit: 32 bits head (the first four bytes of the key after the prefix as a big-endian number,
//! missing ones zero), 14 bits distance of the heap entry from the page's end, 13 bits suffix length, 5 bits value
//! length, 31 = it is in the heap. Heap entry: suffix (key without prefix), `u16 value length` if the slot does not
//! have it, value.
//!
//! Leaf: value = the entry's payload. Inner: value = `u64` child that holds the keys from this separator up to the next
//! one; keys below the first separator are in the leftmost child.
//!
//! A node stores no fence keys: its bounds are the separators on the path to it, which a descent knows. (Stored fences
//! would take up to two keys of space, and then two entries with keys of [`MAX_KEY`] bytes could not share a page.)
//! All keys within the bounds begin with the bounds' common prefix, so a search skips it without comparing.

use std::cmp::Ordering;

use gannet_base::{PAGE_SIZE, PageNo};

use crate::bytes::be_word;
use crate::header::{OWNER, PAGE_NO, TYPE};
use crate::{Corrupt, PageBytes, PageType};

pub(crate) const LEVEL: usize = 32;
pub(crate) const COUNT: usize = 34;
pub(crate) const HEAP: usize = 36;
pub(crate) const GARBAGE: usize = 38;
pub(crate) const PREFIX: usize = 40;
pub(crate) const LAST: usize = 42;
pub(crate) const RUN: usize = 44;
pub(crate) const LEFTMOST: usize = 48;
/// Offset of the first slot.
pub const SLOTS: usize = 64;
/// Bytes of a slot.
pub const SLOT: usize = 8;
/// Bytes of a value length in the heap.
pub const LENGTH: usize = 2;
/// The least value length that does not fit a slot.
pub const LONG: usize = 31;
/// Bytes for prefix, slots and entries.
pub const SPACE: usize = PAGE_SIZE - SLOTS;
/// Slots a node can have at most.
pub const MAX_SLOTS: usize = SPACE / SLOT;
/// Longest key in bytes.
pub const MAX_KEY: usize = 7168;
/// Most bytes of key and value together: two such entries fit a node.
pub const MAX_ENTRY: usize = SPACE / 2 - SLOT - LENGTH;
/// Deepest level a node can have; a tree that high would not fit any disk.
pub const MAX_LEVEL: usize = 32;

const _: () = assert!(2 * (MAX_ENTRY + SLOT + LENGTH) <= SPACE && MAX_KEY + 8 <= MAX_ENTRY);
const _: () = assert!(SPACE < 1 << 14 && MAX_KEY < 1 << 13 && LONG == (1 << 5) - 1);

/// Bytes an entry takes in a node, its slot included.
#[inline]
pub const fn entry_space(suffix: usize, value: usize) -> usize {
    SLOT + heap_space(suffix, value)
}

/// Bytes an entry takes in the heap.
#[inline]
pub(crate) const fn heap_space(suffix: usize, value: usize) -> usize {
    suffix + value + if value < LONG { 0 } else { LENGTH }
}

/// The slot of an entry.
#[inline]
pub(crate) fn slot(head: u32, at: usize, suffix: usize, value: usize) -> u64 {
    u64::from(head) | ((PAGE_SIZE - at) as u64) << 32 | (suffix as u64) << 46 | (value.min(LONG) as u64) << 59
}

/// Where a slot says that its heap entry lies.
#[inline]
pub(crate) fn slot_at(slot: u64) -> usize {
    PAGE_SIZE - ((slot >> 32) as usize & 0x3fff)
}

/// The suffix length that a slot says.
#[inline]
pub(crate) fn slot_suffix(slot: u64) -> usize {
    (slot >> 46) as usize & 0x1fff
}

/// The value length that a slot says; [`LONG`]: the heap says it.
#[inline]
pub(crate) fn slot_value(slot: u64) -> usize {
    (slot >> 59) as usize
}

/// Where the heap entry at an offset is after it was moved there.
#[inline]
pub(crate) fn moved(slot: u64, at: usize) -> u64 {
    slot & !(0x3fff << 32) | ((PAGE_SIZE - at) as u64) << 32
}

/// The head of a key suffix: see the module's table.
#[inline]
pub fn head(suffix: &[u8]) -> u32 {
    match suffix.first_chunk::<4>() {
        Some(four) => u32::from_be_bytes(*four),
        None => suffix.iter().enumerate().fold(0, |h, (i, &b)| h | (b as u32) << (24 - 8 * i)),
    }
}

/// Bytes of a head.
const HEAD_BYTES: usize = 4;

/// Entries that are moved together at little cost.
const FEW: usize = 16;

/// Length of the common prefix.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    for (x, y) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        match word(x) ^ word(y) {
            0 => at += 8,
            differs => return at + differs.trailing_zeros() as usize / 8,
        }
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}

/// Length of the common suffix.
#[inline]
pub fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    for (x, y) in a.rchunks_exact(8).zip(b.rchunks_exact(8)) {
        match word(x) ^ word(y) {
            0 => at += 8,
            differs => return at + differs.leading_zeros() as usize / 8,
        }
    }
    let (a, b) = (&a[..a.len() - at], &b[..b.len() - at]);
    at + a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
}

/// Eight bytes, the first one lowest.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// The shortest `s` with `left < s <= right`, as a prefix of `right`. Needs `left < right`.
pub fn separator<'a>(left: &[u8], right: &'a [u8]) -> &'a [u8] {
    &right[..(common_prefix(left, right) + 1).min(right.len())]
}

/// Where a value or suffix lies in the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub at: usize,
    /// Length in bytes.
    pub len: usize,
}

/// One entry's place: suffix, then value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EntrySpan {
    /// The key without the node's prefix.
    pub suffix: Span,
    /// The value.
    pub value: Span,
}

impl EntrySpan {
    /// Offset of the heap entry.
    pub(crate) fn at(&self) -> usize {
        self.suffix.at
    }

    /// Bytes of the heap entry.
    pub(crate) fn size(&self) -> usize {
        heap_space(self.suffix.len, self.value.len)
    }
}

/// Reading a node. Over a racing page every result must be validated before it is believed; offsets are clamped.
#[derive(Debug)]
pub struct Node<'a, P: PageBytes + ?Sized>(pub &'a P);

impl<P: PageBytes + ?Sized> Clone for Node<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: PageBytes + ?Sized> Copy for Node<'_, P> {}

impl<'a, P: PageBytes + ?Sized> Node<'a, P> {
    /// Whether the page says that it is a node.
    #[inline]
    pub fn is_node(self) -> bool {
        self.0.u8_at(TYPE) == PageType::Node as u8
    }

    /// The tree the node belongs to.
    #[inline]
    pub fn owner(self) -> u64 {
        self.0.u64_at(OWNER)
    }

    /// The page's own number.
    #[inline]
    pub fn page_no(self) -> PageNo {
        PageNo(self.0.u64_at(PAGE_NO))
    }

    /// Height above the leaves; 0 is a leaf.
    #[inline]
    pub fn level(self) -> usize {
        self.0.u16_at(LEVEL) as usize
    }

    /// Number of slots, clamped to [`MAX_SLOTS`].
    #[inline]
    pub fn count(self) -> usize {
        (self.0.u16_at(COUNT) as usize).min(MAX_SLOTS)
    }

    /// Length of the prefix that the stored keys lack.
    #[inline]
    pub fn prefix_len(self) -> usize {
        (self.0.u16_at(PREFIX) as usize).min(SPACE)
    }

    /// Where the prefix is.
    #[inline]
    pub fn prefix(self) -> Span {
        let len = self.prefix_len();
        Span { at: PAGE_SIZE - len, len }
    }

    /// Bytes free for new entries, slots included (a compaction may be needed to use them).
    #[inline]
    pub fn free_space(self) -> usize {
        self.open_space() + self.0.u16_at(GARBAGE) as usize
    }

    /// The part of them between slots and heap.
    #[inline]
    fn open_space(self) -> usize {
        (self.0.u16_at(HEAP) as usize).saturating_sub(SLOTS + SLOT * self.count())
    }

    /// Has room for `need` bytes more by an entry of `whole` bytes, and is not better split: where entries must be
    /// moved together for it and little would be free afterwards, the next entry would have to do so again (InnoDB's
    /// limit is a 32nd of the page, too).
    #[inline]
    pub fn takes(self, need: usize, whole: usize) -> bool {
        let open = self.open_space();
        let left = if self.count() < FEW { 0 } else { SPACE / 32 };
        whole <= open || need + left <= open + self.0.u16_at(GARBAGE) as usize
    }

    /// Bytes in use by prefix, slots and live entries.
    pub fn used_space(self) -> usize {
        SPACE.saturating_sub(self.free_space())
    }

    /// What [`Node::search_new`], and an insert of a short entry, will touch behind the header: slots, of which the
    /// last is enough for an ascending key, and the end of the heap.
    pub fn insert_touches(self) -> [std::ops::Range<usize>; 2] {
        let (count, heap) = (self.count(), self.0.u16_at(HEAP) as usize);
        // The search begins at the last slot of the lower half.
        let first = if self.ascends() { count } else { count / 2 }.saturating_sub(1);
        [SLOTS + SLOT * first..SLOTS + SLOT * (count + 1), heap.saturating_sub(128)..heap]
    }

    /// The last keys came in ascending order.
    #[inline]
    fn ascends(self) -> bool {
        self.insert_run().1 > 0
    }

    /// Where a search looks first: slots in the middle, and at a quarter and three quarters.
    pub fn search_touches(self) -> [std::ops::Range<usize>; 3] {
        let count = self.count();
        [count / 2, count / 4, count * 3 / 4].map(|slot| {
            let at = SLOTS + SLOT * slot.saturating_sub(1);
            at..at + SLOT
        })
    }

    /// Position of the last insert and the run's length: > 0 ascending, < 0 descending.
    pub fn insert_run(self) -> (Option<usize>, i16) {
        let last = self.0.u16_at(LAST) as usize;
        (last.checked_sub(1), self.0.u16_at(RUN) as i16)
    }

    /// Where entry `i` lies. Clamped: over stable, checked pages it is exact.
    #[inline]
    pub fn entry(self, i: usize) -> EntrySpan {
        let slot = self.0.u64_at(SLOTS + SLOT * i.min(MAX_SLOTS - 1));
        let at = slot_at(slot);
        let suffix = Span { at, len: slot_suffix(slot).min(PAGE_SIZE - at) };
        let (mut value_at, mut len) = (at + suffix.len, slot_value(slot));
        if len == LONG {
            value_at = value_at.min(PAGE_SIZE - LENGTH);
            len = self.0.u16_at(value_at) as usize;
            value_at += LENGTH;
        }
        EntrySpan { suffix, value: Span { at: value_at, len: len.min(PAGE_SIZE - value_at) } }
    }

    /// From the lowest to the highest heap byte of some entries. Clamped as [`Node::entry`] is.
    #[inline]
    pub fn extent(self, entries: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let (mut low, mut high, mut last) = (PAGE_SIZE, 0, 0);
        for i in entries {
            let at = slot_at(self.0.u64_at(SLOTS + SLOT * i.min(MAX_SLOTS - 1)));
            low = low.min(at);
            if at >= high {
                (high, last) = (at, i);
            }
        }
        // Entries do not overlap: the one that begins last ends last.
        let value = self.entry(last).value;
        low..(value.at + value.len).max(low)
    }

    /// The head and the suffix that a key has in this node.
    #[inline]
    fn wanted(self, key: &[u8]) -> (u32, &[u8]) {
        let suffix = key.get(self.prefix_len()..).unwrap_or_default();
        let wanted = match key.last_chunk::<4>() {
            // Most keys are longer than a head, and their suffix in a node is shorter: its bytes are in one load.
            Some(last) if suffix.len() < 4 => {
                ((u64::from(u32::from_be_bytes(*last))) << (32 - 8 * suffix.len())) as u32
            }
            _ => head(suffix),
        };
        (wanted, suffix)
    }

    /// As [`Node::search`], for a key that is to be inserted: where keys ascend, the last slot is looked at first, and
    /// most often alone. In a node that has left the caches it is one line of some.
    #[inline]
    pub fn search_new(self, key: &[u8]) -> (usize, bool) {
        let count = self.count();
        if count > 0 && self.ascends() {
            let (wanted, suffix) = self.wanted(key);
            let last = self.0.word(SLOTS / 8 + count - 1);
            if (last as u32).cmp(&wanted).then_with(|| self.compare_suffix(last, suffix)).is_lt() {
                return (count, false);
            }
        }
        self.search(key)
    }

    /// As [`Node::search`], for a key above that of slot `pos`: where such keys come in order, it is most often the
    /// next one.
    #[inline]
    pub fn search_behind(self, pos: usize, key: &[u8]) -> (usize, bool) {
        let next = pos + 1;
        let (wanted, suffix) = self.wanted(key);
        if next < self.count() {
            let slot = self.0.word(SLOTS / 8 + next);
            if (slot as u32).cmp(&wanted).then_with(|| self.compare_suffix(slot, suffix)).is_le() {
                return self.search(key);
            }
        }
        debug_assert_eq!(self.search(key), (next, false), "a key is not above the one before it");
        (next, false)
    }

    /// First slot whose key is not less than `key`, and whether it is equal. `key` is a whole key within the node's
    /// bounds.
    #[inline]
    pub fn search(self, key: &[u8]) -> (usize, bool) {
        let (wanted, suffix) = self.wanted(key);
        let head_at = |slot: usize| self.0.word(SLOTS / 8 + slot) as u32;
        // The first slot whose head is not less: in `low ..= low + size`. In which half it is nobody can predict, so
        // that is computed and no branch.
        let (mut low, mut size) = (0, self.count());
        let mut high = size;
        while size > 1 {
            let half = size / 2;
            let less = head_at(low + half - 1) < wanted;
            low = std::hint::select_unpredictable(less, low + half, low);
            size -= half;
        }
        low += usize::from(size == 1 && head_at(low) < wanted);
        // The rest decides among those with the same head, of which there is one at most in most nodes.
        let mut mid = low;
        while low < high {
            let slot = self.0.word(SLOTS / 8 + mid);
            match (slot as u32).cmp(&wanted).then_with(|| self.compare_suffix(slot, suffix)) {
                Ordering::Less => low = mid + 1,
                Ordering::Greater => high = mid,
                Ordering::Equal => return (mid, true),
            }
            mid = (low + high) / 2;
        }
        (low, false)
    }

    /// Compares a suffix with another when their heads are equal.
    #[inline]
    fn compare_suffix(self, slot: u64, suffix: &[u8]) -> Ordering {
        let len = slot_suffix(slot);
        if len <= HEAD_BYTES || suffix.len() <= HEAD_BYTES {
            // Equal heads: where one ends within the head, the other has zeros there. The longer one is greater.
            return len.cmp(&suffix.len());
        }
        // What follows the head decides in most nodes, and its first eight bytes are in one load.
        let (at, rest) = (slot_at(slot) + HEAD_BYTES, &suffix[HEAD_BYTES..]);
        let both = rest.len().min(len - HEAD_BYTES);
        let mask = if both >= 8 { u64::MAX } else { !(u64::MAX >> (8 * both)) };
        let (theirs, ours) = (self.0.u64_at(at).swap_bytes() & mask, be_word(rest) & mask);
        let first = theirs.cmp(&ours);
        if first.is_ne() || both <= 8 {
            return first.then(len.cmp(&suffix.len()));
        }
        self.0.compare(at + 8, len - HEAD_BYTES - 8, &rest[8..])
    }

    /// Entry `i` is there and has this key, whatever the node's bounds are.
    #[inline]
    pub fn has_key(self, i: usize, key: &[u8]) -> bool {
        let (prefix, suffix) = (self.prefix(), self.entry(i).suffix);
        i < self.count()
            && key.len() == prefix.len + suffix.len
            && self.0.compare(suffix.at, suffix.len, &key[prefix.len..]).is_eq()
            && self.0.compare(prefix.at, prefix.len, &key[..prefix.len]).is_eq()
    }

    /// Number of the child that covers `key`: 0 is the leftmost one.
    #[inline]
    pub fn child_index(self, key: &[u8]) -> usize {
        let (pos, found) = self.search(key);
        pos + found as usize
    }

    /// Page number of child `i` (0 = leftmost, `i` > 0 belongs to separator `i - 1`).
    #[inline]
    pub fn child(self, i: usize) -> PageNo {
        match i {
            0 => PageNo(self.0.u64_at(LEFTMOST)),
            i => PageNo(self.0.u64_at(self.entry(i - 1).value.at)),
        }
    }

    /// Appends the whole key of entry `i` to `out`.
    #[inline]
    pub fn key_to(self, i: usize, out: &mut Vec<u8>) {
        let (prefix, suffix) = (self.prefix(), self.entry(i).suffix);
        self.0.copy_to(prefix.at, prefix.len, out);
        self.0.copy_to(suffix.at, suffix.len, out);
    }

    /// The whole key of entry `i`.
    pub fn key(self, i: usize) -> Vec<u8> {
        let mut out = Vec::new();
        self.key_to(i, &mut out);
        out
    }

    /// Appends the value of entry `i` to `out`.
    #[inline]
    pub fn value_to(self, i: usize, out: &mut Vec<u8>) {
        let value = self.entry(i).value;
        self.0.copy_to(value.at, value.len, out);
    }

    /// The value of entry `i`.
    pub fn value(self, i: usize) -> Vec<u8> {
        let mut out = Vec::new();
        self.value_to(i, &mut out);
        out
    }

    /// Encodes entries `range` for [`PageOp::FormatNode`](crate::PageOp), their keys cut to what follows `prefix_len`
    /// bytes.
    pub fn encode_entries(self, range: std::ops::Range<usize>, prefix_len: usize, out: &mut Vec<u8>) {
        let mut key = Vec::new();
        for i in range {
            key.clear();
            self.key_to(i, &mut key);
            let value = self.entry(i).value;
            let suffix = key.get(prefix_len..).unwrap_or_default();
            gannet_base::Writer::new(out).varint(suffix.len() as u64).varint(value.len as u64).bytes(suffix);
            self.0.copy_to(value.at, value.len, out);
        }
    }
}

/// Appends one entry in the form [`PageOp::FormatNode`](crate::PageOp) takes.
pub fn encode_entry(suffix: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let mut w = gannet_base::Writer::new(out);
    w.varint(suffix.len() as u64).varint(value.len() as u64).bytes(suffix).bytes(value);
}

/// Stable access to a node's parts, for code that holds a latch or a private copy.
impl<'a> Node<'a, crate::PageBuf> {
    /// The suffix of entry `i`, borrowed from the page.
    #[inline]
    pub fn suffix_bytes(self, i: usize) -> &'a [u8] {
        let s = self.entry(i).suffix;
        &self.0.0[s.at..s.at + s.len]
    }

    /// The value of entry `i`, borrowed from the page.
    #[inline]
    pub fn value_bytes(self, i: usize) -> &'a [u8] {
        let v = self.entry(i).value;
        &self.0.0[v.at..v.at + v.len]
    }

    /// The prefix of all keys.
    #[inline]
    pub fn prefix_bytes(self) -> &'a [u8] {
        let p = self.prefix();
        &self.0.0[p.at..]
    }

    /// Entry `i` with everything verified: for pages that may be damaged.
    pub(crate) fn checked_entry(self, i: usize) -> Result<EntrySpan, Corrupt> {
        if i >= self.count() {
            return Err(Corrupt::new("slot number beyond the node's count"));
        }
        let e = self.entry(i);
        let end = PAGE_SIZE - self.prefix_len();
        let raw = self.0.u64_at(SLOTS + SLOT * i);
        let heap = self.0.u16_at(HEAP) as usize;
        // Nothing was clamped: the parts lie side by side, and make up what the slot and the heap say.
        let long = slot_value(raw) == LONG;
        let length = e.suffix.at + e.suffix.len;
        let exact = e.suffix.len == slot_suffix(raw)
            && e.value.at == length + if long { LENGTH } else { 0 }
            && if long {
                e.value.len >= LONG && e.value.len == self.0.u16_at(length) as usize
            } else {
                e.value.len == slot_value(raw)
            };
        if !exact || e.at() < heap || e.value.at + e.value.len > end {
            return Err(Corrupt::new("node entry reaches outside of the heap"));
        }
        Ok(e)
    }
}
