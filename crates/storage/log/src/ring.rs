//! The ring buffer between appenders and the log writer.
//!
//! Byte `lsn` of the log lies at `lsn % size`. Appenders own the range they reserved until they publish it by storing
//! the record's header word; the writer owns what is published until it frees it. A free byte is zero: so the walk over
//! headers stops at the first record that is reserved but not published, and no separate link buffer is needed.
//!
//! INV-LOG-1: every byte in `[freed + size - (reserved - freed) .., freed + size)` that nobody reserved is zero.
//! INV-LOG-2: `freed <= written <= complete <= reserved` and `reserved - freed` exceeds `size` only while the reserver
//! beyond it waits for room.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use gannet_base::CachePadded;
use gannet_base::crc32c;
use gannet_base::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};
use gannet_base::sync::sched_point;

use crate::format::{self, BLOCK, HEADER, RecordKind};

const WORD: u64 = 8;

pub(crate) struct Ring {
    memory: NonNull<u8>,
    layout: Layout,
    // A block-aligned address inside `memory`.
    base: *mut u8,
    mask: u64,
    /// Next free LSN. Every appender adds to it; the writer pads.
    reserved: CachePadded<AtomicU64>,
    /// All below is written to the file and zeroed here. Written by the writer.
    freed: CachePadded<AtomicU64>,
    /// All below is published. Written by whoever holds `walking`.
    complete: CachePadded<AtomicU64>,
    walking: CachePadded<AtomicBool>,
}

// SAFETY: the raw pointers name memory that this value alone owns; who may touch which byte follows from the atomics.
unsafe impl Send for Ring {}
// SAFETY: as above: ranges are handed between threads by `reserved` (unique ranges), header words (release/acquire) and
// `freed` (release/acquire).
unsafe impl Sync for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) }
    }
}

/// Holding it, nobody else advances `complete`.
pub(crate) struct Walk<'a>(&'a Ring);

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        self.0.walking.store(false, Release);
    }
}

impl Ring {
    /// A ring of `size` bytes (a power of two, at least a block) that starts at LSN `start`, a block boundary.
    pub(crate) fn new(size: usize, start: u64) -> Ring {
        assert!(size.is_power_of_two() && size as u64 >= BLOCK && start.is_multiple_of(BLOCK));
        // Small alignment, so that zeroed memory comes from the kernel untouched; aligned by hand.
        let layout = Layout::from_size_align(size + BLOCK as usize, 16).unwrap_or_else(|_| panic!("ring of {size}"));
        // SAFETY: the size is not zero.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        let skip = memory.as_ptr().align_offset(BLOCK as usize);
        assert!(skip < BLOCK as usize);
        // SAFETY: `skip` is below BLOCK, and that much more than `size` was allocated.
        let base = unsafe { memory.as_ptr().add(skip) };
        Ring {
            memory,
            layout,
            base,
            mask: size as u64 - 1,
            reserved: CachePadded::new(AtomicU64::new(start)),
            freed: CachePadded::new(AtomicU64::new(start)),
            complete: CachePadded::new(AtomicU64::new(start)),
            walking: CachePadded::new(AtomicBool::new(false)),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.mask + 1
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.reserved.load(Acquire)
    }

    pub(crate) fn complete(&self) -> u64 {
        self.complete.load(Acquire)
    }

    pub(crate) fn freed(&self) -> u64 {
        self.freed.load(Acquire)
    }

    /// Takes `bytes` of the log; gives the first. The range must then be filled and published.
    #[inline]
    pub(crate) fn reserve(&self, bytes: u64) -> u64 {
        sched_point();
        // Release: who sees the reservation sees the latches taken before it (the checkpoint sweep relies on it).
        self.reserved.fetch_add(bytes, AcqRel)
    }

    /// Reserves up to the next block boundary; gives the range, empty when on a boundary already.
    pub(crate) fn reserve_padding(&self) -> (u64, u64) {
        let mut at = self.reserved.load(Acquire);
        loop {
            let end = format::block_up(at);
            match self.reserved.compare_exchange_weak(at, end, AcqRel, Acquire) {
                Ok(_) => return (at, end),
                Err(now) => at = now,
            }
        }
    }

    /// True when the ring has room for everything below `end`.
    #[inline]
    pub(crate) fn has_room(&self, end: u64) -> bool {
        end.wrapping_sub(self.freed.load(Acquire)) <= self.size()
    }

    #[inline]
    fn word(&self, lsn: u64) -> &AtomicU64 {
        debug_assert_eq!(lsn % WORD, 0);
        // SAFETY: the offset is below the size and a multiple of 8, the base is aligned to 4096. Record starts are
        // accessed through this atomic only, until the record is published; afterwards only read, until freed.
        unsafe { &*self.base.add((lsn & self.mask) as usize).cast::<AtomicU64>() }
    }

    /// Copies `bytes` to `lsn` and on, around the end of the ring.
    ///
    /// # Safety
    /// The range is reserved by the caller, not published, there is room for it, and it does not contain the record's
    /// header word.
    unsafe fn copy_in(&self, lsn: u64, bytes: &[u8]) {
        let at = (lsn & self.mask) as usize;
        let first = bytes.len().min(self.size() as usize - at);
        // SAFETY: both targets are inside the ring and belong to the caller alone.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.add(at), first);
            std::ptr::copy_nonoverlapping(bytes.as_ptr().add(first), self.base, bytes.len() - first);
        }
    }

