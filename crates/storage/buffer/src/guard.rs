//! The guards: what a task may do with a page, by its state word ([`crate::state`]).

use std::ops::Deref;

use gannet_base::sync::atomic::Ordering::*;
use gannet_base::sync::{Backoff, note_acquired, note_released, sched_point};
use gannet_base::{PAGE_SIZE, PageNo};
use gannet_page::bytes::WORDS;
use gannet_page::{PageBuf, PageBytes};

use crate::state::{Miss, PATIENCE, StateWord};
use crate::{Pool, SHARED_READS, Stop};

impl Miss {
    fn of(self, no: PageNo) -> Stop {
        match self {
            Miss::Absent => Stop::Fault(no),
            Miss::Taken => Stop::Restart,
        }
    }
}

/// A reader that has written nothing: it copies words and validates afterwards that nothing changed meanwhile. What was
/// read before a validation is not to be believed; references into the page cannot be had from it.
pub struct OptimisticGuard<'p> {
    pool: &'p Pool,
    frame: *const PageBuf,
    state: &'p StateWord,
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
            let version = lock_shared(word, no)?;
            let frame = pool.arena.frame(no) as *const PageBuf;
            return Ok(OptimisticGuard { pool, frame, state: word, version, no });
        }
        let version = word.optimistic(touch).map_err(|miss| miss.of(no))?;
        // After the version: a page that has moved meanwhile has another one.
        let frame = pool.arena.frame(no) as *const PageBuf;
        Ok(OptimisticGuard { pool, frame, state: word, version, no })
    }

    /// The page's number.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.no
    }

    /// The version that is read. The page has it again only while nothing has changed (INV-BUF-2).
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Succeeds when nothing has changed since the guard was taken: everything read so far is then right.
    #[inline]
    pub fn validate(&self) -> Result<(), Stop> {
        if SHARED_READS {
            return Ok(());
        }
        sched_point();
        if self.state.validate(self.version) { Ok(()) } else { Err(Stop::Restart) }
    }

    /// Takes the exclusive latch if nothing has changed since the guard was taken; then all that was read is right too.
    pub fn upgrade(self) -> Result<ExclusiveGuard<'p>, Stop> {
        let (pool, word, no, seen) = (self.pool, self.state, self.no, self.version);
        let _impatient = SHARED_READS.then(|| Impatient::new(pool));
        if !word.upgrade(seen, SHARED_READS as u64) {
            return Err(Stop::Restart);
        }
        // The shared latch of this guard, if any, has become the exclusive one.
        std::mem::forget(self);
        if SHARED_READS {
            note_released();
        }
        Ok(ExclusiveGuard::acquired(pool, no, seen))
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

impl OptimisticGuard<'_> {
    /// Asks the processor for what the pool has about a page, before a guard is taken.
    #[inline]
    pub fn approach(pool: &Pool, no: PageNo) {
        if no.0 < pool.arena.pages() {
            gannet_base::prefetch(pool.arena.state(no), 0..8);
            gannet_base::prefetch(pool.arena.rec_lsn(no), 0..8);
        }
    }

    /// Asks the processor for these bytes of the page.
    #[inline]
    pub fn prefetch(&self, part: std::ops::Range<usize>) {
        gannet_base::prefetch_at(self.frame.cast(), part);
    }
}

/// So many bytes are copied by one instruction, whose start costs what copying 800 bytes by registers does.
#[cfg(target_arch = "x86_64")]
const BY_STRING: usize = 1024;

