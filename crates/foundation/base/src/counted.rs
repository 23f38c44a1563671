//! Debug builds count atomic read-modify-writes: each takes its cache line away from every other core, so on a line
//! that workers share it is what bounds the throughput of all. Tests hold the figures ([`tally`]). References counted
//! by `Arc` are not seen.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{self, Ordering};

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static SEEN: RefCell<BTreeMap<(&'static str, u32), u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Runs `work` and says how many read-modify-writes (locks taken included) the calling thread did meanwhile, by source
/// file and line.
pub fn tally(work: impl FnOnce()) -> BTreeMap<(&'static str, u32), u64> {
    SEEN.with_borrow_mut(BTreeMap::clear);
    ON.set(true);
    work();
    ON.set(false);
    SEEN.take()
}

/// One read-modify-write by the caller.
#[inline]
#[track_caller]
pub(crate) fn note() {
    if ON.get() {
        let at = Location::caller();
        SEEN.with_borrow_mut(|seen| *seen.entry((at.file(), at.line())).or_default() += 1);
    }
}

macro_rules! counted {
    ($($name:ident: $value:ty { $($numeric:ident)* })*) => { $(
        #[doc = concat!("[`std::sync::atomic::", stringify!($name), "`], counted.")]
        #[derive(Default, Debug)]
        #[repr(transparent)]
        pub struct $name(atomic::$name);

        impl $name {
            /// An atomic with this value.
            pub const fn new(value: $value) -> Self {
                Self(atomic::$name::new(value))
            }

            /// Reads.
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            /// Writes.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            /// The value, without synchronisation: nobody else has it.
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// The value, when the atomic is no longer needed.
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            /// Where the value is.
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            /// Writes and gives what was there.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                note();
                self.0.swap(value, order)
            }

            /// Writes if `current` is there.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(&self, current: $value, new: $value, ok: Ordering, no: Ordering) -> Result<$value, $value> {
                note();
                self.0.compare_exchange(current, new, ok, no)
            }

            /// The same, which may fail without reason.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                ok: Ordering,
                no: Ordering,
            ) -> Result<$value, $value> {
                note();
                self.0.compare_exchange_weak(current, new, ok, no)
            }

            /// Writes what `change` makes of the value, as often as another writer comes between; `Err` with the value
            /// when it makes nothing.
            #[inline]
            #[track_caller]
            pub fn fetch_update(
                &self,
                ok: Ordering,
                no: Ordering,
                change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                note();
                self.0.fetch_update(ok, no, change)
            }

            $(
                #[doc = concat!("As std's `", stringify!($numeric), "`.")]
                #[inline]
                #[track_caller]
                pub fn $numeric(&self, value: $value, order: Ordering) -> $value {
                    note();
                    self.0.$numeric(value, order)
                }
            )*
        }

        impl From<$value> for $name {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    )* };
}

counted! {
    AtomicBool: bool { fetch_and fetch_or fetch_xor }
    AtomicU8: u8 { fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min }
    AtomicU16: u16 { fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min }
    AtomicU32: u32 { fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min }
    AtomicU64: u64 { fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min }
    AtomicUsize: usize { fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min }
    AtomicI64: i64 { fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min }
}

/// [`std::sync::atomic::AtomicPtr`], counted.
#[derive(Debug)]
#[repr(transparent)]
pub struct AtomicPtr<T>(atomic::AtomicPtr<T>);

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self(atomic::AtomicPtr::default())
    }
}

impl<T> AtomicPtr<T> {
    /// An atomic with this value.
    pub const fn new(value: *mut T) -> Self {
        Self(atomic::AtomicPtr::new(value))
    }

    /// Reads.
    #[inline]
    pub fn load(&self, order: Ordering) -> *mut T {
        self.0.load(order)
    }

    /// Writes.
    #[inline]
    pub fn store(&self, value: *mut T, order: Ordering) {
        self.0.store(value, order);
    }

    /// Writes and gives what was there.
    #[inline]
    #[track_caller]
    pub fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        note();
        self.0.swap(value, order)
    }

    /// Writes if `current` is there.
    #[inline]
    #[track_caller]
    pub fn compare_exchange(&self, current: *mut T, new: *mut T, ok: Ordering, no: Ordering) -> Result<*mut T, *mut T> {
        note();
        self.0.compare_exchange(current, new, ok, no)
    }

    /// The value, without synchronisation: nobody else has it.
    pub fn get_mut(&mut self) -> &mut *mut T {
        self.0.get_mut()
    }
}
