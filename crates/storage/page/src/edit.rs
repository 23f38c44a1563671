//! Changes of B+tree nodes. Every function checks everything first and then changes, so an error leaves the page as it
//! was.

use gannet_base::Reader;
use gannet_base::{PAGE_SIZE, PageNo, TreeId};

use crate::node::{
    COUNT, EntrySpan, GARBAGE, HEAP, LAST, LEFTMOST, LENGTH, LEVEL, LONG, MAX_KEY, MAX_LEVEL, MAX_SLOTS, Node, PREFIX,
    RUN, SLOT, SLOTS, entry_space, head, heap_space, moved, slot, slot_at, slot_suffix, slot_value,
};
use crate::{Corrupt, PageBuf, PageBytes, PageType};

fn node(page: &PageBuf) -> Result<Node<'_, PageBuf>, Corrupt> {
    let node = Node(page);
    if !node.is_node() {
        return Err(Corrupt::new("page is not a tree node"));
    }
    let (count, heap) = (page.u16_at(COUNT) as usize, page.u16_at(HEAP) as usize);
    let end = PAGE_SIZE.wrapping_sub(page.u16_at(PREFIX) as usize);
    let slots_end = SLOTS + SLOT * count;
    if end > PAGE_SIZE || heap > end || slots_end > heap || page.u16_at(GARBAGE) as usize > end - heap {
        return Err(Corrupt::new("node header is inconsistent"));
    }
    Ok(node)
}

fn heap_start(page: &PageBuf) -> usize {
    page.u16_at(HEAP) as usize
}

fn add_garbage(page: &mut PageBuf, bytes: usize) {
    let garbage = page.u16_at(GARBAGE) as usize;
    page.put_u16(GARBAGE, garbage + bytes);
}

/// Takes room from the heap and writes an entry and its slot; the caller has made sure that it fits, and that slot `i`
/// is free.
fn put_entry(page: &mut PageBuf, i: usize, suffix: &[u8], value: &[u8]) {
    let at = heap_start(page) - heap_space(suffix.len(), value.len());
    page.put_u16(HEAP, at);
    page.0[at..at + suffix.len()].copy_from_slice(suffix);
    let mut value_at = at + suffix.len();
    if value.len() >= LONG {
        page.put_u16(value_at, value.len());
        value_at += LENGTH;
    }
    page.0[value_at..value_at + value.len()].copy_from_slice(value);
    page.put_u64(SLOTS + SLOT * i, slot(head(suffix), at, suffix.len(), value.len()));
}

/// Moves live entries together, in slot order, below the prefix. The heads stay. `skip` names a slot whose entry is
/// dead.
fn compact(page: &mut PageBuf, skip: Option<usize>) -> Result<(), Corrupt> {
    let node = node(page)?;
    let (count, end) = (node.count(), PAGE_SIZE - node.prefix_len());
    let mut live = check_entries(page, node)?;
    let mut old = Vec::with_capacity(PAGE_SIZE + STEP);
    old.extend_from_slice(&page.0);
    old.resize(PAGE_SIZE + STEP, 0);
    let size_of = |slot: u64| {
        let value = match slot_value(slot) {
            LONG => {
                let at = slot_at(slot) + slot_suffix(slot);
                LENGTH + usize::from(u16::from_le_bytes([old[at], old[at + 1]]))
            }
            short => short,
        };
        slot_suffix(slot) + value
    };
    if let Some(dead) = skip {
        live -= size_of(page.u64_at(SLOTS + SLOT * dead));
    }
    page.put_u16(HEAP, end - live);
    page.put_u16(GARBAGE, 0);
    // From the last to the first, so upwards. A short entry is moved in one step of fixed length, and the next one
    // covers what was too much.
    let mut at = end - live;
    for (i, slot) in slots_of(&old, count).iter().enumerate().rev() {
        if skip == Some(i) {
            continue;
        }
        let slot = u64::from_le_bytes(*slot);
        let (from, len) = (slot_at(slot), size_of(slot));
        if len <= STEP && at + STEP <= end {
            page.0[at..at + STEP].copy_from_slice(&old[from..from + STEP]);
        } else {
            copy_exactly(&mut page.0[at..at + len], &old[from..from + len]);
        }
        page.put_u64(SLOTS + SLOT * i, moved(slot, at));
        at += len;
    }
    Ok(())
}

