//! The synchronisation facade: every atomic, lock and spin-wait of the server comes from here.
//!
//! In the real server these are std's atomics and parking_lot's locks. Inside the simulation, where all tasks are
//! fibers of one thread, a wait that would block the thread calls a thread-local hook instead, and the scheduler runs
//! another task. A model checker (`loom`, `shuttle`) goes behind a `cfg` in this one module.
//!
//! None of these locks may be held across a park: on a worker the next fiber would block the thread that the owner
//! needs to go on. Debug builds count the guards a thread holds ([`held`]) and parking checks it.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// Atomic types and fences: std's own, and in debug builds the same with a count of read-modify-writes ([`tally`]).
pub mod atomic {
    #[cfg(not(debug_assertions))]
    pub use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
        compiler_fence, fence,
    };

    #[cfg(debug_assertions)]
    pub use crate::counted::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    };
    #[cfg(debug_assertions)]
    pub use std::sync::atomic::{Ordering, compiler_fence, fence};
}
#[cfg(debug_assertions)]
pub use crate::counted::tally;
pub use std::sync::{Arc, OnceLock, Weak};

/// Why the hook is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// The task could go on: another order of events may be tried here.
    Sched,
    /// The task cannot go on before another task has run.
    Spin,
}

thread_local! {
    static HOOK: Cell<Option<fn(Point)>> = const { Cell::new(None) };
    #[cfg(debug_assertions)]
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// Installs (or with `None` removes) the calling thread's scheduler hook; gives back the previous one.
pub fn set_hook(hook: Option<fn(Point)>) -> Option<fn(Point)> {
    HOOK.replace(hook)
}

/// A place where another order of events is worth exploring: just before an operation on shared state.
/// Outside of the simulation it is one thread-local load.
#[inline(always)]
pub fn sched_point() {
    if let Some(hook) = HOOK.get() {
        hook(Point::Sched)
    }
}

/// To be called in every turn of a spin-wait. Outside of the simulation: the processor's pause instruction.
#[inline(always)]
pub fn spin_hint() {
    match HOOK.get() {
        None => std::hint::spin_loop(),
        Some(hook) => hook(Point::Spin),
    }
}

/// Spins, at first with the pause instruction, then giving up the processor: for waits expected to be very short but
/// whose owner may have lost its core.
#[derive(Default, Debug)]
pub struct Backoff(u32);

impl Backoff {
    /// So many turns spin; the others yield the processor.
    pub const SPINS: u32 = 6;

    /// A fresh back-off.
    pub const fn new() -> Self {
        Backoff(0)
    }

    /// Waits a little, longer each time.
    #[inline]
    pub fn wait(&mut self) {
        if HOOK.get().is_some() {
            spin_hint();
        } else if self.0 < Self::SPINS {
            for _ in 0..1u32 << self.0 {
                std::hint::spin_loop();
            }
            self.0 += 1;
        } else {
            std::thread::yield_now();
        }
    }

    /// True once the back-off yields the processor: a good time to park instead.
    pub const fn is_long(&self) -> bool {
        self.0 >= Self::SPINS
    }
}

/// Locks and latches the calling task holds. Counted in debug builds only; 0 otherwise.
#[inline]
pub fn held() -> u32 {
    #[cfg(debug_assertions)]
    return HELD.get();
    #[cfg(not(debug_assertions))]
    0
}

/// Sets what [`held`] returns: the simulation gives each task its own count.
#[inline]
pub fn set_held(_n: u32) {
    #[cfg(debug_assertions)]
    HELD.set(_n);
}

/// For the guards of latches built elsewhere: counts one more held. See [`held`].
#[inline(always)]
pub fn note_acquired() {
    #[cfg(debug_assertions)]
    HELD.set(HELD.get() + 1);
}

/// The opposite of [`note_acquired`].
#[inline(always)]
pub fn note_released() {
    #[cfg(debug_assertions)]
    HELD.set(HELD.get().saturating_sub(1));
}

/// A mutual exclusion lock without poisoning. Short critical sections only; never held across a park.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

/// Access to what a [`Mutex`] protects.
pub struct MutexGuard<'a, T: ?Sized>(parking_lot::MutexGuard<'a, T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Mutex(parking_lot::Mutex::new(value))
    }

    /// The value, when the mutex is no longer needed.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the lock is free and takes it.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(debug_assertions)]
        crate::counted::note();
        sched_point();
        let guard = match self.0.try_lock() {
            Some(guard) => guard,
            None => self.lock_slow(),
        };
        note_acquired();
        MutexGuard(guard)
    }

    #[cold]
    fn lock_slow(&self) -> parking_lot::MutexGuard<'_, T> {
        while let Some(hook) = HOOK.get() {
            hook(Point::Spin);
            if let Some(guard) = self.0.try_lock() {
                return guard;
            }
        }
        self.0.lock()
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        sched_point();
        let guard = self.0.try_lock()?;
        note_acquired();
        Some(MutexGuard(guard))
    }

    /// The value, without locking: nobody else can have it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        note_released();
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Many readers or one writer. The lock word is shared by all readers: not for hot paths.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(parking_lot::RwLock<T>);

