//! The state word of a page, and the guards.
//!
//! State word: low 8 bits latch state, high 56 bits version.
//!
//! | latch state | meaning |
//! |---|---|
//! | 0 | evicted: not resident (what fresh memory says) |
//! | 1 | unlocked |
//! | 2..=252 | shared by (state - 1) holders |
//! | 253 | unlocked and marked by the clock: a candidate for eviction |
//! | 254 | in transit: being read in or evicted |
//! | 255 | exclusive |
//!
//! The version grows whenever the content may have changed: at the release of an exclusive latch under which the page
//! was changed, at loading, at eviction. It is never reset while the server runs, so a version seen means one content.

use std::ops::Deref;

use gannet_base::sync::atomic::{AtomicU64, Ordering::*, fence};
use gannet_base::sync::{Backoff, note_acquired, note_released, sched_point};
use gannet_base::{PAGE_SIZE, PageNo};
use gannet_page::bytes::WORDS;
use gannet_page::{PageBuf, PageBytes};

use crate::{Pool, SHARED_READS, Stop};

pub(crate) const EVICTED: u64 = 0;
pub(crate) const UNLOCKED: u64 = 1;
const SHARED_MAX: u64 = 252;
pub(crate) const MARKED: u64 = 253;
pub(crate) const TRANSIT: u64 = 254;
pub(crate) const EXCLUSIVE: u64 = 255;

#[inline]
pub(crate) const fn latch(state: u64) -> u64 {
    state & 0xff
}

#[inline]
pub(crate) const fn version(state: u64) -> u64 {
    state >> 8
}

#[inline]
pub(crate) const fn state(version: u64, latch: u64) -> u64 {
    version << 8 | latch
}

/// Turns of a spin-wait after which an attempt gives up and starts again.
const PATIENCE: u32 = 64;

/// A reader that has written nothing: it copies words and validates afterwards that nothing changed meanwhile. What was
/// read before a validation is not to be believed; references into the page cannot be had from it.
pub struct OptimisticGuard<'p> {
    pool: &'p Pool,
    frame: *const PageBuf,
    state: &'p AtomicU64,
    version: u64,
    no: PageNo,
}

impl<'p> OptimisticGuard<'p> {
    /// Begins an optimistic read. `touch` takes away the clock's mark.
    #[inline]
    pub(crate) fn new(pool: &'p Pool, no: PageNo, touch: bool) -> Result<Self, Stop> {
        if no.0 >= pool.arena.pages() {
            return Err(Stop::Fault(no));
        }
        let word = pool.arena.state(no);
        let frame = pool.arena.frame(no) as *const PageBuf;
        sched_point();
        if SHARED_READS {
            // Only this build's readers could starve a writer: they stand back for a while.
            let mut backoff = Backoff::new();
            for _ in 0..4 * PATIENCE {
                if pool.impatient.load(Relaxed) == 0 {
                    break;
                }
                backoff.wait();
            }
            let version = acquire_shared(word, no)?;
            return Ok(OptimisticGuard { pool, frame, state: word, version, no });
        }
        let mut s = word.load(Acquire);
        if latch(s) == UNLOCKED || (latch(s) > UNLOCKED && latch(s) <= SHARED_MAX) {
            return Ok(OptimisticGuard { pool, frame, state: word, version: version(s), no });
        }
        let mut backoff = Backoff::new();
        for _ in 0..PATIENCE {
            match latch(s) {
                EVICTED | TRANSIT => return Err(Stop::Fault(no)),
                MARKED => {
                    if touch {
                        // Losing the race is fine: somebody else touched or took it.
                        let _ = word.compare_exchange(s, state(version(s), UNLOCKED), Relaxed, Relaxed);
                    }
                    return Ok(OptimisticGuard { pool, frame, state: word, version: version(s), no });
                }
                EXCLUSIVE => backoff.wait(),
                _ => return Ok(OptimisticGuard { pool, frame, state: word, version: version(s), no }),
            }
            s = word.load(Acquire);
        }
        Err(Stop::Restart)
    }

    /// The page's number.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.no
    }

    /// Succeeds when nothing has changed since the guard was taken: everything read so far is then right.
    #[inline]
    pub fn validate(&self) -> Result<(), Stop> {
        if SHARED_READS {
            return Ok(());
        }
        sched_point();
        // The loads of content above must not move below the load of the state.
        fence(Acquire);
        let s = self.state.load(Relaxed);
        if version(s) == self.version && latch(s) < TRANSIT && latch(s) != EVICTED {
            Ok(())
        } else {
            Err(Stop::Restart)
        }
    }

    /// Takes the exclusive latch if nothing has changed since the guard was taken; then all that was read is right too.
    pub fn upgrade(self) -> Result<ExclusiveGuard<'p>, Stop> {
        let (pool, word, no, seen) = (self.pool, self.state, self.no, self.version);
        let _impatient = SHARED_READS.then(|| Impatient::new(pool));
        let sharers = if SHARED_READS { UNLOCKED + 1 } else { UNLOCKED };
        let mut backoff = Backoff::new();
        for _ in 0..PATIENCE {
            sched_point();
            let s = word.load(Relaxed);
            if version(s) != seen || latch(s) >= TRANSIT || latch(s) == EVICTED {
                break;
            }
            if (latch(s) == sharers || latch(s) == MARKED)
                && word.compare_exchange(s, state(seen, EXCLUSIVE), Acquire, Relaxed).is_ok()
            {
                // The shared latch of this guard, if any, has become the exclusive one.
                std::mem::forget(self);
                if SHARED_READS {
                    note_released();
                }
                return Ok(ExclusiveGuard::acquired(pool, no, seen));
            }
            backoff.wait();
        }
        Err(Stop::Restart)
    }
}