    /// Fills the record whose range `[start, start + record_bytes(len))` the caller reserved, runs `before`, and
    /// publishes. There is room. `len` is the sum of the parts' lengths.
    #[inline]
    pub(crate) fn fill(
        &self,
        start: u64,
        epoch: u64,
        kind: RecordKind,
        len: usize,
        parts: &[&[u8]],
        before: impl FnOnce(),
    ) {
        debug_assert!(self.has_room(start + format::record_bytes(len)));
        debug_assert_eq!(len, parts.iter().map(|p| p.len()).sum());
        let word = format::word(kind, len);
        let mut crc = format::checksum_seed(epoch, start, word);
        let mut at = start + HEADER as u64;
        for part in parts {
            crc = crc32c(crc, part);
            // SAFETY: inside the reserved range behind the header, and there is room.
            unsafe { self.copy_in(at, part) };
            at += part.len() as u64;
        }
        // The bytes up to the next multiple of 8 are zero by INV-LOG-1.
        let slack = (at.next_multiple_of(format::ALIGN) - at) as usize;
        crc = crc32c(crc, &[0; format::ALIGN as usize][..slack]);
        before();
        sched_point();
        self.word(start).store((crc as u64) << 32 | word as u64, Release);
    }

    /// The right to advance `complete`, if nobody has it.
    pub(crate) fn try_walk(&self) -> Option<Walk<'_>> {
        sched_point();
        let free = !self.walking.load(Acquire) && !self.walking.swap(true, Acquire);
        // Lazily: a `Walk` that is made and dropped gives back somebody else's right.
        free.then(|| Walk(self))
    }

    /// The published bytes `[from, to)` as up to two pieces.
    ///
    /// # Safety
    /// Only for the writer, which alone frees: `freed <= from <= to <= complete`.
    pub(crate) unsafe fn published(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let at = (from & self.mask) as usize;
        let len = (to - from) as usize;
        let first = len.min(self.size() as usize - at);
        // SAFETY: published bytes are not written by anybody before they are freed; acquiring `complete` made them
        // visible. Header words inside are only read (atomically) meanwhile.
        unsafe {
            [std::slice::from_raw_parts(self.base.add(at), first), std::slice::from_raw_parts(self.base, len - first)]
        }
    }

    /// Zeroes everything below `to` and hands it back to appenders.
    ///
    /// # Safety
    /// Only for the writer; `freed <= to <= complete`, and no slice from [`Ring::published`] below `to` is alive.
    pub(crate) unsafe fn free(&self, to: u64) {
        let from = self.freed.load(Acquire);
        let at = (from & self.mask) as usize;
        let len = (to - from) as usize;
        let first = len.min(self.size() as usize - at);
        // SAFETY: these bytes belong to the writer: published, and not yet freed. Nobody walks below `complete`.
        unsafe {
            std::ptr::write_bytes(self.base.add(at), 0, first);
            std::ptr::write_bytes(self.base, 0, len - first);
        }
        self.freed.store(to, Release);
    }
}