/// Shared access to what an [`RwLock`] protects.
pub struct RwLockReadGuard<'a, T: ?Sized>(parking_lot::RwLockReadGuard<'a, T>);
/// Exclusive access to what an [`RwLock`] protects.
pub struct RwLockWriteGuard<'a, T: ?Sized>(parking_lot::RwLockWriteGuard<'a, T>);

impl<T> RwLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> Self {
        RwLock(parking_lot::RwLock::new(value))
    }

    /// The value, when the lock is no longer needed.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for shared access.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        #[cfg(debug_assertions)]
        crate::counted::note();
        sched_point();
        let guard = match self.0.try_read() {
            Some(guard) => guard,
            None => self.read_slow(),
        };
        note_acquired();
        RwLockReadGuard(guard)
    }

    #[cold]
    fn read_slow(&self) -> parking_lot::RwLockReadGuard<'_, T> {
        while let Some(hook) = HOOK.get() {
            hook(Point::Spin);
            if let Some(guard) = self.0.try_read() {
                return guard;
            }
        }
        self.0.read()
    }

    /// Waits for exclusive access.
    #[inline]
    #[cfg_attr(debug_assertions, track_caller)]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        #[cfg(debug_assertions)]
        crate::counted::note();
        sched_point();
        let guard = match self.0.try_write() {
            Some(guard) => guard,
            None => self.write_slow(),
        };
        note_acquired();
        RwLockWriteGuard(guard)
    }

    #[cold]
    fn write_slow(&self) -> parking_lot::RwLockWriteGuard<'_, T> {
        while let Some(hook) = HOOK.get() {
            hook(Point::Spin);
            if let Some(guard) = self.0.try_write() {
                return guard;
            }
        }
        self.0.write()
    }

    /// The value, without locking: nobody else can have it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        note_released();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        note_released();
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A condition variable. It blocks the thread, and with it every fiber of a worker: for plain background threads only.
/// Tasks wait with the runtime's `park`. Wake-ups may be spurious; in the simulation they always are.
#[derive(Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// A condition nobody waits for.
    pub const fn new() -> Self {
        Condvar(parking_lot::Condvar::new())
    }

    /// Lets go of the lock until notified.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        match HOOK.get() {
            None => self.0.wait(&mut guard.0),
            Some(hook) => parking_lot::MutexGuard::unlocked(&mut guard.0, || hook(Point::Spin)),
        }
    }

    /// Lets go of the lock until notified or `timeout` has passed: true. In the simulation it returns at once: false.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> bool {
        match HOOK.get() {
            None => self.0.wait_for(&mut guard.0, timeout).timed_out(),
            Some(hook) => {
                parking_lot::MutexGuard::unlocked(&mut guard.0, || hook(Point::Spin));
                false
            }
        }
    }

    /// Wakes one waiting thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    #[test]
    fn hook_is_called_instead_of_blocking() {
        static M: Mutex<u32> = Mutex::new(0);
        static CALLS: AtomicU32 = AtomicU32::new(0);
        let guard = M.lock();
        fn hook(p: Point) {
            if p == Point::Spin {
                CALLS.fetch_add(1, SeqCst);
            }
        }
        std::thread::scope(|s| {
            s.spawn(|| {
                set_hook(Some(hook));
                *M.lock() += 1;
                let before = CALLS.load(SeqCst);
                spin_hint();
                assert_eq!(CALLS.load(SeqCst), before + 1);
                set_hook(None);
            });
            // It does not come back before the lock is free.
            while CALLS.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            drop(guard);
        });
        assert_eq!(*M.lock(), 1);
        assert_eq!(held(), 0);
    }
}