/// Copies 16 bytes or more of a frame that may be written meanwhile. To the compiler it is opaque: what it reads is
/// some bytes, as of a volatile load (INV-BUF-2).
///
/// # Safety
/// `from` must be valid for reads of `len` bytes, but for writers of the frame; `to` for writes; `len >= 16`.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn copy_wide(from: *const u8, len: usize, to: *mut u8) {
    // SAFETY: `i + 16 <= len` of both sides.
    let copy = |i: usize| unsafe {
        std::arch::asm!("movups {word}, [{from}]", "movups [{to}], {word}", word = out(xmm_reg) _,
            from = in(reg) from.add(i), to = in(reg) to.add(i), options(nostack, preserves_flags));
    };
    // The last 16 bytes, whatever is left of them.
    copy(len - 16);
    if len >= BY_STRING {
        // SAFETY: it reads `len / 8` words and writes as many; the direction flag is clear between functions.
        unsafe {
            std::arch::asm!("rep movsq", inout("rcx") len / 8 => _, inout("rsi") from => _, inout("rdi") to => _,
                options(nostack, preserves_flags));
        }
        return;
    }
    let mut i = 0;
    while i + 32 <= len {
        copy(i);
        copy(i + 16);
        i += 32;
    }
    if i + 16 < len {
        copy(i);
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
        // SAFETY: inside the frame by the caller's care; frames are readable at any time, and the type has no
        // alignment. The bytes may be written meanwhile by the holder of the exclusive latch; a volatile load of an
        // integer gives some bytes, and the validation throws them away (INV-BUF-2).
        unsafe { std::ptr::read_volatile(self.frame.cast::<u8>().add(at).cast::<Unaligned<T>>()).0 }
    }

    /// Copies `len` bytes from `at` to `to`.
    ///
    /// # Safety
    /// `to` must be valid for writes of `len` bytes; `at + len` must be inside the page.
    #[inline]
    unsafe fn copy_raw(&self, at: usize, len: usize, to: *mut u8) {
        debug_assert!(at + len <= PAGE_SIZE);
        #[cfg(target_arch = "x86_64")]
        if len >= 16 {
            // SAFETY: the bytes are inside the frame, and the caller vouches for `len` bytes behind `to`.
            return unsafe { copy_wide(self.frame.cast::<u8>().add(at), len, to) };
        }
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
        if i < len && len >= 8 {
            // The last word once more, with what is left of it.
            // SAFETY: `len - 8 + 8 <= len`.
            unsafe { to.add(len - 8).cast::<u64>().write_unaligned(self.load(at + len - 8)) };
            return;
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
        if len < out.len() {
            out[len..].fill(0);
        }
        // SAFETY: `len` is at most the slice's length, and `at + len` at most the page's.
        unsafe { self.copy_raw(at, len, out.as_mut_ptr()) };
    }

    #[inline]
    fn copy_page(&self, out: &mut PageBuf) {
        self.read(0, &mut out.0);
    }
}

/// Waits for the shared latch. Returns the version.
fn lock_shared(word: &StateWord, no: PageNo) -> Result<u64, Stop> {
    let version = word.lock_shared().map_err(|miss| miss.of(no))?;
    note_acquired();
    Ok(version)
}

#[inline]
fn release_shared(word: &StateWord) {
    note_released();
    word.unlock_shared();
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
        lock_shared(pool.arena.state(no), no)?;
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
        // SAFETY: INV-BUF-1: while the latch is shared no thread writes the frame.
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
        ExclusiveGuard { pool, no, version, changed: false }
    }

    /// Waits for the exclusive latch.
    pub(crate) fn new(pool: &'p Pool, no: PageNo) -> Result<Self, Stop> {
        if no.0 >= pool.arena.pages() {
            return Err(Stop::Fault(no));
        }
        let _impatient = SHARED_READS.then(|| Impatient::new(pool));
        let version = pool.arena.state(no).lock_exclusive().map_err(|miss| miss.of(no))?;
        Ok(Self::acquired(pool, no, version))
    }

    /// Takes the exclusive latch if it is free right now.
    pub(crate) fn try_new(pool: &'p Pool, no: PageNo) -> Option<Self> {
        let version = pool.arena.state(no).try_exclusive().ok()?;
        Some(Self::acquired(pool, no, version))
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
        // SAFETY: INV-BUF-1: the exclusive latch is ours, no reference to the frame exists elsewhere; optimistic
        // readers copy words and throw them away.
        unsafe { &mut *self.pool.arena.frame(self.no) }
    }

    /// Whether the content was changed under this latch.
    #[inline]
    pub(crate) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Moves the page to another frame: optimistic readers will see a new version. Returns the frame it had, which the
    /// caller gives back.
    pub(crate) fn move_frame(&mut self) -> u32 {
        self.changed = true;
        self.pool.arena.exchange(self.no)
    }

    /// Ends the latch with the page not resident any more. Returns the frame it had.
    pub(crate) fn evict(self) -> u32 {
        let (pool, no, v) = (self.pool, self.no, self.version);
        std::mem::forget(self);
        note_released();
        let frame = pool.arena.taken(no);
        pool.arena.state(no).end_evicted(v);
        frame
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
        self.pool.arena.state(self.no).unlock_exclusive(self.version, self.changed);
        sched_point();
    }
}