/// A writer is waiting while readers take shared latches.
struct Impatient<'p>(&'p Pool);

impl<'p> Impatient<'p> {
    fn new(pool: &'p Pool) -> Self {
        pool.impatient.fetch_add(1, Relaxed);
        Impatient(pool)
    }
}

impl Drop for Impatient<'_> {
    fn drop(&mut self) {
        self.0.impatient.fetch_sub(1, Relaxed);
    }
}

impl Drop for OptimisticGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if SHARED_READS {
            release_shared(self.state);
        }
    }
}

/// A number at any address: one load on the processors we run on.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Unaligned<T: Copy>(T);

impl OptimisticGuard<'_> {
    /// The number at byte `at`, which the caller keeps inside the page.
    #[inline(always)]
    fn load<T: Copy>(&self, at: usize) -> T {
        debug_assert!(at + size_of::<T>() <= PAGE_SIZE);
        // SAFETY: inside the frame by the caller's care; frames are readable at any time, and the type has no alignment.
        // The bytes may be written meanwhile by the holder of the exclusive latch; a volatile load of an integer gives
        // some bytes, and the validation throws them away (INV-BUF-2).
        unsafe { std::ptr::read_volatile(self.frame.cast::<u8>().add(at).cast::<Unaligned<T>>()).0 }
    }

    /// Copies `len` bytes from `at` to `to`.
    ///
    /// # Safety
    /// `to` must be valid for writes of `len` bytes; `at + len` must be inside the page.
    #[inline]
    unsafe fn copy_raw(&self, at: usize, len: usize, to: *mut u8) {
        let mut i = 0;
        while i + 32 <= len {
            let words: [u64; 4] = std::array::from_fn(|k| self.load(at + i + 8 * k));
            // SAFETY: `i + 32 <= len`, and the caller vouches for `len` bytes.
            unsafe { to.add(i).cast::<[u64; 4]>().write_unaligned(words) };
            i += 32;
        }
        while i + 8 <= len {
            // SAFETY: `i + 8 <= len`.
            unsafe { to.add(i).cast::<u64>().write_unaligned(self.load(at + i)) };
            i += 8;
        }
        while i < len {
            // SAFETY: `i < len`.
            unsafe { to.add(i).write(self.load(at + i)) };
            i += 1;
        }
    }
}

impl PageBytes for OptimisticGuard<'_> {
    #[inline]
    fn word(&self, i: usize) -> u64 {
        u64::from_le(self.load(i % WORDS * 8))
    }

    #[inline]
    fn u8_at(&self, at: usize) -> u8 {
        self.load(at % PAGE_SIZE)
    }

    #[inline]
    fn u16_at(&self, at: usize) -> u16 {
        if at <= PAGE_SIZE - 2 {
            u16::from_le(self.load(at))
        } else {
            self.u8_at(at) as u16 | (self.u8_at(at + 1) as u16) << 8
        }
    }

    #[inline]
    fn u32_at(&self, at: usize) -> u32 {
        if at <= PAGE_SIZE - 4 { u32::from_le(self.load(at)) } else { self.u64_at(at) as u32 }
    }

    #[inline]
    fn u64_at(&self, at: usize) -> u64 {
        if at <= PAGE_SIZE - 8 {
            return u64::from_le(self.load(at));
        }
        (0..8).fold(0, |v, i| v | (self.u8_at(at + i) as u64) << (8 * i))
    }

    #[inline]
    fn copy_to(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        let at = at.min(PAGE_SIZE);
        let len = len.min(PAGE_SIZE - at);
        out.reserve(len);
        let old = out.len();
        // SAFETY: `len` bytes are reserved behind the vector's end, and all of them are written before they count.
        unsafe {
            self.copy_raw(at, len, out.as_mut_ptr().add(old));
            out.set_len(old + len);
        }
    }

    #[inline]
    fn read(&self, at: usize, out: &mut [u8]) {
        let at = at.min(PAGE_SIZE);
        let len = out.len().min(PAGE_SIZE - at);
        out[len..].fill(0);
        // SAFETY: `len` is at most the slice's length, and `at + len` at most the page's.
        unsafe { self.copy_raw(at, len, out.as_mut_ptr()) };
    }

    #[inline]
    fn copy_page(&self, out: &mut PageBuf) {
        self.read(0, &mut out.0);
    }
}