/// Bytes that are moved without asking how many: entries of most secondary indexes are not longer.
const STEP: usize = 48;

/// Not inlined, because the compiler makes one copy of variable length of this and of a step.
#[inline(never)]
fn copy_exactly(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

/// The first slots of a page that has so many.
fn slots_of(page: &[u8], count: usize) -> &[[u8; SLOT]] {
    page[SLOTS..SLOTS + SLOT * count].as_chunks().0
}

/// All slots point to whole entries which do not share bytes more than the heap can hold. Returns the entries' bytes.
fn check_entries(page: &PageBuf, node: Node<'_, PageBuf>) -> Result<usize, Corrupt> {
    let (heap, end) = (heap_start(page), PAGE_SIZE - node.prefix_len());
    let mut sum = 0;
    for (i, slot) in slots_of(&page.0, node.count()).iter().enumerate() {
        let raw = u64::from_le_bytes(*slot);
        let (at, value) = (slot_at(raw), slot_value(raw));
        let size = if value == LONG { node.checked_entry(i)?.size() } else { slot_suffix(raw) + value };
        if at < heap || at + size > end {
            return Err(Corrupt::new("node entry reaches outside of the heap"));
        }
        sum += size;
    }
    if sum + page.u16_at(GARBAGE) as usize != end - heap {
        return Err(Corrupt::new("node heap does not add up"));
    }
    Ok(sum)
}

pub(crate) fn check_node(page: &PageBuf) -> Result<(), Corrupt> {
    let n = node(page)?;
    if n.level() > MAX_LEVEL || n.count() != page.u16_at(COUNT) as usize {
        return Err(Corrupt::new("node level or count out of range"));
    }
    if page.u16_at(46) != 0 || page.u64_at(56) != 0 || (n.level() == 0 && page.u64_at(LEFTMOST) != 0) {
        return Err(Corrupt::new("reserved node bytes are not zero"));
    }
    check_entries(page, n)?;
    for i in 0..n.count() {
        let suffix = n.suffix_bytes(i);
        if head(suffix) != page.u32_at(SLOTS + SLOT * i) {
            return Err(Corrupt::new("slot head does not match its key"));
        }
        if i > 0 && n.suffix_bytes(i - 1) >= suffix {
            return Err(Corrupt::new("node keys are not in order"));
        }
        if n.level() > 0 && (n.entry(i).value.len != 8 || n.child(i + 1).is_zero()) {
            return Err(Corrupt::new("inner entry is not a child"));
        }
    }
    if n.level() > 0 && n.child(0).is_zero() {
        return Err(Corrupt::new("inner node without leftmost child"));
    }
    Ok(())
}

/// Reads the entries of a format operation; checks that they fit beside a prefix.
fn parse_entries<'a>(prefix: &[u8], level: u8, bytes: &'a [u8]) -> Result<Vec<(&'a [u8], &'a [u8])>, Corrupt> {
    let mut r = Reader::new(bytes);
    let mut entries = Vec::new();
    let mut used = prefix.len();
    while !r.is_empty() {
        let (suffix, value) = (r.varint()?, r.varint()?);
        if suffix > MAX_KEY as u64 || value > PAGE_SIZE as u64 {
            return Err(Corrupt::new("entry is longer than a page"));
        }
        used += entry_space(suffix as usize, value as usize);
        if used > PAGE_SIZE - SLOTS || (level > 0 && value != 8) {
            return Err(Corrupt::new("entries do not fit the node"));
        }
        entries.push((r.bytes(suffix as usize)?, r.bytes(value as usize)?));
    }
    Ok(entries)
}