impl Walk<'_> {
    /// Advances `complete` over all published records; gives the new value.
    pub(crate) fn advance(&self) -> u64 {
        let ring = self.0;
        let start = ring.complete.load(Acquire);
        // Beyond this the words may still be those of the lap before.
        let limit = ring.freed.load(Acquire) + ring.size();
        let mut at = start;
        while at < limit {
            let header = ring.word(at).load(Acquire);
            if header == 0 {
                break;
            }
            at += format::record_bytes(format::unword(header as u32).1);
        }
        if at != start {
            ring.complete.store(at, Release);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_base::sync::Backoff;

    fn append(ring: &Ring, payload: &[u8]) -> (u64, u64) {
        let bytes = format::record_bytes(payload.len());
        let start = ring.reserve(bytes);
        let mut backoff = Backoff::new();
        while !ring.has_room(start + bytes) {
            backoff.wait();
        }
        let (a, b) = payload.split_at(payload.len() / 3);
        ring.fill(start, 1, RecordKind::Mtr, payload.len(), &[a, b], || ());
        (start, start + bytes)
    }

    #[test]
    fn a_refused_walk_leaves_the_right_with_its_holder() {
        let ring = Ring::new(4096, 4096);
        let walk = ring.try_walk().unwrap();
        assert!(ring.try_walk().is_none());
        assert!(ring.try_walk().is_none(), "the first refusal has given the right back");
        drop(walk);
        assert!(ring.try_walk().is_some());
    }

    #[test]
    fn walk_stops_at_the_first_unpublished_record() {
        let ring = Ring::new(4096, 4096);
        let (_, first_end) = append(&ring, b"first");
        let hole = ring.reserve(format::record_bytes(4));
        let (_, end) = append(&ring, b"third");
        assert_eq!(ring.try_walk().unwrap().advance(), first_end);
        ring.fill(hole, 1, RecordKind::Mtr, 4, &[b"hole"], || ());
        let walk = ring.try_walk().unwrap();
        assert!(ring.try_walk().is_none());
        assert_eq!(walk.advance(), end);
        drop(walk);
        // SAFETY: this test is the only writer and `end` is complete.
        let pieces = unsafe { ring.published(4096, first_end) };
        assert_eq!(&pieces[0][8..13], b"first");
        // SAFETY: as above; `pieces` is not used any more.
        unsafe { ring.free(end) };
        assert_eq!(ring.try_walk().unwrap().advance(), end);
        assert_eq!(ring.reserve_padding(), (end, 8192));
        assert_eq!(ring.reserve_padding(), (8192, 8192));
    }

    #[test]
    fn threads_append_and_one_drains() {
        const THREADS: u64 = 3;
        const EACH: u64 = if cfg!(miri) { 50 } else { 20_000 };
        let ring = Ring::new(8192, 4096);
        let mut seen = vec![0u64; THREADS as usize];
        std::thread::scope(|s| {
            for t in 0..THREADS {
                let ring = &ring;
                s.spawn(move || {
                    for i in 0..EACH {
                        let mut payload = vec![(t + i) as u8; 16 + ((t * 31 + i * 7) % 300) as usize];
                        payload[..8].copy_from_slice(&t.to_le_bytes());
                        payload[8..16].copy_from_slice(&i.to_le_bytes());
                        append(ring, &payload);
                    }
                });
            }
            let mut read = 4096;
            while seen.iter().sum::<u64>() < THREADS * EACH {
                let complete = ring.try_walk().unwrap().advance();
                // SAFETY: this thread is the only writer.
                let pieces = unsafe { ring.published(read, complete) };
                let bytes = pieces.concat();
                let mut at = 0usize;
                while at < bytes.len() {
                    let word = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
                    let crc = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap());
                    let len = format::unword(word).1;
                    let size = format::record_bytes(len) as usize;
                    let body = &bytes[at + 8..at + size];
                    assert_eq!(crc, format::checksum(1, read + at as u64, word, body));
                    let (t, i) = (body[0] as usize, u64::from_le_bytes(body[8..16].try_into().unwrap()));
                    assert_eq!(seen[t], i, "records of one thread come in order");
                    assert!(body[16..len].iter().all(|&b| b == (t as u64 + i) as u8));
                    seen[t] += 1;
                    at += size;
                }
                read = complete;
                // SAFETY: as above; the pieces were copied.
                unsafe { ring.free(complete) };
                if at == 0 {
                    std::thread::yield_now();
                }
            }
        });
    }
}
