//! The ring buffer between appenders and the log writer.
//!
//! Byte `lsn` of the log lies at `lsn % size`. Appenders own the range they reserved until they publish it by storing
//! the record's header word; the writer owns what is published until it frees it. A free byte is zero: so the walk over
//! headers stops at the first record that is reserved but not published, and no separate link buffer is needed.
//!
//! INV-LOG-1: every byte in `[reserved, freed + size)`, the part that no appender has reserved, is zero.
//! INV-LOG-2: `freed <= written <= complete <= reserved` and `reserved - freed` exceeds `size` only while the reserver
//! beyond it waits for room.

use gannet_base::CachePadded;
use gannet_base::crc32c;
use gannet_base::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};
use gannet_base::sync::sched_point;

use crate::format::{self, BLOCK, HEADER, RecordKind};
use crate::memory::Memory;

/// The most that is beyond a record's parts: a block of padding.
static ZEROS: [u8; BLOCK as usize] = [0; BLOCK as usize];

pub(crate) struct Ring {
    memory: Memory,
    /// Next free LSN. Every appender adds to it; the writer pads.
    reserved: CachePadded<AtomicU64>,
    /// All below is written to the file and zeroed here. Written by the writer.
    freed: CachePadded<AtomicU64>,
    /// All below is published. Written by the holder of `walking`.
    complete: CachePadded<AtomicU64>,
    walking: CachePadded<AtomicBool>,
}

/// The right to advance `complete`. One task has it at a time.
pub(crate) struct Walk<'a>(&'a Ring);

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        self.0.walking.store(false, Release);
    }
}

impl Ring {
    /// A ring of `size` bytes (a power of two, at least a block) that starts at LSN `start`, a block boundary.
    pub(crate) fn new(size: usize, start: u64) -> Ring {
        assert!(start.is_multiple_of(BLOCK));
        Ring {
            memory: Memory::new(size),
            reserved: CachePadded::new(AtomicU64::new(start)),
            freed: CachePadded::new(AtomicU64::new(start)),
            complete: CachePadded::new(AtomicU64::new(start)),
            walking: CachePadded::new(AtomicBool::new(false)),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.memory.size()
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

    /// Reserves `bytes` of the log and returns the first. The caller then fills and publishes the range.
    #[inline]
    pub(crate) fn reserve(&self, bytes: u64) -> u64 {
        sched_point();
        // Release: a thread that sees the reservation sees the latches taken before it (the checkpoint sweep relies
        // on it).
        self.reserved.fetch_add(bytes, AcqRel)
    }

    /// Reserves up to the next block boundary. Returns the range, empty when the log is on a boundary already.
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

    /// Fills the record whose range `[start, start + record_bytes(len))` the caller reserved, runs `before`, and
    /// publishes. There is room. What of `len` is beyond the parts is zeros.
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
        debug_assert!(len >= parts.iter().map(|p| p.len()).sum());
        let word = format::word(kind, len);
        let mut crc = format::checksum_seed(epoch, start, word);
        let mut at = start + HEADER as u64;
        for part in parts {
            crc = crc32c(crc, part);
            // SAFETY: inside the reserved range behind the header, and there is room.
            unsafe { self.memory.copy_in(at, part) };
            at += part.len() as u64;
        }
        // The rest is zero by INV-LOG-1.
        let rest = (start + format::record_bytes(len) - at) as usize;
        crc = crc32c(crc, &ZEROS[..rest]);
        before();
        sched_point();
        self.memory.word(start).store((crc as u64) << 32 | word as u64, Release);
    }

    /// Takes the right to advance `complete`, if it is free.
    pub(crate) fn try_walk(&self) -> Option<Walk<'_>> {
        sched_point();
        let free = !self.walking.load(Acquire) && !self.walking.swap(true, Acquire);
        // Lazily, because dropping a `Walk` releases the right, which may be another task's.
        free.then(|| Walk(self))
    }

    /// The published bytes `[from, to)` as up to two pieces.
    ///
    /// # Safety
    /// Only for the writer, which alone frees: `freed <= from <= to <= complete`.
    pub(crate) unsafe fn published(&self, from: u64, to: u64) -> [&[u8]; 2] {
        // SAFETY: the caller's promise.
        unsafe { self.memory.pieces(from, to) }
    }

    /// Zeroes everything below `to` and hands it back to appenders.
    ///
    /// # Safety
    /// Only for the writer; `freed <= to <= complete`, and no slice from [`Ring::published`] below `to` is alive.
    pub(crate) unsafe fn free(&self, to: u64) {
        let from = self.freed.load(Acquire);
        // SAFETY: these bytes belong to the writer: published, and not yet freed. No walk reads below `complete`.
        unsafe { self.memory.zero(from, to) };
        self.freed.store(to, Release);
    }
}

impl Walk<'_> {
    /// Advances `complete` over all published records and returns it.
    pub(crate) fn advance(&self) -> u64 {
        let ring = self.0;
        let start = ring.complete.load(Acquire);
        // Beyond this the words may still be those of the lap before.
        let limit = ring.freed.load(Acquire) + ring.size();
        let mut at = start;
        while at < limit {
            let header = ring.memory.word(at).load(Acquire);
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