pub(crate) fn format(
    page: &mut PageBuf,
    no: PageNo,
    owner: TreeId,
    level: u8,
    leftmost: PageNo,
    prefix: &[u8],
    entries: &[u8],
) -> Result<(), Corrupt> {
    if level as usize > MAX_LEVEL || (level == 0) != leftmost.is_zero() || prefix.len() > PAGE_SIZE - SLOTS {
        return Err(Corrupt::new("impossible node in a format operation"));
    }
    let entries = parse_entries(prefix, level, entries)?;
    page.format(PageType::Node, no, owner);
    page.put_u16(LEVEL, level as usize);
    page.put_u64(LEFTMOST, leftmost.0);
    fill(page, prefix, entries.iter().copied());
    Ok(())
}

/// What a node is, beside its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeHead {
    /// Its own number.
    pub no: PageNo,
    /// The tree it belongs to.
    pub owner: TreeId,
    /// Height above the leaves.
    pub level: u8,
    /// Inner node: the leftmost child; zero in a leaf.
    pub leftmost: PageNo,
}

/// Makes a page that no log record describes a node with these entries: `(key without the prefix, value)`, in key
/// order. What [`PageOp::FormatNode`](crate::PageOp) does without the encoding in between.
pub fn build_node<'a>(
    page: &mut PageBuf,
    head: NodeHead,
    prefix: &[u8],
    entries: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
) -> Result<(), Corrupt> {
    let NodeHead { no, owner, level, leftmost } = head;
    if level as usize > MAX_LEVEL || (level == 0) != leftmost.is_zero() || prefix.len() > PAGE_SIZE - SLOTS {
        return Err(Corrupt::new("impossible node in a format operation"));
    }
    let used: usize = entries.clone().map(|(suffix, value)| entry_space(suffix.len(), value.len())).sum();
    if used + prefix.len() > PAGE_SIZE - SLOTS {
        return Err(Corrupt::new("entries do not fit the node"));
    }
    page.format(PageType::Node, no, owner);
    page.put_u16(LEVEL, level as usize);
    page.put_u64(LEFTMOST, leftmost.0);
    fill(page, prefix, entries);
    Ok(())
}

/// Writes prefix, slots and heap of an empty node.
fn fill<'a>(page: &mut PageBuf, prefix: &[u8], entries: impl Iterator<Item = (&'a [u8], &'a [u8])>) {
    let end = PAGE_SIZE - prefix.len();
    page.0[end..].copy_from_slice(prefix);
    page.put_u16(PREFIX, prefix.len());
    page.put_u16(HEAP, end);
    let mut count = 0;
    for (suffix, value) in entries {
        put_entry(page, count, suffix, value);
        count += 1;
    }
    page.put_u16(COUNT, count);
}

/// Returns whether the others had to be moved together.
pub(crate) fn insert(page: &mut PageBuf, pos: usize, suffix: &[u8], value: &[u8]) -> Result<bool, Corrupt> {
    let n = node(page)?;
    let (count, level) = (n.count(), n.level());
    if pos > count || count >= MAX_SLOTS {
        return Err(Corrupt::new("insert position beyond the node's count"));
    }
    if level > 0 && value.len() != 8 {
        return Err(Corrupt::new("inner entry is not a child"));
    }
    let need = heap_space(suffix.len(), value.len());
    if need + SLOT > n.free_space() || suffix.len() > MAX_KEY {
        return Err(Corrupt::new("no room in the node"));
    }
    let slots_end = SLOTS + SLOT * (count + 1);
    let full = slots_end + need > heap_start(page);
    if full {
        compact(page, None)?;
    }
    page.0.copy_within(SLOTS + SLOT * pos..SLOTS + SLOT * count, SLOTS + SLOT * (pos + 1));
    put_entry(page, pos, suffix, value);
    page.put_u16(COUNT, count + 1);
    note_insert(page, pos);
    Ok(full)
}

