//! A place beside an immutable value, in which another layer keeps what it made of it.

use std::any::{Any, TypeId};
use std::sync::OnceLock;

/// What one layer keeps with a value of a layer below, whose types cannot name it. It is filled once and goes with the
/// value. One layer owns the place and puts one type into it.
#[derive(Default)]
pub struct Attached(OnceLock<Kept>);

struct Kept {
    /// Type of `value`. It stands here so that a look needs no call through the value's table of methods.
    of: TypeId,
    value: Box<dyn Any + Send + Sync>,
}

impl Attached {
    /// What is kept, if anything is. Panics when it is of another type.
    #[inline]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get().map(Kept::value)
    }

    /// What is kept, else what `make` gives. `make` runs once, or in each of several threads that find nothing: the
    /// first to finish is kept for all. Its error is not kept.
    #[inline]
    pub fn get_or_try_init<T: Any + Send + Sync, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        match self.0.get() {
            Some(kept) => Ok(kept.value()),
            None => self.fill(make),
        }
    }

    #[cold]
    fn fill<T: Any + Send + Sync, E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let made = Kept { of: TypeId::of::<T>(), value: Box::new(make()?) };
        Ok(self.0.get_or_init(|| made).value())
    }
}

impl Kept {
    #[inline]
    #[expect(unsafe_code, reason = "what is kept is read by every statement: a comparison instead of a virtual call")]
    fn value<T: Any>(&self) -> &T {
        crate::check!(self.of == TypeId::of::<T>(), "a place for one type was asked for another");
        let value: *const (dyn Any + Send + Sync) = &raw const *self.value;
        // SAFETY: `of` is the type of `value`: both are private to this file, and `fill` alone makes a `Kept`.
        unsafe { &*value.cast::<T>() }
    }
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.get().is_some() { "Attached(filled)" } else { "Attached(empty)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_first_value_stays_and_goes_with_its_place() {
        let place = Attached::default();
        assert_eq!(place.get::<Arc<u32>>(), None);
        assert_eq!(place.get_or_try_init::<Arc<u32>, &str>(|| Err("not yet")), Err("not yet"));
        let value = Arc::new(7u32);
        let kept = place.get_or_try_init(|| Ok::<_, ()>(value.clone())).unwrap();
        assert!(Arc::ptr_eq(kept, &value));
        let again = place.get_or_try_init(|| -> Result<Arc<u32>, ()> { panic!("made twice") }).unwrap();
        assert!(Arc::ptr_eq(again, &value));
        drop(place);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    #[should_panic(expected = "a place for one type")]
    fn another_type_is_refused() {
        let place = Attached::default();
        place.get_or_try_init(|| Ok::<_, ()>(7u32)).unwrap();
        place.get::<i32>();
    }

    #[test]
    fn threads_agree() {
        let place = Attached::default();
        let seen: Vec<usize> = std::thread::scope(|s| {
            let make = |i: usize| place.get_or_try_init(move || Ok::<_, ()>(i)).copied().unwrap();
            let threads: Vec<_> = (0..8).map(|i| s.spawn(move || make(i))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(seen.iter().all(|v| Some(v) == place.get::<usize>()));
    }
}