/// Waits for the shared latch; gives the version.
fn acquire_shared(word: &AtomicU64, no: PageNo) -> Result<u64, Stop> {
    let mut backoff = Backoff::new();
    loop {
        sched_point();
        let s = word.load(Relaxed);
        let next = match latch(s) {
            EVICTED | TRANSIT => return Err(Stop::Fault(no)),
            UNLOCKED | MARKED => Some(UNLOCKED + 1),
            n if n < SHARED_MAX => Some(n + 1),
            _ => None,
        };
        if let Some(next) = next
            && word.compare_exchange(s, state(version(s), next), Acquire, Relaxed).is_ok()
        {
            note_acquired();
            return Ok(version(s));
        }
        backoff.wait();
    }
}

#[inline]
fn release_shared(word: &AtomicU64) {
    note_released();
    // From n sharers to n - 1; one sharer less is 'unlocked'.
    word.fetch_sub(1, Release);
}

/// Reading with the content held still.
pub struct SharedGuard<'p> {
    pool: &'p Pool,
    no: PageNo,
}

impl<'p> SharedGuard<'p> {
    pub(crate) fn new(pool: &'p Pool, no: PageNo) -> Result<Self, Stop> {
        if no.0 >= pool.arena.pages() {
            return Err(Stop::Fault(no));
        }
        acquire_shared(pool.arena.state(no), no)?;
        Ok(SharedGuard { pool, no })
    }

    /// The page's number.
    pub fn page_no(&self) -> PageNo {
        self.no
    }
}

impl Deref for SharedGuard<'_> {
    type Target = PageBuf;
    #[inline]
    fn deref(&self) -> &PageBuf {
        // SAFETY: INV-BUF-1: while the latch is shared nobody writes the frame.
        unsafe { &*self.pool.arena.frame(self.no) }
    }
}

impl Drop for SharedGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        release_shared(self.pool.arena.state(self.no));
    }
}

/// The right to change a page, used by the mini-transaction. Without a change the version stays.
pub struct ExclusiveGuard<'p> {
    pub(crate) pool: &'p Pool,
    no: PageNo,
    version: u64,
    changed: bool,
}

impl<'p> ExclusiveGuard<'p> {
    /// The state word says 'exclusive' by the caller's doing.
    pub(crate) fn acquired(pool: &'p Pool, no: PageNo, version: u64) -> Self {
        note_acquired();
        // As in every sequence lock: stores of content must not become visible before the latch state.
        fence(Release);
        ExclusiveGuard { pool, no, version, changed: false }
    }

    /// Waits for the exclusive latch.
    pub(crate) fn new(pool: &'p Pool, no: PageNo) -> Result<Self, Stop> {
        if no.0 >= pool.arena.pages() {
            return Err(Stop::Fault(no));
        }
        let _impatient = SHARED_READS.then(|| Impatient::new(pool));
        let word = pool.arena.state(no);
        let mut backoff = Backoff::new();
        loop {
            sched_point();
            let s = word.load(Relaxed);
            match latch(s) {
                EVICTED | TRANSIT => return Err(Stop::Fault(no)),
                UNLOCKED | MARKED
                    if word.compare_exchange(s, state(version(s), EXCLUSIVE), Acquire, Relaxed).is_ok() =>
                {
                    return Ok(Self::acquired(pool, no, version(s)));
                }
                _ => {}
            }
            backoff.wait();
        }
    }

    /// Takes the exclusive latch if it is free right now.
    pub(crate) fn try_new(pool: &'p Pool, no: PageNo) -> Option<Self> {
        sched_point();
        let word = pool.arena.state(no);
        let s = word.load(Relaxed);
        if !matches!(latch(s), UNLOCKED | MARKED) {
            return None;
        }
        word.compare_exchange(s, state(version(s), EXCLUSIVE), Acquire, Relaxed).ok()?;
        Some(Self::acquired(pool, no, version(s)))
    }

    /// The page's number.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.no
    }

    /// The content, to be changed: optimistic readers will see a new version.
    #[inline]
    pub(crate) fn page_mut(&mut self) -> &mut PageBuf {
        self.changed = true;
        // SAFETY: INV-BUF-1: the exclusive latch is ours, no reference to the frame exists elsewhere; optimistic readers
        // copy words and throw them away.
        unsafe { &mut *self.pool.arena.frame(self.no) }
    }

    /// Whether the content was changed under this latch.
    #[inline]
    pub(crate) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Ends the latch with the page not resident any more. The frame's memory is released.
    pub(crate) fn evict(self) {
        let (pool, no, v) = (self.pool, self.no, self.version);
        std::mem::forget(self);
        note_released();
        pool.arena.release(no, 1);
        pool.arena.state(no).store(state(v + 1, EVICTED), Release);
    }
}

impl Deref for ExclusiveGuard<'_> {
    type Target = PageBuf;
    #[inline]
    fn deref(&self) -> &PageBuf {
        // SAFETY: INV-BUF-1: as in `page_mut`; the borrow of the guard keeps changes away.
        unsafe { &*self.pool.arena.frame(self.no) }
    }
}

impl Drop for ExclusiveGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        note_released();
        self.pool.arena.state(self.no).store(state(self.version + self.changed as u64, UNLOCKED), Release);
        sched_point();
    }
}