/// Keeps the direction of inserts: what the choice of a split point goes by.
fn note_insert(page: &mut PageBuf, pos: usize) {
    let (last, run) = Node(&*page).insert_run();
    let run = match last {
        Some(last) if pos == last + 1 => run.max(0).saturating_add(1),
        Some(last) if pos == last => run.min(0).saturating_sub(1),
        _ => 0,
    };
    page.put_u16(LAST, pos + 1);
    page.put(RUN, run.to_le_bytes());
}

fn forget_run(page: &mut PageBuf) {
    page.put_u16(LAST, 0);
    page.put_u16(RUN, 0);
}

pub(crate) fn remove(page: &mut PageBuf, pos: usize) -> Result<(), Corrupt> {
    let n = node(page)?;
    let (count, e) = (n.count(), n.checked_entry(pos)?);
    let size = e.size();
    if page.u16_at(GARBAGE) as usize + size > PAGE_SIZE - n.prefix_len() - heap_start(page) {
        return Err(Corrupt::new("node heap does not add up"));
    }
    page.0.copy_within(SLOTS + SLOT * (pos + 1)..SLOTS + SLOT * count, SLOTS + SLOT * pos);
    page.put_u16(COUNT, count - 1);
    if e.at() == heap_start(page) {
        page.put_u16(HEAP, e.at() + size);
    } else {
        add_garbage(page, size);
    }
    forget_run(page);
    Ok(())
}

/// Returns whether the entries had to be moved together.
pub(crate) fn splice(page: &mut PageBuf, pos: usize, at: usize, cut: usize, bytes: &[u8]) -> Result<bool, Corrupt> {
    let n = node(page)?;
    let e = n.checked_entry(pos)?;
    if at + cut > e.value.len {
        return Err(Corrupt::new("splice beyond the value's end"));
    }
    if n.level() > 0 && bytes.len() != cut {
        return Err(Corrupt::new("inner entry is not a child"));
    }
    let new_len = e.value.len - cut + bytes.len();
    let start = e.value.at + at;
    // In place, unless the length moves between slot and heap.
    if bytes.len() <= cut && (new_len < LONG) == (e.value.len < LONG) {
        let saved = cut - bytes.len();
        let room = PAGE_SIZE - n.prefix_len() - heap_start(page) - page.u16_at(GARBAGE) as usize;
        if saved > room {
            return Err(Corrupt::new("node heap does not add up"));
        }
        page.0[start..start + bytes.len()].copy_from_slice(bytes);
        page.0.copy_within(start + cut..e.value.at + e.value.len, start + bytes.len());
        if new_len < LONG {
            let suffix = Node(&*page).suffix_bytes(pos);
            let slot = slot(head(suffix), e.at(), suffix.len(), new_len);
            page.put_u64(SLOTS + SLOT * pos, slot);
        } else {
            page.put_u16(e.value.at - LENGTH, new_len);
        }
        add_garbage(page, saved);
        return Ok(false);
    }
    let need = heap_space(e.suffix.len, new_len);
    if need.saturating_sub(e.size()) > n.free_space() {
        return Err(Corrupt::new("no room in the node"));
    }
    let (slots_end, dead) = (SLOTS + SLOT * n.count(), e.size());
    if slots_end + need > heap_start(page) {
        let mut value = Vec::with_capacity(new_len);
        let old = n.value_bytes(pos);
        value.extend_from_slice(&old[..at]);
        value.extend_from_slice(bytes);
        value.extend_from_slice(&old[at + cut..]);
        let suffix = n.suffix_bytes(pos).to_vec();
        compact(page, Some(pos))?;
        put_entry(page, pos, &suffix, &value);
        return Ok(true);
    }
    if page.u16_at(GARBAGE) as usize + dead > PAGE_SIZE - n.prefix_len() - heap_start(page) {
        return Err(Corrupt::new("node heap does not add up"));
    }
    add_garbage(page, dead);
    move_spliced(page, pos, &e, (at, cut, bytes), new_len);
    Ok(false)
}

/// Writes an entry with its new value to free room, where nothing of the old one lies; the caller has made sure that
/// there is as much.
fn move_spliced(
    page: &mut PageBuf,
    pos: usize,
    e: &EntrySpan,
    (at, cut, bytes): (usize, usize, &[u8]),
    new_len: usize,
) {
    let to = heap_start(page) - heap_space(e.suffix.len, new_len);
    page.put_u16(HEAP, to);
    page.0.copy_within(e.suffix.at..e.suffix.at + e.suffix.len, to);
    let mut value = to + e.suffix.len;
    if new_len >= LONG {
        page.put_u16(value, new_len);
        value += LENGTH;
    }
    let (front, back) = (e.value.at + at, value + at + bytes.len());
    page.0.copy_within(e.value.at..front, value);
    page.0[value + at..back].copy_from_slice(bytes);
    page.0.copy_within(front + cut..e.value.at + e.value.len, back);
    let head = page.u64_at(SLOTS + SLOT * pos) as u32;
    page.put_u64(SLOTS + SLOT * pos, slot(head, to, e.suffix.len, new_len));
}

pub(crate) fn rebuild(page: &mut PageBuf, keep: usize, prefix: &[u8]) -> Result<(), Corrupt> {
    let n = node(page)?;
    if keep > n.count() || prefix.len() > PAGE_SIZE - SLOTS {
        return Err(Corrupt::new("rebuild keeps more than there is"));
    }
    check_entries(page, n)?;
    // What every suffix gains of the old prefix, or loses to the new one.
    let common = prefix.len().min(n.prefix_len());
    let (gained, lost) = (n.prefix_len() - common, &prefix[common..]);
    let same = n.prefix_bytes()[..common] == prefix[..common];
    let mut used = prefix.len();
    for i in 0..keep {
        let suffix = n.suffix_bytes(i);
        if !same || !suffix.starts_with(lost) {
            return Err(Corrupt::new("rebuild with a prefix that is not common"));
        }
        let len = gained + suffix.len() - lost.len();
        if len > MAX_KEY {
            return Err(Corrupt::new("key is too long"));
        }
        used += entry_space(len, n.value_bytes(i).len());
    }
    if used > PAGE_SIZE - SLOTS {
        return Err(Corrupt::new("no room in the node"));
    }
    let spans: Vec<EntrySpan> = (0..keep).map(|i| n.entry(i)).collect();
    let (from, prefix_at) = (heap_start(page), n.prefix().at);
    let heap = page.0[from..].to_vec();
    let old = |at: usize, len: usize| &heap[at - from..][..len];
    page.0[SLOTS..].fill(0);
    page.put_u16(GARBAGE, 0);
    forget_run(page);
    let value = |e: &EntrySpan| old(e.value.at, e.value.len);
    if gained == 0 {
        let cut = lost.len();
        let suffix = |e: &EntrySpan| old(e.suffix.at + cut, e.suffix.len - cut);
        fill(page, prefix, spans.iter().map(|e| (suffix(e), value(e))));
    } else {
        let gained = old(prefix_at + common, gained);
        let suffixes: Vec<_> = spans.iter().map(|e| [gained, old(e.suffix.at, e.suffix.len)].concat()).collect();
        fill(page, prefix, spans.iter().zip(&suffixes).map(|(e, suffix)| (&suffix[..], value(e))));
    }
    Ok(())
}

pub(crate) fn drop_leftmost(page: &mut PageBuf) -> Result<(), Corrupt> {
    let n = node(page)?;
    let e = n.checked_entry(0)?;
    if n.level() == 0 || e.value.len != 8 {
        return Err(Corrupt::new("leaf has no leftmost child"));
    }
    let child = n.child(1);
    remove(page, 0)?;
    page.put_u64(LEFTMOST, child.0);
    Ok(())
}
